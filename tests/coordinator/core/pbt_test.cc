// pbt_test.cc: populations: which member takes over from which, with which checkpoint and values,
// and that all other functions keep working.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "coordinator/core/facts/search_facts.h"
#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/model/resolved.h"
#include "spec/spec.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class PbtTest : public CoreTest {
 protected:
  // Members are compared at the steps 25, 50 and 75 of 100; the worse half takes over.
  static v1::ExperimentSpec Population(int members) {
    v1::ExperimentSpec spec = Searching("pbt", members);
    spec.mutable_search()->mutable_pbt()->set_every(0.25);
    spec.mutable_search()->mutable_pbt()->set_quantile(0.5);
    spec.mutable_base()->mutable_schedule()->set_warmup_steps(2);
    spec.add_explicit_paths("schedule.warmup_steps");
    return spec;
  }
  double RateOf(TrialId id) {
    const Experiment& experiment = GetExperiment(state_.durable, id.experiment);
    return ExpandedOf(experiment, TrialOf(id)).assignments(0).value().number();
  }
  // Validates and saves at a step, in one report.
  void Reach(const std::string& worker, uint64_t step, double loss) {
    SendItems(worker, {Evaluation(worker, step, loss), Checkpoint(worker, step)});
  }
  const KnownMutation& NewestMutation(TrialId id) { return TrialOf(id).mutations.back(); }
  // Trains the first member on a, the second on b.
  ExperimentId TwoMembers() {
    AddWorker("a");
    AddWorker("b");
    const ExperimentId id = Submit(Population(2));
    Train({"a"});
    Train({"b"});
    return id;
  }
  // Makes the second member take over at step 25 and leave its slot.
  ExperimentId TwoOfWhichOneTakesOver() {
    const ExperimentId id = TwoMembers();
    Reach("a", 25, 3);
    Reach("b", 25, 4);
    return id;
  }
  size_t RecordsOf(v1::Record::FactCase kind) {
    size_t count = 0;
    for (const std::string& bytes : journal_) {
      v1::Record record;
      EXPECT_TRUE(record.ParseFromString(bytes));
      count += record.fact_case() == kind ? 1 : 0;
    }
    return count;
  }
};

TEST_F(PbtTest, AMemberAmongTheWorstContinuesWithWeightsAndMovedValuesOfOneOfTheBest) {
  const ExperimentId id = TwoOfWhichOneTakesOver();
  EXPECT_EQ(RecordsOf(v1::Record::kTrialMutated), 1u);
  const Trial& member = TrialOf({id, 2});
  ASSERT_EQ(member.mutations.size(), 1u);
  EXPECT_EQ(member.mutations[0].from_trial, 1u);
  EXPECT_EQ(member.mutations[0].step, 25u);
  EXPECT_EQ(member.attempts[0].stop_why, v1::StopRequested::MUTATED);
  EXPECT_TRUE(member.attempts[0].uncharged);
  EXPECT_EQ(member.state, v1::TRIAL_PENDING);
  EXPECT_TRUE(AssignedTo("b")->abandon()) << "it need not save";
  Leave("b");
  ExpectOrders("b", {id, 2}, 0);
  const v1::Assigned& orders = *AssignedTo("b");
  EXPECT_EQ(orders.resume().path(), absl::StrCat(id, "/1/a1/step-25"));
  EXPECT_EQ(orders.share_every(), 0.25);
  EXPECT_EQ(orders.spec().optimizer().lr(), RateOf({id, 2}));
  const double ratio = RateOf({id, 2}) / RateOf({id, 1});
  EXPECT_TRUE(std::abs(ratio - 0.8) < 1e-4 || std::abs(ratio - 1.2) < 1e-4 || RateOf({id, 2}) > 0);
  EXPECT_NE(RateOf({id, 2}), RateOf({id, 1}));
  Train({"b"}, 25);
  EXPECT_EQ(TrialOf({id, 2}).tries.crashes + TrialOf({id, 2}).tries.losses, 0u);
}

