// retry_budget_test.cc: how long a trial waits before its next attempt, and which budget pays.
#include "coordinator/core/model/retry_budget.h"

#include <gtest/gtest.h>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class RetryingTest : public CoreTest {
 protected:
  static v1::ExperimentSpec WithRetries(double backoff, int max = 100) {
    v1::ExperimentSpec spec = OneTrial();
    spec.mutable_base()->mutable_retries()->set_max(max);
    spec.mutable_base()->mutable_retries()->set_backoff_seconds(backoff);
    return spec;
  }
  void End(const std::string& worker, v1::Cause cause, const std::string& message) {
    v1::Item item = Ended(worker, cause);
    item.mutable_ended()->set_message(message);
    SendItems(worker, {item});
    Leave(worker);
  }
  absl::Duration WaitOf(TrialId id) { return absl::Milliseconds(TrialOf(id).retry_after_ms); }
};

TEST_F(RetryingTest, AFirstLossIsFollowedAtOnceAndMoreBackOff) {
  AddWorker("a");
  Advance(limits::kStartupGrace);
  const TrialId id{Submit(WithRetries(10)), 1};
  for (const int seconds : {0, 10 * 2, 10 * 4}) {
    while (AssignedTo("a") == nullptr) Advance(absl::Seconds(1));
    Train({"a"});
    Disconnect("a");
    Advance(limits::kLease + absl::Seconds(1));
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
    EXPECT_EQ(WaitOf(id), absl::Seconds(seconds));
    workers_.at("a").holding.clear();
    Connect("a");
  }
}

TEST_F(RetryingTest, AWorkerThatLeavesHasItsTrialGoOnAtOnce) {
  AddWorker("a");
  const TrialId id{Submit(WithRetries(60)), 1};
  Train({"a"});
  AddWorker("b");
  workers_.at("a").draining = true;
  Heartbeat("a");
  End("a", v1::CAUSE_PREEMPTED, "the worker was told to shut down; the trainer saved and stopped");
  ExpectOrders("b", id, 0);
  EXPECT_EQ(TrialOf(id).tries.losses, 0u);
  EXPECT_EQ(
      TrialOf(id).attempts[0].message,
      "the worker was told to shut down; the trainer stopped; nothing is saved: it starts over");
}

TEST_F(RetryingTest, AStopReportsTheStepToResumeFromAndTheLostSteps) {
  AddWorker("a");
  const TrialId id{Submit(WithRetries(60)), 1};
  Train({"a"});
  SendItems("a", {Checkpoint("a", 40), Rows("a", 41, 47)});
  workers_.at("a").draining = true;
  Heartbeat("a");
  End("a", v1::CAUSE_PREEMPTED, "the worker was told to shut down; the trainer saved and stopped");
  EXPECT_EQ(TrialOf(id).attempts[0].message,
            "the worker was told to shut down; the trainer saved and stopped; it goes on from step "
            "40, and 7 steps are lost");
}

TEST_F(RetryingTest, AStopThatNobodyAskedForBacksOffAndSoCannotGoRound) {
  AddWorker("a");
  const TrialId id{Submit(WithRetries(10)), 1};
  Train({"a"});
  End("a", v1::CAUSE_PREEMPTED, "somebody sent the trainer SIGTERM");
  EXPECT_EQ(WaitOf(id), absl::Seconds(10));
}

TEST_F(RetryingTest, WithoutABackoffTheSecondCrashWaitsAndTheNextOnesLonger) {
  AddWorker("a");
  const TrialId id{Submit(WithRetries(0)), 1};
  for (const int seconds : {0, 1, 2, 4, 8}) {
    while (AssignedTo("a") == nullptr) Advance(absl::Seconds(1));
    Train({"a"});
    End("a", v1::CAUSE_TRAINER_CRASH, "x");
    EXPECT_EQ(WaitOf(id), absl::Seconds(seconds));
  }
}

TEST_F(RetryingTest, AFullDiskIsTheHostsAndTheTrialWaitsForSpace) {
  AddWorker("a", {.host = "host-7"});
  const TrialId id{Submit(WithRetries(0, 1)), 1};
  for (int i = 0; i < 4; ++i) {
    while (AssignedTo("a") == nullptr) Advance(absl::Seconds(1));
    Train({"a"});
    End("a", v1::CAUSE_TRAINER_CRASH, "write /data/ckpt/step-5: No space left on device");
    EXPECT_EQ(WaitOf(id), limits::kFullDiskWait * (1 << i));
    EXPECT_TRUE(TrialOf(id).attempts.back().uncharged);
  }
  EXPECT_EQ(TrialOf(id).tries.crashes, 0u);
  EXPECT_TRUE(state_.durable.streaks.empty());
  EXPECT_NE(Explain(id).find("a disk of host host-7 is full; free some space there"),
            std::string::npos)
      << Explain(id);
}

}  // namespace
}  // namespace dt
