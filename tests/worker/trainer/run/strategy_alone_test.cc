// strategy_alone_test.cc: every strategy on several ranks, compared with one rank with the same
// micro-batches: losses, evaluations and samples, and the end out of memory. With real processes,
// in the long run.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/run/model_parallel_fixture.h"

namespace dt::testing {
namespace {

// parallel.md §3: the worst of 20 steps was 5e-7 for losses, 8e-7 of a norm, and 5e-6 under hsdp.
constexpr double kApartFromOne = 1e-5, kHsdpApartFromOne = 2e-5, kNormApartFromOne = 1e-5;

struct Beside {
  const char* strategy;
  int ranks;
  int tensor = 1;
};
void PrintTo(const Beside& one, std::ostream* out) { *out << one.strategy << " on " << one.ranks; }

nlohmann::json SharedAs(const Beside& one, nlohmann::json spec) {
  spec["parallel"]["strategy"] = one.strategy;
  spec["parallel"]["tensor"] = one.tensor;
  if (one.strategy == std::string("hsdp")) spec["parallel"]["shard"] = 2;
  return spec;
}
std::string NameOfBeside(const ::testing::TestParamInfo<Beside>& info) {
  return info.param.strategy + std::string("On") + std::to_string(info.param.ranks) +
         (info.param.tensor > 1 ? "OfLayersCut" : "");
}

class StrategyAloneTest : public ModelParallelTest, public ::testing::WithParamInterface<Beside> {};

TEST_P(StrategyAloneTest, GivesTheLossesOfOneRankWithTheSameMicroBatches) {
  const nlohmann::json spec = StepsOfSequences(20, 24, 2);
  const Told one = TrainerGang(1).Run(Start(spec));
  ExpectFinished(one);
  const Told told = TrainerGang(GetParam().ranks).Run(Start(SharedAs(GetParam(), spec)));
  ExpectFinished(told);
  const bool hsdp = GetParam().strategy == std::string("hsdp");
  ExpectTheLossesOfOne(one, told, hsdp ? kHsdpApartFromOne : kApartFromOne, kNormApartFromOne);
}

INSTANTIATE_TEST_SUITE_P(Rest, StrategyAloneTest,
                         ::testing::Values(Beside{"ddp", 4}, Beside{"zero1", 4}, Beside{"zero2", 4},
                                           Beside{"zero3", 4}, Beside{"hsdp", 4}),
                         NameOfBeside);

class StrategyTasksTest : public StrategyAloneTest {};

TEST_P(StrategyTasksTest, ScoresEndingsAndWritesSamplesAsOneRankDoes) {
  const nlohmann::json spec = WithTasks(StepsOfSequences(4, 24, 2));
  nlohmann::json shared = SharedAs(GetParam(), spec);
  // Ranks that step alone evaluate where they are equal.
  shared["parallel"]["sync_every"] = spec["eval"]["every"];
  ExpectTheEvaluationsOfOne(spec, {{GetParam().strategy, GetParam().ranks, shared}});
}

INSTANTIATE_TEST_SUITE_P(Rest, StrategyTasksTest,
                         ::testing::Values(Beside{"zero1", 2}, Beside{"zero2", 2},
                                           Beside{"zero3", 3}, Beside{"hsdp", 4},
                                           Beside{"local_sgd", 2}),
                         NameOfBeside);

class StrategyMemoryTest : public StrategyAloneTest {};

TEST_P(StrategyMemoryTest, RunsOutOfMemoryAsAnOutcomeAndTrainsTheNextTrialInTheSameProcesses) {
  const int ranks = GetParam().ranks;
  nlohmann::json large = SmallSpec();
  large["train"]["batch_size"] = 500;
  large["model"]["n_ff"] = 50304;  // 3.2 GB of activations for each layer; two ranks have half each
  TrainerGang gang(ranks, {"--threads", "1", "--memory-limit", "1G"});
  const Told told = gang.Run(Start(SharedAs(GetParam(), large)));
  int ran_out = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string cause = told.Cause(static_cast<size_t>(rank));
    EXPECT_TRUE(cause == "oom" || cause == "collective") << cause;
    if (cause != "oom") continue;
    ++ran_out;
    EXPECT_NE(told.Message(static_cast<size_t>(rank)).find("where `dtctl plan` estimates "),
              std::string::npos)
        << told.Message(static_cast<size_t>(rank));
  }
  EXPECT_GE(ran_out, 1);
  gang.AwaitReady();  // a process whose heap stays mapped leaves
  EXPECT_EQ(gang.Run(Start(SharedAs(GetParam(), SmallSpec()))).Cause(), "finished");
}

INSTANTIATE_TEST_SUITE_P(Rest, StrategyMemoryTest,
                         ::testing::Values(Beside{"zero1", 2}, Beside{"zero2", 2},
                                           Beside{"zero3", 2}, Beside{"hsdp", 4},
                                           Beside{"local_sgd", 2}, Beside{"ddp", 2, 2}),
                         NameOfBeside);

}  // namespace
}  // namespace dt::testing
