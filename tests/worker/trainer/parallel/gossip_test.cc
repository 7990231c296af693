// gossip_test.cc: which rank sends to which, that nothing is lost on the way, and how long a rank
// waits. Ranks are threads here, over Gloo.
#include "worker/trainer/parallel/gossip.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

#include "tests/testing/await.h"

namespace dt::trainer {
namespace {

constexpr int64_t kNumbers = 1000;
constexpr double kBytes = 4.0 * kNumbers;

// A rank with two parameters and a moment; the test makes its steps.
class Rank {
 public:
  Rank(int rank, int ranks, const SyncSteps& sync, const Rendezvous& meeting)
      : group_(std::make_shared<Group>(
            *device_,
            GroupOptions{
                .rank = rank, .size = ranks, .key_prefix = "a", .listen_host = "127.0.0.1"})) {
    const absl::Status joined = group_->Join(*device_, meeting);
    EXPECT_TRUE(joined.ok()) << joined;
    parameters_ = {PieceOf("one", kNumbers - 10, rank), PieceOf("two", 10, rank)};
    moments_ = {PieceOf("one.m", kNumbers, rank)};
    strategy_ = std::make_unique<GossipStrategy>(
        parameters_, moments_, group_, timeline_,
        GossipStrategy::Options{sync, {.bucket_mb = 25, .counts = {}}});
    swapper_ = MakeSwapper({Axis::kData, group_, timeline_, nullptr}, device_->Torch());
  }
  // Makes a step in which the optimizer adds `update` to each number.
  void Step(int64_t step, float update) {
    at::NoGradGuard no_grad;
    timeline_->Restart();
    strategy_->BeginStep({.number = step});
    for (Piece& piece : parameters_) piece.value.add_(update);
    for (Piece& piece : moments_) piece.value.add_(2 * update);
    strategy_->AfterUpdate(step);
  }
  void Set(float value) {
    at::NoGradGuard no_grad;
    for (Piece& piece : parameters_) piece.value.fill_(value);
  }
  // Returns the value that all its numbers share.
  float value() const {
    const at::Tensor first = parameters_[0].value, second = parameters_[1].value;
    EXPECT_TRUE(at::equal(first, first[0].expand_as(first)));
    EXPECT_TRUE(at::equal(second, first[0].expand_as(second)));
    return first[0].item<float>();
  }
  float moment() const { return moments_[0].value[0].item<float>(); }
  CommTotals Totals() { return strategy_->Totals(); }
  // Returns the swapper, which works beside the strategy's own.
  Swapper& swapper() { return *swapper_; }

 private:
  static Piece PieceOf(const char* name, int64_t numbers, int rank) {
    return {name, {numbers}, 0, at::full({numbers}, static_cast<float>(rank)), {}, {}};
  }

