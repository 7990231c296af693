#include "worker/shell/peer_checker.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

namespace dt {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

// Returns a socket bound to a port of the system's choice on loopback, and the port's address.
std::pair<UniqueFd, std::string> Bound() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return {std::move(fd), "127.0.0.1:" + std::to_string(ntohs(address.sin_port))};
}

TEST(PeerCheckerTest, AHostThatAcceptsOrRefusesAnswers) {
  const auto [listening, accepts] = Bound();
  ASSERT_EQ(listen(listening.get(), 4), 0);
  const auto [silent, refuses] = Bound();
  EXPECT_TRUE(FindUnreachable({accepts, refuses}, kPatience).empty());
}

// A full queue of connections drops further ones, as a cut network does.
TEST(PeerCheckerTest, AHostThatSaysNothingIsUnreachableOnceTheTimeIsOver) {
  const auto [listening, address] = Bound();
  ASSERT_EQ(listen(listening.get(), 0), 0);
  std::vector<std::string> mute = {address};
  std::vector<UniqueFd> pending;
  for (int i = 0; i < 8; ++i) {
    pending.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in to{};
    socklen_t size = sizeof(to);
    ASSERT_EQ(getsockname(listening.get(), reinterpret_cast<sockaddr*>(&to), &size), 0);
    // The first ones fill the queue; the others wait.
    (void)connect(pending.back().get(), reinterpret_cast<sockaddr*>(&to), size);
  }
  EXPECT_EQ(FindUnreachable(mute, absl::Milliseconds(300)), mute);
}

TEST(PeerCheckerTest, AnAddressThatCannotBeReadIsUnreachable) {
  const std::vector<std::string> wrong = {"", "no-port", "127.0.0.1:no-port"};
  EXPECT_EQ(FindUnreachable(wrong, kPatience), wrong);
}

TEST(PeerCheckerTest, AQuestionIsAnsweredWithItsNumber) {
  PeerChecker& checker = PeerChecker::Start();
  const auto [silent, refuses] = Bound();
  checker.Check({.number = 7, .addresses = {refuses, "no-port"}});
  pollfd wake = {checker.wake_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&wake, 1, 20000), 1);
  const std::vector<PeersChecked> answers = checker.Take();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].number, 7u);
  EXPECT_EQ(answers[0].unreachable, std::vector<std::string>{"no-port"});
}

}  // namespace
}  // namespace dt
