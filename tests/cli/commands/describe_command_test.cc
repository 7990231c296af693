// describe_command_test.cc: dtctl describe and dtctl explain, against a fake coordinator.
#include "nlohmann/json.hpp"
#include "spec/file/diagnostics.h"
#include "spec/file/experiment_file.h"
#include "spec/spec.h"
#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

std::vector<v1::Assignment> AssignmentsOf(const v1::ExperimentSpec& spec, size_t trial) {
  const auto trials = spec::Expand(spec);
  EXPECT_TRUE(trials.ok()) << trials.status();
  const auto& given = trials->at(trial).assignments();
  return {given.begin(), given.end()};
}

class DescribeTest : public CommandTest {
 protected:
  // Makes experiment 12 have `spec`, and its second trial the values `second`.
  void Show(const v1::ExperimentSpec& spec, const std::vector<v1::Assignment>& second) {
    AddExperiment(12, 2);
    control_.Edit([&](FakeControl::World& world) {
      *world.experiments[12].found.mutable_spec() = spec;
      v1::TrialSummary& trial = *world.experiments[12].explanations[2].mutable_trial();
      trial.set_experiment(12);
      trial.set_trial(2);
      *trial.mutable_assignments() = {second.begin(), second.end()};
    });
  }
};

TEST_F(CommandTest, DescribeAsYamlGivesTheSubmittedFileAndTheResolvedOne) {
  AddExperiment(12, 1);
  const Ran ran = Run({"describe", "12", "-o", "yaml"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Has(ran.out, "from grid.yaml\nversion: 1\nname: quickstart\n---\n")) << ran.out;
  EXPECT_TRUE(Has(ran.out.substr(ran.out.find("---")), "name: quickstart")) << ran.out;
}

TEST_F(DescribeTest, DescribedAsYamlATrialIsAFileThatRunsTheSameTrialAlone) {
  constexpr char kGrid[] =
      "version: 1\nname: g\nparameters: {model.n_layer: [2, 3]}\nresources: {gpus: 2, device: "
      "cpu}\n"
      "data: {train: t, val: v, tokenizer: byte}\ntrain: {max_steps: 10}\n";
  const v1::ExperimentSpec spec = spec::ReadExperimentFile(kGrid, "grid.yaml").spec;
  const std::vector<v1::Assignment> second = AssignmentsOf(spec, 1);
  Show(spec, second);
  const std::string file = Run({"describe", "12/2", "-o", "yaml"}).out;
  const spec::ExperimentFile again = spec::ReadExperimentFile(file, "again.yaml");
  EXPECT_TRUE(again.diagnostics.empty()) << spec::RenderDiagnostics(again.diagnostics) << file;
  EXPECT_EQ(spec::ResolveTrial(again.spec, {})->SerializeAsString(),
            spec::ResolveTrial(spec, second)->SerializeAsString());
  for (const char* line : {"global_batch_size: 16", "n_layer: 3", "vocab_pad: 320", "compute: fp32",
                           "dropout: 0", "warmup_steps: -1"}) {
    EXPECT_TRUE(Has(file, line)) << line << "\n" << file;
  }
}

TEST_F(DescribeTest, DescribeShowsAProgramsCommandAndATrialsFileHasConstantParameters) {
  constexpr char kProgram[] =
      "version: 1\nname: p\ncommand: [python3, train.py, \"--lr={lr}\", \"{seed}\"]\n"
      "parameters: {lr: [0.1, 1.0], model: resnet}\nseed: 3\nsteps: 50\n";
  const v1::ExperimentSpec spec = spec::ReadExperimentFile(kProgram, "p.yaml").spec;
  const std::vector<v1::Assignment> second = AssignmentsOf(spec, 1);
  Show(spec, second);
  const std::string shown = Run({"describe", "12"}).out;
  EXPECT_TRUE(Has(shown, "[python3, train.py, \"--lr={lr}\", \"{seed}\"]")) << shown;
  const std::string file = Run({"describe", "12/2", "-o", "yaml"}).out;
  const spec::ExperimentFile again = spec::ReadExperimentFile(file, "again.yaml");
  ASSERT_TRUE(again.diagnostics.empty()) << spec::RenderDiagnostics(again.diagnostics) << file;
  ASSERT_EQ(spec::Expand(again.spec)->size(), 1u) << file;
  const std::vector<v1::Assignment> first = AssignmentsOf(again.spec, 0);
  EXPECT_EQ(spec::ResolveTrial(again.spec, first)->SerializeAsString(),
            spec::ResolveTrial(spec, second)->SerializeAsString())
      << file;
}

TEST_F(CommandTest, DescribeShowsTheProvenanceOfEachTrial) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    v1::TrialSummary& trial = Trial(world, 12, 1);
    v1::Provenance& provenance = *trial.mutable_provenance();
    provenance.set_program_version("0.1.0");
    provenance.set_program_revision("abc123");
    provenance.set_torch_version("2.11.0");
    provenance.set_device_name("a CPU");
    provenance.set_host("gpu07");
    trial.set_data_fingerprint("f00d");
    trial.set_seed(1337);
    *world.experiments[12].explanations[1].mutable_trial() = trial;
  });
  for (const char* selector : {"12", "last/1"}) {
    const Ran ran = Run({"describe", selector});
    for (const char* part : {"0.1.0 (abc123)", "2.11.0", "a CPU", "gpu07", "f00d", "1337"}) {
      EXPECT_TRUE(Has(ran.out, part)) << selector << " lacks " << part << "\n" << ran.out;
    }
  }
}

