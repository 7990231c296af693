// editing_more_test.cc: changes of a submitted experiment other than its gates and its number of
// trials: resources, steps, name, note, labels, archive; and the user who submitted it.
#include <gtest/gtest.h>

#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/model/resolved.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class EditingMoreTest : public CoreTest {
 protected:
  using Fill = std::function<void(v1::ChangeRequest&)>;
  absl::StatusOr<v1::ChangeResponse> Change(ExperimentId id, const Fill& fill) {
    v1::ChangeRequest request;
    request.set_experiment(id);
    request.set_who("ann");
    fill(request);
    return Call<v1::ChangeResponse>(request);
  }
  // Expects that the first request makes a change and the second none, and that the history has one
  // line.
  void ExpectChangedOnce(ExperimentId id, const Fill& fill, const std::string& history) {
    const int before = Get(id).edits_size();
    const auto changed = Change(id, fill);
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_TRUE(changed->changed()) << history;
    const auto again = Change(id, fill);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_FALSE(again->changed()) << history;
    EXPECT_TRUE(last_.records.empty()) << history;
    const v1::GetExperimentResponse found = Get(id);
    ASSERT_EQ(found.edits_size(), before + 1);
    EXPECT_EQ(found.edits(before).what(), history);
    EXPECT_EQ(found.edits(before).who(), "ann");
  }
  void ExpectRefused(ExperimentId id, const Fill& fill, absl::StatusCode code,
                     const std::string& because) {
    const auto refused = Change(id, fill);
    EXPECT_EQ(refused.status().code(), code) << refused.status();
    EXPECT_NE(std::string(refused.status().message()).find(because), std::string::npos)
        << refused.status();
    EXPECT_TRUE(last_.records.empty());
  }
  v1::GetExperimentResponse Get(ExperimentId id) {
    v1::GetExperimentRequest request;
    request.set_experiment(id);
    const auto response = Call<v1::GetExperimentResponse>(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.value_or(v1::GetExperimentResponse());
  }
  std::vector<uint64_t> Listed(bool archived) {
    v1::ListExperimentsRequest request;
    request.set_archived(archived);
    std::vector<uint64_t> ids;
    const auto response = Call<v1::ListExperimentsResponse>(request);
    EXPECT_TRUE(response.ok()) << response.status();
    for (const auto& one : response->experiments()) ids.push_back(one.experiment());
    return ids;
  }
  v1::ExperimentSpec Constant(int trials, int64_t max_steps = 100) {
    v1::ExperimentSpec spec = Trials(trials);
    spec.mutable_base()->mutable_schedule()->set_type("constant");
    spec.mutable_base()->mutable_train()->set_max_steps(max_steps);
    return spec;
  }
  static Fill Steps(int64_t steps) {
    return [steps](v1::ChangeRequest& request) { request.set_max_steps(steps); };
  }
};

TEST_F(EditingMoreTest, PriorityAndMaxGpusTotalAreChangedOnceAndKeptWithTheUser) {
  const ExperimentId id = Submit(OnSlots(2, Trials(3)));
  ExpectChangedOnce(
      id, [](auto& request) { request.set_priority(-7); }, "priority 0, now -7");
  ExpectChangedOnce(
      id, [](auto& request) { request.set_max_gpus_total(4); }, "max_gpus_total no limit, now 4");
  ExpectChangedOnce(
      id, [](auto& request) { request.set_max_gpus_total(0); }, "max_gpus_total 4, now no limit");
  RestartCoordinator();
  EXPECT_EQ(Get(id).spec().base().resources().priority(), -7);
  EXPECT_EQ(Get(id).summary().priority(), -7);
  const auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(state_.durable));
}

TEST_F(EditingMoreTest, AChangeThatStarvesTheExperimentOrIsOutOfRangeIsRefused) {
  const ExperimentId id = Submit(OnSlots(4));
  ExpectRefused(
      id, [](auto& request) { request.set_max_gpus_total(3); }, absl::StatusCode::kInvalidArgument,
      "below the 4 slots");
  ExpectRefused(
      id, [](auto& request) { request.set_max_gpus_total(limits::kWorkers + 1); },
      absl::StatusCode::kInvalidArgument, "from 0 to 16384");
  ExpectRefused(
      id, [](auto& request) { request.set_priority(1001); }, absl::StatusCode::kInvalidArgument,
      "from -1000 to 1000");
}