  const std::unique_ptr<Device> device_ = OpenCpu();
  const std::shared_ptr<Timeline> timeline_ = device_->NewTimeline();
  std::shared_ptr<Group> group_;
  std::vector<Piece> parameters_, moments_;
  std::unique_ptr<GossipStrategy> strategy_;
  std::unique_ptr<Swapper> swapper_;
};

class Gang {
 public:
  Gang(int ranks, const SyncSteps& sync) : ranks_(static_cast<size_t>(ranks)) {
    const auto first = HostStore("127.0.0.1", 0);
    EXPECT_TRUE(first.ok()) << first.status();
    OnEach([&](int rank) {
      const auto meeting = rank == 0 ? first : ConnectStore(first->address, [] { return false; });
      EXPECT_TRUE(meeting.ok()) << meeting.status();
      ranks_[static_cast<size_t>(rank)] = std::make_unique<Rank>(rank, ranks, sync, *meeting);
    });
  }
  // Runs each rank on its own thread.
  void OnEach(const std::function<void(int)>& run) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
      threads.emplace_back([&run, rank] { run(rank); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  Rank& operator[](int rank) { return *ranks_.at(static_cast<size_t>(rank)); }

 private:
  std::vector<std::unique_ptr<Rank>> ranks_;
};

TEST(GossipTest, PeersHaveEachOtherAndReachEveryoneInTurn) {
  for (const int ranks : {2, 4, 16}) {
    for (int rank = 0; rank < ranks; ++rank) {
      std::set<int> reached = {rank};
      for (int64_t step = 1; (1 << (step - 1)) < ranks; ++step) {
        EXPECT_EQ(PeerOf(PeerOf(rank, ranks, step), ranks, step), rank);
        for (const int known : std::set<int>(reached)) reached.insert(PeerOf(known, ranks, step));
      }
      EXPECT_EQ(reached.size(), static_cast<size_t>(ranks)) << "after log2 steps";
    }
  }
}

TEST(GossipTest, AllAreEqualAfterASyncAndKeepTheirStepsHoweverLateMessagesCome) {
  for (const int ranks : {2, 4}) {
    Gang gang(ranks, SyncSteps(12, {}));
    gang.OnEach([&](int rank) {
      for (int64_t step = 1; step <= 24; ++step) {
        // Ranks drift apart in time: each falls behind now and then.
        if (step % ranks == rank) std::this_thread::yield();
        gang[rank].Step(step, static_cast<float>(rank + 1));
      }
    });
    // All start with rank 0's parameters; moments start unchanged.
    const float mean_step = static_cast<float>(ranks + 1) / 2;
    const float mean_rank = static_cast<float>(ranks - 1) / 2;
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_NEAR(gang[rank].value(), 24 * mean_step, 8 * mean_step) << rank;
      EXPECT_EQ(gang[rank].value(), gang[0].value()) << "the same bits";
      EXPECT_NEAR(gang[rank].moment(), mean_rank + 48 * mean_step, 1e-3);
      EXPECT_EQ(gang[rank].moment(), gang[0].moment());
    }
  }
}

TEST(GossipTest, RanksApproachEachOtherWithoutAFullSync) {
  Gang gang(4, SyncSteps(1000, {}));
  gang.OnEach([&](int rank) {
    gang[rank].Set(static_cast<float>(rank));
    for (int64_t step = 1; step <= 60; ++step) gang[rank].Step(step, 0);
  });
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_NEAR(gang[rank].value(), gang[0].value(), 0.05) << rank;
    EXPECT_NEAR(gang[rank].value(), 1.5, 0.75) << "late messages shift it a little";
  }
}

TEST(GossipTest, AStandingPeerDelaysOthersOnlyAfterFourSteps) {
  Gang gang(2, SyncSteps(100, {10}));
  const int64_t latest = GossipStrategy::kLatest;
  for (int64_t step = 1; step <= latest; ++step) gang[0].Step(step, 1);
  EXPECT_EQ(gang[0].value(), static_cast<float>(latest)) << "its own steps alone";
  auto next = std::async(std::launch::async, [&] { gang[0].Step(latest + 1, 1); });
  EXPECT_EQ(next.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout)
      << "the first message is by four steps late";
  gang[1].Step(1, 3);
  ASSERT_EQ(next.wait_for(dt::testing::kPatience), std::future_status::ready);
  EXPECT_EQ(gang[0].value(), static_cast<float>(latest + 1) + 1) << "half of 3 - 1 is mixed in";
  auto rest = std::async(std::launch::async, [&] {
    for (int64_t step = latest + 2; step <= 10; ++step) gang[0].Step(step, 1);
  });
  for (int64_t step = 2; step <= 10; ++step) gang[1].Step(step, 3);
  rest.get();
  EXPECT_NEAR(gang[0].value(), 20, 4) << "ten steps of 1 and of 3";
  EXPECT_EQ(gang[1].value(), gang[0].value());
}

TEST(SwapTest, FinishesWithOnePeerWhileAnotherStandsStillAndIsAbandonedAtTheEnd) {
  Gang gang(4, SyncSteps(1000, {}));
  const auto swap = [&](int rank, int peer) {
    const at::Tensor mine = at::full({kNumbers}, static_cast<float>(rank)), theirs = mine.clone();
    return std::pair(gang[rank].swapper().Begin(peer, mine, theirs), theirs);
  };
  const auto [with_two, from_two] = swap(0, 2);
  const auto [with_one, from_one] = swap(0, 1);
  const auto [with_none, from_none] = swap(1, 0);
  EXPECT_TRUE(dt::testing::Await([&, &swap = with_one] { return swap->Done(); }));
  const std::optional<Traffic> traffic = with_one->Wait();
  ASSERT_TRUE(traffic.has_value());
  EXPECT_EQ(traffic->bytes, kBytes);
  EXPECT_TRUE(at::equal(from_one, at::ones({kNumbers})));
  EXPECT_FALSE(with_two->Done());
}

TEST(GossipTest, CountsTheSentBytesAndTheSync) {
  constexpr int kEvery = 8;
  for (const int ranks : {2, 4}) {
    Gang gang(ranks, SyncSteps(kEvery, {}));
    gang.OnEach([&](int rank) {
      for (int64_t step = 1; step <= 2 * kEvery; ++step) gang[rank].Step(step, 1);
    });
    for (int rank = 0; rank < ranks; ++rank) {
      const CommTotals totals = gang[rank].Totals();
      ASSERT_EQ(totals.traffic.size(), 2u);
      for (const Traffic& traffic : totals.traffic) {
        const bool swap = traffic.op == CollectiveOp::kSend;
        EXPECT_EQ(traffic.axis, Axis::kData);
        // For each step: one exchange with a peer after every step but the last of a period; at a
        // sync, the parameters and the one moment.
        EXPECT_NEAR(traffic.bytes, swap ? kBytes * (kEvery - 1) / kEvery : 2 * kBytes / kEvery,
                    1e-6);
        EXPECT_GT(traffic.seconds, 0);
      }
      EXPECT_TRUE(gang[rank].Totals().traffic.empty()) << "since the last call";
    }
  }
}

TEST(GossipTest, CountsSentBytesInTheStepThatSentThem) {
  Gang gang(2, SyncSteps(1000, {}));
  for (int64_t step = 1; step <= 3; ++step) {
    gang[0].Step(step, 1);
    const CommTotals totals = gang[0].Totals();
    ASSERT_EQ(totals.traffic.size(), 1u) << "step " << step;
    EXPECT_EQ(totals.traffic[0].bytes, kBytes) << "step " << step;
  }
  for (int64_t step = 1; step <= 3; ++step) gang[1].Step(step, 1);
}

}  // namespace
}  // namespace dt::trainer
