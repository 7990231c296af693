// pipeline_test.cc: stages that compute one layer after another give what one rank gives, under
// every schedule and beside every strategy of the data ranks, told by real processes over Gloo.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

// parallel.md §3: 1.04e-5 was measured with 4 stages and 8 micro-batches, and up to 2.3e-5 where
// layers are cut as well.
constexpr double kLossesApart = 5e-5;
constexpr double kFirstNormApart = 1e-5;

struct Case {
  const char* name;
  int stages = 2;
  int ranks = 2;
  const char* schedule = "1f1b";
  int chunks = 2;  // of interleaved
  const char* strategy = "ddp";
  int tensor = 1;
  const char* checkpointing = "none";
  bool tied = true;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

// 16 sequences a step, 4 or 2 at a time.
nlohmann::json Spec(int steps, int at_a_time = 2) {
  nlohmann::json spec = SmallSpec();
  spec["model"]["n_head"] = 4;
  spec["model"]["n_layer"] = 4;
  spec["train"]["max_steps"] = std::to_string(steps);
  spec["train"]["batch_size"] = at_a_time;
  spec["train"]["global_batch_size"] = "16";
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

class PipelineLossTest : public AttemptTest, public ::testing::WithParamInterface<Case> {};

TEST_P(PipelineLossTest, GivesTheLossesOfOneRankAndCopiesStayEqual) {
  nlohmann::json spec = Spec(20);
  spec["model"]["tie_head"] = GetParam().tied;
  const Told one = TrainerGang(1).Run(Start(spec));
  ExpectFinished(one);
  if (GetParam().strategy != std::string("zero3")) spec["train"]["hash_every"] = "1";
  const Told told = TrainerGang(GetParam().ranks).Run(Start(With(GetParam(), spec)));
  ExpectFinished(told);
  const double apart = LargestDifference(one.Losses(), told.Losses());
  RecordProperty("apart", std::to_string(apart));
  EXPECT_LE(apart, kLossesApart);
  EXPECT_NEAR(told.Column("grad_norm").at(0) / one.Column("grad_norm").at(0), 1, kFirstNormApart);
  ASSERT_EQ(told.evals.size(), 1u);
  EXPECT_NEAR(told.evals[0].loss, one.evals.at(0).loss, kLossesApart);
  EXPECT_NEAR(told.evals[0].perplexity_mean, one.evals.at(0).perplexity_mean, 1e-2);
  EXPECT_EQ(told.evals[0].tokens, one.evals.at(0).tokens);
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

class PipelineTest : public AttemptTest {};

TEST_F(PipelineTest, EqualsTheUninterruptedRunBitForBitAfterAResume) {
  for (const Case& one :
       {Case{.name = "alone", .schedule = "interleaved"}, Case{.name = "ddp", .ranks = 4},
        Case{.name = "zero1", .ranks = 4, .strategy = "zero1"}}) {
    nlohmann::json spec = With(one, Spec(8));
    spec["model"]["dropout"] = 0.1;
    spec["model"]["norm"] = "post";
    spec["checkpoint"]["every"]["steps"] = "1";
    spec["checkpoint"]["keep_latest"] = 100;
    frames::Start start = StoredStart(spec);
    start.trial = static_cast<uint32_t>(one.ranks) + (one.strategy == std::string("ddp") ? 0 : 1);
    TrainerGang gang(one.ranks);
    const Told whole = gang.Run(start);
    ExpectFinished(whole);
    ASSERT_EQ(whole.checkpoints.size(), 8u) << one.name;
    ExpectTheRestAgain(gang, start, whole, whole.checkpoints[4]);
  }
}

TEST_F(PipelineTest, AnyOtherMeshGoesOnFromItsCheckpointsAndItFromTheirs) {
  nlohmann::json spec = Spec(24);
  spec["checkpoint"]["every"]["steps"] = "4";
  spec["checkpoint"]["keep_latest"] = 100;
  const std::vector<double> losses = TrainerGang(1).Run(Start(spec)).Losses();
  ASSERT_EQ(losses.size(), 24u);
  frames::Start start = StoredStart(spec);
  size_t at = 0;
  for (const Case& one :
       {Case{.name = "two"}, Case{.name = "ddp", .stages = 1},
        Case{.name = "four", .stages = 4, .ranks = 4},
        Case{.name = "zero3", .stages = 1, .strategy = "zero3"},
        Case{.name = "interleaved", .ranks = 4, .schedule = "interleaved", .strategy = "zero1"},
        Case{.name = "tensor", .ranks = 4, .tensor = 2}}) {
    start.spec = Resolved(With(one, spec));
    const Told told = TrainerGang(one.ranks).Run(start);
    ASSERT_EQ(told.Cause(), "finished") << one.name << ": " << told.Message();
    EXPECT_EQ(told.resumed_step, at) << one.name;
    EXPECT_LE(LargestDifference({losses.begin() + static_cast<ptrdiff_t>(at), losses.end()},
                                told.Losses()),
              kLossesApart)
        << one.name;
    at += 4;
    ++start.attempt;
    start.resume = ResumeOf(told.checkpoints.at(0));
  }
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
  // Three or four layers, and what an end has besides.
  EXPECT_GT(held, 16 * 3 * layer);
  EXPECT_LT(held, 16 * (4 * layer + vocabulary + 1024 * 128));
}

TEST_F(PipelineTest, SixteenBitsAndTheirLossScaleGiveNearlyTheLossesOfFp32) {
  nlohmann::json spec = Spec(20);
  spec["stop"]["nonfinite"] = "skip";
  const Told fp32 = TrainerGang(2).Run(Start(With({.name = ""}, spec)));
  for (const auto& [compute, apart] : {std::pair("bf16", 1e-2), std::pair("fp16", 2e-3)}) {
    spec["precision"]["compute"] = compute;
    spec["precision"]["reduce"] = "bf16";
    spec["train"]["hash_every"] = "1";
    const Told told =
        TrainerGang(4).Run(Start(With({.name = "", .ranks = 4, .strategy = "zero2"}, spec)));
    ASSERT_EQ(told.Cause(), "finished") << compute << ": " << told.Message();
    EXPECT_LE(LargestDifference(fp32.Losses(), told.Losses()), apart) << compute;
  }
}

TEST_F(PipelineTest, EvaluatesAndWritesAsOneRankDoes) {
  nlohmann::json spec = Spec(4);
  spec["data"]["tokenizer"] = "byte";
  spec["model"]["vocab_size"] = 257;
  spec["model"]["vocab_pad"] = 257;
  // So that all have the same weights to the last bit.
  spec["optimizer"]["lr"] = kNothing;
  std::string lines;
  for (int i = 0; i < 30; ++i) {
    nlohmann::json endings;
    for (int e = 0; e < 4; ++e) endings.push_back(std::string(1 + (i + 3 * e) % 7, 'a' + e));
    lines +=
        nlohmann::json{
            {"ctx", "number " + std::to_string(i * i)}, {"endings", endings}, {"label", i % 4}}
            .dump() +
        "\n";
  }
  folder_.Write("data/hellaswag.jsonl", lines);
  spec["eval"]["hellaswag"] = "hellaswag.jsonl";
  spec["eval"]["every"] = "2";
  spec["eval"]["samples"] = 3;
  spec["eval"]["sample_tokens"] = 20;
  spec["eval"]["sample_prompt"] = "a";
  const Told one = TrainerGang(1).Run(Start(spec));
  ExpectFinished(one);
  for (const Case& each : {Case{.name = "alone"}, Case{.name = "pieces", .schedule = "interleaved"},
                           Case{.name = "zero3", .ranks = 4, .strategy = "zero3"},
                           Case{.name = "tensor", .ranks = 4, .tensor = 2}}) {
    const Told told = TrainerGang(each.ranks).Run(Start(With(each, spec)));
    ASSERT_EQ(told.Cause(), "finished") << each.name << ": " << told.Message();
    ASSERT_EQ(told.evals.size(), 2u);
    EXPECT_NEAR(told.evals[1].loss, one.evals.at(1).loss, 1e-5) << each.name;
    EXPECT_EQ(told.evals[1].hellaswag_acc, one.evals[1].hellaswag_acc) << each.name;
    EXPECT_EQ(told.evals[1].hellaswag_acc_norm, one.evals[1].hellaswag_acc_norm) << each.name;
    EXPECT_EQ(told.evals[1].samples, one.evals[1].samples) << each.name;
  }
}

TEST_F(PipelineTest, AStopWithACheckpointLosesNoStepAndAStopWithoutEndsAll) {
  for (const bool saves : {true, false}) {
    TrainerGang gang(4);
    const Told told = gang.Run(StoredStart(With({.name = "", .ranks = 4}, Spec(2000))),
                               [saves](TrainerGang& of, const frames::FromTrainer& frame) {
                                 const auto* done = std::get_if<frames::StepDone>(&frame);
                                 if (done == nullptr || done->row.at("step").get<int>() != 3)
                                   return;
                                 for (int rank = 0; rank < 4; ++rank) of.Stop(rank, saves);
                               });
    ASSERT_EQ(told.checkpoints.size(), saves ? 1u : 0u);
    for (size_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(told.Cause(rank), "cancelled") << told.Message(rank);
      if (!saves) continue;
      EXPECT_EQ(told.EndStep(rank), told.checkpoints[0].step);
    }
    // The processes are warm, and train alone, too.
    if (!saves) continue;
    for (int rank = 3; rank > 0; --rank) gang.DropRank(rank);
    EXPECT_EQ(gang.Run(Start(Spec(2))).Cause(), "finished");
  }
}

TEST_F(PipelineTest, AKilledStageEndsTheOthersAndTheNextAttemptGoesOn) {
  nlohmann::json spec = With({.name = "", .stages = 4, .ranks = 4}, Spec(20));
  spec["checkpoint"]["every"]["steps"] = "5";
  for (const int killed : {3, 1}) {
    frames::Start start = StoredStart(spec);
    start.trial = static_cast<uint32_t>(killed);
    const Told told =
        TrainerGang(4).Run(start, [killed](TrainerGang& of, const frames::FromTrainer& frame) {
          const auto* done = std::get_if<frames::StepDone>(&frame);
          if (done == nullptr || done->row.at("step").get<int>() != 12) return;
          kill(of.rank(killed).pid(), SIGKILL);
        });
    for (size_t rank = 0; rank < 4; ++rank) {
      if (static_cast<int>(rank) == killed) continue;
      EXPECT_EQ(told.Cause(rank), "collective") << told.Message(rank);
    }
    ASSERT_EQ(told.checkpoints.size(), 2u);
    start.attempt = 2;
    start.resume = ResumeOf(told.checkpoints.at(1));
    const Told rest = TrainerGang(4).Run(start);
    ExpectFinished(rest);
    EXPECT_EQ(rest.resumed_step, 10u);
    EXPECT_EQ(rest.rows.size(), 10u);
  }
}

TEST_F(PipelineTest, RanksThatDoNotMakeWholePipelinesAreRefused) {
  const Told told = TrainerGang(3).Run(Start(With({.name = ""}, Spec(1))));
  EXPECT_EQ(told.Cause(), "config");
  EXPECT_NE(told.Message().find("the 3 ranks of this attempt are not a multiple of parallel.tensor "
                                "1 × parallel.pipeline 2"),
            std::string::npos)
      << told.Message();
}

}  // namespace
}  // namespace dt::testing
