// strategy_test.cc: every strategy trains as data-parallel ranks do: the same losses, checkpoints
// from which any other continues, and every way to end. With real processes.
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <tuple>

#include "common/files.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

// parallel.md §3: the worst of 20 steps was 5e-7 for losses, 9e-7 of a norm.
constexpr double kLossesApart = 1e-5;
constexpr double kNormsApart = 1e-5;

// A strategy and its number of ranks.
using Home = std::tuple<std::string, int>;

enum class Saves { kNo, kYes };

class StrategyTest : public AttemptTest, public ::testing::WithParamInterface<Home> {
 protected:
  static std::string strategy() { return std::get<0>(GetParam()); }
  static int ranks() { return std::get<1>(GetParam()); }
  static nlohmann::json With(const std::string& strategy, nlohmann::json spec) {
    spec["parallel"]["strategy"] = strategy;
    if (strategy == "hsdp") spec["parallel"]["shard"] = 2;
    return spec;
  }
  static nlohmann::json Spec(int steps) { return StepsOfSequences(steps, 24, 2); }
  // Runs a long training and stops all ranks after its third step.
  Told StoppedAtTheThirdStep(Saves saves) {
    TrainerGang gang(ranks());
    return gang.Run(StoredStart(With(strategy(), Spec(2000))),
                    AfterStep(3, [saves](TrainerGang& of) { of.StopAll(saves == Saves::kYes); }));
  }
};

TEST_P(StrategyTest, GivesTheLossesOfDataParallelRanks) {
  const nlohmann::json spec = Spec(20);
  const Told& ddp = Known(ranks(), spec);
  const Told told = TrainerGang(ranks()).Run(Start(With(strategy(), spec)));
  ExpectFinished(told);
  EXPECT_LE(LargestDifference(ddp.Losses(), told.Losses()), kLossesApart);
  EXPECT_LE(LargestDifference(ddp.Column("grad_norm"), told.Column("grad_norm")), kNormsApart);
  ASSERT_EQ(told.evals.size(), 1u);
  EXPECT_NEAR(told.evals[0].loss, ddp.evals[0].loss, kLossesApart);
}

TEST_P(StrategyTest, Fp16AndItsLossScaleGiveNearlyTheLossesOfDataParallelRanks) {
  nlohmann::json spec = Spec(20);
  spec["precision"]["compute"] = "fp16";
  spec["stop"]["nonfinite"] = "skip";
  const Told& ddp = Known(ranks(), spec);
  const Told told = TrainerGang(ranks()).Run(Start(With(strategy(), spec)));
  ExpectFinished(told);
  EXPECT_LE(LargestDifference(ddp.Losses(), told.Losses()), 1e-3);
  EXPECT_EQ(told.Column("nonfinite_steps"), ddp.Column("nonfinite_steps"));
}

TEST_P(StrategyTest, EqualsTheUninterruptedRunBitForBitAfterAResume) {
  nlohmann::json spec = With(strategy(), Spec(12));
  spec["model"]["dropout"] = 0.1;
  spec["checkpoint"]["every"]["steps"] = "1";
  spec["checkpoint"]["keep_latest"] = 100;
  frames::Start start = StoredStart(spec);
  TrainerGang gang(ranks());
  const Told whole = gang.Run(start);
  ExpectFinished(whole);
  ASSERT_EQ(whole.checkpoints.size(), 12u);
  ExpectTheRestAgain(gang, start, whole, whole.checkpoints[6]);
}

TEST_P(StrategyTest, AnyOtherStrategyContinuesFromItsCheckpointsAndViceVersa) {
  nlohmann::json spec = Spec(12);
  spec["checkpoint"]["every"]["steps"] = "6";
  spec["checkpoint"]["keep_latest"] = 100;
  frames::Start start = StoredStart(spec);
  const Told ddp = TrainerGang(ranks()).Run(start);
  ExpectFinished(ddp);
  const std::vector<double> losses = ddp.Losses();
  const std::vector<double> after(losses.begin() + 6, losses.end());

  start.attempt = 2;
  start.resume = ResumeOf(ddp.checkpoints.at(0));
  start.spec = Resolved(With(strategy(), spec));
  const Told its = TrainerGang(ranks()).Run(start);
  ExpectFinished(its);
  EXPECT_EQ(its.resumed_step, 6u);
  EXPECT_LE(LargestDifference(after, its.Losses()), kLossesApart);

  start.trial = 3;
  start.resume.reset();
  start.attempt = 1;
  const Told whole = TrainerGang(ranks()).Run(start);
  ExpectFinished(whole);
  start.attempt = 2;
  start.resume = ResumeOf(whole.checkpoints.at(0));
  start.spec = Resolved(spec);
  const Told one = TrainerGang(1).Run(start);
  ExpectFinished(one);
  EXPECT_EQ(one.resumed_step, 6u);
  EXPECT_LE(LargestDifference(after, one.Losses()), kLossesApart);
}

