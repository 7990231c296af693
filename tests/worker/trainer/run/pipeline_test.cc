// pipeline_test.cc: stages that compute one layer after another give one rank's results, under
// every schedule and with every strategy of the data ranks. With real processes over Gloo.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/run/model_parallel_fixture.h"

namespace dt::testing {
namespace {

// parallel.md §3: 1.04e-5 was measured with 4 stages and 8 micro-batches, and up to 2.3e-5 when
// layers are cut as well.
constexpr double kLossesApart = 5e-5;
constexpr double kFirstNormApart = 1e-5;

struct Case {
  const char* name;
  int stages = 2;
  int ranks = 2;
  const char* schedule = "1f1b";
  int chunks = 2;  // for the interleaved schedule
  const char* strategy = "ddp";
  int tensor = 1;
  const char* checkpointing = "none";
  bool tied = true;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

nlohmann::json Spec(int steps) {
  nlohmann::json spec = StepsOfSequences(steps, 16, 2);
  spec["model"]["n_head"] = 4;
  spec["model"]["n_layer"] = 4;
  return spec;
}
nlohmann::json With(const Case& one, nlohmann::json spec) {
  spec["parallel"]["pipeline"] = one.stages;
  spec["parallel"]["schedule"] = one.schedule;
  if (one.schedule == std::string("interleaved")) spec["parallel"]["interleave"] = one.chunks;
  spec["parallel"]["tensor"] = one.tensor;
  spec["parallel"]["strategy"] = one.strategy;
  if (one.strategy == std::string("hsdp")) spec["parallel"]["shard"] = 2;
  spec["model"]["activation_checkpointing"] = one.checkpointing;
  spec["model"]["tie_head"] = one.tied;
  return spec;
}
Meshed MeshOf(const Case& one, const nlohmann::json& spec) {
  return {one.name, one.ranks, With(one, spec)};
}

class PipelineLossTest : public ModelParallelTest, public ::testing::WithParamInterface<Case> {};

TEST_P(PipelineLossTest, GivesTheLossesOfOneRankAndCopiesStayEqual) {
  nlohmann::json spec = Spec(12);
  spec["model"]["tie_head"] = GetParam().tied;
  const Told& one = Known(1, spec);
  if (GetParam().strategy != std::string("zero3")) spec["train"]["hash_every"] = "1";
  const Told told = TrainerGang(GetParam().ranks).Run(Start(With(GetParam(), spec)));
  ExpectFinished(told);
  ExpectTheLossesOfOne(one, told, kLossesApart, kFirstNormApart);
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

// Each schedule and each strategy once.
INSTANTIATE_TEST_SUITE_P(
    Diagonal, PipelineLossTest,
    ::testing::Values(
        Case{.name = "Two"}, Case{.name = "TwoForwardFirst", .schedule = "gpipe"},
        Case{.name = "Four", .stages = 4, .ranks = 4},
        Case{.name = "TwoInterleavedTimesDdp", .ranks = 4, .schedule = "interleaved"},
        Case{.name = "TwoTimesZero1WithAHeadOfItsOwn",
             .ranks = 4,
             .strategy = "zero1",
             .tied = false},
        Case{.name = "TwoInterleavedTimesZero2",
             .ranks = 4,
             .schedule = "interleaved",
             .strategy = "zero2"},
        Case{.name = "TwoInterleavedTimesZero3",
             .ranks = 4,
             .schedule = "interleaved",
             .strategy = "zero3",
             .checkpointing = "block"},
        Case{.name = "TwoTimesHsdp", .ranks = 8, .strategy = "hsdp"},
        Case{.name = "TwoTimesZero1TimesTensor", .ranks = 8, .strategy = "zero1", .tensor = 2}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Rest, PipelineLossTest,
    ::testing::Values(
        Case{.name = "TwoWithAHeadOfItsOwn", .tied = false},
        Case{.name = "TwoInterleaved", .schedule = "interleaved"},
        Case{.name = "TwoThatRecompute", .checkpointing = "block"},
        Case{.name = "FourForwardFirst", .stages = 4, .ranks = 4, .schedule = "gpipe"},
        Case{.name = "TwoTimesDdp", .ranks = 4},
        Case{.name = "TwoTimesZero1", .ranks = 4, .strategy = "zero1"},
        Case{.name = "TwoTimesZero3", .ranks = 4, .strategy = "zero3", .checkpointing = "block"},
        Case{.name = "TwoForwardFirstTimesZero3",
             .ranks = 4,
             .schedule = "gpipe",
             .strategy = "zero3"},
        Case{.name = "TwoInterleavedTimesZero3WithAll",
             .ranks = 4,
             .schedule = "interleaved",
             .strategy = "zero3"},
        Case{.name = "TwoTimesTensor", .ranks = 4, .tensor = 2}),
    NameOf);

class PipelineTest : public ModelParallelTest {};

TEST_F(PipelineTest, EqualsTheUninterruptedRunBitForBitAfterAResume) {
  for (const Case& one :
       {Case{.name = "alone", .schedule = "interleaved"}, Case{.name = "ddp", .ranks = 4},
        Case{.name = "zero1", .ranks = 4, .strategy = "zero1"}}) {
    const int beside = one.strategy == std::string("ddp") ? 0 : 1;
    ExpectTheSameBitsAfterAResume(MeshOf(one, Spec(8)), static_cast<uint32_t>(one.ranks + beside));
  }
}

TEST_F(PipelineTest, AnyOtherMeshContinuesFromItsCheckpointsAndViceVersa) {
  const nlohmann::json spec = Spec(24);
  std::vector<Meshed> meshes;
  for (const Case& one :
       {Case{.name = "two"}, Case{.name = "ddp", .stages = 1},
        Case{.name = "four", .stages = 4, .ranks = 4},
        Case{.name = "zero3", .stages = 1, .strategy = "zero3"},
        Case{.name = "interleaved", .ranks = 4, .schedule = "interleaved", .strategy = "zero1"},
        Case{.name = "tensor", .ranks = 4, .tensor = 2}}) {
    meshes.push_back(MeshOf(one, spec));
  }
  ExpectEachToGoOnFromTheOneBefore(spec, meshes, kLossesApart);
}

// parallel.md §2.5 and §4.
TEST_F(PipelineTest, SendsTheBytesThatTheFormulasSay) {
  const nlohmann::json spec = Spec(3);
  const double vocabulary = spec["model"]["vocab_size"].get<double>(), width = 32;
  // Two sequences of 32 tokens, in fp32; eight micro-batches, or four on each of two data ranks.
  const double message = 4.0 * 2 * 32 * width;
  const double ends = 4 * vocabulary * width;
  using Bytes = std::map<std::string, double>;
  const Case two{.name = "two"};
  const Case pieces{.name = "pieces", .schedule = "interleaved"};
  const Case four{.name = "four", .stages = 4, .ranks = 4};
  Case untied = two;
  untied.tied = false;
  for (const auto& [one, expected] :
       {std::pair(two, Bytes{{"send pipeline", 8 * message},
                             {"recv pipeline", 8 * message},
                             {"all_reduce ends", ends}}),
        std::pair(untied, Bytes{{"send pipeline", 8 * message}, {"recv pipeline", 8 * message}}),
        std::pair(pieces, Bytes{{"send pipeline", 24 * message},
                                {"recv pipeline", 24 * message},
                                {"all_reduce ends", ends}}),
        std::pair(four, Bytes{{"send pipeline", 16 * message},
                              {"recv pipeline", 16 * message},
                              {"all_reduce ends", ends}})}) {
    const Told told = TrainerGang(one.ranks).Run(Start(With(one, spec)));
    ASSERT_EQ(told.Cause(), "finished") << told.Message();
    EXPECT_EQ(BytesOf(told.rows.back()), expected) << one.name;
    for (const nlohmann::json& each : told.rows.back().at("collectives")) {
      EXPECT_EQ(each.at("ranks"), each.at("axis") == "ends" ? 2 : one.stages);
      EXPECT_GT(each.at("seconds"), 0) << each;
    }
  }
}

TEST_F(PipelineTest, AStageHoldsItsLayersAlone) {
  nlohmann::json spec = Spec(3);
  spec["model"]["n_layer"] = 12;
  spec["model"]["n_embd"] = 128;
  spec["model"]["n_ff"] = 512;
  const double layer =
      12.0 * 128 * 128 + (4 + 4 + 1 + 4) * 128 + 0;  // four matrices, biases, norms
  const Told told = TrainerGang(4, {"--threads", "1", "--all-reduce", "gloo"})
                        .Run(Start(With({.name = "", .stages = 4, .ranks = 4}, spec)));
  ASSERT_EQ(told.Cause(), "finished") << told.Message();
  const double held = told.Column("tensor_held_bytes").at(2);
  const double vocabulary = spec["model"]["vocab_size"].get<double>() * 128;
  // Three or four layers, and the additional tensors of the first or last stage.
  EXPECT_GT(held, 16 * 3 * layer);
  EXPECT_LT(held, 16 * (4 * layer + vocabulary + 1024 * 128));
}

TEST_F(PipelineTest, SixteenBitsAndTheirLossScaleGiveNearlyTheLossesOfFp32) {
  const nlohmann::json spec = Spec(10);
  ExpectNearlyTheLossesInSixteenBits(
      MeshOf({.name = "fp32"}, spec),
      With({.name = "zero2", .ranks = 4, .strategy = "zero2"}, spec));
}

TEST_F(PipelineTest, EvaluatesAndWritesAsOneRankDoes) {
  const nlohmann::json spec = WithTasks(Spec(4));
  ExpectTheEvaluationsOfOne(spec, {MeshOf({.name = "alone"}, spec),
                                   MeshOf({.name = "pieces", .schedule = "interleaved"}, spec),
                                   MeshOf({.name = "zero3", .ranks = 4, .strategy = "zero3"}, spec),
                                   MeshOf({.name = "tensor", .ranks = 4, .tensor = 2}, spec)});
}

TEST_F(PipelineTest, AStopWithACheckpointLosesNoStepAndAStopWithoutOneEndsAllRanks) {
  ExpectToStopWithAndWithoutACheckpoint(MeshOf({.name = "", .ranks = 4}, Spec(2000)), Spec(2));
}

TEST_F(PipelineTest, AKilledStageEndsTheOthersAndTheNextAttemptGoesOn) {
  const nlohmann::json spec = With({.name = "", .stages = 4, .ranks = 4}, Spec(20));
  for (const int killed : {3, 1}) {
    ExpectToGoOnAfterADeath(spec, 4, killed, static_cast<uint32_t>(killed));
  }
}

TEST_F(PipelineTest, RanksThatDoNotMakeCompletePipelinesAreRefused) {
  ExpectRefused(MeshOf({.name = "", .ranks = 3}, Spec(1)),
                "the 3 ranks of this attempt are not a multiple of parallel.tensor 1 × "
                "parallel.pipeline 2");
}

}  // namespace
}  // namespace dt::testing
