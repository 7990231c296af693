// model_parallel_fixture.h: checks for ranks that compute one model together, however it is cut:
// the losses of one rank, checkpoints from which any other mesh continues, every way to end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {

// A mesh: its specification and its number of ranks.
struct Meshed {
  std::string name;
  int ranks;
  nlohmann::json spec;
};

class ModelParallelTest : public AttemptTest {
 protected:
  // `one` is the run of one rank. The first gradient has no rounding steps, which Adam makes later
  // wherever a gradient is 0.
  static void ExpectTheLossesOfOne(const Told& one, const Told& told, double apart,
                                   double first_norm_apart) {
    const double largest = LargestDifference(one.Losses(), told.Losses());
    RecordProperty("apart", std::to_string(largest));
    EXPECT_LE(largest, apart);
    EXPECT_NEAR(told.Column("grad_norm").at(0) / one.Column("grad_norm").at(0), 1,
                first_norm_apart);
    ASSERT_EQ(told.evals.size(), 1u);
    EXPECT_NEAR(told.evals[0].loss, one.evals.at(0).loss, apart);
    EXPECT_NEAR(told.evals[0].perplexity_mean, one.evals.at(0).perplexity_mean, 1e-2);
    EXPECT_EQ(told.evals[0].tokens, one.evals.at(0).tokens);
  }

  // Trains 8 steps, and makes the second half again from a checkpoint.
  void ExpectTheSameBitsAfterAResume(const Meshed& mesh, uint32_t trial) {
    SCOPED_TRACE(mesh.name);
    nlohmann::json spec = mesh.spec;
    spec["model"]["dropout"] = 0.1;
    spec["model"]["norm"] = "post";
    SaveEach(5, spec);
    frames::Start start = StoredStart(spec);
    start.trial = trial;
    TrainerGang gang(mesh.ranks);
    const Told whole = gang.Run(start);
    ExpectFinished(whole);
    ASSERT_EQ(StepsOf(whole.checkpoints), (std::vector<uint64_t>{5, 8}));
    ExpectTheRestAgain(gang, start, whole, whole.checkpoints[0]);
  }

  // Each mesh continues from the first checkpoint of the mesh before, four steps later, with the
  // losses of one rank. All save every four steps.
  void ExpectEachToGoOnFromTheOneBefore(nlohmann::json alone, const std::vector<Meshed>& meshes,
                                        double apart) {
    SaveEach(4, alone);
    const std::vector<double> losses = Known(1, alone).Losses();
    ASSERT_EQ(losses.size(), 4 * meshes.size());
    frames::Start start = StoredStart(alone);
    size_t at = 0;
    for (const Meshed& mesh : meshes) {
      SCOPED_TRACE(mesh.name);
      nlohmann::json spec = mesh.spec;
      SaveEach(4, spec);
      start.spec = Resolved(spec);
      const Told told = TrainerGang(mesh.ranks).Run(start);
      ExpectFinished(told);
      EXPECT_EQ(told.resumed_step, at);
      EXPECT_LE(LargestDifference({losses.begin() + static_cast<ptrdiff_t>(at), losses.end()},
                                  told.Losses()),
                apart);
      at += 4;
      ++start.attempt;
      start.resume = ResumeOf(told.checkpoints.at(0));
    }
  }

  // `sixteen` is the same on four ranks, with zero2 in addition.
  void ExpectNearlyTheLossesInSixteenBits(const Meshed& fp32, nlohmann::json sixteen) {
    const Told whole = TrainerGang(fp32.ranks).Run(Start(fp32.spec));
    for (const auto& [compute, apart] : {std::pair("bf16", 1e-2), std::pair("fp16", 2e-3)}) {
      SCOPED_TRACE(compute);
      sixteen["stop"]["nonfinite"] = "skip";
      sixteen["precision"]["compute"] = compute;
      sixteen["precision"]["reduce"] = "bf16";
      sixteen["train"]["hash_every"] = "1";
      const Told told = TrainerGang(4).Run(Start(sixteen));
      ExpectFinished(told);
      EXPECT_LE(LargestDifference(whole.Losses(), told.Losses()), apart);
    }
  }

  // Makes `spec` score endings and write samples twice.
  nlohmann::json WithTasks(nlohmann::json spec) {
    WriteEndings("hellaswag.jsonl", 30);
    spec["data"]["tokenizer"] = "byte";
    spec["model"]["vocab_size"] = 257;
    spec["model"]["vocab_pad"] = 320;
    // All ranks then have the same weights to the last bit.
    spec["optimizer"]["lr"] = kNothing;
    spec["eval"]["hellaswag"] = "hellaswag.jsonl";
    spec["eval"]["every"] = "2";
    spec["eval"]["samples"] = 3;
    spec["eval"]["sample_tokens"] = 20;
    spec["eval"]["sample_prompt"] = "a";
    return spec;
  }
  void ExpectTheEvaluationsOfOne(const nlohmann::json& alone, const std::vector<Meshed>& meshes) {
    const Told& one = Known(1, alone);
    ASSERT_EQ(one.evals.size(), 2u);
    for (const Meshed& mesh : meshes) {
      SCOPED_TRACE(mesh.name);
      const Told told = TrainerGang(mesh.ranks).Run(Start(mesh.spec));
      ExpectFinished(told);
      ASSERT_EQ(told.evals.size(), 2u);
      EXPECT_NEAR(told.evals[1].loss, one.evals[1].loss, 1e-5);
      EXPECT_EQ(told.evals[1].hellaswag_acc, one.evals[1].hellaswag_acc);
      EXPECT_EQ(told.evals[1].hellaswag_acc_norm, one.evals[1].hellaswag_acc_norm);
      EXPECT_EQ(told.evals[1].samples, one.evals[1].samples);
    }
  }

  // Stops a long training with a checkpoint, which loses no step, and without one, which ends too.
  // Afterwards one of its processes trains `alone`.
  void ExpectToStopWithAndWithoutACheckpoint(const Meshed& mesh, const nlohmann::json& alone) {
    for (const bool saves : {true, false}) {
      TrainerGang gang(mesh.ranks);
      const Told told = gang.Run(StoredStart(mesh.spec),
                                 AfterStep(3, [saves](TrainerGang& of) { of.StopAll(saves); }));
      ASSERT_EQ(told.checkpoints.size(), saves ? 1u : 0u);
      if (!saves) {
        ExpectAllStopped(told);
        continue;
      }
      for (int rank = 0; rank < mesh.ranks; ++rank) {
        EXPECT_EQ(told.Cause(rank), "cancelled") << told.Message(rank);
        EXPECT_EQ(told.EndStep(rank), told.checkpoints[0].step);
      }
      for (int rank = mesh.ranks - 1; rank > 0; --rank) gang.DropRank(rank);
      ExpectFinished(gang.Run(Start(alone)));
    }
  }

  void ExpectRefused(const Meshed& mesh, const std::string& message) {
    const Told told = TrainerGang(mesh.ranks).Run(Start(mesh.spec));
    EXPECT_EQ(told.Cause(), "config");
    EXPECT_NE(told.Message().find(message), std::string::npos) << told.Message();
  }

 private:
  static void SaveEach(int steps, nlohmann::json& spec) {
    spec["checkpoint"]["every"]["steps"] = std::to_string(steps);
    spec["checkpoint"]["keep_latest"] = 100;
  }
};

}  // namespace dt::testing