TEST_F(EditingMoreTest, WaitingAndRunningTrialsTrainMoreStepsAndFinishedOnesDoNot) {
  AddWorker("a");
  const ExperimentId id = Submit(Constant(3));
  Train({"a"});
  Finish({"a"});
  Train({"a"});
  SendItems("a", {Checkpoint("a", 60)});
  const auto extended = Change(id, Steps(200));
  ASSERT_TRUE(extended.ok()) << extended.status();
  EXPECT_EQ(extended->stopping(), 1u);
  EXPECT_TRUE(AssignedTo("a")->checkpoint_stop());
  EXPECT_NE(Explain({id, 2}).find("experiment is extended to 200 steps"), std::string::npos);
  SendItems("a", {Checkpoint("a", 61), Ended("a", v1::CAUSE_PREEMPTED, 61)});
  Leave("a");
  ExpectOrders("a", {id, 2}, 0);
  EXPECT_EQ(AssignedTo("a")->resume().step(), 61u);
  EXPECT_EQ(AssignedTo("a")->spec().train().max_steps(), 200);
  EXPECT_EQ(TrialOf({id, 2}).tries.losses, 0u);
  Train({"a"}, 61);
  Finish({"a"}, 200);
  ExpectOrders("a", {id, 3}, 0);
  EXPECT_EQ(AssignedTo("a")->spec().train().max_steps(), 200);
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_FINISHED);
  RestartCoordinator();
  const Experiment& experiment = GetExperiment(state_.durable, id);
  EXPECT_EQ(ResolvedOf(experiment, experiment.trials[2])->train().max_steps(), 200);
}

TEST_F(EditingMoreTest, RunningAndPausedTrialsGoOnToMoreStepsUnderAnySchedule) {
  AddWorker("a");
  for (const std::string schedule : {"cosine", "linear", "wsd"}) {
    v1::ExperimentSpec spec = Constant(1);
    spec.mutable_base()->mutable_schedule()->set_type(schedule);
    const ExperimentId id = Submit(spec);
    Train({"a"});
    const auto running = Change(id, Steps(200));
    ASSERT_TRUE(running.ok()) << schedule << ": " << running.status();
    EXPECT_EQ(running->stopping(), 1u);
    EXPECT_TRUE(AssignedTo("a")->checkpoint_stop());
    SendItems("a", {Checkpoint("a", 61), Ended("a", v1::CAUSE_PREEMPTED, 61)});
    Leave("a");
    ExpectOrders("a", {id, 1}, 0);
    EXPECT_EQ(AssignedTo("a")->resume().step(), 61u);
    EXPECT_EQ(AssignedTo("a")->spec().train().max_steps(), 200);
    Train({"a"}, 61);
    ASSERT_TRUE(Change(id, [](auto& request) { request.mutable_pause(); }).ok());
    SendItems("a", {Checkpoint("a", 90), Ended("a", v1::CAUSE_PREEMPTED, 90)});
    Leave("a");
    EXPECT_TRUE(Change(id, Steps(300))->changed()) << "while it is paused";
    ASSERT_TRUE(Change(id, [](auto& request) { request.mutable_resume(); }).ok());
    ExpectOrders("a", {id, 1}, 0);
    EXPECT_EQ(AssignedTo("a")->resume().step(), 90u);
    EXPECT_EQ(AssignedTo("a")->spec().train().max_steps(), 300);
    Train({"a"}, 90);
    Finish({"a"}, 300);
    Leave("a");
    EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_FINISHED);
    EXPECT_EQ(TrialOf({id, 1}).tries.crashes + TrialOf({id, 1}).tries.losses, 0u);
  }
}

TEST_F(EditingMoreTest, AnExperimentThatSweepsItsScheduleIsExtendedToo) {
  AddWorker("a");
  v1::ExperimentSpec spec = Constant(1);
  v1::Value cosine, constant;
  cosine.set_text("cosine");
  constant.set_text("constant");
  spec = Sweep(spec, "schedule.type", {cosine, constant});
  const ExperimentId id = Submit(spec);
  ASSERT_NE(id, 0u);
  Train({"a"});
  const auto extended = Change(id, Steps(200));
  ASSERT_TRUE(extended.ok()) << extended.status();
  EXPECT_EQ(extended->stopping(), 1u);
}

