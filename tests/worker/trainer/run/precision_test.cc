// precision_test.cc: every precision.compute gives nearly the same losses, on one rank and on two.
// With real processes.
#include <gtest/gtest.h>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

struct Precision {
  const char* name;
  // Largest difference of a step's loss, over 50 steps in which the loss falls by at least 0.3.
  double between_world_sizes;  // one rank and two, at the same global batch
  double from_fp32;
};

class PrecisionTest : public AttemptTest, public ::testing::WithParamInterface<Precision> {
 protected:
  static nlohmann::json Spec(const char* compute) {
    nlohmann::json spec = SmallSpec();
    spec["train"]["max_steps"] = "50";
    spec["train"]["global_batch_size"] = "8";
    spec["optimizer"]["lr"] = 3e-3;
    spec["precision"]["compute"] = compute;
    return spec;
  }
};

TEST_P(PrecisionTest, ASingleRankAndTwoAgreeToTheStatedTolerance) {
  nlohmann::json spec = Spec(GetParam().name);
  spec["train"]["batch_size"] = 8;
  spec["eval"]["batches"] = 2;  // the same samples
  const Told one = TrainerGang(1).Run(Start(spec));
  spec["train"]["batch_size"] = 4;
  spec["eval"]["batches"] = 4;
  const Told two = TrainerGang(2).Run(Start(spec));
  ASSERT_EQ(one.Cause(), "finished") << one.Message();
  ASSERT_EQ(two.Cause(), "finished") << two.Message();
  EXPECT_LT(one.Losses().back(), one.Losses().front() - 0.3) << "it learns";
  EXPECT_LE(LargestDifference(one.Losses(), two.Losses()), GetParam().between_world_sizes);
  EXPECT_LE(std::abs(one.evals.at(0).loss - two.evals.at(0).loss), GetParam().between_world_sizes);
}

TEST_P(PrecisionTest, EveryPrecisionTrainsNearlyAsFp32Does) {
  const Told fp32 = TrainerGang(1).Run(Start(Spec("fp32")));
  const Told told = TrainerGang(1).Run(Start(Spec(GetParam().name)));
  ASSERT_EQ(told.Cause(), "finished") << told.Message();
  const double difference = LargestDifference(fp32.Losses(), told.Losses());
  EXPECT_LE(difference, GetParam().from_fp32);
  EXPECT_EQ(difference == 0, std::string_view(GetParam().name) == "fp32")
      << "the mode makes a difference";
}

TEST_P(PrecisionTest, ActivationCheckpointingChangesNoBitOfALoss) {
  for (const char* norm : {"pre", "post"}) {
    nlohmann::json spec = Spec(GetParam().name);
    spec["train"]["max_steps"] = "10";
    spec["model"]["dropout"] = 0.1;
    spec["model"]["norm"] = norm;
    const Told kept = TrainerGang(2).Run(Start(spec));
    spec["model"]["activation_checkpointing"] = "block";
    const Told computed = TrainerGang(2).Run(Start(spec));
    ASSERT_EQ(computed.Cause(), "finished") << computed.Message();
    EXPECT_EQ(computed.Losses(), kept.Losses()) << norm;
    EXPECT_EQ(computed.Column("grad_norm"), kept.Column("grad_norm")) << norm;
    EXPECT_EQ(computed.evals.at(0).loss, kept.evals.at(0).loss);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, PrecisionTest,
                         ::testing::Values(Precision{"fp32", 1e-5, 0},
                                           Precision{"bf16", 2e-3, 5e-3},
                                           Precision{"fp16", 5e-4, 1e-3}),
                         [](const auto& precision) { return precision.param.name; });

TEST_F(AttemptTest, ActivationCheckpointingNeedsLessMemory) {
  BeginProcesses();  // a process's peak covers its complete life
  nlohmann::json spec = SmallSpec();
  spec["model"]["n_layer"] = 24;
  spec["model"]["n_embd"] = 64;
  spec["model"]["n_ff"] = 256;
  spec["train"]["batch_size"] = 128;
  spec["train"]["max_steps"] = "2";
  const auto peak = [&](const char* which) {
    spec["model"]["activation_checkpointing"] = which;
    const Told told = TrainerGang(1).Run(Start(spec));
    EXPECT_EQ(told.Cause(), "finished") << told.Message();
    return told.Column("memory_peak_bytes").back();
  };
  // Only the inputs of 24 layers are kept, 1 MB each for 4096 tokens: some 10 MB less for each
  // layer.
  EXPECT_LT(peak("block"), peak("none") - 100e6);
}

}  // namespace
}  // namespace dt::testing
