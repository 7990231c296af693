// follow_test.cc: commands that stay with an experiment: follow, wait, best; and detaching from
// them.
#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

class FollowTest : public CommandTest {};

TEST_F(FollowTest, WaitsExitCodeFollowsTheExperimentsEnd) {
  const std::vector<std::pair<v1::ExperimentState, int>> cases = {
      {v1::EXPERIMENT_FINISHED, 0}, {v1::EXPERIMENT_FAILED, 10}, {v1::EXPERIMENT_CANCELLED, 11}};
  AddExperiment(12, 1);
  for (const auto& [state, code] : cases) {
    const v1::ExperimentState end = state;
    control_.SetCallHook([this, end](std::string_view method, int, FakeControl::World& world) {
      v1::ExperimentSummary& summary = *world.experiments[12].found.mutable_summary();
      // The client sees it running once, then it ends.
      if (method == "ListExperiments") {
        summary.set_state(calls_++ % 3 == 0 ? v1::EXPERIMENT_RUNNING : end);
      }
      return grpc::Status::OK;
    });
    calls_ = 0;
    const Ran ran = Run({"wait", "last"});
    EXPECT_EQ(ran.code, code);
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(FollowTest, WaitTimesOutWithEight) {
  AddExperiment(12, 1);
  const Ran ran = Run({"wait", "12", "--timeout", "20ms"});
  EXPECT_EQ(ran.code, 8);
  EXPECT_TRUE(Has(ran.err, "goes on")) << ran.err;
}

TEST_F(FollowTest, WaitForTheFirstStepReturnsBeforeTheEnd) {
  AddExperiment(12, 2);
  control_.SetCallHook([this](std::string_view method, int count, FakeControl::World& world) {
    if (method == "ListTrials" && count == 2) {
      Trial(world, 12, 2).set_state(v1::TRIAL_RUNNING);
      Trial(world, 12, 2).set_step(1);
    }
    return grpc::Status::OK;
  });
  EXPECT_EQ(Run({"wait", "12", "--for", "first-step"}).code, 0);
  EXPECT_EQ(Run({"wait", "12", "--for", "nothing"}).code, 2);
}

TEST_F(FollowTest, WaitForRunningReturnsWhenATrialTrainsAndNotBefore) {
  AddExperiment(12, 2);
  control_.Edit([this](FakeControl::World& world) {
    world.experiments.at(12).found.mutable_summary()->set_state(v1::EXPERIMENT_RUNNING);
    Trial(world, 12, 1).set_state(v1::TRIAL_STARTING);
  });
  EXPECT_EQ(Run({"wait", "12", "--for", "running", "--timeout", "50ms"}).code, 8)
      << "one is being prepared";
  control_.Edit(
      [this](FakeControl::World& world) { Trial(world, 12, 2).set_state(v1::TRIAL_RUNNING); });
  EXPECT_EQ(Run({"wait", "12", "--for", "running"}).code, 0);
}

TEST_F(FollowTest, WaitOutlivesACoordinatorThatRestarts) {
  AddExperiment(12, 1);
  control_.SetCallHook([](std::string_view method, int count, FakeControl::World& world) {
    if (method == "ListExperiments" && count == 2) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting");
    }
    if (method == "ListExperiments" && count == 3) FinishAll(world, 12);
    return grpc::Status::OK;
  });
  EXPECT_EQ(Run({"wait", "12"}).code, 0);
}

TEST_F(FollowTest, WaitSaysOnceInAMinuteWhyNothingRuns) {
  AddExperiment(12, 1);
  control_.SetCallHook([](std::string_view method, int count, FakeControl::World& world) {
    v1::ExperimentSummary& summary = *world.experiments[12].found.mutable_summary();
    summary.set_waiting("no worker is connected");
    if (method == "ListExperiments" && count == 6) FinishAll(world, 12);
    return grpc::Status::OK;
  });
  const Ran ran = Run({"wait", "12"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "experiment 12 does not run: no worker is connected.\n");
}

TEST_F(FollowTest, WaitReportsSinceWhenNoCoordinatorAnswersAndWhenOneDoesAgain) {
  AddExperiment(12, 1);
  control_.SetCallHook([](std::string_view method, int count, FakeControl::World& world) {
    const bool away = method == "ListExperiments" && count >= 2 && count <= 5;
    if (method == "ListExperiments" && count == 7) FinishAll(world, 12);
    return away ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting") : grpc::Status::OK;
  });
  const Ran ran = Run({"wait", "12"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Has(ran.err, "No answer from the coordinator for ")) << ran.err;
  EXPECT_TRUE(Has(ran.err, ", since ")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "The coordinator answers again.\n")) << ran.err;
}

TEST_F(FollowTest, FollowSaysWhyNothingRuns) {
  AddExperiment(12, 1);
  control_.SetCallHook([](std::string_view method, int count, FakeControl::World& world) {
    world.experiments[12].found.mutable_summary()->set_waiting("no worker is connected");
    if (method == "ListExperiments" && count == 5) FinishAll(world, 12);
    return grpc::Status::OK;
  });
  EXPECT_TRUE(Has(Run({"follow", "12"}).out, "12 does not run: no worker is connected"));
}

TEST_F(FollowTest, CtrlCDetachesAndSaysHowToCancel) {
  AddExperiment(12, 1);
  control_.SetCallHook([this](std::string_view method, int count, FakeControl::World&) {
    if (method == "ListExperiments" && count == 3) interrupt_.Trigger();
    return grpc::Status::OK;
  });
  const Ran ran = Run({"follow", "12"});
  EXPECT_EQ(ran.code, 130);
  EXPECT_TRUE(Has(ran.err, "dtctl cancel 12")) << ran.err;
  EXPECT_TRUE(control_.Snapshot().cancellations.empty());
}

TEST_F(FollowTest, FollowWritesALinePerChangeAndThenTheResults) {
  AddExperiment(12, 2);
  control_.Edit([](FakeControl::World& world) {
    world.status.set_http_address("127.0.0.1:7601");
    v1::CheckpointSummary& checkpoint = world.experiments[12].checkpoints.emplace_back();
    checkpoint.set_experiment(12);
    checkpoint.set_trial(1);
    checkpoint.set_attempt(1);
    checkpoint.mutable_checkpoint()->set_step(200);
    checkpoint.mutable_checkpoint()->set_path("12/1/a1/step-200");
    checkpoint.add_seen_by("gpu07/0");
  });
  control_.SetCallHook([this](std::string_view method, int count, FakeControl::World& world) {
    if (method == "ListTrials" && count == 2) {
      Trial(world, 12, 1).set_state(v1::TRIAL_RUNNING);
      Trial(world, 12, 1).set_attempts(1);
    }
    if (method == "ListExperiments" && count == 4) FinishAll(world, 12);
    return grpc::Status::OK;
  });
  const Ran ran = Run({"follow", "last"});
  EXPECT_EQ(ran.code, 0);
  for (const char* part :
       {"12/1 running", "12/1 finished at step 200/200", "Best trial:  12/1  val_loss 3.0000",
        "Checkpoint:  12/1/a1/step-200", "dtctl describe 12/1", "http://127.0.0.1:7601/"}) {
    EXPECT_TRUE(Has(ran.out, part)) << "lacks " << part << "\n" << ran.out;
  }
  EXPECT_FALSE(Has(ran.out, "\x1b[")) << ran.out;
}

TEST_F(FollowTest, FollowRedrawsInPlaceOnATerminalAndShowsTheCursorAgain) {
  AddExperiment(12, 1);
  control_.SetCallHook([](std::string_view method, int count, FakeControl::World& world) {
    if (method == "ListExperiments" && count == 3) FinishAll(world, 12);
    return grpc::Status::OK;
  });
  tty_ = true;
  const Ran ran = Run({"follow", "12"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Has(ran.out, "\x1b[?25l"));
  EXPECT_GT(ran.out.rfind("\x1b[?25h"), ran.out.rfind("\x1b[?25l"));
  EXPECT_TRUE(Has(ran.out, "F"));  // the cursor goes back up
}

TEST_F(FollowTest, ADumbTerminalGetsLinesAndNoEscapeCodes) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) { FinishAll(world, 12); });
  tty_ = true;
  environment_["TERM"] = "dumb";
  EXPECT_FALSE(Has(Run({"follow", "12"}).out, "\x1b["));
}

