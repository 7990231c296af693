// http_server.cc: one poll loop over all connections.
#include "coordinator/http/http_server.h"

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/api_limits.h"
#include "common/mutex.h"
#include "common/net/credentials.h"
#include "common/status.h"
#include "coordinator/http/http_head.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

constexpr size_t kBlock = 4096;

const char* ReasonOf(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
  }
  return "Other";
}

// Returns "10.0.0.7", the peer of a connected socket; "" if the system does not know it.
std::string PeerOf(int fd) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  char text[INET6_ADDRSTRLEN] = "";
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return "";
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in&>(address).sin_addr, text, sizeof(text));
  } else if (address.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6&>(address).sin6_addr, text, sizeof(text));
  }
  return text;
}

// Security headers: the page loads nothing from elsewhere, and allows no inline script and no frame
// around it.
constexpr char kGuards[] =
    "Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

// Returns whether the client has this version. Compares weakly, since a compressing proxy marks the
// tag as weak.
bool Holds(const std::string& if_none_match, const std::string& etag) {
  return !etag.empty() && absl::StrContains(if_none_match, etag);
}

// Returns the part of a text that is still to be sent.
iovec Behind(std::string_view text, size_t sent) {
  text.remove_prefix(sent);
  return {const_cast<char*>(text.data()), text.size()};  // sendmsg reads it
}

enum class Kind { kWhole, kHeadAlone, kOfAct };

struct ResponseHead {
  std::string text;  // with its empty line
  bool has_body = false;
};

ResponseHead HeadOf(const HttpAnswer& answer, Kind kind, const std::string& if_none_match) {
  const bool held = answer.code == 200 && Holds(if_none_match, answer.etag);
  const int code = held ? 304 : answer.code;
  std::string text = absl::StrCat("HTTP/1.1 ", code, " ", ReasonOf(code), "\r\n");
  if (!held) {
    absl::StrAppend(&text, "Content-Type: ", answer.type,
                    "\r\nContent-Length: ", answer.body.size(), "\r\n");
  }
  if (answer.etag.empty()) {
    text += "Cache-Control: no-store\r\n";
  } else {
    absl::StrAppend(&text, "Cache-Control: no-cache\r\nETag: ", answer.etag, "\r\n");
  }
  if (!answer.file_name.empty()) {
    absl::StrAppend(&text, "Content-Disposition: attachment; filename=\"", answer.file_name,
                    "\"\r\n");
  }
  // For 401 a browser asks the person, who enters the token as the password; for an act the page
  // asks.
  if (code == 401) {
    text += kind == Kind::kOfAct
                ? "WWW-Authenticate: Bearer realm=\"dtrain\"\r\n"
                : "WWW-Authenticate: Basic realm=\"dtrain: the token is the password\"\r\n";
  }
  if (code == 405) text += "Allow: GET, HEAD, POST\r\n";
  if (code == 429 || code == 503) text += "Retry-After: 1\r\n";
  absl::StrAppend(&text, kGuards, "Connection: close\r\n\r\n");
  return {std::move(text), kind != Kind::kHeadAlone && !held};
}

}  // namespace

// Answers on their way to the server's thread, and the descriptor that wakes it.
class HttpServer::Outbox {
 public:
  struct Numbered {
    uint64_t connection = 0;
    SharedAnswer answer;
  };
  explicit Outbox(UniqueFd wake) : wake_(std::move(wake)) {}

  void Put(uint64_t connection, SharedAnswer answer) {
    {
      MutexLock lock(&mutex_);
      answers_.push_back({connection, std::move(answer)});
    }
    Wake();
  }
  std::vector<Numbered> Take() {
    eventfd_t woken = 0;
    eventfd_read(wake_.get(), &woken);
    MutexLock lock(&mutex_);
    return std::exchange(answers_, {});
  }
  void Wake() const { eventfd_write(wake_.get(), 1); }
  int wake_fd() const { return wake_.get(); }

 private:
  const UniqueFd wake_;
  Mutex mutex_;
  std::vector<Numbered> answers_ ABSL_GUARDED_BY(mutex_);  // at most one for each connection
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              Handler handler, HttpBounds bounds) {
  DT_ASSIGN_OR_RETURN(Listening listening, Listen("--http", address));
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) {
    return absl::ResourceExhaustedError(absl::StrCat("--http: eventfd: ", std::strerror(errno)));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(
      std::move(listening), std::make_shared<Outbox>(std::move(wake)), std::move(handler), bounds));
}

HttpServer::HttpServer(Listening listening, std::shared_ptr<Outbox> outbox, Handler handler,
                       HttpBounds bounds)
    : listening_(std::move(listening)),
      outbox_(std::move(outbox)),
      handler_(std::move(handler)),
      bounds_(bounds),
      thread_([this] { Run(); }) {}

