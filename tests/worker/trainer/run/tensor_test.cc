// tensor_test.cc: ranks that compute each layer together train as one rank does: the same losses,
// checkpoints from which any other number of them continues, and every way to end. With real
// processes.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/worker/trainer/run/model_parallel_fixture.h"

namespace dt::testing {
namespace {

// parallel.md §3: the worst of 20 steps was 2.3e-5, and 7e-6 between one and two threads of one
// rank: Adam turns rounding into steps wherever a gradient is 0. The first gradient is free of
// that.
constexpr double kLossesApart = 1e-4;
constexpr double kFirstNormApart = 1e-5;  // relative to the norm

struct Case {
  const char* name;
  int tensor = 2;
  int ranks = 2;
  const char* strategy = "ddp";
  bool sequence = true;
  const char* checkpointing = "none";
  int rows = 64;  // rows of embedding and head; with 64, every row is a token's
  bool tied = true;
};

nlohmann::json Spec(int steps, const Case& one = {}) {
  // A single rank makes the same micro-batches, one after another.
  nlohmann::json spec = StepsOfSequences(steps, 16, 4);
  spec["model"]["n_head"] = 4;
  spec["model"]["vocab_pad"] = one.rows;
  spec["model"]["tie_head"] = one.tied;
  spec["model"]["head_bias"] = !one.tied;
  return spec;
}
nlohmann::json With(const Case& one, nlohmann::json spec) {
  spec["parallel"]["tensor"] = one.tensor;
  spec["parallel"]["sequence"] = one.sequence;
  spec["parallel"]["strategy"] = one.strategy;
  if (one.strategy == std::string("hsdp")) spec["parallel"]["shard"] = 2;
  spec["model"]["activation_checkpointing"] = one.checkpointing;
  return spec;
}
Meshed MeshOf(const Case& one, const nlohmann::json& spec) {
  return {one.name, one.ranks, With(one, spec)};
}

class TensorLossTest : public ModelParallelTest, public ::testing::WithParamInterface<Case> {};

TEST_P(TensorLossTest, GivesTheLossesOfOneRankAndCopiesStayEqual) {
  nlohmann::json spec = Spec(12, GetParam());
  const Told& one = Known(1, spec);
  if (GetParam().strategy != std::string("zero3")) spec["train"]["hash_every"] = "1";
  const Told told = TrainerGang(GetParam().ranks).Run(Start(With(GetParam(), spec)));
  ExpectFinished(told);
  ExpectTheLossesOfOne(one, told, kLossesApart, kFirstNormApart);
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Diagonal, TensorLossTest,
    ::testing::Values(
        Case{.name = "Two"}, Case{.name = "TwoWithAllTokens", .sequence = false},
        Case{.name = "TwoThatRecompute", .checkpointing = "block"},
        Case{.name = "TwoOfWhichOneHasNoTokenOfTheHead", .rows = 128, .tied = false},
        Case{.name = "TwoTimesZero1", .ranks = 4, .strategy = "zero1"},
        Case{.name = "TwoTimesZero3", .ranks = 4, .strategy = "zero3", .checkpointing = "block"},
        Case{.name = "TwoTimesHsdp", .ranks = 8, .strategy = "hsdp"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Rest, TensorLossTest,
    ::testing::Values(Case{.name = "FourWithAllTokensThatRecompute",
                           .tensor = 4,
                           .ranks = 4,
                           .sequence = false,
                           .checkpointing = "block"},
                      Case{.name = "Four", .tensor = 4, .ranks = 4},
                      Case{.name = "TwoWithAWholeVocabulary", .rows = 65},
                      Case{.name = "FourWithAllTokensAndAHeadOfItsOwn",
                           .tensor = 4,
                           .ranks = 4,
                           .sequence = false,
                           .rows = 72,
                           .tied = false},
                      Case{.name = "TwoTimesDdp", .ranks = 4},
                      Case{.name = "TwoTimesZero2", .ranks = 4, .strategy = "zero2"},
                      Case{.name = "TwoTimesZero3WithAllTokens",
                           .ranks = 4,
                           .strategy = "zero3",
                           .sequence = false}),
    NameOf);

class TensorTest : public ModelParallelTest {};

TEST_F(TensorTest, EqualsTheUninterruptedRunBitForBitAfterAResume) {
  for (const Case& one :
       {Case{.name = "alone"}, Case{.name = "zero1", .ranks = 4, .strategy = "zero1"}}) {
    ExpectTheSameBitsAfterAResume(MeshOf(one, Spec(8)), static_cast<uint32_t>(one.ranks));
  }
}

TEST_F(TensorTest, AnyOtherMeshContinuesFromItsCheckpointsAndViceVersa) {
  const nlohmann::json spec = Spec(20);
  std::vector<Meshed> meshes;
  for (const Case& one : {Case{.name = "tensor"}, Case{.name = "ddp", .tensor = 1},
                          Case{.name = "four", .tensor = 4, .ranks = 4, .sequence = false},
                          Case{.name = "zero1", .tensor = 1, .strategy = "zero1"},
                          Case{.name = "both", .tensor = 2, .ranks = 4, .strategy = "zero3"}}) {
    meshes.push_back(MeshOf(one, spec));
  }
  ExpectEachToGoOnFromTheOneBefore(spec, meshes, kLossesApart);
}

// parallel.md §4, "Bytes a rank and step".
TEST_F(TensorTest, SendsTheBytesThatTheFormulasSay) {
  nlohmann::json spec = Spec(3);
  const double layers = 2, width = 32, ff = 64, micro_steps = 2;
  const double cut_biases = 3 * width + ff;
  const double cut = layers * (4 * width * width + 2 * width * ff + cut_biases) + 64 * width;
  const double whole = static_cast<double>(ParametersOf(spec, 2)) - cut;
  // A micro-step's tokens, times the width, in fp32; two exchanges for each layer and pass.
  const double hidden = 4.0 * 4 * 32 * width * micro_steps;
  const double exchanged = hidden * layers;
  // Each rank sends three numbers for each token's logits.
  const double known = 3 * 4.0 * 4 * 32 * 2 * micro_steps;
  using Bytes = std::map<std::string, double>;
  const Case tokens{.name = "", .ranks = 4};
  Case again = tokens, all = tokens;
  again.checkpointing = "block";
  all.sequence = false;
  for (const auto& [one, expected] :
       {std::pair(tokens, Bytes{{"all_gather tensor", 4 * exchanged + 2 * hidden + known},
                                {"reduce_scatter tensor", 4 * exchanged + 2 * hidden},
                                {"all_reduce tensor", 4 * whole},
                                {"all_reduce data", 4 * (whole + cut / 2)}}),
        std::pair(again, Bytes{{"all_gather tensor", 6 * exchanged + 2 * hidden + known},
                               {"reduce_scatter tensor", 6 * exchanged + 2 * hidden},
                               {"all_reduce tensor", 4 * whole},
                               {"all_reduce data", 4 * (whole + cut / 2)}}),
        std::pair(all, Bytes{{"all_reduce tensor", 4 * exchanged + 2 * hidden},
                             {"all_gather tensor", known},
                             {"all_reduce data", 4 * (whole + cut / 2)}})}) {
    const Told told = TrainerGang(4).Run(Start(With(one, spec)));
    ASSERT_EQ(told.Cause(), "finished") << told.Message();
    EXPECT_EQ(BytesOf(told.rows.back()), expected);
    for (const nlohmann::json& each : told.rows.back().at("collectives")) {
      EXPECT_EQ(each.at("ranks"), 2);
      EXPECT_GT(each.at("seconds"), 0);
      EXPECT_GT(each.at("exposed_seconds"), 0) << each;
    }
  }
}

TEST_F(TensorTest, HoldsItsPartOfCutParameters) {
  nlohmann::json spec = Spec(3);
  spec["model"]["n_layer"] = 12;
  spec["model"]["n_embd"] = 128;
  spec["model"]["n_ff"] = 512;
  spec["train"]["batch_size"] = 1;
  spec["train"]["global_batch_size"] = "2";
  const double cut = 12 * (4.0 * 128 * 128 + 2 * 128 * 512 + 3 * 128 + 512) + 64 * 128;
  const double whole = static_cast<double>(ParametersOf(spec, 12)) - cut;
  for (const auto& [one, shard] :
       {std::pair(Case{.name = "", .tensor = 4, .ranks = 4}, 1.0),
        std::pair(Case{.name = "", .ranks = 4, .strategy = "zero3"}, 2.0)}) {
    const Told told =
        TrainerGang(4, {"--threads", "1", "--all-reduce", "gloo"}).Run(Start(With(one, spec)));
    ASSERT_EQ(told.Cause(), "finished") << told.Message();
    const double held = 16 * (whole + cut / one.tensor) / shard;
    EXPECT_NEAR(told.Column("tensor_held_bytes").at(2), held, 0.01 * held) << one.strategy;
  }
}

TEST_F(TensorTest, SixteenBitsAndTheirLossScaleGiveNearlyTheLossesOfFp32) {
  const nlohmann::json spec = Spec(10);
  ExpectNearlyTheLossesInSixteenBits(
      MeshOf({.name = "fp32"}, spec),
      With({.name = "zero2", .ranks = 4, .strategy = "zero2"}, spec));
}

TEST_F(TensorTest, EvaluatesAndWritesAsOneRankDoes) {
  const nlohmann::json spec = WithTasks(Spec(4));
  ExpectTheEvaluationsOfOne(spec,
                            {MeshOf({.name = "alone"}, spec),
                             MeshOf({.name = "ddp", .ranks = 4, .sequence = false}, spec),
                             MeshOf({.name = "zero3", .ranks = 4, .strategy = "zero3"}, spec)});
}

TEST_F(TensorTest, AStopWithACheckpointLosesNoStepAndAStopWithoutOneEndsAllRanks) {
  ExpectToStopWithAndWithoutACheckpoint(MeshOf({.name = "", .ranks = 4}, Spec(2000)), Spec(2));
}

TEST_F(TensorTest, AKilledRankEndsTheOthersAndTheNextAttemptGoesOn) {
  ExpectToGoOnAfterADeath(With({.name = "", .ranks = 4}, Spec(20)), 4, 3);
}

TEST_F(TensorTest, RanksOfOtherNumbersThanLayersCanBeCutForAreRefused) {
  ExpectRefused(MeshOf({.name = "", .ranks = 3}, Spec(1)),
                "the 3 ranks of this attempt are not a multiple of parallel.tensor 2");
}

}  // namespace
}  // namespace dt::testing