TEST_F(PbtTest, TheReasonNamesPlaceDonorAndValuesAndPeopleReadIt) {
  const ExperimentId id = TwoOfWhichOneTakesOver();
  const std::string reason = NewestMutation({id, 2}).reason;
  EXPECT_EQ(reason.find("share 1 (step 25): val_loss 4 is 2nd of 2; it takes weights and values of "
                        "trial 1 at step 25: optimizer.lr "),
            0u)
      << reason;
  EXPECT_NE(reason.find(" → "), std::string::npos) << reason;
  EXPECT_NE(Explain({id, 2}).find(reason), std::string::npos) << Explain({id, 2});
  EXPECT_EQ(Summarize(state_, {id, 2}, now_.steady).chosen(), reason);
  Leave("b");
  const std::string& start = TrialOf({id, 2}).attempts[1].reason;
  EXPECT_NE(start.find("resumes from step 25 of trial 1"), std::string::npos) << start;
}

TEST_F(PbtTest, EachTakeoverShowsTheDonorsValuesAndTheNewOnes) {
  const ExperimentId id = TwoOfWhichOneTakesOver();
  const double others = RateOf({id, 1});
  const double first = RateOf({id, 2});
  Leave("b");
  Train({"b"}, 25);
  Reach("a", 50, 2);
  Reach("b", 50, 3);  // takes over again
  ASSERT_EQ(TrialOf({id, 2}).mutations.size(), 2u);
  v1::ExplainTrialRequest request;
  request.set_experiment(id);
  request.set_trial(2);
  const auto told = Call<v1::ExplainTrialResponse>(request);
  ASSERT_TRUE(told.ok()) << told.status();
  ASSERT_EQ(told->takeovers_size(), 2);
  for (int i = 0; i < 2; ++i) {
    const v1::Takeover& one = told->takeovers(i);
    EXPECT_EQ(one.share(), static_cast<uint32_t>(i + 1));
    EXPECT_EQ(one.step(), static_cast<uint64_t>(25 * (i + 1)));
    EXPECT_EQ(one.attempt(), static_cast<uint32_t>(i + 1));
    EXPECT_EQ(one.from_trial(), 1u);
    EXPECT_EQ(one.taken(0).value().number(), others);
    EXPECT_EQ(one.now(0).value().number(), i == 0 ? first : RateOf({id, 2}));
    const std::string changes = spec::ChangesText({one.taken().begin(), one.taken().end()},
                                                  {one.now().begin(), one.now().end()});
    EXPECT_TRUE(one.reason().ends_with(absl::StrCat(": ", changes))) << one.reason();
  }
  request.set_trial(1);
  EXPECT_EQ(Call<v1::ExplainTrialResponse>(request)->takeovers_size(), 0);
}

TEST_F(PbtTest, TheFirstAndTheBetterGoOnUndisturbed) {
  const ExperimentId id = TwoOfWhichOneTakesOver();
  EXPECT_TRUE(TrialOf({id, 1}).mutations.empty());
  EXPECT_EQ(TrialOf({id, 1}).attempts.size(), 1u);
  EXPECT_EQ(RecordsOf(v1::Record::kRungDecided), 2u);
  Reach("a", 50, 2.5);
  EXPECT_EQ(TrialOf({id, 1}).rungs.size(), 2u);
  EXPECT_TRUE(TrialOf({id, 1}).mutations.empty());
}