HttpServer::~HttpServer() {
  stopping_.store(true);
  outbox_->Wake();
  thread_.join();
}

void HttpServer::Run() {
  std::vector<pollfd> watched;
  while (true) {
    std::erase_if(connections_, [now = Clock::now()](const Connection& connection) {
      return connection.end <= now;
    });
    watched.assign({{outbox_->wake_fd(), POLLIN, 0}, {listening_.fd.get(), POLLIN, 0}});
    for (const Connection& connection : connections_) {
      watched.push_back({connection.fd.get(), EventsOf(connection.phase), 0});
    }
    if (poll(watched.data(), watched.size(), PatienceMs()) < 0 && errno != EINTR) {
      spdlog::error("HTTP ends: poll: {}", std::strerror(errno));
      return;
    }
    if (stopping_.load()) return;
    size_t next = 2;  // poll's results are in the order of connections_
    for (auto it = connections_.begin(); it != connections_.end(); ++next) {
      const Stays stays = watched[next].revents == 0 ? Stays::kOpen : Serve(*it);
      it = stays == Stays::kOpen ? std::next(it) : connections_.erase(it);
    }
    if (watched[0].revents != 0) TakeAnswers();
    if (watched[1].revents != 0) Accept();
  }
}

// Returns the events to poll for. While the answer is made, only a lost client matters.
short HttpServer::EventsOf(Phase phase) {
  switch (phase) {
    case Phase::kReading:
    case Phase::kDraining:
      return POLLIN;
    case Phase::kWriting:
      return POLLOUT;
    case Phase::kWaiting:
      return 0;
  }
  return 0;
}

void HttpServer::TakeAnswers() {
  for (Outbox::Numbered& one : outbox_->Take()) {
    const auto found =
        std::find_if(connections_.begin(), connections_.end(),
                     [&one](const Connection& other) { return other.number == one.connection; });
    if (found == connections_.end() || found->phase != Phase::kWaiting) continue;
    Answer(*found, std::move(one.answer));
    if (Write(*found) == Stays::kClosed) connections_.erase(found);
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
      // Out of descriptors or memory: closing one of our connections may help; spinning would not.
      if (connections_.empty()) {
        poll(nullptr, 0, 50);
        return;
      }
      connections_.erase(Oldest(Phase::kReading));
      continue;
    }
    if (connections_.size() >= bounds_.connections) connections_.erase(Oldest(Phase::kReading));
    connections_.push_back({std::move(fd),
                            Clock::now() + absl::ToChronoNanoseconds(bounds_.exchange),
                            ++connections_so_far_});
  }
}

HttpServer::Stays HttpServer::Serve(Connection& connection) {
  if (connection.phase == Phase::kWaiting) return Stays::kClosed;  // its client is gone
  return connection.phase == Phase::kWriting ? Write(connection) : Read(connection);
}

