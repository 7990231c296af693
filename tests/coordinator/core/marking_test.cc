// marking_test.cc: drains that people ask for, quarantines of workers that fail what others can do,
// and what both cost trials: nothing.
#include "coordinator/core/marking.h"

#include <gtest/gtest.h>

#include "coordinator/core/marks.h"
#include "coordinator/core/snapshot.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class MarkingTest : public CoreTest {
 protected:
  absl::StatusOr<v1::MarkWorkerResponse> Mark(const std::string& worker, bool drain,
                                              const std::string& reason = "") {
    v1::MarkWorkerRequest request;
    request.set_worker(worker);
    request.set_drain(drain);
    request.set_who("ann");
    request.set_reason(reason);
    return Call<v1::MarkWorkerResponse>(request);
  }
  v1::WorkerSummary SummaryOf(const std::string& name) {
    const auto response = Call<v1::ListWorkersResponse>(v1::ListWorkersRequest());
    EXPECT_TRUE(response.ok()) << response.status();
    for (const v1::WorkerSummary& one : response->workers()) {
      if (one.worker() == name) return one;
    }
    ADD_FAILURE() << "worker " << name << " is not listed";
    return {};
  }
  v1::ExperimentSpec WithRetries(int retries, int trials) {
    v1::ExperimentSpec spec = Trials(trials);
    spec.mutable_base()->mutable_retries()->set_max(retries);
    spec.mutable_base()->mutable_retries()->set_backoff_seconds(0);
    return spec;
  }
  TrialId TrialAt(const std::string& worker) {
    const v1::Assigned* assigned = AssignedTo(worker);
    if (assigned == nullptr) return {};
    return {assigned->experiment(), assigned->trial()};
  }
  // The attempt that the worker has ends so, before it did anything.
  TrialId EndAt(const std::string& worker, v1::Cause cause) {
    const TrialId id = TrialAt(worker);
    EXPECT_NE(id, TrialId{}) << worker << " has nothing to end";
    Follow(worker);
    SendItems(worker, {Ended(worker, cause)});
    Leave(worker);
    return id;
  }
  TrialId Crash(const std::string& worker) { return EndAt(worker, v1::CAUSE_TRAINER_CRASH); }
  // "good" trains a long trial of its own and saves when it is asked to; "bad" gets the rest.
  ExperimentId OneGoodOneBad(int retries = 3, int trials = 6) {
    AddWorker("good");
    long_ = {Submit(OneTrial()), 1};
    Train({"good"});
    AddWorker("bad");
    return Submit(WithRetries(retries, trials));
  }
  void CrashUntilQuarantined() {
    for (int i = 0; i < 20 && state_.durable.marks.empty(); ++i) {
      GoodGoesOn(++step_);
      Crash("bad");
    }
    EXPECT_EQ(state_.durable.marks.size(), 1u);
  }
  // "good" ends so, and takes nothing more.
  void RetireGood(v1::Cause cause) {
    ASSERT_TRUE(Mark("good", true).ok());
    SendItems("good", {Ended("good", cause)});
    Leave("good");
  }
  void GoodGoesOn(uint64_t step) { SendItems("good", {Checkpoint("good", step)}); }

  TrialId long_;
  uint64_t step_ = 1;  // that "good" saved last
};

TEST_F(MarkingTest, ADrainedWorkerSavesItsTrialWhichGoesOnElsewhereAtNoCost) {
  AddWorker("a");
  v1::ExperimentSpec spec = OneTrial();
  spec.mutable_base()->mutable_retries()->set_max(0);
  const TrialId id{Submit(spec), 1};
  Train({"a"});
  const auto marked = Mark("a", true, "new disk");
  ASSERT_TRUE(marked.ok()) << marked.status();
  EXPECT_TRUE(marked->changed());
  EXPECT_TRUE(marked->known());
  EXPECT_EQ(marked->stopping(), 1u);
  EXPECT_TRUE(AssignedTo("a")->checkpoint_stop());
  EXPECT_EQ(SummaryOf("a").state(), "draining");
  EXPECT_EQ(SummaryOf("a").mark(), "drained by ann: new disk");
  SendItems("a", {Checkpoint("a", 40), Ended("a", v1::CAUSE_PREEMPTED, 40)});
  Leave("a");
  EXPECT_EQ(SummaryOf("a").state(), "drained");
  EXPECT_TRUE(TrialOf(id).attempts.back().uncharged);
  EXPECT_EQ(TrialOf(id).tries.losses, 0u);
  ExpectIdle("a");
  EXPECT_EQ(Explain(id),
            "waits: needs 1 cpu slot; 0 cpu workers connected, 0 free, 1 more drained by ann");
  AddWorker("b");
  ExpectOrders("b", id, 0);
  EXPECT_EQ(AssignedTo("b")->resume().step(), 40u);
}