TEST_F(PbtTest, AMemberIsComparedOnceItIsValidatedAndSavedThereInEitherOrder) {
  AddWorker("a");
  const ExperimentId id = Submit(Population(1));
  Train({"a"});
  SendItems("a", {Evaluation("a", 25, 3)});
  EXPECT_TRUE(TrialOf({id, 1}).rungs.empty());
  SendItems("a", {Checkpoint("a", 25)});
  EXPECT_EQ(TrialOf({id, 1}).rungs.size(), 1u);
  SendItems("a", {Checkpoint("a", 50)});
  EXPECT_EQ(TrialOf({id, 1}).rungs.size(), 1u);
  SendItems("a", {Evaluation("a", 50, 3)});
  EXPECT_EQ(TrialOf({id, 1}).rungs.size(), 2u);
  Reach("a", 60, 2);
  EXPECT_EQ(TrialOf({id, 1}).rungs.size(), 2u) << "60 is no share";
}

TEST_F(PbtTest, ReportsOfAbandonedWeightsAreNotCompared) {
  const ExperimentId id = TwoOfWhichOneTakesOver();
  const double rate = RateOf({id, 2});
  Reach("b", 50, 1);
  EXPECT_EQ(TrialOf({id, 2}).rungs.size(), 1u);
  EXPECT_EQ(TrialOf({id, 2}).mutations.size(), 1u);
  Leave("b");
  EXPECT_EQ(AssignedTo("b")->resume().step(), 25u) << "not its own of step 50";
  Train({"b"}, 25);
  Reach("b", 50, 2);
  EXPECT_EQ(TrialOf({id, 2}).rungs.size(), 2u);
  EXPECT_EQ(RateOf({id, 2}), rate);
}

TEST_F(PbtTest, ReportsOfAbandonedWeightsDoNotCountForPatience) {
  v1::ExperimentSpec spec = Population(2);
  spec.mutable_base()->mutable_stop()->set_patience(2);
  spec.add_explicit_paths("stop.patience");
  AddWorker("a");
  AddWorker("b");
  const ExperimentId id = Submit(spec);
  Train({"a"});
  Train({"b"});
  Reach("a", 25, 3);
  Reach("b", 25, 4);
  SendItems("b", {Evaluation("b", 30, 1), Evaluation("b", 35, 9)});  // the stop is still on its way
  Leave("b");
  Train({"b"}, 25);
  SendItems("b", {Evaluation("b", 40, 3.5)});
  EXPECT_EQ(TrialOf({id, 2}).state, v1::TRIAL_RUNNING);
  SendItems("b", {Evaluation("b", 42, 3.6), Evaluation("b", 44, 3.7)});
  EXPECT_EQ(TrialOf({id, 2}).cause, v1::CAUSE_STOPPED_EARLY) << "its own count";
}

TEST_F(PbtTest, ALateMemberTakesTheDonorsOldCheckpointThoughTheDonorTookOverSince) {
  for (const char* name : {"a", "b", "c"}) AddWorker(name);
  v1::ExperimentSpec spec = Population(3);
  const ExperimentId id = Submit(spec);
  const double first = RateOf({id, 1});
  for (const char* name : {"a", "b", "c"}) Train({name});
  Reach("a", 25, 3);
  Reach("b", 25, 3.5);  // takes over from the first
  Leave("b");
  Train({"b"}, 25);
  Reach("b", 50, 2);
  Reach("a", 50, 4);  // the first takes over from the second
  ASSERT_EQ(TrialOf({id, 1}).mutations.size(), 1u);
  ASSERT_NE(RateOf({id, 1}), first);
  const Experiment& experiment = GetExperiment(state_.durable, id);
  EXPECT_EQ(ExpandedAt(experiment, TrialOf({id, 1}), 25).assignments(0).value().number(), first);
  Reach("c", 25, 9);
  ASSERT_EQ(TrialOf({id, 3}).mutations.size(), 1u);
  EXPECT_EQ(NewestMutation({id, 3}).from_trial, 1u);
  EXPECT_EQ(NewestMutation({id, 3}).taken.ref.path(), absl::StrCat(id, "/1/a1/step-25"));
  EXPECT_NE(NewestMutation({id, 3}).reason.find(absl::StrCat("optimizer.lr ", first)),
            std::string::npos)
      << NewestMutation({id, 3}).reason;
}

