// http_server.h: answers GET and HEAD from a function of the path, one request a connection.
//
// Role:      for scrapers and health checks: nobody waits behind a client that does not finish its
//            request or does not take its answer. Such a client costs a descriptor and a few KiB
//            until its time is over; at the bound on connections, the one that has waited longest
//            goes.
// Ownership: owns its sockets and its thread; the destructor ends both.
// Threads:   one of its own, which calls the handler.
// Errors:    Start: FailedPrecondition or InvalidArgument naming --http and the address.
// Tests:     tests/coordinator/http/http_server_test.cc
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "common/net/listen.h"

namespace dt {

struct HttpAnswer {
  int code = 200;
  std::string body;
  std::string type = "text/plain; charset=utf-8";
};

struct HttpBounds {
  size_t connections = limits::kHttpConnections;
  size_t writing = limits::kHttpWriting;
  absl::Duration exchange = limits::kHttpExchange;
};

class HttpServer {
 public:
  // The path is without its query.
  using Handler = std::function<HttpAnswer(std::string_view path)>;

  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address,
                                                           Handler handler,
                                                           HttpBounds bounds = HttpBounds());
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // With the port that was chosen.
  const std::string& address() const { return listening_.address; }

 private:
  using Clock = std::chrono::steady_clock;
  // A connection reads the request's head, writes the answer, and drains what its client still
  // sends: closing with unread bytes would reset the connection, and the client could lose the
  // answer.
  enum class Phase { kReading, kWriting, kDraining };
  struct Connection {
    UniqueFd fd;
    Clock::time_point end;  // it is closed then, wherever it is
    Phase phase = Phase::kReading;
    std::string text;  // the head so far, then the answer
    size_t sent = 0;
  };
  enum class Stays { kOpen, kClosed };

  HttpServer(Listening listening, UniqueFd wake, Handler handler, HttpBounds bounds);
  void Run();
  void Accept();
  Stays Serve(Connection& connection);
  Stays Read(Connection& connection);
  Stays Write(Connection& connection);
  void Answer(Connection& connection, size_t head_bytes);
  std::list<Connection>::iterator Oldest(Phase phase);
  size_t CountWriting() const;
  int PatienceMs() const;

  const Listening listening_;
  const UniqueFd wake_;  // an eventfd: the destructor was called
  const Handler handler_;
  const HttpBounds bounds_;
  std::list<Connection> connections_;  // in the order in which they came
  std::thread thread_;
};

}  // namespace dt