TEST_F(MarkingTest, ADrainHoldsBeforeTheWorkerConnectsAndAfterARestartUntilItIsTakenBack) {
  const auto marked = Mark("a", true);
  ASSERT_TRUE(marked.ok()) << marked.status();
  EXPECT_FALSE(marked->known());
  const TrialId id{Submit(OneTrial()), 1};
  AddWorker("a");
  ExpectIdle("a");
  RestartCoordinator();
  Connect("a");
  ExpectIdle("a");
  EXPECT_EQ(SummaryOf("a").state(), "drained");
  const auto again = Mark("a", true);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->changed());
  EXPECT_TRUE(last_.records.empty());
  ASSERT_TRUE(Mark("a", false)->changed());
  ExpectOrders("a", id, 0);
  EXPECT_FALSE(Mark("a", false)->changed());
  EXPECT_EQ(SummaryOf("a").mark(), "");
  EXPECT_TRUE(state_.durable.marks.empty());
}

TEST_F(MarkingTest, ADrainedNameThatIsNotConnectedIsListed) {
  AddWorker("b");
  ASSERT_TRUE(Mark("a", true, "is away").ok());
  ASSERT_TRUE(Mark("c", true).ok());
  EXPECT_EQ(SummaryOf("a").state(), "lost");
  EXPECT_EQ(SummaryOf("a").mark(), "drained by ann: is away");
  EXPECT_EQ(SummaryOf("b").mark(), "");
  v1::ListWorkersRequest page;
  page.set_page_size(1);
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) {
    const auto response = Call<v1::ListWorkersResponse>(page);
    ASSERT_TRUE(response.ok()) << response.status();
    for (const auto& one : response->workers()) names.push_back(one.worker());
    page.set_page_token(response->next_page_token());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(page.page_token(), "");
}

TEST_F(MarkingTest, AMarkNeedsTheNameOfAWorker) {
  EXPECT_EQ(Mark("", true).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Mark(std::string(limits::kNameBytes + 1, 'x'), true).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Mark("\xff", true).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(last_.records.empty());
}

TEST_F(MarkingTest, AWorkerThatFailsWhatOthersDoIsLeftAloneAndItsTrialsPayNothing) {
  const ExperimentId id = OneGoodOneBad();
  const TrialId first = Crash("bad");
  GoodGoesOn(10);
  Crash("bad");
  EXPECT_NE(AssignedTo("bad"), nullptr) << "two ends are no row";
  Crash("bad");
  // Three ends may be of one trial, which is then at fault itself.
  while (state_.durable.marks.empty() && AssignedTo("bad") != nullptr) Crash("bad");
  ExpectIdle("bad");
  EXPECT_EQ(SummaryOf("bad").state(), "quarantined");
  EXPECT_NE(SummaryOf("bad").mark().find("crashed here"), std::string::npos);
  for (const Trial& trial : GetExperiment(state_.durable, id).trials) {
    EXPECT_EQ(trial.tries.crashes, 0u);
    EXPECT_EQ(trial.state, v1::TRIAL_PENDING);
    for (const Attempt& attempt : trial.attempts) EXPECT_TRUE(attempt.uncharged);
  }
  EXPECT_NE(Explain(first).find("1 more quarantined"), std::string::npos) << Explain(first);
}

TEST_F(MarkingTest, TrialsThatFailedByItArePutBackOnce) {
  const ExperimentId id = OneGoodOneBad(0);
  GoodGoesOn(10);
  for (int i = 0; i < 2; ++i) Crash("bad");
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_FAILED);
  GoodGoesOn(20);
  Crash("bad");
  for (uint32_t trial = 1; trial <= 3; ++trial) {
    EXPECT_EQ(StateOfTrial({id, trial}), v1::TRIAL_PENDING) << trial;
  }
  EXPECT_EQ(GetExperiment(state_.durable, id).failed, 0u);
  // By another worker they fail for good.
  AddWorker("worse");
  GoodGoesOn(30);
  for (int i = 0; i < 3; ++i) Crash("worse");
  GoodGoesOn(40);
  EXPECT_EQ(SummaryOf("worse").state(), "quarantined");
  for (uint32_t trial = 1; trial <= 3; ++trial) {
    EXPECT_EQ(StateOfTrial({id, trial}), v1::TRIAL_FAILED) << trial;
  }
}

TEST_F(MarkingTest, WhereNobodyGetsOnTheFileIsAtFaultAndNoWorker) {
  OneGoodOneBad();
  for (int i = 0; i < 6; ++i) Crash("bad");
  EXPECT_TRUE(state_.durable.marks.empty());
  GoodGoesOn(10);
  EXPECT_EQ(SummaryOf("bad").state(), "quarantined") << "as soon as another shows that it can";
}

