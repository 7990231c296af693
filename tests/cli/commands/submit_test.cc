// submit_test.cc: from an experiment file to an experiment, against a fake coordinator.
#include <fstream>

#include "nlohmann/json.hpp"
#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

constexpr char kGrid[] = R"(version: 1
name: quickstart
parameters:
  train.batch_size: [8, 16]
  optimizer.lr: [1.0e-3, 3.0e-3]
data: {train: "t*.bin", val: "v*.bin"}
train: {seq_len: 64, max_steps: 10}
)";

class SubmitTest : public CommandTest {
 protected:
  void SetUp() override { Offer(kGrid, 4, "cpu"); }
};

TEST_F(SubmitTest, ASingleCallCarriesTheCheckedSpecificationAndTheText) {
  const Ran ran = Run({"submit", "-"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "experiment 1: 4 trials on cpu\n");
  const auto world = control_.Snapshot();
  ASSERT_EQ(world.submissions.size(), 1u);
  EXPECT_EQ(world.submissions[0].spec().name(), "quickstart");
  EXPECT_EQ(world.submissions[0].file_text(), kGrid);
  EXPECT_EQ(world.submissions[0].file_name(), "stdin");
  EXPECT_GE(world.submissions[0].request_id().size(), 16u);
  EXPECT_FALSE(Has(Run({"submit", "-", "-o", "json"}).out, "diagnostics"))
      << "dtctl has shown them: they are of clients whose file the coordinator reads";
}

TEST_F(SubmitTest, ASweepSubmitsTheFileThatItPrints) {
  const std::vector<std::string> words = {"sweep",    "./go {lr}", "--param", "lr=1,2",
                                          "--metric", "loss",      "--set",   "retries.max=1"};
  std::vector<std::string> print = words;
  print.emplace_back("--print");
  const Ran printed = RunAsWritten(print);
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_TRUE(Has(printed.out, "search: {method: grid, metric: loss}\n")) << printed.out;
  EXPECT_TRUE(Has(printed.out, "retries: {max: 1}\n")) << printed.out;
  EXPECT_EQ(Run(words).code, 0);
  const auto world = control_.Snapshot();
  ASSERT_EQ(world.submissions.size(), 1u);
  EXPECT_EQ(world.submissions[0].file_text(), printed.out);
  EXPECT_EQ(world.submissions[0].file_name(), "sweep.yaml");
  EXPECT_EQ(world.submissions[0].spec().base().command(1), "{lr}");
}

TEST_F(SubmitTest, ASweepWithoutAMetricSaysHowToGiveOne) {
  const Ran ran = Run({"sweep", "./go {lr}", "--param", "lr=0.1..1"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "--metric val_loss")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "--pattern 'step {step}: val loss {val_loss}'")) << ran.err;
}

TEST_F(SubmitTest, PrintsTheAddressOfTheExperimentsPage) {
  control_.Edit([](FakeControl::World& world) { world.status.set_http_address("127.0.0.1:7601"); });
  const Ran ran = Run({"submit", "-"});
  EXPECT_TRUE(Has(ran.err, "Its page is http://127.0.0.1:7601/#/experiments/1\n")) << ran.err;
  EXPECT_TRUE(Has(Run({"submit", "-", "-o", "json"}).out,
                  "\"page\": \"http://127.0.0.1:7601/#/experiments/2\""));
  EXPECT_EQ(Run({"submit", "-", "--id-only"}).err, "");
}

TEST_F(SubmitTest, AnUnansweredSubmitIsSentAgainWithTheSameRequestId) {
  control_.SetCallHook([](std::string_view method, int count, FakeControl::World&) {
    const bool lost = method == "Submit" && count <= 2;
    return lost ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting") : grpc::Status::OK;
  });
  EXPECT_EQ(Run({"submit", "-", "--id-only"}).out, "1\n");
  const auto world = control_.Snapshot();
  ASSERT_EQ(world.submissions.size(), 3u);
  EXPECT_EQ(world.submissions[0].request_id(), world.submissions[2].request_id());
  EXPECT_EQ(world.experiments.size(), 1u);
}