TEST_F(EditingMoreTest, StepsCannotChangeIfTheyAreDerivedOrWereCompared) {
  AddWorker("a");
  const ExperimentId id = Submit(Constant(1));
  Train({"a"});
  ExpectRefused(id, Steps(99), absl::StatusCode::kInvalidArgument, "can only be raised");
  EXPECT_FALSE(AssignedTo("a")->checkpoint_stop());
  Finish({"a"});
  ExpectRefused(id, Steps(200), absl::StatusCode::kFailedPrecondition, "has ended");
  v1::ExperimentSpec epochs = Constant(1);
  epochs.mutable_base()->mutable_train()->set_max_steps(0);
  epochs.mutable_base()->mutable_train()->set_epochs(2);
  ExpectRefused(Submit(OnSlots(9, epochs)), Steps(200), absl::StatusCode::kFailedPrecondition,
                "it trains for epochs");
  v1::ExperimentSpec program = OneTrial();
  program.clear_explicit_paths();
  for (const char* path : {"command", "resources.device", "seed"}) program.add_explicit_paths(path);
  program.mutable_base()->add_command("./train");
  program.mutable_base()->set_steps(100);
  ExpectRefused(Submit(program), Steps(200), absl::StatusCode::kFailedPrecondition,
                "it runs a program");
  v1::ExperimentSpec swept =
      Sweep(OnSlots(9), "train.max_steps", {IntegerValue(5), IntegerValue(9)});
  swept.mutable_base()->mutable_train()->set_max_steps(0);
  ExpectRefused(Submit(swept), Steps(200), absl::StatusCode::kFailedPrecondition, "it sweeps");
}

TEST_F(EditingMoreTest, TrialsAreNotComparedAtRungsOfOtherLengths) {
  AddWorker("a");
  v1::ExperimentSpec spec = Searching("asha", 3, Constant(1));
  *spec.mutable_parameters() = {};
  spec = Searching("asha", 3, spec);
  spec.mutable_search()->set_sampler("random");
  spec.mutable_search()->mutable_asha()->set_eta(3);
  spec.mutable_search()->mutable_asha()->set_rungs(1);
  spec.mutable_search()->mutable_asha()->set_brackets(1);
  const ExperimentId id = Submit(spec);
  ASSERT_NE(id, 0u);
  Train({"a"});
  ExpectRefused(id, Steps(200), absl::StatusCode::kFailedPrecondition, "rungs are shares");
}

TEST_F(EditingMoreTest, NameNoteAndLabelsAreChangedAlsoAfterTheEnd) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  ExpectChangedOnce(
      id, [](auto& request) { request.set_name("better"); }, "name 'test', now 'better'");
  Train({"a"});
  Finish({"a"});
  ExpectChangedOnce(
      id, [](auto& request) { request.set_note("the good one"); }, "note: the good one");
  EXPECT_EQ(Get(id).summary().note(), "the good one");
  ExpectChangedOnce(
      id, [](auto& request) { request.set_note(""); }, "note taken away");
  const auto label = [](auto& request) {
    for (const char* key : {"team", "owner"}) {
      v1::Label& set = *request.mutable_labels()->add_set();
      set.set_key(key);
      set.set_value("vision");
    }
  };
  ExpectChangedOnce(id, label, "labels team=vision owner=vision");
  ExpectChangedOnce(
      id, [](auto& request) { request.mutable_labels()->add_removed("owner"); },
      "labels without owner");
  ASSERT_EQ(Get(id).summary().labels_size(), 1);
  EXPECT_EQ(Get(id).summary().labels(0).key(), "team");
  EXPECT_EQ(Get(id).summary().name(), "better");
}

TEST_F(EditingMoreTest, TextsHaveBounds) {
  const ExperimentId id = Submit(OneTrial());
  const auto refused = [&](const Fill& fill, const std::string& because) {
    ExpectRefused(id, fill, absl::StatusCode::kInvalidArgument, because);
  };
  refused([](auto& request) { request.set_name(""); }, "name is empty");
  for (const char* selects : {"last", "12", "3/1", "last/2"}) {
    refused([=](auto& request) { request.set_name(selects); }, "would be read by commands as");
  }
  refused([](auto& request) { request.set_name(std::string(limits::kNameBytes + 1, 'x')); },
          "the limit is");
  refused([](auto& request) { request.set_note(std::string(limits::kTextBytes + 1, 'x')); },
          "the limit is");
  refused([](auto& request) { request.mutable_labels(); }, "no label is given");
  for (const auto& pair : {std::pair("a\nb", "x"), std::pair("a", "x\r\ny\x1b[2J")}) {
    refused(
        [&pair](auto& request) {
          v1::Label& label = *request.mutable_labels()->add_set();
          label.set_key(pair.first);
          label.set_value(pair.second);
        },
        "holds control characters");
  }
  refused([](auto& request) { request.mutable_labels()->add_set()->set_value("x"); }, "empty key");
  refused(
      [](auto& request) {
        for (size_t i = 0; i <= limits::kLabels; ++i) {
          request.mutable_labels()->add_set()->set_key(absl::StrCat("k", i));
        }
      },
      "the limit is");
}