TEST_F(MarkingTest, LossesAndResultsSpeakAgainstNoWorker) {
  OneGoodOneBad(10, 12);
  for (const v1::Cause cause : {v1::CAUSE_OOM, v1::CAUSE_CONFIG, v1::CAUSE_HANG,
                                v1::CAUSE_COLLECTIVE, v1::CAUSE_PREEMPTED}) {
    EndAt("bad", cause);
    Advance(absl::Seconds(5));
  }
  GoodGoesOn(10);
  for (int i = 0; i < 4; ++i) {
    Follow("bad");
    Heartbeat("bad");
    Disconnect("bad");
    Advance(limits::kLease + absl::Seconds(5));
    workers_.at("bad").holding.clear();
    Connect("bad");
  }
  EXPECT_TRUE(state_.durable.marks.empty());
  EXPECT_TRUE(state_.durable.streaks.empty());
}

TEST_F(MarkingTest, AfterItsRestItTakesOneTrialAgainTheNextTimeTwiceAsLate) {
  OneGoodOneBad(0);
  CrashUntilQuarantined();
  RetireGood(v1::CAUSE_FINISHED);
  Advance(limits::kQuarantineFirst - absl::Minutes(1));
  ExpectIdle("bad");
  Advance(absl::Minutes(1) + absl::Seconds(2));
  EXPECT_NE(SummaryOf("bad").mark().find("takes one trial again"), std::string::npos);
  const TrialId tried = Crash("bad");
  EXPECT_TRUE(TrialOf(tried).attempts.back().uncharged);
  ExpectIdle("bad");
  Advance(2 * limits::kQuarantineFirst - absl::Minutes(1));
  ExpectIdle("bad");
  Advance(absl::Minutes(1) + absl::Seconds(2));
  const TrialId now = TrialAt("bad");
  ASSERT_NE(now, TrialId{});
  Train({"bad"});
  SendItems("bad", {Checkpoint("bad", 10)});
  EXPECT_EQ(SummaryOf("bad").mark(), "") << "progress releases it";
  EXPECT_EQ(SummaryOf("bad").state(), "busy");
  EXPECT_EQ(StateOfTrial(now), v1::TRIAL_RUNNING);
}

TEST_F(MarkingTest, ATryThatFailsWhereNobodyElseGetsOnIsPaidByItsTrial) {
  OneGoodOneBad(2, 3);
  CrashUntilQuarantined();
  RetireGood(v1::CAUSE_PREEMPTED);
  Advance(limits::kQuarantineFirst + absl::Seconds(2));
  const TrialId tried = Crash("bad");
  EXPECT_FALSE(TrialOf(tried).attempts.back().uncharged);
  EXPECT_EQ(TrialOf(tried).tries.crashes, 1u);
  EXPECT_EQ(SummaryOf("bad").state(), "quarantined");
}

TEST_F(MarkingTest, APersonReleasesAWorkerFromQuarantine) {
  OneGoodOneBad();
  CrashUntilQuarantined();
  ASSERT_TRUE(Mark("bad", false)->changed());
  EXPECT_TRUE(state_.durable.marks.empty());
  EXPECT_NE(AssignedTo("bad"), nullptr);
}

TEST_F(MarkingTest, ARestartAndASnapshotKnowOfMarksAndOfWhatCountsAgainstWorkers) {
  OneGoodOneBad();
  GoodGoesOn(1);
  Crash("bad");
  Crash("bad");
  const DurableState before = state_.durable;
  ASSERT_EQ(before.streaks.at("bad").attempts.size(), 2u);
  const auto loaded = LoadSnapshot(SaveSnapshot(before, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(before));
  RestartCoordinator();
  Connect("good");
  Connect("bad");
  CrashUntilQuarantined();
  ASSERT_TRUE(Mark("gone", true, "sold").ok());
  const auto marked = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(marked.ok()) << marked.status();
  EXPECT_EQ(HashOf(marked->state), HashOf(state_.durable));
  RestartCoordinator();
  Connect("bad");
  ExpectIdle("bad");
  EXPECT_EQ(SummaryOf("bad").state(), "quarantined");
}

TEST_F(MarkingTest, ADeletedExperimentSpeaksAgainstNobody) {
  AddWorker("bad");
  const ExperimentId id = Submit(WithRetries(0, 2));
  Crash("bad");
  Crash("bad");
  EXPECT_EQ(state_.durable.streaks.size(), 1u);
  v1::DeleteRequest request;
  request.set_experiment(id);
  ASSERT_TRUE(Call<v1::DeleteResponse>(request).ok());
  EXPECT_TRUE(state_.durable.streaks.empty());
}

}  // namespace
}  // namespace dt
