// http_server.cc: one poll loop over all connections.
#include "coordinator/http/http_server.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

constexpr size_t kBlock = 4096;

const char* ReasonOf(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
  }
  return "Other";
}

// The bytes of the head with its empty line, or 0 while that has not come.
size_t HeadBytes(const std::string& text) {
  const size_t end = text.find("\r\n\r\n");
  return end == std::string::npos ? 0 : end + 4;
}

struct RequestLine {
  std::string_view method, path, version;
};

RequestLine ParseRequestLine(std::string_view head) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return {};
  const std::string_view target = line.substr(first + 1, last - first - 1);
  return {line.substr(0, first), target.substr(0, target.find('?')), line.substr(last + 1)};
}

std::string Write(const HttpAnswer& answer, std::string_view method) {
  std::string text = absl::StrCat(
      "HTTP/1.1 ", answer.code, " ", ReasonOf(answer.code), "\r\nContent-Type: ", answer.type,
      "\r\nContent-Length: ", answer.body.size(), "\r\nCache-Control: no-store\r\n");
  if (answer.code == 405) text += "Allow: GET, HEAD\r\n";
  text += "Connection: close\r\n\r\n";
  if (method != "HEAD") text += answer.body;
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              Handler handler, HttpBounds bounds) {
  DT_ASSIGN_OR_RETURN(Listening listening, Listen("--http", address));
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) {
    return absl::ResourceExhaustedError(absl::StrCat("--http: eventfd: ", std::strerror(errno)));
  }
  return std::unique_ptr<HttpServer>(
      new HttpServer(std::move(listening), std::move(wake), std::move(handler), bounds));
}

HttpServer::HttpServer(Listening listening, UniqueFd wake, Handler handler, HttpBounds bounds)
    : listening_(std::move(listening)),
      wake_(std::move(wake)),
      handler_(std::move(handler)),
      bounds_(bounds),
      thread_([this] { Run(); }) {}

HttpServer::~HttpServer() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void HttpServer::Run() {
  std::vector<pollfd> watched;
  while (true) {
    std::erase_if(connections_, [now = Clock::now()](const Connection& connection) {
      return connection.end <= now;
    });
    watched.assign({{wake_.get(), POLLIN, 0}, {listening_.fd.get(), POLLIN, 0}});
    for (const Connection& connection : connections_) {
      const short events = connection.phase == Phase::kWriting ? POLLOUT : POLLIN;
      watched.push_back({connection.fd.get(), events, 0});
    }
    if (poll(watched.data(), watched.size(), PatienceMs()) < 0 && errno != EINTR) {
      spdlog::error("HTTP ends: poll: {}", std::strerror(errno));
      return;
    }
    if (watched[0].revents != 0) return;
    size_t next = 2;  // poll answers in the order of connections_
    for (auto it = connections_.begin(); it != connections_.end(); ++next) {
      const Stays stays = watched[next].revents == 0 ? Stays::kOpen : Serve(*it);
      it = stays == Stays::kOpen ? std::next(it) : connections_.erase(it);
    }
    if (watched[1].revents != 0) Accept();
  }
}

int HttpServer::PatienceMs() const {
  if (connections_.empty()) return -1;
  const auto first = std::min_element(
      connections_.begin(), connections_.end(),
      [](const Connection& one, const Connection& other) { return one.end < other.end; });
  const auto left = first->end - Clock::now();
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<int64_t>(ms, 0, 60'000));
}

void HttpServer::Accept() {
  while (true) {
    UniqueFd fd(accept4(listening_.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd.valid()) {
      if (errno == ECONNABORTED || errno == EINTR) continue;
      if (errno == EAGAIN) return;
      // Out of descriptors or memory: one of ours may help, and spinning would not.
      if (connections_.empty()) {
        poll(nullptr, 0, 50);
        return;
      }
      connections_.erase(Oldest(Phase::kReading));
      continue;
    }
    if (connections_.size() >= bounds_.connections) connections_.erase(Oldest(Phase::kReading));
    connections_.push_back(
        {std::move(fd), Clock::now() + absl::ToChronoNanoseconds(bounds_.exchange)});
  }
}

HttpServer::Stays HttpServer::Serve(Connection& connection) {
  return connection.phase == Phase::kWriting ? Write(connection) : Read(connection);
}

HttpServer::Stays HttpServer::Read(Connection& connection) {
  char block[kBlock];
  const ssize_t got = recv(connection.fd.get(), block, sizeof(block), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Stays::kOpen : Stays::kClosed;
  if (got == 0) return Stays::kClosed;
  if (connection.phase == Phase::kDraining) return Stays::kOpen;
  connection.text.append(block, static_cast<size_t>(got));
  const size_t head_bytes = HeadBytes(connection.text);
  if (head_bytes == 0 && connection.text.size() <= limits::kHttpHeadBytes) return Stays::kOpen;
  Answer(connection, head_bytes);
  return Write(connection);
}

// `head_bytes` is 0 where the head is too long.
void HttpServer::Answer(Connection& connection, size_t head_bytes) {
  const std::string head = connection.text.substr(0, head_bytes);
  const RequestLine line = ParseRequestLine(head);
  HttpAnswer answer;
  if (head_bytes == 0) {
    answer = {431,
              absl::StrCat("a request's head has at most ", limits::kHttpHeadBytes, " bytes\n")};
  } else if (!absl::StartsWith(std::string(line.version), "HTTP/1.") || line.path.empty()) {
    answer = {400, "this is not an HTTP/1.1 request\n"};
  } else if (line.method != "GET" && line.method != "HEAD") {
    answer = {405, "only GET and HEAD are answered here\n"};
  } else {
    answer = handler_(line.path);
  }
  if (CountWriting() >= bounds_.writing) {
    Connection& oldest = *Oldest(Phase::kWriting);
    oldest.text = std::string();
    oldest.phase = Phase::kDraining;
    oldest.end = Clock::time_point();  // erased by Run, which goes through the list now
  }
  connection.text = dt::Write(answer, line.method);
  connection.phase = Phase::kWriting;
}

HttpServer::Stays HttpServer::Write(Connection& connection) {
  const ssize_t sent = send(connection.fd.get(), connection.text.data() + connection.sent,
                            connection.text.size() - connection.sent, MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? Stays::kOpen : Stays::kClosed;
  connection.sent += static_cast<size_t>(sent);
  if (connection.sent < connection.text.size()) return Stays::kOpen;
  shutdown(connection.fd.get(), SHUT_WR);
  connection.text = std::string();
  connection.phase = Phase::kDraining;
  return Stays::kOpen;
}

// The oldest in this phase, or of all. REQUIRES: there is a connection.
std::list<HttpServer::Connection>::iterator HttpServer::Oldest(Phase phase) {
  const auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                   [&](const Connection& one) { return one.phase == phase; });
  return oldest == connections_.end() ? connections_.begin() : oldest;
}

size_t HttpServer::CountWriting() const {
  return static_cast<size_t>(
      std::count_if(connections_.begin(), connections_.end(),
                    [](const Connection& one) { return one.phase == Phase::kWriting; }));
}

}  // namespace dt