TEST_F(SubmitTest, ARefusalIsNotSentAgain) {
  control_.SetCallHook([](std::string_view, int, FakeControl::World&) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "less than 1 GiB free");
  });
  const Ran ran = Run({"submit", "-"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_TRUE(Has(ran.err, "less than 1 GiB free")) << ran.err;
  EXPECT_EQ(control_.Snapshot().submissions.size(), 1u);
}

TEST_F(SubmitTest, EveryErrorOfTheFileIsShownAndNothingIsSubmitted) {
  input_ = "version: 1\nname: x\ntrain: {batchsize: 8}\ndata: {train: t, val: v}\nsched: 1\n";
  const Ran ran = Run({"submit", "-"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(Has(ran.err, "stdin:3:")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "stdin:5:")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "train.batch_size")) << ran.err;
  EXPECT_TRUE(control_.Snapshot().submissions.empty());
}

TEST_F(SubmitTest, WarningsAreShownAndDoNotPreventASubmit) {
  input_ = std::string(kGrid) + "search: {goal: maximize}\n";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"validate", "-"}, {"submit", "-", "-n"}, {"submit", "-"}}) {
    const Ran ran = Run(command);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(Has(ran.err, "stdin:8:16: warning: search.goal maximize")) << ran.err;
    EXPECT_TRUE(Has(ran.err, "1 warning in stdin.\n")) << ran.err;
  }
  EXPECT_EQ(control_.Snapshot().submissions.size(), 2u);
  const Ran quiet = Run({"submit", "-", "--quiet"});
  EXPECT_EQ(quiet.err, "");
  const Ran json = RunAsWritten({"validate", "-", "-o", "json"});
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(nlohmann::json::parse(json.err)["items"][0]["severity"], "warning");
  EXPECT_EQ(nlohmann::json::parse(json.out)["warnings"], 1);
}

TEST_F(SubmitTest, ErrorsOfTheFileComeAsJsonWithTheirPlaces) {
  input_ = "version: 1\nname: x\ntrain: {batchsize: 8}\ndata: {train: t, val: v}\n";
  const Ran ran = RunAsWritten({"validate", "-", "-o", "json"});
  EXPECT_EQ(ran.code, 2);
  const auto first = nlohmann::json::parse(ran.err)["items"][0];
  EXPECT_EQ(first["line"], 3);
  EXPECT_EQ(first["file"], "stdin");
  EXPECT_FALSE(first["message"].get<std::string>().empty());
}

TEST_F(SubmitTest, SetAndMaxConcurrentChangeTheStoredFile) {
  Run({"submit", "--set", "train.max_steps=99", "-", "--max-concurrent", "2"});
  const auto world = control_.Snapshot();
  ASSERT_EQ(world.submissions.size(), 1u);
  EXPECT_EQ(world.submissions[0].spec().base().train().max_steps(), 99);
  EXPECT_EQ(world.submissions[0].spec().search().max_concurrent(), 2);
  EXPECT_TRUE(Has(world.submissions[0].file_text(), "99"));
}

