// environment_test.cc: environments of programs, in the core: who may make one, whose packages
// count, and what follows if none can be made.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "coordinator/core/answer/explain.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

class EnvironmentTest : public CoreTest {
 protected:
  static v1::ExperimentSpec Program(int trials) {
    v1::ExperimentSpec spec = Trials(trials);
    spec.clear_explicit_paths();
    for (const char* path : {"run", "resources.gpus", "resources.device", "seed"}) {
      spec.add_explicit_paths(path);
    }
    spec.mutable_base()->set_run("python3 train.py {lr}");
    spec.mutable_base()->mutable_environment()->add_uv("numpy");
    return spec;
  }
  // Connects a worker that makes environments of uv, or does not for a reason.
  void Make(const std::string& name, const std::string& why_not = "") {
    AddWorker(name);
    Disconnect(name);
    v1::Hello& hello = workers_.at(name).hello;
    hello.clear_environments();
    v1::Label& able = *hello.add_environments();
    able.set_key("uv");
    able.set_value(why_not);
    Connect(name);
  }
  v1::Item Resolved(const std::string& name, const std::string& lock) {
    v1::Item item = ItemOf(name);
    item.mutable_environment()->set_lock(lock);
    return item;
  }
  const std::string& LockOf(ExperimentId id) {
    return GetExperiment(state_.durable, id).environment_lock;
  }
};

TEST_F(EnvironmentTest, ATrialWaitsForAWorkerThatMakesItsEnvironment) {
  Make("a", "uv is not installed on its host");
  const ExperimentId id = Submit(Program(1));
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_PENDING);
  EXPECT_NE(
      Explain({id, 1}).find("worker a makes no environment of uv: uv is not installed on its host"),
      std::string::npos)
      << Explain({id, 1});
  Make("b");
  ExpectOrders("b", {id, 1}, 0);
}

TEST_F(EnvironmentTest, AWorkerOfAnOlderVersionMakesNone) {
  AddWorker("a");
  const ExperimentId id = Submit(Program(1));
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_PENDING);
  EXPECT_NE(Explain({id, 1}).find("its version does not make them"), std::string::npos)
      << Explain({id, 1});
}

TEST_F(EnvironmentTest, TheFirstPackagesCountForAllTrialsAndForLaterAttempts) {
  Make("a");
  Make("b");
  const ExperimentId id = Submit(Program(2));
  EXPECT_EQ(AssignedTo("a")->environment(), "");
  Follow("a");
  Follow("b");
  SendItems("a", {Resolved("a", "numpy==2.1\n")});
  SendItems("b", {Resolved("b", "numpy==2.2\n")});
  EXPECT_EQ(LockOf(id), "numpy==2.1\n");
  EXPECT_EQ(AssignedTo("a")->environment(), "numpy==2.1\n");
  EXPECT_EQ(AssignedTo("b")->environment(), "numpy==2.1\n");
  RestartCoordinator();
  EXPECT_EQ(LockOf(id), "numpy==2.1\n");
}

TEST_F(EnvironmentTest, WhileARankMakesItsEnvironmentItsGangDoesNotHang) {
  Make("a");
  const ExperimentId id = Submit(Program(1));
  Follow("a");
  for (auto& [token, status] : workers_.at("a").holding) status.set_makes_environment(true);
  const absl::Duration step = limits::kLease / 2;
  for (absl::Duration at; at < 2 * limits::kPrepareTimeout; at += step) {
    Advance(step);
    Heartbeat("a");
  }
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_STARTING);
}

TEST_F(EnvironmentTest, OneThatCannotBeMadeEndsTheExperimentOnce) {
  Make("a");
  Make("b");
  const ExperimentId id = Submit(Program(5));
  Follow("a");
  Follow("b");
  v1::Item ended = Ended("a", v1::CAUSE_CONFIG);
  ended.mutable_ended()->set_of_experiment(true);
  ended.mutable_ended()->set_message("uv cannot resolve environment.uv: no such package");
  SendItems("a", {ended});
  EXPECT_EQ(StateOfTrial({id, 1}), v1::TRIAL_FAILED);
  EXPECT_EQ(TrialOf({id, 1}).cause, v1::CAUSE_CONFIG);
  EXPECT_EQ(StateOfTrial({id, 2}), v1::TRIAL_FAILED);  // it was starting
  EXPECT_EQ(TrialOf({id, 2}).message,
            absl::StrCat("ended like trial ", ToString(TrialId{id, 1}), ", for the same reason"));
  for (uint32_t other = 3; other <= 5; ++other) {
    EXPECT_EQ(StateOfTrial({id, other}), v1::TRIAL_CANCELLED) << other;
    EXPECT_EQ(TrialOf({id, other}).message, "uv cannot resolve environment.uv: no such package");
  }
}

}  // namespace
}  // namespace dt