HttpServer::Stays HttpServer::Read(Connection& connection) {
  char block[kBlock];
  const ssize_t got = recv(connection.fd.get(), block, sizeof(block), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Stays::kOpen : Stays::kClosed;
  if (got == 0) return Stays::kClosed;
  if (connection.phase == Phase::kDraining) return Stays::kOpen;
  connection.text.append(block, static_cast<size_t>(got));
  if (connection.head_bytes == 0) ReadHead(connection);
  if (connection.phase == Phase::kReading && connection.head_bytes > 0 &&
      connection.text.size() >= connection.head_bytes + connection.body_bytes) {
    Ask(connection);
  }
  return connection.phase == Phase::kWriting ? Write(connection) : Stays::kOpen;
}

void HttpServer::ReadHead(Connection& connection) {
  const size_t head_bytes = HeadBytes(connection.text);
  if (head_bytes == 0 && connection.text.size() <= limits::kHttpHeadBytes) return;
  const std::string head = connection.text.substr(0, head_bytes);
  const RequestLine line = ParseRequestLine(head);
  connection.head_only = line.method == "HEAD";
  connection.acts = line.method == "POST";
  if (head_bytes == 0) {
    return Answer(connection, Share({431, absl::StrCat("a request's head has at most ",
                                                       limits::kHttpHeadBytes, " bytes\n")}));
  }
  if (!absl::StartsWith(std::string(line.version), "HTTP/1.") || line.path.empty()) {
    return Answer(connection, Share({400, "this is not an HTTP/1.1 request\n"}));
  }
  if (line.method != "GET" && !connection.head_only && !connection.acts) {
    return Answer(connection, Share({405, "only GET, HEAD and POST are answered here\n"}));
  }
  if (const std::string defect = DefectOf(head, line); !defect.empty()) {
    return Answer(connection, Share({400, defect + "\n"}));
  }
  const std::string host = HeaderOf(head, "Host");
  if (IsLocalAddress(listening_.address) && !IsOfThisHost(host)) {
    return Answer(
        connection,
        Share({421, absl::StrCat("this server answers only to its address or localhost, not to '",
                                 absl::CHexEscape(host),
                                 "'; configure a proxy to send the address that it connects to as "
                                 "Host\n")}));
  }
  if (connection.acts && !TakesBody(connection, head)) return;
  connection.head_bytes = head_bytes;
}

bool HttpServer::TakesBody(Connection& connection, const std::string& head) {
  uint64_t bytes = 0;
  const std::string length = HeaderOf(head, "Content-Length");
  // Only digits, as in RFC 9110: a proxy in front may read "+2" differently.
  const bool digits = std::all_of(length.begin(), length.end(), absl::ascii_isdigit);
  if (!HeaderOf(head, "Transfer-Encoding").empty() || !digits ||
      !absl::SimpleAtoi(length, &bytes)) {
    Answer(connection, Share({411, "a POST needs its length in Content-Length\n"}));
    return false;
  }
  if (bytes > limits::kHttpBodyBytes) {
    Answer(connection, Share({413, absl::StrCat("the body has ", bytes, " bytes; the limit is ",
                                                limits::kHttpBodyBytes, "\n")}));
    return false;
  }
  connection.body_bytes = bytes;
  // A client with this header waits a moment for the answer. It sends its body even if the answer
  // is lost.
  if (absl::EqualsIgnoreCase(HeaderOf(head, "Expect"), "100-continue")) {
    static constexpr char kGoOn[] = "HTTP/1.1 100 Continue\r\n\r\n";
    send(connection.fd.get(), kGoOn, sizeof(kGoOn) - 1, MSG_NOSIGNAL);
  }
  return true;
}

// REQUIRES: the complete request has arrived.
void HttpServer::Ask(Connection& connection) {
  const std::string head = connection.text.substr(0, connection.head_bytes);
  const RequestLine line = ParseRequestLine(head);
  HttpRequest request{std::string(line.path), std::string(line.query),
                      HeaderOf(head, "If-None-Match"), HeaderOf(head, "Authorization"),
                      PeerOf(connection.fd.get())};
  request.method = connection.acts ? HttpMethod::kPost : HttpMethod::kGet;
  request.host = HeaderOf(head, "Host");
  request.origin = HeaderOf(head, "Origin");
  request.fetch_site = HeaderOf(head, "Sec-Fetch-Site");
  request.content_type = HeaderOf(head, "Content-Type");
  for (const char* name : {"Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"}) {
    if (request.forwarded.empty()) request.forwarded = HeaderOf(head, name);
  }
  request.body = connection.text.substr(connection.head_bytes, connection.body_bytes);
  connection.text = std::string();
  connection.if_none_match = request.if_none_match;
  connection.phase = Phase::kWaiting;
  handler_(request, [outbox = outbox_, number = connection.number](SharedAnswer answer) {
    outbox->Put(number, std::move(answer));
  });
}

void HttpServer::Answer(Connection& connection, SharedAnswer answer) {
  if (CountWriting() >= bounds_.writing) {
    Connection& oldest = *Oldest(Phase::kWriting);
    oldest.text = std::string();
    oldest.answer.reset();
    oldest.phase = Phase::kDraining;
    oldest.end = Clock::time_point();  // Run erases it; Run iterates over the list now
  }
  const Kind kind = connection.head_only ? Kind::kHeadAlone
                    : connection.acts    ? Kind::kOfAct
                                         : Kind::kWhole;
  ResponseHead head = HeadOf(*answer, kind, connection.if_none_match);
  connection.text = std::move(head.text);
  if (head.has_body) connection.answer = std::move(answer);
  connection.phase = Phase::kWriting;
}

HttpServer::Stays HttpServer::Write(Connection& connection) {
  const std::string_view head = connection.text;
  const std::string_view body =
      connection.answer == nullptr ? std::string_view() : connection.answer->body;
  std::array<iovec, 2> parts = {
      Behind(head, std::min(connection.sent, head.size())),
      Behind(body, connection.sent - std::min(connection.sent, head.size()))};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t sent = sendmsg(connection.fd.get(), &message, MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? Stays::kOpen : Stays::kClosed;
  connection.sent += static_cast<size_t>(sent);
  if (connection.sent < head.size() + body.size()) return Stays::kOpen;
  shutdown(connection.fd.get(), SHUT_WR);
  connection.text = std::string();
  connection.answer.reset();
  connection.phase = Phase::kDraining;
  return Stays::kOpen;
}

// Returns the oldest connection in this phase, or else the oldest of all. REQUIRES: there is a
// connection.
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