TEST_F(PbtTest, WithoutACheckpointOfTheOtherAtTheShareNobodyTakesOver) {
  const ExperimentId id = TwoMembers();
  Reach("a", 25, 3);
  v1::Item gone = ItemOf("a");
  gone.mutable_checkpoint_removed()->set_storage_id("storage-a");
  gone.mutable_checkpoint_removed()->set_path(absl::StrCat(id, "/1/a1/step-25"));
  SendItems("a", {gone});
  Reach("b", 25, 4);
  EXPECT_TRUE(TrialOf({id, 2}).mutations.empty());
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_RUNNING);
  EXPECT_EQ(TrialOf({id, 2}).rungs.size(), 1u);
}

TEST_F(PbtTest, AfterACrashAMemberRestartsFromTheTakenCheckpointUntilItSaves) {
  const ExperimentId id = TwoOfWhichOneTakesOver();
  Leave("b");
  Train({"b"}, 25);
  SendItems("b", {Ended("b", v1::CAUSE_TRAINER_CRASH, 30)});
  Leave("b");
  Advance(absl::Seconds(2));
  ASSERT_NE(AssignedTo("b"), nullptr);
  EXPECT_EQ(AssignedTo("b")->resume().path(), absl::StrCat(id, "/1/a1/step-25"));
  Train({"b"}, 25);
  Reach("b", 50, 2);
  SendItems("b", {Ended("b", v1::CAUSE_TRAINER_CRASH, 60)});
  Leave("b");
  Advance(absl::Seconds(2));
  EXPECT_EQ(AssignedTo("b")->resume().path(), absl::StrCat(id, "/2/a3/step-50"));
}

TEST_F(PbtTest, AMemberWaitsForASlotThatSeesTheStorageAndThenFallsBackToItsOwn) {
  AddWorker("a", {.storage = "storage-a"});
  AddWorker("b", {.host = "host-b", .storage = "storage-b"});
  const ExperimentId id = Submit(Population(2));
  Train({"a"});
  Train({"b"});
  Reach("a", 25, 3);
  Reach("b", 25, 4);
  Leave("b");
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_PENDING) << "a has the storage, and is busy";
  const double rate = RateOf({id, 2});
  Cancel(id, 1);
  Disconnect("a");
  const absl::Duration last = now_.steady + limits::kLease + 2 * limits::kStorageWait;
  while (AssignedTo("b") == nullptr && now_.steady < last) Advance(absl::Seconds(1));
  ExpectOrders("b", {id, 2}, 0);
  const std::string& start = TrialOf({id, 2}).attempts.back().reason;
  EXPECT_EQ(AssignedTo("b")->resume().path(), absl::StrCat(id, "/2/a1/step-25"));
  EXPECT_EQ(AssignedTo("b")->spec().optimizer().lr(), rate) << "the values stay";
  EXPECT_NE(start.find("which no connected worker sees"), std::string::npos) << start;
}

TEST_F(PbtTest, AMemberThatRunsOutOfMemoryIsTheWorstOfTheShareItWasHeadingFor) {
  const ExperimentId id = TwoMembers();
  SendItems("a", {Ended("a", v1::CAUSE_OOM, 10)});
  ASSERT_EQ(StateOfTrial({id, 1}), v1::TRIAL_FAILED);
  ASSERT_EQ(TrialOf({id, 1}).rungs.size(), 1u);
  EXPECT_TRUE(std::isinf(TrialOf({id, 1}).rungs[0].cost));
  Reach("b", 25, 4);
  EXPECT_TRUE(TrialOf({id, 2}).mutations.empty()) << "it is the better of two";
  Leave("a");
  EXPECT_EQ(RetryFailed(id), 1u);
  EXPECT_TRUE(TrialOf({id, 1}).rungs.empty());
}

