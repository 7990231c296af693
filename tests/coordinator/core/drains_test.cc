// drains_test.cc: drains by users, quarantines of workers on which trials fail that succeed
// elsewhere, and their cost for trials, which is nothing.
#include "coordinator/core/run/drains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "coordinator/core/facts/drain_facts.h"
#include "coordinator/core/facts/snapshot.h"
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
  // Ends the worker's attempt with this cause before it did anything.
  TrialId EndAt(const std::string& worker, v1::Cause cause) {
    const TrialId id = TrialAt(worker);
    EXPECT_NE(id, TrialId{}) << worker << " has nothing to end";
    Follow(worker);
    v1::Item item = Ended(worker, cause);
    item.mutable_ended()->set_message(absl::StrCat("what broke on ", worker));
    SendItems(worker, {item});
    Leave(worker);
    return id;
  }
  TrialId Crash(const std::string& worker) { return EndAt(worker, v1::CAUSE_TRAINER_CRASH); }
  // Shares the trials of one experiment between "good" and "bad".
  ExperimentId OneGoodOneBad(int retries = 3, int trials = 12) {
    AddWorker("good");
    AddWorker("bad");
    return Submit(WithRetries(retries, trials));
  }
  // Finishes the trial on "good", which then starts the next one, after all crashes so far.
  void GoodGetsOn() {
    if (StateOfTrial(TrialAt("good")) != v1::TRIAL_RUNNING) Train({"good"});
    Finish({"good"});
    if (AssignedTo("good") != nullptr) Train({"good"});
  }
  // Expects that "bad" gets nothing for this time, while "good" goes on.
  void Rest(absl::Duration time) {
    ExpectIdle("bad");
    for (absl::Duration left = time; left > absl::ZeroDuration(); left -= absl::Minutes(5)) {
      ExpectIdle("bad");
      Advance(std::min(left, absl::Minutes(5)) - absl::Seconds(1));
      for (auto& [token, status] : workers_.at("good").holding) status.set_step(status.step() + 1);
      Heartbeat("good");
      Advance(absl::Seconds(1));
    }
    Advance(absl::Seconds(2));
  }
  // Crashes three times, with at least two trials.
  std::set<TrialId> CrashThrice() {
    std::set<TrialId> crashed;
    for (int i = 0; i < 3; ++i) crashed.insert(Crash("bad"));
    return crashed;
  }
  void CrashUntilQuarantined() {
    CrashThrice();
    EXPECT_TRUE(state_.durable.marks.empty());
    GoodGetsOn();
    EXPECT_EQ(state_.durable.marks.size(), 1u);
    EndAt("bad", v1::CAUSE_PREEMPTED);  // it had got this attempt meanwhile
  }
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
  for (const char* none_has_it : {"\xff", "x\ny", "beta/../gamma"}) {
    EXPECT_EQ(Mark(none_has_it, true).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Mark(none_has_it, false).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(last_.records.empty());
}

TEST_F(MarkingTest, AWorkerThatFailsTrialsThatSucceedElsewhereIsQuarantinedAtNoCost) {
  const ExperimentId id = OneGoodOneBad();
  const TrialId first = Crash("bad");
  Crash("bad");
  GoodGetsOn();
  GoodGetsOn();
  EXPECT_NE(AssignedTo("bad"), nullptr) << "two ends are no row";
  Crash("bad");
  EXPECT_EQ(SummaryOf("bad").state(), "busy") << "nothing got on since the third";
  GoodGetsOn();
  EXPECT_EQ(SummaryOf("bad").state(), "quarantined");
  EXPECT_NE(SummaryOf("bad").mark().find("crashed here"), std::string::npos);
  EXPECT_NE(SummaryOf("bad").mark().find("dtctl worker undrain bad"), std::string::npos);
  EXPECT_EQ(TrialOf(first).tries.crashes, 0u);
  for (const Trial& trial : GetExperiment(state_.durable, id).trials) {
    EXPECT_EQ(trial.tries.crashes, 0u);
    for (const Attempt& attempt : trial.attempts) {
      EXPECT_EQ(attempt.uncharged, attempt.cause == v1::CAUSE_TRAINER_CRASH);
    }
  }
  const TrialId last{id, 12};
  EXPECT_NE(Explain(last).find("1 more quarantined ('dtctl worker undrain bad'"), std::string::npos)
      << Explain(last);
}

TEST_F(MarkingTest, TrialsThatFailedOnAQuarantinedWorkerArePutBackOnce) {
  const ExperimentId id = OneGoodOneBad(0);
  const std::set<TrialId> crashed = CrashThrice();
  EXPECT_EQ(crashed.size(), 3u);
  for (const TrialId trial : crashed) EXPECT_EQ(StateOfTrial(trial), v1::TRIAL_FAILED);
  GoodGetsOn();
  GoodGetsOn();
  EXPECT_EQ(SummaryOf("bad").state(), "quarantined");
  EXPECT_EQ(GetExperiment(state_.durable, id).failed, 0u);
  for (const TrialId trial : crashed) EXPECT_NE(StateOfTrial(trial), v1::TRIAL_FAILED);
}

TEST_F(MarkingTest, ATrialThatCrashesElsewhereTooClearsTheWorkerAtOnce) {
  const ExperimentId id = OneGoodOneBad(0);
  const std::set<TrialId> crashed = CrashThrice();
  GoodGetsOn();
  GoodGetsOn();
  EXPECT_EQ(SummaryOf("bad").state(), "quarantined");
  while (!crashed.contains(TrialAt("good"))) GoodGetsOn();
  const TrialId given_back = Crash("good");
  EXPECT_EQ(StateOfTrial(given_back), v1::TRIAL_FAILED) << "it is put back once";
  EXPECT_EQ(SummaryOf("bad").mark(), "");
  EXPECT_NE(AssignedTo("bad"), nullptr);
  EXPECT_EQ(GetExperiment(state_.durable, id).failed, 1u);
}

TEST_F(MarkingTest, AnExperimentThatCrashesEverywhereQuarantinesNoWorker) {
  AddWorker("good");
  Submit(OneTrial());
  Train({"good"});
  AddWorker("x");
  AddWorker("y");
  Submit(WithRetries(1, 20));
  for (uint64_t i = 0; i < 15; ++i) {
    for (const char* worker : {"x", "y"}) {
      if (AssignedTo(worker) != nullptr) Crash(worker);
    }
    SendItems("good", {Checkpoint("good", i + 1)});
    Advance(absl::Seconds(1));
  }
  EXPECT_TRUE(state_.durable.marks.empty());
}

TEST_F(MarkingTest, LossesAndResultsDoNotCountAgainstAWorker) {
  OneGoodOneBad(10, 20);
  for (const v1::Cause cause : {v1::CAUSE_OOM, v1::CAUSE_CONFIG, v1::CAUSE_HANG,
                                v1::CAUSE_COLLECTIVE, v1::CAUSE_PREEMPTED}) {
    EndAt("bad", cause);
    Advance(absl::Seconds(5));
    GoodGetsOn();
  }
  for (int i = 0; i < 4; ++i) {
    Follow("bad");
    Heartbeat("bad");
    Disconnect("bad");
    Advance(limits::kLease + absl::Seconds(5));
    workers_.at("bad").holding.clear();
    Connect("bad");
    GoodGetsOn();
  }
  EXPECT_TRUE(state_.durable.marks.empty());
  EXPECT_TRUE(state_.durable.streaks.empty());
}

TEST_F(MarkingTest, AfterItsRestItTakesOneTrialAgainTheNextTimeTwiceAsLate) {
  OneGoodOneBad(0, 20);
  CrashUntilQuarantined();
  Rest(limits::kQuarantineFirst);
  EXPECT_NE(SummaryOf("bad").mark().find("takes one trial again"), std::string::npos);
  const TrialId tried = Crash("bad");
  GoodGetsOn();
  GoodGetsOn();
  const bool returned = TrialOf(tried).attempts[0].uncharged;
  EXPECT_TRUE(returned);
  EndAt("bad", v1::CAUSE_PREEMPTED);  // it had got this attempt meanwhile
  Rest(2 * limits::kQuarantineFirst);
  const TrialId now = TrialAt("bad");
  ASSERT_NE(now, TrialId{});
  Train({"bad"});
  SendItems("bad", {Checkpoint("bad", 10)});
  EXPECT_EQ(SummaryOf("bad").mark(), "") << "progress releases it";
  EXPECT_EQ(SummaryOf("bad").state(), "busy");
  EXPECT_EQ(StateOfTrial(now), v1::TRIAL_RUNNING);
}

TEST_F(MarkingTest, AFailedTryIsChargedToItsTrialIfNoOtherProgresses) {
  OneGoodOneBad(2, 20);
  CrashUntilQuarantined();
  Rest(limits::kQuarantineFirst);
  const TrialId tried = Crash("bad");
  EXPECT_FALSE(TrialOf(tried).attempts.back().uncharged);
  EXPECT_EQ(TrialOf(tried).tries.crashes, 1u);
  EXPECT_EQ(state_.durable.marks.at("bad").quarantines, 1u) << "nothing is proved";
}

TEST_F(MarkingTest, TheLastWorkerThatCanWorkIsNeverQuarantined) {
  OneGoodOneBad();
  CrashThrice();
  Train({"good"});
  ASSERT_TRUE(Mark("good", true).ok());
  SendItems("good", {Checkpoint("good", 10)});
  EXPECT_EQ(SummaryOf("bad").mark(), "");
}

TEST_F(MarkingTest, AShareOfTheFleetIsQuarantinedWithinAnHourAtMost) {
  AddWorker("good");
  for (const char* bad : {"bad", "worse", "worst"}) AddWorker(bad);
  Submit(WithRetries(0, 100));
  for (const char* bad : {"bad", "worse", "worst"}) {
    for (int i = 0; i < 3; ++i) Crash(bad);
  }
  GoodGetsOn();
  GoodGetsOn();
  EXPECT_EQ(state_.durable.marks.size(), 1u);
  ASSERT_TRUE(Mark("bad", false).ok());
  GoodGetsOn();
  EXPECT_EQ(state_.durable.marks.size(), 0u) << "one was within the hour";
  Pass(limits::kQuarantineWindow);
  for (const auto& [name, worker] : workers_) Heartbeat(name);
  GoodGetsOn();
  EXPECT_EQ(state_.durable.marks.size(), 1u);
}

TEST_F(MarkingTest, AUserReleasesAWorkerFromQuarantine) {
  OneGoodOneBad();
  CrashUntilQuarantined();
  ASSERT_TRUE(Mark("bad", false)->changed());
  EXPECT_TRUE(state_.durable.marks.empty());
  EXPECT_NE(AssignedTo("bad"), nullptr);
}

TEST_F(MarkingTest, AUsersReleaseIsNoProofThatAWorkerIsSound) {
  OneGoodOneBad(3, 40);
  CrashUntilQuarantined();
  ASSERT_TRUE(Mark("bad", false)->changed());
  ASSERT_TRUE(state_.durable.streaks.contains("bad")) << "it has not got on since";
  for (const CountedEnd& end : state_.durable.streaks.at("bad").ends) {
    EXPECT_EQ(end.begun, kForgiven);
  }
  const auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(state_.durable));
  GoodGetsOn();
  GoodGetsOn();
  EXPECT_TRUE(state_.durable.marks.empty()) << "evidence from before its release no longer counts";
  Pass(limits::kQuarantineWindow);
  for (const auto& [name, worker] : workers_) Heartbeat(name);
  CrashUntilQuarantined();
  ASSERT_TRUE(Mark("bad", false)->changed());
  Train({"bad"});
  Finish({"bad"});
  EXPECT_FALSE(state_.durable.streaks.contains("bad")) << "it got on";
}

TEST_F(MarkingTest, ARestartAndASnapshotKeepMarksAndEvidenceAgainstWorkers) {
  OneGoodOneBad();
  Crash("bad");
  Crash("bad");
  const DurableState before = state_.durable;
  ASSERT_EQ(before.streaks.at("bad").ends.size(), 2u);
  const auto loaded = LoadSnapshot(SaveSnapshot(before, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(before));
  RestartCoordinator();
  Connect("good");
  Connect("bad");
  Crash("bad");
  GoodGetsOn();
  GoodGetsOn();
  EndAt("bad", v1::CAUSE_PREEMPTED);
  ASSERT_TRUE(Mark("gone", true, "sold").ok());
  const auto marked = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(marked.ok()) << marked.status();
  EXPECT_EQ(HashOf(marked->state), HashOf(state_.durable));
  RestartCoordinator();
  Connect("bad");
  ExpectIdle("bad");
  EXPECT_EQ(SummaryOf("bad").state(), "quarantined");
}

TEST_F(MarkingTest, ADeletedExperimentCountsAgainstNoWorker) {
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