TEST_P(StrategyTest, AStopWithACheckpointLosesNoStep) {
  const Told told = StoppedAtTheThirdStep(Saves::kYes);
  ASSERT_EQ(told.checkpoints.size(), 1u);
  for (int rank = 0; rank < ranks(); ++rank) {
    EXPECT_EQ(told.Cause(rank), "cancelled") << told.Message(rank);
    EXPECT_EQ(told.EndStep(rank), told.checkpoints[0].step);
  }
}

TEST_P(StrategyTest, AStopWithoutACheckpointEndsAllRanks) {
  const Told told = StoppedAtTheThirdStep(Saves::kNo);
  EXPECT_TRUE(told.checkpoints.empty());
  ExpectAllStopped(told);
}

TEST_P(StrategyTest, AKilledRankEndsTheOthersAndTheNextAttemptGoesOn) {
  ExpectToGoOnAfterADeath(With(strategy(), Spec(30)), ranks(), 1);
}

TEST_P(StrategyTest, RanksThatKeepTheParametersCompareThem) {
  if (strategy() == "zero3") GTEST_SKIP() << "each parameter is there once";
  nlohmann::json spec = With(strategy(), Spec(8));
  spec["train"]["hash_every"] = 2;
  ExpectFinished(TrainerGang(ranks()).Run(Start(spec)));
}

std::string NameOf(const ::testing::TestParamInfo<Home>& info) {
  return std::get<0>(info.param) + "On" + std::to_string(std::get<1>(info.param)) + "Ranks";
}

// zero2 is zero1 with sums after each micro-step, which zero3 has too.
INSTANTIATE_TEST_SUITE_P(Diagonal, StrategyTest,
                         ::testing::Values(Home{"zero1", 2}, Home{"zero3", 3}, Home{"hsdp", 4}),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Rest, StrategyTest, ::testing::Values(Home{"zero2", 3}, Home{"zero3", 2}),
                         NameOf);

class SharingTest : public AttemptTest {
 protected:
  // Returns one field of an operation along one axis in a step's row; 0 if nothing was sent.
  static double Sent(const nlohmann::json& row, const std::string& op, const std::string& axis,
                     const char* field) {
    for (const nlohmann::json& each : row.at("collectives")) {
      if (each.at("op") == op && each.at("axis") == axis) return each.at(field).get<double>();
    }
    return 0;
  }
};

