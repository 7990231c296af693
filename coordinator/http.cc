// http.cc: civetweb set up with bounds, and one handler class.
#include "coordinator/http.h"

#include <CivetServer.h>

#include <mutex>
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

}  // namespace

HttpServer::HttpServer() = default;
HttpServer::~HttpServer() = default;

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
    return metrics.Ready() ? Answer{200, "ok\n"} : Answer{503, "not ready\n"};
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
  server->address_ = absl::StrCat(address.substr(0, address.rfind(':')), ":", ports.front());
  return server;
}

}  // namespace dt