TEST_F(SubmitTest, ADryRunPrintsTheTrialsAndStartsNothing) {
  const Ran ran = Run({"submit", "-", "-n"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "TRIAL  batch_size     lr\n"
            "    1           8  0.001\n"
            "    2           8  0.003\n"
            "    3          16  0.001\n"
            "    4          16  0.003\n");
  EXPECT_TRUE(control_.Snapshot().experiments.empty());
  EXPECT_TRUE(Has(Run({"submit", "-", "-n", "-o", "csv"}).out, "\n4,16,0.003\n"));
  EXPECT_FALSE(Has(Run({"submit", "-", "-n", "-o", "json"}).out, "resolved"))
      << "how the journal keeps a trial is its own affair";
}

TEST_F(SubmitTest, ADryRunThatNoConnectedWorkerCouldRunExitsSeven) {
  control_.Edit([](FakeControl::World& world) {
    world.submit_answer.set_cannot_be_placed(true);
    world.submit_answer.set_note("8 slots wanted, 2 connected");
  });
  const Ran ran = Run({"submit", "-", "--dry-run"});
  EXPECT_EQ(ran.code, 7);
  EXPECT_TRUE(Has(ran.err, "8 slots wanted, 2 connected")) << ran.err;
  EXPECT_EQ(Run({"submit", "-"}).code, 0) << "submitted, it waits";
}

TEST_F(SubmitTest, ADryRunAlsoExitsSevenIfOnlySomeTrialsCouldNotRun) {
  control_.Edit([](FakeControl::World& world) {
    v1::PlannedTrials& fits = *world.plan_answer.add_configurations();
    fits.set_trials(2);
    fits.set_fits(true);
    v1::PlannedTrials& lacks = *world.plan_answer.add_configurations();
    lacks.set_trials(2);
    lacks.set_lacks("4 slots wanted, 2 connected");
  });
  const Ran ran = Run({"submit", "-", "-n"});
  EXPECT_EQ(ran.code, 7);
  EXPECT_TRUE(Has(ran.err, "Note: 2 of 4 trials will not run: 4 slots wanted, 2 connected."))
      << ran.err;
  EXPECT_TRUE(control_.Snapshot().experiments.empty());
}

TEST_F(SubmitTest, WaitTakesTheExitCodeOfTheExperiment) {
  control_.SetCallHook([](std::string_view method, int count, FakeControl::World& world) {
    if (method == "ListExperiments" && count == 3) {
      world.experiments[1].found.mutable_summary()->set_state(v1::EXPERIMENT_FAILED);
    }
    return grpc::Status::OK;
  });
  const Ran ran = Run({"submit", "-", "--wait", "--id-only"});
  EXPECT_EQ(ran.code, 10);
  EXPECT_EQ(ran.out, "1\n");
}

TEST_F(SubmitTest, FollowAndWaitExcludeEachOther) {
  EXPECT_EQ(Run({"submit", "-", "--wait", "--follow"}).code, 2);
}

TEST_F(SubmitTest, AFileThatIsNotThereExitsFour) {
  const Ran ran = Run({"submit", "/nonexistent/grid.yaml"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_TRUE(Has(ran.err, "/nonexistent/grid.yaml")) << ran.err;
}

TEST_F(SubmitTest, AFolderIsNoFileAndTheSystemSaysWhy) {
  const Ran ran = Run({"validate", "/"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "directory")) << ran.err;
}

TEST_F(SubmitTest, ValidateSaysNothingOfSubmittingAndErrorsOfSetAreNotInTheFile) {
  Ran ran = Run({"validate", "-", "--set", "train.batch_size=0"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "\n1 error.\n")) << ran.err;
  input_ = "version: 1\nname: x\ndata: {train: ../x, val: v}\n";
  ran = Run({"validate", "-"});
  EXPECT_TRUE(Has(ran.err, "stdin:3:15: error: data.train '../x' has '..'")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "\n1 error in stdin.\n")) << ran.err;
  EXPECT_TRUE(Has(Run({"submit", "-"}).err, "nothing was submitted"));
}

TEST_F(SubmitTest, ErrorsOfTheFileDoNotHideThoseOfItsCode) {
  input_ = "version: 1\nname: x\nrun: ./go\ncode: absent-folder\nretries: 3\n";
  const Ran ran = Run({"validate", "-"});
  EXPECT_TRUE(Has(ran.err, "1 error in stdin.")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "'absent-folder' is not a folder")) << ran.err;
}

TEST_F(SubmitTest, AFileOfAnotherToolIsReferredToImport) {
  constexpr char kHint[] = "'dtctl import - > ours.yaml' writes it as one of ours";
  input_ = "program: train.py\nmethod: random\nparameters: {lr: {min: 0.1, max: 1}}\n";
  EXPECT_TRUE(Has(Run({"submit", "-"}).err, kHint));
  EXPECT_TRUE(Has(Run({"validate", "-"}).err, kHint));
  EXPECT_FALSE(Has(Run({"validate", "-", "-o", "json"}).err, kHint)) << "it is JSON alone";
  input_ = "version: 1\nname: x\nmethod: random\nparameters: {lr: {min: 0.1, max: 1}}\n";
  EXPECT_FALSE(Has(Run({"validate", "-"}).err, kHint)) << "it is ours";
}

TEST_F(SubmitTest, MaxConcurrentZeroMeansAsManyAsFit) {
  EXPECT_EQ(Run({"submit", "-", "--max-concurrent", "0"}).code, 0);
}

TEST_F(SubmitTest, ResolveWritesOneTrialWithEveryFieldAndNeedsNoCoordinator) {
  const std::vector<std::string> nowhere = {"--address", "unix:/nonexistent/dtrain.sock"};
  const Ran several = RunAsWritten({"resolve", "-", nowhere[0], nowhere[1]});
  EXPECT_EQ(several.code, 2);
  EXPECT_TRUE(Has(several.err, "stdin has 4 trials; choose one with --trial N, from 1 to 4"))
      << several.err;
  EXPECT_TRUE(Has(RunAsWritten({"resolve", "-", "--trial", "5"}).err, "--trial 5 is not a trial"));
  const Ran ran = RunAsWritten({"resolve", "-", "--trial", "2", "--set", "seed=7"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto trial = nlohmann::json::parse(ran.out);
  EXPECT_EQ(trial["seed"], 7);
  EXPECT_EQ(trial["model"]["n_layer"], 12);
  EXPECT_EQ(trial["checkpoint"]["every"]["seconds"], 60);
  EXPECT_EQ(trial["retries"]["backoff_seconds"], 10);
  EXPECT_NE(trial, nlohmann::json::parse(
                       RunAsWritten({"resolve", "-", "--trial", "3", "--set", "seed=7"}).out));
}

TEST_F(SubmitTest, ValidateNeedsNoCoordinator) {
  const Ran ran = RunAsWritten({"validate", "-", "--address", "unix:/nonexistent/dtrain.sock"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "stdin: valid, 4 trials\n"
            "  grid, minimize val_loss\n"
            "  train.batch_size: 8, 16\n"
            "  optimizer.lr: 0.001, 0.003\n");
}

TEST_F(SubmitTest, TheAssumedGoalOfAProgramsMetricIsPrinted) {
  const std::string program = "version: 1\nname: p\nrun: train --x {x}\nparameters: {x: [1, 2]}\n";
  input_ = program + "search: {metric: accuracy}\n";
  EXPECT_EQ(RunAsWritten({"validate", "-"}).out,
            "stdin: valid, 2 trials\n"
            "  grid, maximize accuracy (assumed from its name; search.goal says otherwise)\n"
            "  x: 1, 2\n");
  const Ran submitted = Run({"submit", "-"});
  EXPECT_TRUE(Has(submitted.err,
                  "The trial with the highest accuracy is the best (assumed from its name; "
                  "search.goal says otherwise)."))
      << submitted.err;
  input_ = program + "search: {metric: neg_mean_squared_error}\n";
  const Ran refused = Run({"submit", "-"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(Has(refused.err, "add goal: maximize or goal: minimize")) << refused.err;
  input_ = program + "search: {metric: neg_mean_squared_error, goal: maximize}\n";
  EXPECT_TRUE(Has(Run({"submit", "-"}).err,
                  "The trial with the highest neg_mean_squared_error is the best.\n"));
}

TEST_F(SubmitTest, ValidateDescribesASearch) {
  input_ = R"(version: 1
name: s
seeds: [1, 2]
search: {method: random, max_trials: 3, metric: val_loss}
parameters:
  optimizer.lr: {min: 1.0e-5, max: 1.0e-2, scale: log}
  model.n_embd: {min: 192, max: 768, step: 192}
  train.batch_size: {values: [2, 4], probabilities: [1, 3]}
data: {train: "t*.bin", val: "v*.bin"}
train: {max_steps: 837}
)";
  EXPECT_EQ(RunAsWritten({"validate", "-"}).out,
            "stdin: valid, 6 trials\n"
            "  random, minimize val_loss\n"
            "  optimizer.lr: 1.0e-5 … 0.01, log\n"
            "  model.n_embd: 192 … 768 by 192\n"
            "  train.batch_size: 2 (1), 4 (3)\n"
            "  each configuration with the seeds 1, 2\n");
  const Ran submitted = Run({"submit", "-"});
  EXPECT_EQ(submitted.code, 0) << submitted.err;
  input_ = R"(version: 1
name: s
search: {method: asha, sampler: bayes, max_trials: 30}
parameters: {optimizer.lr: {min: 1.0e-5, max: 1.0e-2, scale: log}}
data: {train: "t*.bin", val: "v*.bin"}
train: {max_steps: 837}
schedule: {warmup_steps: 31}
)";
  const Ran ran = RunAsWritten({"validate", "-"});
  EXPECT_EQ(ran.out,
            "stdin: valid, 30 trials\n"
            "  asha (bayes), minimize val_loss\n"
            "  chosen one by one as results come\n"
            "  optimizer.lr: 1.0e-5 … 0.01, log\n"
            "  rungs: steps 93, 279 of trial 1's 837\n");
  EXPECT_TRUE(Has(ran.err, "rung 1 (step 31) lies within the 31 steps of warm-up")) << ran.err;
  const auto json = nlohmann::json::parse(RunAsWritten({"validate", "-", "-o", "json"}).out);
  EXPECT_EQ(json["trials"], 30);
  EXPECT_EQ(json["rungs"], (std::vector<int>{93, 279}));
  EXPECT_TRUE(Has(RunAsWritten({"resolve", "-"}).err, "bayes proposes its trials as results come"));
}

}  // namespace
}  // namespace dt::cli