TEST_F(PbtTest, ARetryTakesBackTheSharesWhereAMemberBrokeAConstraint) {
  AddWorker("a");
  v1::ExperimentSpec spec = Population(2);
  spec.mutable_search()->add_constraints("val_loss <= 1");
  const ExperimentId id = Submit(spec);
  Train({"a"});
  Reach("a", 25, 3);
  ASSERT_EQ(TrialOf({id, 1}).rungs.size(), 1u);
  EXPECT_TRUE(TrialOf({id, 1}).rungs[0].goes_on);
  EXPECT_EQ(state_.live.progress[id].rungs.at(1).gone_on, 1u);
  Cancel(id, 1);
  Leave("a");
  v1::RetryRequest request;
  request.set_experiment(id);
  request.set_cancelled(true);
  const auto response = Call<v1::RetryResponse>(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->trials(), 1u);
  EXPECT_TRUE(TrialOf({id, 1}).rungs.empty());
  EXPECT_TRUE(state_.live.progress[id].rungs.empty());
}

TEST_F(PbtTest, AMemberThatBreaksAConstraintTakesOverWithThatReason) {
  AddWorker("a");
  AddWorker("b");
  v1::ExperimentSpec spec = Population(2);
  spec.mutable_search()->add_constraints("val_loss >= 2");
  const ExperimentId id = Submit(spec);
  Train({"a"});
  Train({"b"});
  Reach("a", 25, 3);
  Reach("b", 25, 1.5);
  ASSERT_EQ(TrialOf({id, 2}).mutations.size(), 1u) << "its loss is better, and counts for nothing";
  EXPECT_EQ(NewestMutation({id, 2}).reason.find(
                "share 1 (step 25): val_loss 1.5 breaks val_loss >= 2, so it is 2nd of 2; it takes "
                "weights and values of trial 1 at step 25: "),
            0u)
      << NewestMutation({id, 2}).reason;
}

TEST_F(PbtTest, PauseRetryAndCancelWorkOnAMemberThatTookOver) {
  const ExperimentId id = TwoOfWhichOneTakesOver();
  v1::ChangeRequest pause;
  pause.set_experiment(id);
  pause.set_who("ann");
  pause.mutable_pause();
  ASSERT_TRUE(Call<v1::ChangeResponse>(pause).ok());
  Leave("b");
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_PENDING);
  v1::ChangeRequest resume;
  resume.set_experiment(id);
  resume.mutable_resume();
  ASSERT_TRUE(Call<v1::ChangeResponse>(resume).ok());
  EXPECT_EQ(AssignedTo("b")->resume().step(), 25u);
  Train({"b"}, 25);
  Cancel(id, 2);
  Leave("b");
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_CANCELLED);
}

TEST_F(PbtTest, APausedMemberThatFallsBehindWhileItSavesTakesOverWhenItGoesOn) {
  const ExperimentId id = TwoMembers();
  Reach("a", 25, 3);
  v1::ChangeRequest pause;
  pause.set_experiment(id);
  pause.set_who("ann");
  pause.mutable_pause();
  ASSERT_TRUE(Call<v1::ChangeResponse>(pause).ok());
  Reach("b", 25, 4);
  EXPECT_EQ(TrialOf({id, 2}).mutations.size(), 1u);
  EXPECT_EQ(TrialOf({id, 2}).attempts[0].stop_why, v1::StopRequested::PAUSED);
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_PENDING);
}

TEST_F(PbtTest, ExtendingAddsMembersAndTheStepsOfOneThatWasComparedStay) {
  const ExperimentId id = TwoOfWhichOneTakesOver();
  v1::ChangeRequest more;
  more.set_experiment(id);
  more.set_max_trials(4);
  ASSERT_TRUE(Call<v1::ChangeResponse>(more).ok());
  EXPECT_EQ(GetExperiment(state_.durable, id).trials.size(), 4u);
  v1::ChangeRequest longer;
  longer.set_experiment(id);
  longer.set_max_steps(200);
  EXPECT_FALSE(Call<v1::ChangeResponse>(longer).ok()) << "shares are shares of max_steps";
  Leave("b");
  Train({"b"}, 25);
  for (const char* worker : {"a", "b"}) {
    Reach(worker, 50, worker[0] == 'a' ? 2 : 1);
    SendItems(worker, {Ended(worker, v1::CAUSE_FINISHED)});
    Leave(worker);
  }
  ASSERT_NE(AssignedTo("b"), nullptr) << "the third or the fourth has its slot";
}

