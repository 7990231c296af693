// http_server.h: answers GET, HEAD and POST, one request a connection.
//
// Role:      for scrapers, health checks, the page and scripts: nobody waits behind a client that
//            does not finish its request or does not take its answer, nor behind one whose answer
//            is being made. Such a client costs a descriptor and a few KiB until its time is over;
//            at the bound on connections, the one that has waited longest goes.
// Ownership: owns its sockets and its thread; the destructor ends both.
// Threads:   one of its own, which calls the handler. The handler must not block: it replies now,
//            or later from any thread.
// Errors:    Start: FailedPrecondition or InvalidArgument naming --http and the address.
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

enum class HttpMethod { kGet, kPost };  // HEAD is GET whose answer has no body

struct HttpRequest {
  std::string path;                // as it was sent, without the query
  std::string query;               // what is behind '?', as it was sent
  std::string if_none_match;       // the tag that the client holds; "": none
  std::string authorization = {};  // "Bearer TOKEN", "Basic …"; "": none
  std::string peer = {};           // who asks: an address
  HttpMethod method = HttpMethod::kGet;
  std::string host = {};        // as the client named this server
  std::string origin = {};      // of the page that has a browser ask; "": none, or no browser
  std::string fetch_site = {};  // what a browser says of that page: "same-origin", "cross-site", …
  std::string content_type = {};  // of the body
  std::string forwarded = {};     // what a proxy says of whom it asks for; "": none
  std::string body = {};
};

struct HttpAnswer {
  int code = 200;
  std::string body;
  std::string type = "text/plain; charset=utf-8";
  std::string
      etag;  // quoted; a client that holds it gets 304 and no body. "": it is not to keep it
  std::string file_name = {};  // a browser saves it as this, and shows nothing. "": it shows it
};

// Whoever keeps an answer and every connection that sends it own it together, and the last of them
// frees it: copies for each of many pages cost more than making it.
using SharedAnswer = std::shared_ptr<const HttpAnswer>;
inline SharedAnswer Share(HttpAnswer answer) {
  return std::make_shared<const HttpAnswer>(std::move(answer));
}

// Takes the one answer to a request, from any thread. One that comes too late is dropped.
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

  // With the port that was chosen.
  const std::string& address() const { return listening_.address; }

 private:
  using Clock = std::chrono::steady_clock;
  class Outbox;
  // A connection reads the request, waits for the answer, writes it, and drains what its
  // client still sends: closing with unread bytes would reset the connection, and the client could
  // lose the answer.
  enum class Phase { kReading, kWaiting, kWriting, kDraining };
  struct Connection {
    UniqueFd fd;
    Clock::time_point end;  // it is closed then, wherever it is
    uint64_t number = 0;    // of this server's connections
    Phase phase = Phase::kReading;
    std::string text;       // the request so far, then the answer's head
    SharedAnswer answer;    // whose body goes behind that head; nullptr: nothing does
    size_t head_bytes = 0;  // of the request; 0: it has not all come
    size_t body_bytes = 0;
    size_t sent = 0;            // of head and body
    bool head_only = false;     // asked with HEAD
    bool acts = false;          // asked with POST
    std::string if_none_match;  // as the request has it
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
  // Looks at the head once it is there; answers what cannot be asked.
  void ReadHead(Connection& connection);
  // Whether it says how many bytes follow, within the bound; answers where it does not.
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
  std::list<Connection> connections_;  // in the order in which they came
  uint64_t connections_so_far_ = 0;
  std::thread thread_;
};

}  // namespace dt