TEST_F(CommandTest, DescribeShowsTheNewestAccuracyOfATrial) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    *world.experiments[12].explanations[1].mutable_trial() = Trial(world, 12, 1);
    for (const uint64_t step : {250, 500}) {
      v1::EvaluationRow& row = world.experiments[12].evaluations.emplace_back();
      row.set_trial(1);
      row.mutable_evaluation()->set_step(step);
      row.mutable_evaluation()->set_split("val");
      row.mutable_evaluation()->set_hellaswag_acc(static_cast<double>(step) / 2000);
      row.mutable_evaluation()->set_hellaswag_acc_norm(0.2955);
    }
  });
  const Ran ran = Run({"describe", "12/1"});
  EXPECT_TRUE(Has(ran.out, "25.00%, normalised 29.55%, at step 500")) << ran.out;
}

TEST_F(CommandTest, DescribeShowsTheThreadsOfARankAndTheirCores) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    v1::TrialSummary& trial = Trial(world, 12, 1);
    trial.mutable_provenance()->set_program_version("0.1.0");
    trial.mutable_provenance()->set_threads(2);
    trial.mutable_provenance()->set_cores("2,3");
    *world.experiments[12].explanations[1].mutable_trial() = trial;
  });
  const Ran ran = Run({"describe", "12/1"});
  EXPECT_TRUE(Has(ran.out, "2 threads a rank (rank 0 on cores 2,3)")) << ran.out;
}

TEST_F(CommandTest, ExplainShowsEachAttemptWithItsCauseAndPlacement) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    v1::ExplainTrialResponse& found = world.experiments[12].explanations[1];
    *found.mutable_trial() = Trial(world, 12, 1);
    found.set_explanation("waits 10 s after attempt 1");
    v1::AttemptSummary& attempt = *found.add_attempts();
    attempt.set_attempt(1);
    attempt.set_cause(v1::CAUSE_WORKER_LOST);
    attempt.set_message("worker gpu07/1 was silent for 10 s");
    attempt.set_reason("the only two free slots");
    attempt.set_ended_wall_ms(1700000000000);
    attempt.set_last_step(120);
    attempt.set_rank(1);
    v1::AttemptMember& member = *attempt.add_members();
    member.set_worker("gpu07/0");
    member.set_host("gpu07");
  });
  const Ran ran = Run({"explain", "12/1"});
  EXPECT_EQ(ran.code, 0);
  for (const char* part : {"waits 10 s after attempt 1", "12/1#1", "worker_lost", "silent for 10 s",
                           "the only two free slots", "from 0 to 120", "gpu07/0 on gpu07"}) {
    EXPECT_TRUE(Has(ran.out, part)) << "lacks " << part << "\n" << ran.out;
  }
}

