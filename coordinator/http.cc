// http.cc: civetweb set up with bounds, and one handler class.
#include "coordinator/http.h"

#include <CivetServer.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace dt {
namespace {

struct Answer {
  int code = 200;
  std::string body;
};

class Handler final : public CivetHandler {
 public:
  explicit Handler(std::function<Answer()> answer) : answer_(std::move(answer)) {}

  bool handleGet(CivetServer*, mg_connection* connection) override {
    const Answer answer = answer_();
    mg_printf(connection,
              "HTTP/1.1 %d %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
              "Content-Length: %zu\r\nCache-Control: no-store\r\n\r\n",
              answer.code, answer.code == 200 ? "OK" : "Service Unavailable", answer.body.size());
    mg_write(connection, answer.body.data(), answer.body.size());
    return true;
  }

 private:
  std::function<Answer()> answer_;
};

void Knock(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Whether it gets through does not matter: two seconds later the server looks by itself.
  if (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0) poll(nullptr, 0, 1);
  close(fd);
}

}  // namespace

HttpServer::HttpServer() = default;

HttpServer::~HttpServer() {
  if (server_ == nullptr) return;
  std::atomic<bool> closed{false};
  std::thread closer([&] {
    server_->close();
    closed.store(true);
  });
  // civetweb looks whether it should stop between connections, or every two seconds.
  while (!closed.load()) {
    Knock(port_);
    poll(nullptr, 0, 5);
  }
  closer.join();
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const std::string& address, const Metrics& metrics, std::function<absl::Status()> health) {
  auto server = std::unique_ptr<HttpServer>(new HttpServer());
  server->metrics_ = std::make_unique<Handler>([&metrics] {
    return Answer{200, metrics.Render()};
  });
  server->healthz_ = std::make_unique<Handler>([health = std::move(health)] {
    const absl::Status status = health();
    if (status.ok()) return Answer{200, "ok\n"};
    return Answer{503, absl::StrCat(status.message(), "\n")};
  });
  server->readyz_ = std::make_unique<Handler>([&metrics] {
    return metrics.Ready()
               ? Answer{200, "ok\n"}
               : Answer{503,
                        "not ready: the journal is being read, or the coordinator is stopping\n"};
  });
  // Scrapes are few: two threads, short queues, and five seconds for a slow client.
  const std::vector<std::string> options = {
      "listening_ports",    address, "num_threads",           "2",    "connection_queue",  "16",
      "request_timeout_ms", "5000",  "keep_alive_timeout_ms", "5000", "enable_keep_alive", "no"};
  try {
    server->server_ = std::make_unique<CivetServer>(options);
  } catch (const CivetException& error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot serve HTTP on ", address, ": ", error.what(),
                     "; give another --http, as in 127.0.0.1:7601 (port 0: the system chooses)"));
  }
  server->server_->addHandler("/metrics", server->metrics_.get());
  server->server_->addHandler("/healthz", server->healthz_.get());
  server->server_->addHandler("/readyz", server->readyz_.get());
  const std::vector<int> ports = server->server_->getListeningPorts();
  if (ports.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("cannot serve HTTP on ", address));
  }
  server->port_ = ports.front();
  server->address_ = absl::StrCat(address.substr(0, address.rfind(':')), ":", ports.front());
  return server;
}

}  // namespace dt