TEST_F(FollowTest, ColourIsOffWithNoColorInTheEnvironmentOrOnTheCommandLine) {
  AddExperiment(12, 1);
  tty_ = true;
  EXPECT_TRUE(Has(Run({"get", "trials", "12"}).out, "\x1b["));
  EXPECT_FALSE(Has(Run({"get", "trials", "12", "--no-color"}).out, "\x1b["));
  environment_["NO_COLOR"] = "1";
  EXPECT_FALSE(Has(Run({"get", "trials", "12"}).out, "\x1b["));
}

TEST_F(FollowTest, OnlyLiveTrialsOfAVeryLargeExperimentAreRefreshed) {
  AddExperiment(12, 1001);
  control_.SetCallHook([this](std::string_view method, int count, FakeControl::World& world) {
    if (method == "ListExperiments" && count == 2) {
      Trial(world, 12, 1001).set_state(v1::TRIAL_RUNNING);
    }
    if (method == "ListExperiments" && count == 5) FinishAll(world, 12);
    return grpc::Status::OK;
  });
  const Ran ran = Run({"follow", "12"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Has(ran.out, "12/1001 running")) << ran.out.substr(0, 2000);
  EXPECT_TRUE(Has(ran.out, "12/1001 finished"));
  const auto lists = control_.Snapshot().trial_lists;
  ASSERT_GE(lists.size(), 4u);
  EXPECT_EQ(lists.front().states_size(), 0) << "the first list is complete";
  EXPECT_EQ(lists.at(2).states_size(), 3);
  EXPECT_EQ(lists.back().states_size(), 0) << "and so is the last";
}

TEST_F(FollowTest, BestListsTrialsByTheMetricWithTheirCheckpoints) {
  AddExperiment(12, 3);
  control_.Edit([this](FakeControl::World& world) {
    FinishAll(world, 12);
    Trial(world, 12, 3).set_metric_value(1.0);
  });
  EXPECT_EQ(Run({"best", "12", "-k", "2", "-o", "name"}).out, "12/3\n12/1\n");
  control_.Edit([](FakeControl::World& world) {
    v1::CheckpointSummary& one = world.experiments[12].checkpoints.emplace_back();
    one.set_experiment(12);
    one.set_trial(3);
    one.mutable_checkpoint()->set_path("12/3/a1/step-200");
  });
  const auto best = nlohmann::json::parse(Run({"best", "12", "-o", "json"}).out);
  EXPECT_EQ(best["items"][0]["checkpoint"]["path"], "12/3/a1/step-200");
  EXPECT_TRUE(best["items"][0]["message"].is_null()) << "nothing is known of it";
}

TEST_F(FollowTest, BestOfAnExperimentWithoutAnEvaluationExitsFour) {
  AddExperiment(12, 1);
  EXPECT_EQ(Run({"best", "12"}).code, 4);
}

}  // namespace
}  // namespace dt::cli