// parallel.md §4, "Bytes a rank and step"; rows are a little longer than their contents.
TEST_F(SharingTest, SendsTheBytesThatTheFormulasSay) {
  nlohmann::json spec = StepsOfSequences(3, 16, 2);  // 2 micro-steps on 4 ranks
  const int layers = spec["model"]["n_layer"].get<int>();
  const double micro_steps = 2;
  const auto all = static_cast<double>(ParametersOf(spec, layers));
  const double block = static_cast<double>(ParametersOf(spec, 2) - ParametersOf(spec, 1));
  const double root = all - layers * block;
  // Each block is gathered in the forward and in the backward pass, but the last one stays; the
  // root is gathered once.
  const double gathered = 4 * micro_steps * (root + (2 * layers - 1) * block);
  struct Expected {
    std::string strategy, op, axis;
    double bytes;
  };
  const std::vector<Expected> table = {
      {"ddp", "all_reduce", "data", 4 * all},
      {"zero1", "reduce_scatter", "shard", 4 * all},
      {"zero1", "all_gather", "shard", 4 * all},
      {"zero2", "reduce_scatter", "shard", 4 * micro_steps * all},
      {"zero2", "all_gather", "shard", 4 * all},
      {"zero3", "reduce_scatter", "shard", 4 * micro_steps * all},
      {"zero3", "all_gather", "shard", gathered},
      {"hsdp", "reduce_scatter", "shard", 4 * micro_steps * all},
      {"hsdp", "all_gather", "shard", gathered},
      {"hsdp", "all_reduce", "replicate", 4 * all / 2},
  };
  for (const std::string strategy : {"ddp", "zero1", "zero2", "zero3", "hsdp"}) {
    spec["parallel"]["strategy"] = strategy;
    spec["parallel"]["shard"] = strategy == "hsdp" ? 2 : 0;
    const Told told = TrainerGang(4).Run(Start(spec));
    ASSERT_EQ(told.Cause(), "finished") << strategy << ": " << told.Message();
    const nlohmann::json& row = told.rows.back();
    size_t ways = 0;
    for (const Expected& expected : table) {
      if (expected.strategy != strategy) continue;
      ++ways;
      const double bytes = Sent(row, expected.op, expected.axis, "bytes");
      EXPECT_GE(bytes, expected.bytes) << strategy << " " << expected.op;
      EXPECT_LE(bytes, expected.bytes * 1.05) << strategy << " " << expected.op;
      EXPECT_GT(Sent(row, expected.op, expected.axis, "seconds"), 0) << strategy;
      EXPECT_EQ(Sent(row, expected.op, expected.axis, "ranks"), strategy == "hsdp" ? 2 : 4);
    }
    EXPECT_EQ(row.at("collectives").size(), ways) << row.at("collectives");
  }
}

// Gloo and shared memory sum and gather in the same order.
TEST_F(SharingTest, RanksOfOneHostSumAndGatherInMemoryThatTheyShareWithTheSameBits) {
  nlohmann::json spec = StepsOfSequences(12, 16, 4);
  const std::vector<std::string> over_gloo = {"--threads", "1", "--all-reduce", "gloo"};
  TrainerGang shared(2), gloo(2, over_gloo);
  for (const std::string strategy : {"zero1", "zero2", "zero3"}) {
    SCOPED_TRACE(strategy);
    spec["parallel"]["strategy"] = strategy;
    const Told in_memory = shared.Run(Start(spec)), sent = gloo.Run(Start(spec));
    ExpectFinished(in_memory);
    ExpectFinished(sent);
    EXPECT_EQ(in_memory.Losses(), sent.Losses());
    EXPECT_EQ(in_memory.evals.at(0).loss, sent.evals.at(0).loss);
    EXPECT_EQ(BytesOf(in_memory.rows.back()), BytesOf(sent.rows.back()));
    // Shards, or rows, are then not among the rank's own tensors.
    EXPECT_LT(in_memory.Column("tensor_held_bytes").back(),
              sent.Column("tensor_held_bytes").back() - 1);
  }
}

// Products round parameters anyway, so that the transfer loses nothing.
TEST_F(SharingTest, With16BitProductsBlocksTravelIn16BitsWithTheSameLosses) {
  nlohmann::json spec = StepsOfSequences(8, 16, 4);
  spec["precision"]["compute"] = "bf16";
  spec["parallel"]["strategy"] = "zero3";
  spec["model"]["n_layer"] = 4;
  const Told whole = TrainerGang(2).Run(Start(spec));
  const Told narrow = TrainerGang(2, {"--threads", "1", "--all-reduce", "gloo"}).Run(Start(spec));
  ExpectFinished(narrow);
  EXPECT_EQ(whole.Losses(), narrow.Losses());
  EXPECT_EQ(whole.evals.at(0).loss, narrow.evals.at(0).loss);
  const double norms = 4 * 32;
  const auto block = static_cast<double>(ParametersOf(spec, 2) - ParametersOf(spec, 1)) - norms;
  const auto root = static_cast<double>(ParametersOf(spec, 4)) - 4 * block;
  const double micro_steps = 2, bytes = micro_steps * (4 * root + 7 * 2 * block);
  const double sent = Sent(narrow.rows.back(), "all_gather", "shard", "bytes");
  EXPECT_GE(sent, bytes);
  EXPECT_LE(sent, bytes * 1.05);
}

