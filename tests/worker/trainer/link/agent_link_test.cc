// agent_link_test.cc: an agent's frames reach a busy trainer. process_test.cc shows that the
// process ends with its agent.
#include "worker/trainer/link/agent_link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/await.h"

namespace dt::trainer {
namespace {

using ::dt::testing::Await;
using ::dt::testing::kPatience;

class AgentLinkTest : public ::testing::Test {
 protected:
  AgentLinkTest() {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
    agent_ = pair[0];
    // The link lives as long as the process, and so does the agent's end: closing that end ends the
    // process.
    static std::vector<std::unique_ptr<AgentLink, void (*)(AgentLink*)>> all;
    link_ = all.emplace_back(new AgentLink(pair[1]), [](AgentLink*) {}).get();
  }

  void Say(const frames::ToTrainer& frame) {
    const std::string line = frames::ToLine(frame) + "\n";
    ASSERT_EQ(send(agent_, line.data(), line.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size()));
  }
  std::shared_ptr<Conversation> Start(const std::string& token) {
    frames::Start start;
    start.token = token;
    Say(start);
    return link_->AwaitStart().conversation;
  }

  int agent_ = -1;
  AgentLink* link_ = nullptr;
};

TEST_F(AgentLinkTest, WishesAddressesAndRegistrationsReachTheAttemptTheyAreFor) {
  const auto attempt = Start("one");
  EXPECT_EQ(attempt->CurrentStopRequest(), StopRequest::kNone);
  Say(frames::Stop{"another", false});
  Say(frames::Connect{"one", "10.0.0.1:99"});
  const absl::StatusOr<std::string> address = attempt->AwaitStoreAddress(kPatience);
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(*address, "10.0.0.1:99");
  EXPECT_EQ(attempt->CurrentStopRequest(), StopRequest::kNone)
      << "the stop was for another attempt";
  Say(frames::Registered{"one", 30});
  Say(frames::Registered{"one", 20});
  attempt->AwaitRegistered(30, kPatience);
  Say(frames::Stop{"one", true});
  EXPECT_TRUE(
      Await([&] { return attempt->CurrentStopRequest() == StopRequest::kStopAfterCheckpoint; }));
  EXPECT_EQ(attempt->RegisteredStep(), 30u) << "an older one does not take it back";
}

TEST_F(AgentLinkTest, AStopEndsTheWaitForRankZero) {
  const auto attempt = Start("one");
  std::thread agent([&] { Say(frames::Stop{"one", false}); });
  const absl::StatusOr<std::string> address = attempt->AwaitStoreAddress(kPatience);
  agent.join();
  ASSERT_FALSE(address.ok());
  EXPECT_EQ(address.status().code(), kCancelledError);
}

TEST_F(AgentLinkTest, ACollectiveThatDoesNotLetGoIsAbortedFromAnotherThreadAndNeverAfterItLeft) {
  const auto attempt = Start("one");
  std::atomic<int> aborted{0};
  attempt->AbortWith([&] { ++aborted; });
  Say(frames::Stop{"one", false});
  EXPECT_TRUE(Await([&] { return aborted == 1; })) << "the training thread has not left";
  attempt->AbortWith({});
  const auto next = Start("two");
  next->AbortWith([&] { ++aborted; });
  next->AbortWith({});  // it left by itself
  Say(frames::Stop{"two", false});
  EXPECT_TRUE(Await([&] { return next->CurrentStopRequest() == StopRequest::kStop; }));
  EXPECT_EQ(aborted, 1);
}

TEST_F(AgentLinkTest, ALostPeerEndsTheCollectiveAndTheRankWaitsForOrders) {
  const auto attempt = Start("one");
  std::atomic<int> aborted{0};
  attempt->AbortWith([&] { ++aborted; });
  Say(frames::PeerLost{"another"});
  Say(frames::PeerLost{"one"});
  EXPECT_TRUE(Await([&] { return aborted == 1; }));
  EXPECT_TRUE(attempt->PeerIsLost());
  EXPECT_EQ(attempt->CurrentStopRequest(), StopRequest::kNone) << "it is not to leave";
  const frames::Rescue order{"one", 17, "10.0.0.2:4711"};
  std::thread agent([&] { Say(order); });
  EXPECT_EQ(attempt->AwaitRescue(kPatience), order);
  agent.join();
  attempt->AbortWith([&] { ++aborted; });
  Say(frames::PeerLost{"one"});
  Say(frames::Registered{"one", 1});
  attempt->AwaitRegistered(1, kPatience);
  EXPECT_EQ(attempt->RegisteredStep(), 1u);
  EXPECT_EQ(aborted, 1) << "it meets the ranks that are left";
  attempt->AbortWith({});
}

TEST_F(AgentLinkTest, AStopEndsTheWaitForOrdersToSave) {
  for (const bool checkpoint : {false, true}) {
    const auto attempt = Start(checkpoint ? "one" : "two");
    std::thread agent([&] { Say(frames::Stop{checkpoint ? "one" : "two", checkpoint}); });
    EXPECT_EQ(attempt->AwaitRescue(kPatience), std::nullopt);
    agent.join();
  }
}

}  // namespace
}  // namespace dt::trainer
