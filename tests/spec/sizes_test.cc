// sizes_test.cc: the numbers of slots that an elastic trial may have, and the checks of files for
// them.
#include "spec/sizes.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/spec/experiment_builder.h"

namespace dt::spec {
namespace {

using Sizes = std::vector<int32_t>;

// Returns "message; hint" for the first error or warning; "" if there is none.
std::string First(const std::vector<Issue>& issues) {
  return issues.empty() ? "" : ToString(issues.front());
}

TEST(SizesTest, ASizeDealsTheGlobalBatchEvenly) {
  ExperimentBuilder builder;
  builder.Set("train.batch_size", "4").Set("train.global_batch_size", "48");  // 12 passes
  builder.Set("resources.gpus", "4").Set("resources.min_gpus", "2").Set("resources.max_gpus", "8");
  EXPECT_EQ(First(Validate(builder.spec())), "");
  const v1::Spec trial = builder.Resolve();
  EXPECT_EQ(ReachableSizes(trial), (Sizes{2, 3, 4, 6}));
  const GangSizes sizes = *SizesOf(trial);
  EXPECT_EQ(sizes.most, 6);
  EXPECT_EQ(sizes.Below(6), 4);
  EXPECT_EQ(sizes.Above(4), 6);
  EXPECT_EQ(sizes.Below(2), 0);
  EXPECT_EQ(sizes.Above(6), 0);
  EXPECT_FALSE(sizes.Reaches(5));
}

TEST(SizesTest, ASizeHoldsCompleteCopiesOfASharedState) {
  ExperimentBuilder builder;
  builder.Set("train.batch_size", "4").Set("train.global_batch_size", "48");
  builder.Set("resources.gpus", "4").Set("resources.min_gpus", "2").Set("resources.max_gpus", "8");
  builder.Set("parallel.strategy", "hsdp").Set("parallel.shard", "2");
  EXPECT_EQ(First(Validate(builder.spec())), "");
  EXPECT_EQ(ReachableSizes(builder.Resolve()), (Sizes{2, 4, 6}));
}

TEST(SizesTest, ASizeHasCompleteLayersAndTheirRanksCountOnceInTheBatch) {
  ExperimentBuilder builder;
  builder.Set("train.batch_size", "4").Set("train.global_batch_size", "48");
  builder.Set("resources.gpus", "4").Set("resources.min_gpus", "2").Set("resources.max_gpus", "16");
  builder.Set("parallel.tensor", "2");
  EXPECT_EQ(First(Validate(builder.spec())), "");
  EXPECT_EQ(ReachableSizes(builder.Resolve()), (Sizes{2, 4, 6, 8, 12}));
  builder.Set("parallel.strategy", "hsdp").Set("parallel.shard", "2");
  EXPECT_EQ(ReachableSizes(builder.Resolve()), (Sizes{4, 8, 12}));
  ExperimentBuilder derived;
  derived.Set("train.batch_size", "4").Set("resources.gpus", "8").Set("parallel.tensor", "4");
  EXPECT_EQ(derived.Resolve().train().global_batch_size(), 8) << "of two data ranks";
}

TEST(SizesTest, ASizeHasCompletePipelines) {
  ExperimentBuilder builder;
  builder.Set("train.batch_size", "4").Set("train.global_batch_size", "48");
  builder.Set("resources.gpus", "4").Set("resources.min_gpus", "2").Set("resources.max_gpus", "16");
  builder.Set("parallel.pipeline", "2").Set("parallel.tensor", "2").Set("model.n_layer", "4");
  EXPECT_EQ(First(Validate(builder.spec())), "");
  EXPECT_EQ(ReachableSizes(builder.Resolve()), (Sizes{4, 8, 12, 16}));
  ExperimentBuilder derived;
  derived.Set("train.batch_size", "4").Set("resources.gpus", "8").Set("parallel.pipeline", "4");
  derived.Set("parallel.microbatches", "6").Set("model.n_layer", "4");
  EXPECT_EQ(derived.Resolve().train().global_batch_size(), 48) << "of two data ranks";
  EXPECT_DOUBLE_EQ(BubbleOf(derived.Resolve()), 3.0 / 9) << "four stages, six micro-batches";
  derived.Set("parallel.schedule", "interleaved").Set("parallel.interleave", "2");
  derived.Set("parallel.microbatches", "8").Set("model.n_layer", "8");
  EXPECT_DOUBLE_EQ(BubbleOf(derived.Resolve()), 3.0 / 19);
  EXPECT_EQ(BubbleOf(ExperimentBuilder().Resolve()), 0);
}

TEST(SizesTest, RanksThatGossipAreAPowerOfTwo) {
  ExperimentBuilder builder;
  builder.Set("train.batch_size", "4").Set("train.global_batch_size", "48");
  builder.Set("resources.gpus", "4").Set("resources.min_gpus", "1").Set("resources.max_gpus", "8");
  builder.Set("parallel.strategy", "gossip");
  EXPECT_EQ(First(Validate(builder.spec())), "");
  EXPECT_EQ(ReachableSizes(builder.Resolve()), (Sizes{1, 2, 4}));
}

TEST(SizesTest, CopiesOfTheStateNeedRanksThatShareThem) {
  const auto said = [](const std::string& strategy, const std::string& shard,
                       const std::string& gpus) {
    ExperimentBuilder builder;
    builder.Set("parallel.strategy", strategy).Set("parallel.shard", shard);
    builder.Set("resources.gpus", gpus);
    return First(Validate(builder.spec()));
  };
  EXPECT_EQ(said("hsdp", "2", "4"), "");
  EXPECT_NE(said("hsdp", "3", "4").find("parallel.shard 3 does not divide resources.gpus 4"),
            std::string::npos)
      << said("hsdp", "3", "4");
  EXPECT_NE(said("hsdp", "3", "4").find("use 2 or 4"), std::string::npos);
  EXPECT_NE(said("hsdp", "0", "4").find("hsdp needs parallel.shard"), std::string::npos)
      << said("hsdp", "0", "4");
  EXPECT_NE(said("zero3", "2", "4").find("parallel.shard 2 is for hsdp"), std::string::npos)
      << said("zero3", "2", "4");
}

TEST(SizesTest, AnOpenGlobalBatchFollowsFromGpusAndStays) {
  ExperimentBuilder builder;
  builder.Set("resources.gpus", "4").Set("resources.min_gpus", "1");
  const v1::Spec trial = builder.Resolve();
  EXPECT_EQ(trial.train().global_batch_size(), 4 * trial.train().batch_size());
  EXPECT_EQ(ReachableSizes(trial), (Sizes{1, 2, 4}));
}

TEST(SizesTest, WithoutBoundsOrWithASinglePossibleSizeATrialIsNotElastic) {
  ExperimentBuilder builder;
  builder.Set("resources.gpus", "4");
  EXPECT_EQ(SizesOf(builder.Resolve()), std::nullopt);
  EXPECT_EQ(ReachableSizes(builder.Resolve()), Sizes{4});
  builder.Set("resources.min_gpus", "3");
  EXPECT_EQ(SizesOf(builder.Resolve()), std::nullopt);
}

TEST(SizesTest, AProgramMayHaveAnySize) {
  v1::Spec trial;
  trial.set_run("train");
  trial.mutable_resources()->set_gpus(2);
  trial.mutable_resources()->set_max_gpus(5);
  EXPECT_EQ(ReachableSizes(trial), (Sizes{2, 3, 4, 5}));
}

TEST(SizesTest, ManySizesAreShownByTheFirstAndTheLast) {
  EXPECT_EQ(SizesText(Sizes{4}), "4");
  EXPECT_EQ(SizesText(Sizes{2, 4, 8}), "2, 4 or 8");
  EXPECT_EQ(SizesText(Sizes{1, 2, 3, 4, 5, 6, 7, 8, 9, 64}), "1, 2, 3, 4, 5, 6, 7, … or 64");
  const GangSizes many{.least = 1, .most = 64};
  EXPECT_EQ(SizesText(many), SizesText(many.All()));
  const GangSizes eight{.least = 1, .most = 8};
  EXPECT_EQ(SizesText(eight), "1, 2, 3, 4, 5, 6, 7 or 8");
}

// A raw message may have these, without Validate before it.
TEST(SizesTest, AnyNumbersGiveSizesWithoutAFaultAndAtOnce) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  const std::vector<int32_t> numbers = {kLeast, -1, 0, 1, 2, 3, 8, 1 << 16, kMost};
  for (const char* strategy : {"ddp", "hsdp", "gossip"}) {
    for (const int32_t gpus : numbers) {
      for (const int32_t bound : numbers) {
        for (const int32_t ranks : numbers) {
          v1::Spec trial;
          trial.mutable_resources()->set_gpus(gpus);
          trial.mutable_resources()->set_min_gpus(bound);
          trial.mutable_resources()->set_max_gpus(bound);
          trial.mutable_parallel()->set_strategy(strategy);
          trial.mutable_parallel()->set_shard(ranks);
          trial.mutable_parallel()->set_tensor(ranks);
          trial.mutable_parallel()->set_pipeline(bound);
          trial.mutable_parallel()->set_microbatches(ranks);
          trial.mutable_train()->set_batch_size(bound);
          for (const int32_t size : ReachableSizes(trial)) ASSERT_GE(size, 1);
          ASSERT_GE(LargestSize(trial), LeastSize(trial));
          ASSERT_GE(RanksOfModel(trial), 1);
          DealtSizes(trial);
          MicroStepsOf(trial);
        }
      }
    }
  }
}

TEST(SizesTest, ShardsThatNoSizeHoldsAreRefusedRatherThanDividedBy) {
  ExperimentBuilder builder;
  builder.Set("resources.gpus", "2").Set("resources.max_gpus", "8");
  builder.Set("parallel.strategy", "hsdp").Set("parallel.shard", "4");
  EXPECT_EQ(First(Validate(builder.spec())),
            "parallel.shard 4 does not divide resources.gpus 2; use 2");
}

TEST(SizesTest, BoundsMustHoldGpusAndGpusMustBeASize) {
  using Fields = std::vector<std::pair<const char*, const char*>>;
  const std::vector<std::pair<Fields, const char*>> refused = {
      {{{"resources.gpus", "2"}, {"resources.min_gpus", "4"}},
       "resources.min_gpus 4 is above resources.gpus 2; lower it, or leave it out"},
      {{{"resources.gpus", "4"}, {"resources.max_gpus", "2"}},
       "resources.max_gpus 2 is below resources.gpus 4; raise it, or leave it out"},
      {{{"train.batch_size", "64"},
        {"train.global_batch_size", "512"},
        {"resources.gpus", "3"},
        {"resources.min_gpus", "2"},
        {"resources.max_gpus", "8"}},
       "train.global_batch_size 512 with train.batch_size 64 cannot be divided among 3 slots; set "
       "resources.gpus to 2, 4 or 8"},
      {{{"train.batch_size", "48"},
        {"train.global_batch_size", "512"},
        {"resources.gpus", "4"},
        {"resources.min_gpus", "2"},
        {"resources.max_gpus", "8"}},
       "train.global_batch_size 512 with train.batch_size 48 cannot be divided among 4 slots; "
       "between min_gpus 2 and max_gpus 8 no number of slots works; use 384 or 576"}};
  for (const auto& [fields, said] : refused) {
    ExperimentBuilder builder;
    for (const auto& [path, value] : fields) builder.Set(path, value);
    EXPECT_EQ(First(Validate(builder.spec())), said);
  }
}

TEST(SizesTest, TheLeastSizeMustBeWithinMaxGpusTotal) {
  ExperimentBuilder builder;
  builder.Set("resources.gpus", "4").Set("resources.min_gpus", "2");
  builder.Set("resources.max_gpus_total", "3");
  EXPECT_EQ(First(Validate(builder.spec())), "");
  builder.Set("resources.max_gpus_total", "1");
  EXPECT_EQ(First(Validate(builder.spec())),
            "resources.max_gpus_total 1 is below the 2 slots that a "
            "trial needs at least; none could run; raise it to 2, or remove it");
}

TEST(SizesTest, ABoundThatIsNeverReachedCausesAWarning) {
  ExperimentBuilder builder;
  builder.Set("train.batch_size", "8").Set("resources.gpus", "4").Set("resources.max_gpus", "8");
  EXPECT_EQ(First(Validate(builder.spec())), "");
  EXPECT_EQ(First(Warnings(builder.spec())),
            "resources.max_gpus 8 is never reached: a global batch of 32 with train.batch_size 8 "
            "can be divided among 4 slots; set train.global_batch_size to a multiple of 64");
}

TEST(SizesTest, BoundsAreNotSentToTheTrainer) {
  ExperimentBuilder builder;
  builder.Set("resources.gpus", "4").Set("resources.min_gpus", "1");
  EXPECT_EQ(ToJson(builder.Resolve()).find("min_gpus"), std::string::npos);
  EXPECT_NE(ToYaml(builder.spec()).find("min_gpus: 1"), std::string::npos);
}

}  // namespace
}  // namespace dt::spec