// parallel.md §3, "Memory": Ψ parameters, S ranks that share them, blocks of U and a root of R.
TEST_F(SharingTest, HoldsAndTakesTheMemoryThatTheFormulasSay) {
  nlohmann::json spec = StepsOfSequences(4, 4, 1);  // activations are small compared with
                                                    // parameters
  spec["model"]["n_layer"] = 12;
  spec["model"]["n_embd"] = 128;
  spec["model"]["n_ff"] = 512;
  const auto all = static_cast<double>(ParametersOf(spec, 12));
  const double block = static_cast<double>(ParametersOf(spec, 2) - ParametersOf(spec, 1));
  const double root = all - 12 * block;
  const auto run = [&](const std::string& strategy, int ranks, int shard) {
    spec["parallel"]["strategy"] = strategy;
    spec["parallel"]["shard"] = strategy == "hsdp" ? shard : 0;
    const Told told =
        TrainerGang(ranks, {"--threads", "1", "--all-reduce", "gloo"}).Run(Start(spec));
    EXPECT_EQ(told.Cause(), "finished") << strategy << ": " << told.Message();
    return std::pair(told.Column("tensor_held_bytes").at(2),
                     told.Column("tensor_peak_bytes").at(2));
  };
  const auto [alone_held, alone_peak] = run("ddp", 1, 0);
  EXPECT_NEAR(alone_held, 16 * all, 0.01 * 16 * all);
  const double activations = alone_peak - alone_held;  // it keeps gradients of four micro-steps
  struct Expected {
    std::string strategy;
    int ranks, shard;
    double held;
  };
  for (const Expected& one : {Expected{"ddp", 2, 1, 16 * all}, Expected{"zero1", 2, 2, 10 * all},
                              Expected{"zero1", 4, 4, 7 * all}, Expected{"zero2", 4, 4, 7 * all},
                              Expected{"zero3", 2, 2, 8 * all}, Expected{"zero3", 4, 4, 4 * all},
                              Expected{"hsdp", 4, 2, 8 * all}}) {
    const auto [held, peak] = run(one.strategy, one.ranks, one.shard);
    EXPECT_NEAR(held, one.held, 0.01 * one.held) << one.strategy << " on " << one.ranks;
    if (one.strategy == "ddp") continue;
    // Two ranks make two micro-steps each, over which zero1 adds up gradients.
    const double added_up = one.strategy == "zero1" && one.ranks == 2 ? 4 * all : 0;
    EXPECT_LE(peak - held, 4 * (root + 7 * block) + activations + added_up)
        << one.strategy << " on " << one.ranks;
    std::printf("%s on %d ranks: held %.1f of %.1f MB, %.1f more within a step\n",
                one.strategy.c_str(), one.ranks, held / 1e6, one.held / 1e6, (peak - held) / 1e6);
  }
}

TEST_F(SharingTest, ARankAloneSendsNothing) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "1";
  const Told told = TrainerGang(1).Run(Start(spec));
  ASSERT_EQ(told.rows.size(), 1u);
  EXPECT_TRUE(told.rows[0].at("collectives").empty());
}

// e2e_strategies_test has a smaller one.
class RestOfSharingTest : public SharingTest {};

TEST_F(RestOfSharingTest, ATrialOutOfMemoryUnderDdpFinishesUnderZero3) {
  nlohmann::json spec = SmallSpec();
  // 113M parameters. With 16 bytes each and 4 of buckets they take 2.3 GB. With half of the 16, and
  // what a step gathers and sends of sixteen blocks, they take 1.1 GB.
  spec["model"]["n_layer"] = 16;
  spec["model"]["n_embd"] = 768;
  spec["model"]["n_ff"] = 3072;
  spec["train"]["max_steps"] = "1";
  const std::vector<std::string> flags = {"--threads", "1", "--memory-limit", "2200M"};
  const Told ddp = TrainerGang(2, flags).Run(StoredStart(spec));
  EXPECT_TRUE(ddp.Cause(0) == "oom" || ddp.Cause(1) == "oom") << ddp.Message(0);
  spec["parallel"]["strategy"] = "zero3";
  const Told zero3 = TrainerGang(2, flags).Run(StoredStart(spec));
  for (const int rank : {0, 1}) {
    EXPECT_EQ(zero3.Cause(rank), "finished") << zero3.Message(rank);
  }
  EXPECT_EQ(zero3.checkpoints.size(), 1u) << "no rank holds all of it to save it";
}

}  // namespace
}  // namespace dt::testing
