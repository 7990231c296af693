// share_text_test.cc: a rank's place in the mesh, and its estimated memory.
#include "worker/trainer/trial/share_text.h"

#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/worker/trainer/gpt2_trial.h"
#include "worker/trainer/trial/flops.h"

namespace dt::trainer {
namespace {

StepPlan PlanOf(const TrialSpec& spec, int rank, int ranks) {
  const auto plan = PlanSteps(spec, rank, ranks, 1'000'000);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.value_or(StepPlan{});
}

TEST(ShareTextTest, NamesStageAndPartAndTheEstimateOfPlan) {
  TrialSpec spec = Gpt2Trial();
  spec.pipeline = 2;
  spec.tensor = 2;
  spec.train.global_batch_size = 4 * spec.train.batch_size;
  const StepPlan plan = PlanOf(spec, 1, 4);
  const std::string estimate = FormatBytes(plan::MemoryBytes(
      SizeOf(spec.model), StepSizeOf(spec, plan, Compute::kFp32, /*cuda=*/false)));
  const auto text = [&](int rank) {
    return ShareText(spec, PlanOf(spec, rank, 4), rank, 4, Compute::kFp32, /*cuda=*/false);
  };
  EXPECT_EQ(text(1),
            "rank 1 of 4 (stage 0 of 2, with 2 micro-batches under way; part 1 of 2 of each "
            "layer), where `dtctl plan` estimates " +
                estimate);
  EXPECT_EQ(text(2),
            "rank 2 of 4 (stage 1 of 2, with 1 micro-batch under way; part 0 of 2 of each "
            "layer), where `dtctl plan` estimates " +
                estimate);
}

TEST(ShareTextTest, ARankWithACompleteModelOrWithoutAPlanHasNoPlace) {
  const TrialSpec spec = Gpt2Trial();
  EXPECT_EQ(ShareText(spec, {}, 0, 2, Compute::kFp32, false), "rank 0 of 2");
  const std::string text = ShareText(spec, PlanOf(spec, 1, 2), 1, 2, Compute::kFp32, false);
  EXPECT_EQ(text.rfind("rank 1 of 2, where `dtctl plan` estimates ", 0), 0u) << text;
}

}  // namespace
}  // namespace dt::trainer
