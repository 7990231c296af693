// early_ends_test.cc: programs that end within seconds, before any report.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

constexpr char kNoModule[] =
    "the program exited with status 1; its last line: ModuleNotFoundError: No module named 'torch'";

class EarlyEndsTest : public CoreTest {
 protected:
  static v1::ExperimentSpec Program(int trials = 1, int retries = 5) {
    v1::ExperimentSpec spec = OneTrial();
    spec.clear_explicit_paths();
    for (const char* path : {"command", "resources.gpus", "resources.device", "seed"}) {
      spec.add_explicit_paths(path);
    }
    for (const char* word : {"./go", "--lr={lr}"}) spec.mutable_base()->add_command(word);
    spec.mutable_base()->mutable_retries()->set_max(retries);
    spec.mutable_base()->mutable_retries()->set_backoff_seconds(1);
    std::vector<v1::Value> values;
    for (int i = 1; i <= trials; ++i) values.push_back(NumberValue(0.001 * i));
    return Sweep(std::move(spec), "lr", values);
  }
  bool Has(const std::string& worker) { return AssignedTo(worker) != nullptr; }
  void Begin(const std::string& worker) {
    Follow(worker);
    SendItems(worker, {Prepared(worker, 0), Running(worker)});
  }
  void End(const std::string& worker, const std::string& message) {
    v1::Item item = Ended(worker, v1::CAUSE_TRAINER_CRASH);
    item.mutable_ended()->set_message(message);
    SendItems(worker, {item});
    Leave(worker);
  }
  void Crash(const std::string& worker, const std::string& message = kNoModule) {
    ASSERT_TRUE(Has(worker)) << worker;
    Begin(worker);
    End(worker, message);
  }
  // Gives the worker another trial for the duration of the test.
  void Occupy(const std::string& worker) {
    Submit(OneTrial());
    ASSERT_TRUE(Has(worker));
    Train({worker});
  }
  size_t AttemptsOf(TrialId id) { return TrialOf(id).attempts.size(); }
};

TEST_F(EarlyEndsTest, TheSameErrorOnTwoWorkersIsNotTriedAgain) {
  AddWorker("a", {.host = "host-a"});
  AddWorker("b", {.host = "host-b"});
  const TrialId id{Submit(Program()), 1};
  Crash("a");
  EXPECT_NE(Explain(id).find("ModuleNotFoundError"), std::string::npos) << Explain(id);
  EXPECT_NE(Summarize(state_, id, now_.steady).waiting().find("No module named 'torch'"),
            std::string::npos);
  Advance(absl::Seconds(2));
  EXPECT_FALSE(Has("a")) << "another worker shows which of the two is at fault";
  Crash("b");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
  EXPECT_EQ(AttemptsOf(id), 2u);
  EXPECT_EQ(TrialOf(id).message, absl::StrCat(kNoModule,
                                              "; it ended so 2 times within seconds, before any "
                                              "report, and is not tried again"));
}

TEST_F(EarlyEndsTest, WithoutAnotherWorkerTheSameOneIsTriedOnceMore) {
  AddWorker("a");
  const TrialId id{Submit(Program()), 1};
  Crash("a");
  Advance(absl::Seconds(2));
  Crash("a");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
  EXPECT_EQ(AttemptsOf(id), 2u);
}

TEST_F(EarlyEndsTest, WhileTheOtherWorkerIsBusyItIsTriedThreeTimesAtMost) {
  AddWorker("b");
  Occupy("b");
  AddWorker("a");
  const TrialId id{Submit(Program()), 1};
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(IsTerminal(StateOfTrial(id)));
    Crash("a");
    Advance(absl::Seconds(5));
  }
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
}

TEST_F(EarlyEndsTest, PlacesAndNumbersInAnErrorMakeNoDifferenceAndOtherWordsDo) {
  AddWorker("a");
  const TrialId id{Submit(Program()), 1};
  Crash("a", "the program exited with status 1; its last line: no file /run/a1/code/x, 0x7f01");
  Advance(absl::Seconds(2));
  Crash("a", "the program exited with status 1; its last line: port 17 is taken");
  Advance(absl::Seconds(5));
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_STARTING);
  Crash("a", "the program exited with status 1; its last line: port 4 is taken");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
}

