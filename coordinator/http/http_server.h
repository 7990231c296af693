// http_server.h: answers GET, HEAD and POST, one request for each connection.
//
// Role:      serves scrapers, health checks, the page and scripts. A client that does not finish
//            its request, does not take its answer, or whose answer is being made delays no other.
//            Such a client costs a descriptor and a few KiB until its time is over. At the bound on
//            connections, the one that has waited longest is closed.
// Ownership: owns its sockets and its thread; the destructor ends both.
// Threads:   one of its own, which calls the handler. The handler must not block: it replies at
//            once, or later from any thread.
// Errors:    Start: FailedPrecondition or InvalidArgument names --http and the address.
// Tests:     tests/coordinator/http/http_server_test.cc
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "common/net/listen.h"

namespace dt {

enum class HttpMethod { kGet, kPost };  // HEAD is a GET whose answer has no body

struct HttpRequest {
  std::string path;                // as sent, without the query
  std::string query;               // the part after '?', as sent
  std::string if_none_match;       // the tag that the client holds; "": none
  std::string authorization = {};  // "Bearer TOKEN", "Basic …"; "": none
  std::string peer = {};           // the client's address
  HttpMethod method = HttpMethod::kGet;
  std::string host = {};        // the server's name as the client wrote it
  std::string origin = {};      // of the page that made the browser ask; "": none, or no browser
  std::string fetch_site = {};  // the browser's relation to that page: "same-origin", "cross-site",
                                // …
  std::string content_type = {};  // of the body
  std::string forwarded = {};     // the client's address according to a proxy; "": none
  std::string body = {};
};

struct HttpAnswer {
  int code = 200;
  std::string body;
  std::string type = "text/plain; charset=utf-8";
  std::string
      etag;  // quoted; a client that holds it gets 304 and no body. "": it is not to keep it
  std::string file_name = {};  // a browser saves the answer under this name; "": it shows the
                               // answer
};

// Shared by the cache and every connection that sends it; the last one frees it. A copy for each of
// many pages would cost more than making the answer.
using SharedAnswer = std::shared_ptr<const HttpAnswer>;
inline SharedAnswer Share(HttpAnswer answer) {
  return std::make_shared<const HttpAnswer>(std::move(answer));
}

// Takes the one answer to a request, from any thread. Drops an answer that comes too late.
using HttpReply = std::function<void(SharedAnswer)>;

struct HttpBounds {
  size_t connections = limits::kHttpConnections;
  size_t writing = limits::kHttpWriting;
  absl::Duration exchange = limits::kHttpExchange;
};

class HttpServer {
 public:
  using Handler = std::function<void(const HttpRequest&, HttpReply)>;

  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address,
                                                           Handler handler,
                                                           HttpBounds bounds = HttpBounds());
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Returns the address with the chosen port.
  const std::string& address() const { return listening_.address; }

 private:
  using Clock = std::chrono::steady_clock;
  class Outbox;
  // A connection reads the request, waits for the answer, writes it, and drains what the client
  // still sends. Closing with unread bytes would reset the connection, and the client could lose
  // the answer.
  enum class Phase { kReading, kWaiting, kWriting, kDraining };
  struct Connection {
    UniqueFd fd;
    Clock::time_point end;  // the connection is closed then, in any phase
    uint64_t number = 0;    // counts this server's connections
    Phase phase = Phase::kReading;
    std::string text;       // the request so far, then the answer's head
    SharedAnswer answer;    // its body follows that head; nullptr: no body
    size_t head_bytes = 0;  // of the request; 0: incomplete
    size_t body_bytes = 0;
    size_t sent = 0;            // bytes of head and body
    bool head_only = false;     // the request is a HEAD
    bool acts = false;          // the request is a POST
    std::string if_none_match;  // as in the request
  };
  enum class Stays { kOpen, kClosed };

  HttpServer(Listening listening, std::shared_ptr<Outbox> outbox, Handler handler,
             HttpBounds bounds);
  void Run();
  void Accept();
  void TakeAnswers();
  static short EventsOf(Phase phase);
  Stays Serve(Connection& connection);
  Stays Read(Connection& connection);
  Stays Write(Connection& connection);
  // Checks the head once it is complete; answers an invalid request.
  void ReadHead(Connection& connection);
  // Returns whether the head gives the number of bytes that follow, within the bound; answers if
  // not.
  bool TakesBody(Connection& connection, const std::string& head);
  void Ask(Connection& connection);
  void Answer(Connection& connection, SharedAnswer answer);
  std::list<Connection>::iterator Oldest(Phase phase);
  size_t CountWriting() const;
  int PatienceMs() const;

  const Listening listening_;
  const std::shared_ptr<Outbox> outbox_;  // shared with replies, which may outlive the server
  const Handler handler_;
  const HttpBounds bounds_;
  std::atomic<bool> stopping_{false};
  std::list<Connection> connections_;  // in the order of their arrival
  uint64_t connections_so_far_ = 0;
  std::thread thread_;
};

}  // namespace dt
