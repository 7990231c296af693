// connection_watch_test.cc: a client that floods the gRPC port with useless bytes is cut off, and
// no other client.
#include "coordinator/rpc/connection_watch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string>

#include "common/access_limits.h"
#include "common/unique_fd.h"
#include "coordinator/rpc/acceptor.h"
#include "tests/testing/await.h"
#include "tests/testing/endless_header.h"
#include "tests/testing/loopback.h"
#include "tests/testing/rpc_fixture.h"

namespace dt {
namespace {

using testing::kEndlessHeaderBytes;
using testing::Sends;

class ConnectionWatchTest : public RpcTest {};

TEST_F(ConnectionWatchTest, AHeaderThatNeverEndsIsCutOffAndOthersAreServed) {
  Serve();
  AnswerStatus();
  const UniqueFd flood = testing::ConnectLoopback(server_->address());
  EXPECT_LT(testing::SendsUntilCutOff(flood), kEndlessHeaderBytes);
  v1::GetStatusResponse response;
  const grpc::Status status = GetStatus(&response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// Sends less than the allowed burst, then pauses, and so on.
TEST_F(ConnectionWatchTest, AFloodWithPausesIsStillAFlood) {
  Serve();
  const UniqueFd flood = testing::ConnectLoopback(server_->address());
  ASSERT_TRUE(Sends(flood, testing::EndlessHeaderOpening()));
  const std::string burst = [] {
    std::string frames;
    while (frames.size() < limits::kHeaderBytesReceived / 2) frames += testing::EndlessHeaderMore();
    return frames;
  }();
  int bursts = 0;
  EXPECT_TRUE(testing::Await([&] {
    pollfd pause{flood.get(), POLLRDHUP, 0};
    if (poll(&pause, 1, 2100) > 0) return true;  // it was reset, within two looks
    return !Sends(flood, burst) || ++bursts > 5;
  }));
  EXPECT_LE(bursts, 5);
}

// Reads a connection on the thread that hands it over, for as long as bytes come, as gRPC does.
class ReadingSink : public Acceptor::Sink {
 public:
  explicit ReadingSink(std::atomic<bool>& cut_off) : cut_off_(cut_off) {}
  void HandleNewConnection(NewConnectionParameters* connection) override {
    const UniqueFd fd(connection->fd);
    const absl::Time deadline = absl::Now() + absl::FromChrono(testing::kPatience);
    std::string bytes(64 << 10, '\0');
    while (absl::Now() < deadline) {
      pollfd readable{fd.get(), POLLIN, 0};
      if (poll(&readable, 1, 100) <= 0) continue;
      if (read(fd.get(), bytes.data(), bytes.size()) > 0) continue;
      cut_off_ = true;
      return;
    }
  }

 private:
  std::atomic<bool>& cut_off_;
};

TEST(ConnectionWatchAloneTest, AFloodIsCutOffThoughTheThreadThatAcceptsReadsIt) {
  std::atomic<bool> cut_off = false;
  ConnectionWatch watch;
  const auto acceptor = Acceptor::Listen("127.0.0.1:0");
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  (*acceptor)->Start(std::make_unique<ReadingSink>(cut_off), watch);
  const UniqueFd flood = testing::ConnectLoopback((*acceptor)->address());
  EXPECT_LT(testing::SendsUntilCutOff(flood), kEndlessHeaderBytes);
  EXPECT_TRUE(testing::Await([&] { return cut_off.load(); }));
  (*acceptor)->Stop();
}

TEST_F(ConnectionWatchTest, ManyCallsOfOneConnectionAreNoFlood) {
  Serve();
  AnswerStatus();
  const std::string padding(6000, 'x');  // within the limit for headers
  v1::GetStatusResponse response;
  for (size_t sent = 0; sent < 3 * limits::kHeaderBytesReceived; sent += padding.size()) {
    grpc::ClientContext context;
    SetDeadline(context);
    context.AddMetadata("x-padding", absl::StrCat(sent, padding));
    const grpc::Status status = control_->GetStatus(&context, {}, &response);
    ASSERT_TRUE(status.ok()) << sent << ": " << status.error_message();
  }
  EXPECT_EQ(channel_->GetState(false), GRPC_CHANNEL_READY);
}

TEST(ConnectionWatchAloneTest, AClosedConnectionIsForgottenAndAUnixSocketIsNotWatched) {
  ConnectionWatch watch;
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd one(pair[0]);
  const UniqueFd other(pair[1]);
  watch.Add(one.get());
  EXPECT_EQ(watch.size(), 0u);

  const UniqueFd listening(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  ASSERT_EQ(bind(listening.get(), reinterpret_cast<sockaddr*>(&name), size), 0);
  ASSERT_EQ(listen(listening.get(), 1), 0);
  ASSERT_EQ(getsockname(listening.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
  UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&name), size), 0);
  const UniqueFd accepted(accept(listening.get(), nullptr, nullptr));
  watch.Add(accepted.get());
  sockaddr_in mine{};
  ASSERT_EQ(getsockname(client.get(), reinterpret_cast<sockaddr*>(&mine), &size), 0);
  EXPECT_EQ(watch.Find(absl::StrCat("ipv4:127.0.0.1:", ntohs(mine.sin_port))).size(), 1u);
  EXPECT_TRUE(watch.Find("ipv4:127.0.0.1:1").empty());
  // The same port on another host is another connection.
  EXPECT_TRUE(watch.Find(absl::StrCat("ipv4:127.0.0.2:", ntohs(mine.sin_port))).empty());
  EXPECT_EQ(watch.Find(absl::StrCat("ipv6:%5B::ffff:127.0.0.1%5D:", ntohs(mine.sin_port))).size(),
            1u);
  watch.Sweep();
  EXPECT_EQ(watch.size(), 1u);
  client = UniqueFd();
  EXPECT_TRUE(testing::Await([&] {
    watch.Sweep();
    return watch.size() == 0;
  }));
}

}  // namespace
}  // namespace dt