TEST_F(EarlyEndsTest, ReportsALongRunOrAnOutsideKillAllowTheUsualRetries) {
  AddWorker("a");
  const ExperimentId experiment = Submit(Program(3, 2));
  Begin("a");
  SendItems("a", {Evaluation("a", 5, 2.0)});
  End("a", kNoModule);
  EXPECT_FALSE(TrialOf({experiment, 1}).attempts[0].early);
  Begin("a");
  Advance(limits::kEarlyEnd + absl::Seconds(1));
  End("a", kNoModule);
  Begin("a");
  End("a", "the program was ended by signal 9 (SIGKILL)");
  for (const Trial& trial : GetExperiment(state_.durable, experiment).trials) {
    for (const Attempt& attempt : trial.attempts) EXPECT_FALSE(attempt.early);
  }
}

TEST_F(EarlyEndsTest, ALossBetweenTwoSuchEndsSaysNothing) {
  AddWorker("a");
  const TrialId id{Submit(Program()), 1};
  Crash("a");
  Advance(absl::Seconds(2));
  Begin("a");
  SendItems("a", {Ended("a", v1::CAUSE_PREEMPTED)});
  Leave("a");
  Advance(absl::Seconds(5));
  Crash("a");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
  EXPECT_EQ(AttemptsOf(id), 3u);
}

TEST_F(EarlyEndsTest, IfThreeTrialsFailAlikeAndNoneProgressedTheOthersAreNotTried) {
  AddWorker("a", {.host = "host-a"});
  AddWorker("b", {.host = "host-b"});
  const ExperimentId id = Submit(Program(1000));
  for (int i = 0; i < 40 && GetExperiment(state_.durable, id).Ended() < 1000; ++i) {
    for (const char* worker : {"a", "b"}) {
      if (Has(worker)) Crash(worker);
    }
    Advance(absl::Seconds(2));
  }
  const Experiment& experiment = GetExperiment(state_.durable, id);
  EXPECT_TRUE(experiment.AllEnded());
  EXPECT_LE(experiment.failed, 5u);
  EXPECT_LE(experiment.attempts, 12u);
  EXPECT_EQ(experiment.finished, 0u);
  EXPECT_EQ(StateOf(experiment), v1::EXPERIMENT_FAILED);
  EXPECT_NE(experiment.search_end.find("3 trials failed in the same way within seconds"),
            std::string::npos)
      << experiment.search_end;
  EXPECT_NE(experiment.search_end.find("No module named 'torch'"), std::string::npos);
}

TEST_F(EarlyEndsTest, IfOneTrialProgressedTheOthersAreTried) {
  AddWorker("good");
  const ExperimentId id = Submit(Program(20));
  Begin("good");
  SendItems("good", {Evaluation("good", 5, 2.0)});
  AddWorker("a");
  for (int i = 0; i < 60; ++i) {
    if (Has("a")) Crash("a");
    Advance(absl::Seconds(2));
  }
  const Experiment& experiment = GetExperiment(state_.durable, id);
  EXPECT_GT(experiment.failed, 10u);
  EXPECT_FALSE(experiment.search_ended);
}

TEST_F(EarlyEndsTest, ABrokenWorkerAmongOthersEndsNoExperiment) {
  AddWorker("b");
  Occupy("b");
  AddWorker("a");
  const ExperimentId id = Submit(Program(8, 0));
  for (int i = 0; i < 6; ++i) Crash("a");
  EXPECT_FALSE(GetExperiment(state_.durable, id).search_ended);
  EXPECT_EQ(GetExperiment(state_.durable, id).failed, 6u);
}

TEST_F(EarlyEndsTest, TheFactsAreInSnapshotsToo) {
  AddWorker("a");
  AddWorker("b");
  const TrialId id{Submit(Program()), 1};
  Crash("a");
  RestartCoordinator();
  EXPECT_TRUE(TrialOf(id).attempts[0].early);
  EXPECT_EQ(TrialOf(id).attempts[0].ordinal, 1u);
  Advance(limits::kStartupGrace);
  Connect("b");
  Crash("b");
  EXPECT_EQ(StateOfTrial(id), v1::TRIAL_FAILED);
}

}  // namespace
}  // namespace dt
