// http_server_test.cc: real clients on loopback, honest ones and ones that hold connections open.
#include "coordinator/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/api_limits.h"
#include "common/mutex.h"
#include "gtest/gtest.h"
#include "tests/testing/await.h"

namespace dt {
namespace {

using testing::kPatience;

// A connection whose reads give up after kPatience.
class Client {
 public:
  explicit Client(const std::string& address)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) << address;
    const timeval patience{kPatience.count(), 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<uint16_t>(port));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0)
        << address << ": " << strerror(errno);
  }
  Client& Send(const std::string& text) & {
    EXPECT_EQ(send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    return *this;
  }
  Client Send(const std::string& text) && { return std::move(Send(text)); }
  // Returns false if the server has closed the connection.
  bool TrySend(const std::string& text) {
    return send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  enum class End { kClosed, kReset, kTooLate };
  // Returns everything up to the end of the connection.
  std::string Receive(End* end = nullptr) {
    std::string text;
    char block[4096];
    ssize_t got = 0;
    // A read with a limit fails after a signal has stopped and continued this process.
    while ((got = recv(fd_.get(), block, sizeof(block), 0)) > 0 || (got < 0 && errno == EINTR)) {
      if (got > 0) text.append(block, static_cast<size_t>(got));
    }
    const End how = got == 0 ? End::kClosed : errno == EAGAIN ? End::kTooLate : End::kReset;
    EXPECT_NE(how, End::kTooLate) << "nothing more came in " << kPatience.count() << " s";
    if (end != nullptr) *end = how;
    return text;
  }

 private:
  UniqueFd fd_;
};

std::string Get(const std::string& path) {
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

class HttpServerTest : public ::testing::Test {
 protected:
  // An unfinished exchange lasts for an hour, so that no test passes because one has ended.
  void Start(HttpBounds bounds = {.exchange = absl::Hours(1)}) {
    auto server = HttpServer::Start(
        "127.0.0.1:0",
        [this](const HttpRequest& request, HttpReply reply) {
          if (request.path == "/later") return KeepForLater(std::move(reply));
          if (request.path == "/refused") return reply(Share({401, "no\n"}));
          if (request.method == HttpMethod::kPost) {
            return reply(Share({200, absl::StrCat(request.content_type, " from ", request.origin,
                                                  "|", request.fetch_site, "|", request.forwarded,
                                                  ": ", request.body, "\n")}));
          }
          if (request.path == "/large") return reply(Share({200, std::string(kLargeBytes, 'x')}));
          const std::string etag = request.path == "/tagged" ? "\"1a\"" : "";
          reply(
              Share({200, absl::StrCat("you asked for ", request.path, "\n"), "text/plain", etag}));
        },
        bounds);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  Client Connect() { return Client(server_->address()); }
  std::string Ask(const std::string& request) { return Connect().Send(request).Receive(); }

  void KeepForLater(HttpReply reply) {
    MutexLock lock(&mutex_);
    later_.push_back(std::move(reply));
  }
  // Waits for `count` requests for /later, and returns their replies.
  std::vector<HttpReply> AwaitLater(size_t count) {
    EXPECT_TRUE(testing::Await([&] {
      MutexLock lock(&mutex_);
      return later_.size() >= count;
    }));
    MutexLock lock(&mutex_);
    return later_;
  }

  // More than the sockets' buffers take.
  static constexpr size_t kLargeBytes = 32 << 20;
  Mutex mutex_;
  std::vector<HttpReply> later_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<HttpServer> server_;
};

// A foreign page can make its own name resolve to this host; the browser then sends that name.
TEST_F(HttpServerTest, OnLoopbackOnlyRequestsByAddressOrAsLocalhostAreAnswered) {
  Start();
  const auto code = [this](const std::string& host) {
    return Ask(absl::StrCat("GET /x HTTP/1.1\r\n", host, "\r\n\r\n")).substr(9, 3);
  };
  for (const char* host :
       {"Host: 127.0.0.1:7601", "Host: [::1]:7601", "host: LocalHost", "Host: 10.0.0.7"}) {
    EXPECT_EQ(code(host), "200") << host;
  }
  for (const char* host : {"Host: elsewhere.example", "Host: 127.0.0.1.elsewhere.example:7601",
                           "Host: localhost.elsewhere.example"}) {
    EXPECT_EQ(code(host), "421") << host;
  }
}

TEST_F(HttpServerTest, ARequestHasOneWellFormedHostAndNoLineThatIsReadInTwoWays) {
  Start();
  const auto code = [this](const std::string& lines, const char* version = "HTTP/1.1") {
    return Ask(absl::StrCat("GET /x ", version, "\r\n", lines, "\r\n")).substr(9, 3);
  };
  for (const char* lines :
       {"", "X: y\r\n", "Host:\r\n", "Host: \r\n", "Host: localhost\r\nHost: localhost\r\n",
        "Host: localhost\r\nhost: elsewhere.example\r\n", "Host : localhost\r\n",
        "Host: localhost/x\r\n", "Host: a@localhost\r\n", "Host: localhost:80a\r\n",
        "Host: localhost, elsewhere.example\r\n", "Host: [::1\r\n", "Host: [::1]x\r\n",
        "Host: :80\r\n", "Host: localhost\nX: y\r\n", "Host: localhost\r\n X: folded\r\n",
        "Host: localhost\r\nno header\r\n", "Host: localhost\r\n: none\r\n",
        "Host: localhost\r\nContent-Length: 0\r\nContent-Length: 0\r\n"}) {
    EXPECT_EQ(code(lines), "400") << lines;
  }
  EXPECT_EQ(code("Host: localhost\r\nHost: localhost\r\n", "HTTP/1.0"), "400");
  EXPECT_EQ(code("", "HTTP/1.0"), "200") << "that version has no Host";
  EXPECT_EQ(code("Host: localhost:\r\nX:\r\nY: \t\r\n"), "200") << "a port may be left empty";
}

TEST_F(HttpServerTest, ARequestIsAnsweredAndTheConnectionClosed) {
  Start();
  const std::string answer = Ask(Get("/a?b=c"));
  EXPECT_TRUE(absl::StartsWith(answer, "HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(absl::StrContains(answer, "\r\nContent-Length: 17\r\n")) << answer;
  EXPECT_TRUE(absl::EndsWith(answer, "\r\n\r\nyou asked for /a\n")) << answer;
}

TEST_F(HttpServerTest, AScrapeIsAnsweredWhileOthersHoldUnfinishedAndIdleConnections) {
  Start();
  std::vector<Client> held;
  held.reserve(228);
  for (int i = 0; i < 220; ++i) held.push_back(Connect());
  for (int i = 0; i < 8; ++i) held.push_back(Connect().Send("GET /metrics HTTP/1.1\r\nHost:"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(absl::EndsWith(Ask(Get("/metrics")), "you asked for /metrics\n"));
  }
  // The others were kept: each is answered once it asks.
  EXPECT_TRUE(absl::EndsWith(held.front().Send(Get("/idle")).Receive(), "you asked for /idle\n"));
  EXPECT_TRUE(
      absl::EndsWith(held.back().Send(" localhost\r\n\r\n").Receive(), "you asked for /metrics\n"));
}

TEST_F(HttpServerTest, OverTheBoundTheConnectionThatWaitedLongestGoes) {
  Start({.connections = 4, .exchange = absl::Hours(1)});
  std::vector<Client> held;
  held.reserve(12);
  for (int i = 0; i < 12; ++i) held.push_back(Connect());
  EXPECT_TRUE(absl::EndsWith(Ask(Get("/")), "you asked for /\n"));
  for (int i = 0; i < 9; ++i) EXPECT_EQ(held[static_cast<size_t>(i)].Receive(), "") << i;
  EXPECT_TRUE(absl::EndsWith(held.back().Send(Get("/")).Receive(), "you asked for /\n"));
}

TEST_F(HttpServerTest, AConnectionIsClosedWhenItsTimeIsOver) {
  Start({.exchange = absl::Milliseconds(50)});
  EXPECT_EQ(Connect().Receive(), "");
  EXPECT_EQ(Connect().Send("GET / HTTP/1.1\r\n").Receive(), "");
}

TEST_F(HttpServerTest, ALargeAnswerArrivesCompletely) {
  Start();
  const std::string answer = Ask(Get("/large"));
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, kLargeBytes);
}

TEST_F(HttpServerTest, TheOldestUnreadAnswerIsDroppedFirst) {
  Start({.writing = 2, .exchange = absl::Hours(1)});
  std::vector<Client> held;
  held.reserve(6);
  for (int i = 0; i < 6; ++i) held.push_back(Connect().Send(Get("/large")));
  EXPECT_TRUE(absl::EndsWith(Ask(Get("/")), "you asked for /\n"));
  EXPECT_LT(held.front().Receive().size(), kLargeBytes);
  EXPECT_GT(held.back().Receive().size(), kLargeBytes);
}

TEST_F(HttpServerTest, ARequestThatIsNoHttpGetIsRefusedWithAReason) {
  Start();
  EXPECT_TRUE(absl::StartsWith(Ask("hello\r\n\r\n"), "HTTP/1.1 400 "));
  EXPECT_TRUE(absl::StartsWith(Ask("GET / HTTP/2\r\n\r\n"), "HTTP/1.1 400 "));
  EXPECT_TRUE(absl::StartsWith(Ask("GET /\r\n\r\n"), "HTTP/1.1 400 "));
  // A browser asks this before it lets a foreign page send JSON.
  const std::string options =
      Ask("OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://elsewhere.example\r\n\r\n");
  EXPECT_TRUE(absl::StartsWith(options, "HTTP/1.1 405 ")) << options;
  EXPECT_TRUE(absl::StrContains(options, "\r\nAllow: GET, HEAD, POST\r\n")) << options;
  EXPECT_FALSE(absl::StrContains(options, "Access-Control")) << options;
  // Twice the bound, so that much of it is still unread when the answer is written.
  Client::End end{};
  const std::string long_head =
      "GET / HTTP/1.1\r\nX: " + std::string(2 * limits::kHttpHeadBytes, 'x');
  EXPECT_TRUE(absl::StartsWith(Connect().Send(long_head).Receive(&end), "HTTP/1.1 431 "));
  EXPECT_EQ(end, Client::End::kClosed);
}

TEST_F(HttpServerTest, AHeadRequestGetsTheLengthWithoutTheBody) {
  Start();
  const std::string answer = Ask("HEAD /a HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(absl::StrContains(answer, "\r\nContent-Length: 17\r\n")) << answer;
  EXPECT_TRUE(absl::EndsWith(answer, "\r\n\r\n")) << answer;
}

TEST_F(HttpServerTest, ARequestMayComeInPieces) {
  Start();
  Client client = Connect();
  for (const char c : Get("/pieces")) client.Send(std::string(1, c));
  EXPECT_TRUE(absl::EndsWith(client.Receive(), "you asked for /pieces\n"));
}

TEST_F(HttpServerTest, APostHasItsBodyAndItsOrigin) {
  Start();
  const std::string head =
      "POST /act HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nOrigin: "
      "http://a\r\n"
      "Sec-Fetch-Site: same-origin\r\nX-Forwarded-For: 10.0.0.7\r\nContent-Length: ";
  const std::string wanted = "application/json from http://a|same-origin|10.0.0.7: ";
  EXPECT_TRUE(absl::EndsWith(Ask(head + "7\r\n\r\n{\"a\":1}"), wanted + "{\"a\":1}\n"));
  EXPECT_TRUE(absl::EndsWith(Ask(head + "0\r\n\r\n"), wanted + "\n"));
  // Bytes after the body are not part of it.
  EXPECT_TRUE(absl::EndsWith(Ask(head + "2\r\n\r\n{}GET / HTTP/1.1\r\n\r\n"), wanted + "{}\n"));
  // In pieces, and as large as allowed.
  Client client = Connect();
  for (const char c : head + "3\r\n\r\n123") client.Send(std::string(1, c));
  EXPECT_TRUE(absl::EndsWith(client.Receive(), wanted + "123\n"));
  const std::string large(limits::kHttpBodyBytes, 'x');
  const std::string answer = Ask(absl::StrCat(head, large.size(), "\r\n\r\n", large));
  EXPECT_TRUE(absl::EndsWith(answer, wanted + large + "\n"));
}

TEST_F(HttpServerTest, APostWithoutALengthOrThatIsTooLongIsRefused) {
  Start();
  for (const char* headers :
       {"", "Content-Length: \r\n", "Content-Length: -1\r\n", "Content-Length: +2\r\n",
        "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"}) {
    const std::string answer =
        Ask(absl::StrCat("POST / HTTP/1.1\r\nHost: localhost\r\n", headers, "\r\n"));
    EXPECT_TRUE(absl::StartsWith(answer, "HTTP/1.1 411 ")) << headers << answer;
  }
  const std::string long_one = absl::StrCat(
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ", limits::kHttpBodyBytes + 1,
      "\r\n\r\n", std::string(limits::kHttpBodyBytes, 'x'));
  EXPECT_TRUE(absl::StartsWith(Ask(long_one), "HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, AClientThatExpectsContinueSendsItsBodyThen) {
  Start();
  Client client = Connect();
  client.Send(
      "POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  client.Send("{}");
  EXPECT_TRUE(absl::StartsWith(client.Receive(), "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 "));
}

// A browser would ask the user for a password, on top of the page's own question.
TEST_F(HttpServerTest, AnActThatIsRefusedHasNoBrowserAskForAPassword) {
  Start();
  EXPECT_TRUE(absl::StrContains(Ask(Get("/refused")), "\r\nWWW-Authenticate: Basic "));
  const std::string act =
      Ask("POST /refused HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(absl::StrContains(act, "\r\nWWW-Authenticate: Bearer ")) << act;
}

TEST_F(HttpServerTest, ASlowClientIsClosedAtItsDeadlineAndDelaysNoOther) {
  Start({.exchange = absl::Seconds(5)});
  Client slow = Connect();
  bool open = true;
  // Each byte comes long before a read could time out.
  EXPECT_TRUE(testing::Await([&] {
    open = open && slow.TrySend("x");
    EXPECT_TRUE(absl::EndsWith(Ask(Get("/metrics")), "you asked for /metrics\n"));
    return !open;
  })) << "a head that never ends was read for as long as bytes came";
}

TEST_F(HttpServerTest, ScrapesAreAnsweredWhileConnectionsFloodIn) {
  Start();
  std::vector<Client> held;
  for (int i = 0; i < 600; ++i) {
    held.push_back(Connect());
    if (i % 2 == 0) held.back().TrySend("GET / HTTP/1.1\r\nX: ");
    if (i % 30 == 0) {
      EXPECT_TRUE(absl::EndsWith(Ask(Get("/metrics")), "you asked for /metrics\n")) << i;
    }
  }
}

TEST_F(HttpServerTest, AnAnswerMayComeLaterAndFromAnotherThread) {
  Start();
  Client first = Connect().Send(Get("/later"));
  Client second = Connect().Send(Get("/later"));
  const std::vector<HttpReply> replies = AwaitLater(2);
  // They keep nobody else waiting.
  EXPECT_TRUE(absl::EndsWith(Ask(Get("/metrics")), "you asked for /metrics\n"));
  std::thread([&replies] {
    replies[1](Share({200, "two"}));
    replies[0](Share({200, "one"}));
  }).join();
  const std::string one = first.Receive();
  const std::string two = second.Receive();
  const bool in_order = absl::EndsWith(one, "one") && absl::EndsWith(two, "two");
  const bool crossed = absl::EndsWith(one, "two") && absl::EndsWith(two, "one");
  EXPECT_TRUE(in_order || crossed) << one << two;  // the system decides which came first
}

TEST_F(HttpServerTest, ASharedAnswerReachesAllClientsAndIsFreedWithTheLast) {
  Start();
  std::vector<Client> clients;
  constexpr size_t kClients = 3;
  for (size_t i = 0; i < kClients; ++i) clients.push_back(Connect().Send(Get("/later")));
  const std::vector<HttpReply> replies = AwaitLater(kClients);
  SharedAnswer answer = Share({200, std::string(kLargeBytes, 'x')});
  const std::weak_ptr<const HttpAnswer> kept = answer;
  for (const HttpReply& reply : replies) reply(answer);
  answer.reset();
  for (Client& client : clients) {
    const std::string text = client.Receive();
    const size_t head = text.find("\r\n\r\n") + 4;
    EXPECT_EQ(text.size() - head, kLargeBytes);
    EXPECT_EQ(text.find_first_not_of('x', head), std::string::npos);
  }
  EXPECT_TRUE(testing::Await([&] { return kept.expired(); }));
}

TEST_F(HttpServerTest, AnAnswerForAClientThatIsGoneOrAServerThatHasEndedIsDropped) {
  Start({.exchange = absl::Seconds(2)});  // a busy machine has taken the request by then
  Client gone = Connect();
  gone.Send(Get("/later"));
  const std::vector<HttpReply> replies = AwaitLater(1);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(gone.Receive(), "");
  replies[0](Share({200, "too late"}));
  EXPECT_TRUE(absl::EndsWith(Ask(Get("/")), "you asked for /\n"));
  server_.reset();
  replies[0](Share({200, "far too late"}));
}

TEST_F(HttpServerTest, AClientThatHoldsAnAnswerGetsNoBodyAgain) {
  Start();
  const std::string first = Ask(Get("/tagged"));
  EXPECT_TRUE(absl::StrContains(first, "\r\nETag: \"1a\"\r\n")) << first;
  EXPECT_TRUE(absl::StrContains(first, "\r\nCache-Control: no-cache\r\n")) << first;
  for (const char* header : {"If-None-Match: \"1a\"", "if-none-match: W/\"1a\", \"2b\""}) {
    const std::string again =
        Ask(absl::StrCat("GET /tagged HTTP/1.1\r\nHost: localhost\r\n", header, "\r\n\r\n"));
    EXPECT_TRUE(absl::StartsWith(again, "HTTP/1.1 304 Not Modified\r\n")) << again;
    EXPECT_TRUE(absl::EndsWith(again, "\r\n\r\n")) << again;
  }
  const std::string other =
      Ask("GET /tagged HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"2b\"\r\n\r\n");
  EXPECT_TRUE(absl::StartsWith(other, "HTTP/1.1 200 OK\r\n")) << other;
}

TEST_F(HttpServerTest, EveryAnswerForbidsScriptsOfOthersAndFrames) {
  Start();
  for (const std::string& answer :
       {Ask(Get("/")), Ask("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n")}) {
    EXPECT_TRUE(absl::StrContains(answer, "\r\nContent-Security-Policy: default-src 'self'; "))
        << answer;
    EXPECT_FALSE(absl::StrContains(answer, "unsafe")) << answer;
    EXPECT_TRUE(absl::StrContains(answer, "frame-ancestors 'none'")) << answer;
    EXPECT_TRUE(absl::StrContains(answer, "\r\nX-Content-Type-Options: nosniff\r\n")) << answer;
  }
}

TEST_F(HttpServerTest, ATakenPortIsAnErrorThatNamesIt) {
  Start();
  const auto second = HttpServer::Start(server_->address(), nullptr);
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(absl::StrContains(second.status().message(), server_->address()));
  EXPECT_TRUE(absl::StrContains(second.status().message(), "--http"));
}

}  // namespace
}  // namespace dt
