// worker_fault_test.cc: ends that are the fault of a worker's host, and workers that come back.
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class WorkerFaultTest : public CoreTest {
 protected:
  static v1::ExperimentSpec OnceOnly() {
    v1::ExperimentSpec spec = OneTrial();
    spec.mutable_base()->mutable_retries()->set_max(0);
    return spec;
  }
  // Waits until the trial has this many attempts, after its backoff.
  bool AwaitAttempt(TrialId id, size_t attempts) {
    for (int i = 0; i < 100 && TrialOf(id).attempts.size() < attempts; ++i) {
      Advance(absl::Seconds(5));
    }
    return TrialOf(id).attempts.size() == attempts;
  }
};

TEST_F(WorkerFaultTest, AWorkersFaultNeverCostsTheTrial) {
  AddWorker("a");
  const TrialId id{Submit(OnceOnly()), 1};
  for (size_t attempt = 1; attempt <= 5; ++attempt) {
    ASSERT_TRUE(AwaitAttempt(id, attempt)) << attempt;
    Follow("a");
    SendItems("a", {Ended("a", v1::CAUSE_WORKER_FAULT)});
    Leave("a");
    EXPECT_EQ(StateOfTrial(id), v1::TRIAL_PENDING);
    EXPECT_TRUE(TrialOf(id).attempts.back().uncharged);
  }
  EXPECT_EQ(TrialOf(id).tries.losses, 0u);
  EXPECT_EQ(TrialOf(id).tries.crashes, 0u);
  ASSERT_TRUE(AwaitAttempt(id, 6));
  Train({"a"});
  Finish({"a"});
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FINISHED);
}

TEST_F(WorkerFaultTest, EachFaultInARowWaitsLonger) {
  AddWorker("a");
  v1::ExperimentSpec spec = OnceOnly();
  spec.mutable_base()->mutable_retries()->set_backoff_seconds(0);
  const TrialId id{Submit(spec), 1};
  std::vector<absl::Duration> waits;
  for (size_t attempt = 1; attempt <= 3; ++attempt) {
    const absl::Duration since = now_.steady;
    while (TrialOf(id).attempts.size() < attempt) Advance(absl::Seconds(1));
    waits.push_back(now_.steady - since);
    Follow("a");
    SendItems("a", {Ended("a", v1::CAUSE_WORKER_FAULT)});
    Leave("a");
  }
  EXPECT_GE(waits[1], limits::kWorkerFaultBackoff);
  EXPECT_GE(waits[2], 2 * limits::kWorkerFaultBackoff);
}

TEST_F(WorkerFaultTest, AWorkerThatIsStartedAgainTakesItsNameAtOnce) {
  AddWorker("a");
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_retries()->set_backoff_seconds(0);
  const TrialId id{Submit(spec), 1};
  Train({"a"});
  const InstanceId before = workers_.at("a").hello.instance();
  workers_.at("a").hello.add_ended_instances(before);
  const absl::Duration killed = now_.steady;
  Restart("a");
  EXPECT_EQ(FindWorker(state_.live, "a")->presence, Presence::kConnected);
  EXPECT_EQ(TrialOf(id).attempts[0].cause, v1::CAUSE_WORKER_LOST);
  EXPECT_EQ(TrialOf(id).attempts[0].message, "worker a ended and was started again");
  EXPECT_EQ(now_.steady, killed) << "no lease is waited for";
  ExpectOrders("a", id, 0);
  EXPECT_EQ(TrialOf(id).attempts.size(), 2u);
}

TEST_F(WorkerFaultTest, AWorkerThatDoesNotKnowTheHolderWaitsForItsLease) {
  AddWorker("a");
  const TrialId id{Submit(OneTrial()), 1};
  Train({"a"});
  workers_.at("a").hello.add_ended_instances(77);
  Restart("a");
  ExpectStreamEnded(absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_RUNNING);
}

}  // namespace
}  // namespace dt