TEST_F(EditingMoreTest, AUsersNameIsOneLine) {
  const ExperimentId id = Submit(OneTrial());
  v1::ChangeRequest request;
  request.set_experiment(id);
  request.set_who("ann\nexperiment 1 is cancelled by bob\x1b[2J");
  request.set_note("x");
  ASSERT_TRUE(Call<v1::ChangeResponse>(request).ok());
  const std::string who = Get(id).edits(0).who();
  EXPECT_EQ(who.find('\n'), std::string::npos) << who;
  EXPECT_EQ(who.find('\x1b'), std::string::npos) << who;
}

TEST_F(EditingMoreTest, ListsLeaveOutArchivedExperimentsUntilTheyAreUnarchivedOrRun) {
  AddWorker("a");
  const ExperimentId id = Submit(OneTrial());
  const auto archive = [](auto& request) { request.set_archived(true); };
  ExpectRefused(id, archive, absl::StatusCode::kFailedPrecondition, "have not ended");
  Follow("a");
  SendItems("a", {Ended("a", v1::CAUSE_OOM)});
  Leave("a");
  const ExperimentId other = Submit(OneTrial());
  ExpectChangedOnce(id, archive, "archived");
  EXPECT_EQ(Listed(false), (std::vector<uint64_t>{other}));
  EXPECT_EQ(Listed(true), (std::vector<uint64_t>{id, other}));
  EXPECT_TRUE(Get(id).summary().archived()) << "by its number it is found";
  ExpectChangedOnce(
      id, [](auto& request) { request.set_archived(false); }, "taken out of the archive");
  ExpectChangedOnce(id, archive, "archived");
  EXPECT_EQ(RetryFailed(id), 1u);
  EXPECT_EQ(Listed(false).size(), 2u);
}

TEST_F(EditingMoreTest, TheHistoryNamesUsersAndTrialsOfCancelsAndRetries) {
  const ExperimentId id = Submit(Trials(40));
  v1::CancelRequest cancel;
  cancel.set_experiment(id);
  cancel.set_trial(3);
  cancel.set_reason("wrong data");
  cancel.set_who("ann");
  ASSERT_TRUE(Call<v1::CancelResponse>(cancel).ok());
  Pass(absl::Seconds(1));
  EXPECT_EQ(Cancel(id), 39u);
  v1::RetryRequest retry;
  retry.set_experiment(id);
  retry.set_cancelled(true);
  retry.set_who("bob");
  retry.set_trial(7);
  ASSERT_TRUE(Call<v1::RetryResponse>(retry).ok());
  Pass(absl::Seconds(1));
  retry.set_trial(0);
  ASSERT_EQ(Call<v1::RetryResponse>(retry)->trials(), 39u);
  const v1::GetExperimentResponse found = Get(id);
  ASSERT_EQ(found.edits_size(), 4);
  EXPECT_EQ(found.edits(0).who(), "ann");
  EXPECT_EQ(found.edits(0).what(), "cancelled trial 3: wrong data");
  EXPECT_EQ(found.edits(1).who(), "somebody");
  EXPECT_EQ(found.edits(1).what(), "cancelled");
  EXPECT_EQ(found.edits(2).who(), "bob");
  EXPECT_EQ(found.edits(2).what(), "retried trial 7");
  EXPECT_TRUE(found.edits(3).what().starts_with("retried trials 1, 2, 3, 4, 5, 6, 8, 9"))
      << found.edits(3).what();
  EXPECT_LE(found.edits(3).what().size(), limits::kNameBytes);
}

TEST_F(EditingMoreTest, ALongListOfRetriedTrialsIsCut) {
  const ExperimentId id = Submit(Trials(400));
  EXPECT_EQ(Cancel(id), 400u);
  v1::RetryRequest retry;
  retry.set_experiment(id);
  retry.set_cancelled(true);
  ASSERT_TRUE(Call<v1::RetryResponse>(retry).ok());
  const v1::GetExperimentResponse found = Get(id);
  ASSERT_EQ(found.edits_size(), 2);
  EXPECT_TRUE(found.edits(1).what().ends_with(", …")) << found.edits(1).what();
  EXPECT_LE(found.edits(1).what().size(), limits::kNameBytes);
}

TEST_F(EditingMoreTest, TheSubmitterIsKeptApartFromTheSpecification) {
  v1::SubmitRequest request;
  *request.mutable_spec() = OneTrial();
  request.set_request_id("once");
  request.set_who("ann");
  const auto first = Call<v1::SubmitResponse>(request);
  ASSERT_TRUE(first.ok()) << first.status();
  request.set_who("bob");
  const auto again = Call<v1::SubmitResponse>(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->existed());
  EXPECT_EQ(Get(first->experiment()).summary().submitted_by(), "ann");
  RestartCoordinator();
  EXPECT_EQ(Get(first->experiment()).summary().submitted_by(), "ann");
}

}  // namespace
}  // namespace dt
