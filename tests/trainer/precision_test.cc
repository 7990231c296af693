// precision_test.cc: every precision.compute gives nearly the same losses, on one rank and on two,
// told by real processes.
#include <gtest/gtest.h>

#include "tests/trainer/attempt_fixture.h"

namespace dt::testing {
namespace {

struct Precision {
  const char* name;
  // Largest difference of a step's loss, over 50 steps in which it falls by 0.3 and more.
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

TEST_P(PrecisionTest, OneRankAndTwoAgreeToTheStatedTolerance) {
  nlohmann::json spec = Spec(GetParam().name);
  spec["train"]["batch_size"] = 8;
  spec["eval"]["batches"] = 2;  // of the same samples
  const Told one = TrainerGang(1).Run(Start(spec));
  spec["train"]["batch_size"] = 4;
  spec["eval"]["batches"] = 4;
  const Told two = TrainerGang(2).Run(Start(spec));
  ASSERT_EQ(one.Cause(), "finished") << one.ends[0]->message;
  ASSERT_EQ(two.Cause(), "finished") << two.ends[0]->message;
  EXPECT_LT(one.Losses().back(), one.Losses().front() - 0.3) << "it learns";
  EXPECT_LE(LargestDifference(one.Losses(), two.Losses()), GetParam().between_world_sizes);
  EXPECT_LE(std::abs(one.evals.at(0).loss - two.evals.at(0).loss), GetParam().between_world_sizes);
}

TEST_P(PrecisionTest, ItTrainsNearlyAsFp32Does) {
  const Told fp32 = TrainerGang(1).Run(Start(Spec("fp32")));
  const Told told = TrainerGang(1).Run(Start(Spec(GetParam().name)));
  ASSERT_EQ(told.Cause(), "finished") << told.ends[0]->message;
  const double difference = LargestDifference(fp32.Losses(), told.Losses());
  EXPECT_LE(difference, GetParam().from_fp32);
  EXPECT_EQ(difference == 0, std::string_view(GetParam().name) == "fp32") << "it is what it says";
}

INSTANTIATE_TEST_SUITE_P(Every, PrecisionTest,
                         ::testing::Values(Precision{"fp32", 1e-5, 0},
                                           Precision{"bf16", 2e-3, 5e-3},
                                           Precision{"fp16", 5e-4, 1e-3}),
                         [](const auto& precision) { return precision.param.name; });

}  // namespace
}  // namespace dt::testing
