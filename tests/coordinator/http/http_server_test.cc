// http_server_test.cc: real clients on loopback, honest ones and ones that hold connections open.
#include "coordinator/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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
  enum class End { kClosed, kReset, kTooLate };
  // Everything up to the end of the connection.
  std::string Receive(End* end = nullptr) {
    std::string text;
    char block[4096];
    ssize_t got = 0;
    // A read with a limit fails after this process was stopped by a signal.
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
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n");
}

class HttpServerTest : public ::testing::Test {
 protected:
  // An unfinished exchange lasts for an hour, so that no test passes because one has ended.
  void Start(HttpBounds bounds = {.exchange = absl::Hours(1)}) {
    auto server = HttpServer::Start(
        "127.0.0.1:0",
        [](std::string_view path) {
          if (path == "/large") return HttpAnswer{200, std::string(kLargeBytes, 'x')};
          return HttpAnswer{200, absl::StrCat("you asked for ", std::string(path), "\n")};
        },
        bounds);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  Client Connect() { return Client(server_->address()); }
  std::string Ask(const std::string& request) { return Connect().Send(request).Receive(); }

  // More than the sockets' buffers take.
  static constexpr size_t kLargeBytes = 32 << 20;
  std::unique_ptr<HttpServer> server_;
};

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
  for (int i = 0; i < 220; ++i) held.push_back(Connect());
  for (int i = 0; i < 8; ++i) held.push_back(Connect().Send("GET /metrics HTTP/1.1\r\nHost:"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(absl::EndsWith(Ask(Get("/metrics")), "you asked for /metrics\n"));
  }
  // They were not sent away for it: each is answered once it asks.
  EXPECT_TRUE(absl::EndsWith(held.front().Send(Get("/idle")).Receive(), "you asked for /idle\n"));
  EXPECT_TRUE(absl::EndsWith(held.back().Send(" x\r\n\r\n").Receive(), "you asked for /metrics\n"));
}

TEST_F(HttpServerTest, OverTheBoundTheConnectionThatWaitedLongestGoes) {
  Start({.connections = 4, .exchange = absl::Hours(1)});
  std::vector<Client> held;
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

TEST_F(HttpServerTest, ALargeAnswerArrivesWhole) {
  Start();
  const std::string answer = Ask(Get("/large"));
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, kLargeBytes);
}

TEST_F(HttpServerTest, OfAnswersThatNobodyTakesTheOldestGoes) {
  Start({.writing = 2, .exchange = absl::Hours(1)});
  std::vector<Client> held;
  for (int i = 0; i < 6; ++i) held.push_back(Connect().Send(Get("/large")));
  EXPECT_TRUE(absl::EndsWith(Ask(Get("/")), "you asked for /\n"));
  EXPECT_LT(held.front().Receive().size(), kLargeBytes);
  EXPECT_GT(held.back().Receive().size(), kLargeBytes);
}

TEST_F(HttpServerTest, WhatIsNoGetOfHttpIsRefusedWithItsReason) {
  Start();
  EXPECT_TRUE(absl::StartsWith(Ask("hello\r\n\r\n"), "HTTP/1.1 400 "));
  EXPECT_TRUE(absl::StartsWith(Ask("GET / HTTP/2\r\n\r\n"), "HTTP/1.1 400 "));
  EXPECT_TRUE(absl::StartsWith(Ask("GET /\r\n\r\n"), "HTTP/1.1 400 "));
  const std::string post = Ask("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_TRUE(absl::StartsWith(post, "HTTP/1.1 405 ")) << post;
  EXPECT_TRUE(absl::StrContains(post, "\r\nAllow: GET, HEAD\r\n")) << post;
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

TEST_F(HttpServerTest, ATakenPortIsAnErrorThatNamesIt) {
  Start();
  const auto second = HttpServer::Start(server_->address(), nullptr);
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(absl::StrContains(second.status().message(), server_->address()));
  EXPECT_TRUE(absl::StrContains(second.status().message(), "--http"));
}

}  // namespace
}  // namespace dt