TEST_F(PbtTest, ARestartAndASnapshotKeepTakeovers) {
  const ExperimentId id = TwoOfWhichOneTakesOver();
  const auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(state_.durable));
  ASSERT_EQ(GetTrial(loaded->state, {id, 2}).mutations.size(), 1u);
  const double rate = RateOf({id, 2});
  RestartCoordinator();
  Connect("a");
  workers_.at("b").holding.clear();  // it has left meanwhile
  Connect("b");
  ExpectOrders("b", {id, 2}, 0);
  EXPECT_EQ(AssignedTo("b")->resume().path(), absl::StrCat(id, "/1/a1/step-25"));
  EXPECT_EQ(AssignedTo("b")->spec().optimizer().lr(), rate);
}

TEST_F(PbtTest, ACoordinatorRestartedBeforeEachReportDecidesTheSame) {
  std::vector<std::string> decided;
  for (const bool restarts : {false, true}) {
    BeginAnew();
    for (const char* name : {"a", "b", "c"}) AddWorker(name);
    const ExperimentId id = Submit(Population(3));
    for (const char* name : {"a", "b", "c"}) Train({name});
    std::vector<std::string> reasons;
    for (const auto& [name, loss] :
         std::vector<std::pair<std::string, double>>{{"c", 3}, {"a", 5}, {"b", 4}}) {
      if (restarts) {
        RestartCoordinator();
        for (const char* each : {"a", "b", "c"}) Connect(each);
      }
      Reach(name, 25, loss);
    }
    for (const Trial& trial : GetExperiment(state_.durable, id).trials) {
      for (const KnownMutation& each : trial.mutations) reasons.push_back(each.reason);
    }
    ASSERT_FALSE(reasons.empty());
    if (restarts) {
      EXPECT_EQ(reasons, decided);
    } else {
      decided = reasons;
    }
  }
}

TEST_F(PbtTest, TheFirstTrialsValuesCanChangeThoughOthersAreStoredAsDifferences) {
  const ExperimentId id = TwoMembers();
  const double before = RateOf({id, 1});
  Reach("b", 25, 3);
  Reach("a", 25, 4);
  ASSERT_EQ(TrialOf({id, 1}).mutations.size(), 1u);
  const Experiment& experiment = GetExperiment(state_.durable, id);
  EXPECT_EQ(ResolvedOf(experiment, TrialOf({id, 1}))->optimizer().lr(), RateOf({id, 1}));
  EXPECT_NE(RateOf({id, 1}), before);
  EXPECT_EQ(ResolvedOf(experiment, TrialOf({id, 2}))->optimizer().lr(), RateOf({id, 2}));
}

TEST_F(PbtTest, AJournalCannotSayThatATrialTakesOverFromItselfOrFromNobody) {
  const ExperimentId id = TwoOfWhichOneTakesOver();
  v1::Record record;
  v1::TrialMutated& fact = *record.mutable_trial_mutated();
  fact.set_experiment(id);
  fact.set_trial(1);
  fact.set_from_trial(1);
  fact.mutable_expanded()->set_trial(1);
  DurableState state = state_.durable;
  EXPECT_FALSE(Apply(state, record).ok());
  fact.set_from_trial(9);
  EXPECT_FALSE(Apply(state, record).ok());
  fact.set_from_trial(2);
  EXPECT_TRUE(Apply(state, record).ok());
  EXPECT_FALSE(Apply(state, record).ok()) << "not before the next attempt";
}

}  // namespace
}  // namespace dt