TEST_F(CommandTest, ExplainShowsWhereEachRankHungAndTheCommandForItsLog) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    v1::ExplainTrialResponse& found = world.experiments[12].explanations[1];
    *found.mutable_trial() = Trial(world, 12, 1);
    v1::AttemptSummary& attempt = *found.add_attempts();
    attempt.set_attempt(1);
    attempt.set_cause(v1::CAUSE_HANG);
    attempt.set_message("no report for 2s, which is timeout.report");
    attempt.set_ended_wall_ms(1700000000000);
    for (const int32_t rank : {0, 1}) {
      attempt.add_members()->set_rank(rank);
      v1::LogLineChunk& chunk = world.experiments[12].logs.emplace_back();
      chunk.set_attempt(1);
      chunk.mutable_log()->set_rank(rank);
      chunk.mutable_log()->set_text(
          "dtrain: it hangs; what its processes are doing:\n"
          "dtrain: process 8 (python3) sleeps\n"
          "dtrain:   Thread 8 (idle): \"MainThread\"\n"
          "dtrain:     all_reduce (c10d.py:2)\n"
          "dtrain:     main (train.py:9)\n");
    }
  });
  for (const char* command : {"explain", "describe"}) {
    const std::string out = Run({command, "12/1"}).out;
    EXPECT_TRUE(Has(out,
                    "  why           no report for 2s, which is timeout.report\n"
                    "  hung in       rank 0, process 8 (python3) sleeps: all_reduce (c10d.py:2), "
                    "called by main (train.py:9)\n"
                    "                rank 1, process 8 (python3) sleeps: all_reduce (c10d.py:2), "
                    "called by main (train.py:9)\n"
                    "  its log       dtctl logs 12/1, of one rank alone: --rank N\n"))
        << out;
  }
  const auto json = nlohmann::json::parse(Run({"explain", "12/1", "-o", "json"}).out);
  EXPECT_EQ(json["hang"]["attempt"], 1);
  EXPECT_EQ(json["hang"]["ranks"][1]["processes"][0]["frames"][0], "all_reduce (c10d.py:2)");
}

TEST_F(CommandTest, ATrialThatEndedOtherwiseHungNowhere) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    v1::ExplainTrialResponse& found = world.experiments[12].explanations[1];
    *found.mutable_trial() = Trial(world, 12, 1);
    v1::AttemptSummary& attempt = *found.add_attempts();
    attempt.set_attempt(1);
    attempt.set_cause(v1::CAUSE_OOM);
    attempt.set_ended_wall_ms(1700000000000);
  });
  EXPECT_FALSE(Has(Run({"explain", "12/1"}).out, "its log"));
  EXPECT_TRUE(Has(Run({"explain", "12/1", "-o", "json"}).out, "\"hang\": null"));
}

TEST_F(CommandTest, ExplainSaysWhenAnAttemptStartedOverBecauseNothingWasSaved) {
  AddExperiment(12, 1);
  control_.Edit([&](FakeControl::World& world) {
    v1::ExplainTrialResponse& found = world.experiments[12].explanations[1];
    *found.mutable_trial() = Trial(world, 12, 1);
    for (const uint64_t resumed : {0, 0, 40}) {
      v1::AttemptSummary& attempt = *found.add_attempts();
      attempt.set_attempt(static_cast<uint32_t>(found.attempts_size()));
      attempt.set_resumed_step(resumed);
      attempt.set_last_step(resumed + 30);
    }
  });
  const std::string out = Run({"explain", "12/1"}).out;
  EXPECT_TRUE(Has(out, "from 0 to 30\n")) << "the first has nothing to go on from: " << out;
  EXPECT_TRUE(Has(out, "from 0 to 30; there was no checkpoint that it could go on from\n")) << out;
  EXPECT_TRUE(Has(out, "from 40 to 70\n")) << out;
}

}  // namespace
}  // namespace dt::cli
