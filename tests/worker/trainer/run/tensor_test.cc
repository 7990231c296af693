// tensor_test.cc: ranks that compute each layer together train as one rank does: the same losses,
// checkpoints that any other number of them goes on from, and every way to end. Told by real
// processes.
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <string>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

// parallel.md §3: the worst of 20 steps was 2.3e-5, and between one thread and two of one rank
// 7e-6: Adam makes steps of rounding where a gradient is 0. The first gradient is free of that.
constexpr double kLossesApart = 1e-4;
constexpr double kFirstNormApart = 1e-5;  // of it

struct Case {
  const char* name;
  int tensor = 2;
  int ranks = 2;
  const char* strategy = "ddp";
  bool sequence = true;
  const char* checkpointing = "none";
};

nlohmann::json Spec(int steps) {
  nlohmann::json spec = SmallSpec();
  spec["model"]["n_head"] = 4;
  spec["train"]["max_steps"] = std::to_string(steps);
  // One rank makes the same micro-batches, one after another.
  spec["train"]["batch_size"] = 4;
  spec["train"]["global_batch_size"] = "16";
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

class TensorLossTest : public AttemptTest, public ::testing::WithParamInterface<Case> {};

TEST_P(TensorLossTest, GivesTheLossesOfOneRankAndCopiesStayEqual) {
  nlohmann::json spec = Spec(20);
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

INSTANTIATE_TEST_SUITE_P(
    All, TensorLossTest,
    ::testing::Values(
        Case{.name = "Two"}, Case{.name = "TwoWithAllTokens", .sequence = false},
        Case{.name = "TwoThatRecompute", .checkpointing = "block"},
        Case{.name = "FourWithAllTokensThatRecompute",
             .tensor = 4,
             .ranks = 4,
             .sequence = false,
             .checkpointing = "block"},
        Case{.name = "Four", .tensor = 4, .ranks = 4}, Case{.name = "TwoTimesDdp", .ranks = 4},
        Case{.name = "TwoTimesZero1", .ranks = 4, .strategy = "zero1"},
        Case{.name = "TwoTimesZero2", .ranks = 4, .strategy = "zero2"},
        Case{.name = "TwoTimesZero3", .ranks = 4, .strategy = "zero3", .checkpointing = "block"},
        Case{.name = "TwoTimesZero3WithAllTokens",
             .ranks = 4,
             .strategy = "zero3",
             .sequence = false},
        Case{.name = "TwoTimesHsdp", .ranks = 8, .strategy = "hsdp"}),
    [](const auto& info) { return std::string(info.param.name); });

class TensorTest : public AttemptTest {
 protected:
  uint64_t ParametersOf(nlohmann::json spec, int layers) {
    spec["model"]["n_layer"] = layers;
    spec["train"]["max_steps"] = "1";
    return TrainerGang(1).Run(Start(spec)).prepared.at(0).model_parameters;
  }
};

TEST_F(TensorTest, EqualsTheUninterruptedRunBitForBitAfterAResume) {
  for (const Case& one :
       {Case{.name = "alone"}, Case{.name = "zero1", .ranks = 4, .strategy = "zero1"}}) {
    nlohmann::json spec = With(one, Spec(8));
    spec["model"]["dropout"] = 0.1;
    spec["model"]["norm"] = "post";
    spec["checkpoint"]["every"]["steps"] = "1";
    spec["checkpoint"]["keep_latest"] = 100;
    frames::Start start = StoredStart(spec);
    start.trial = static_cast<uint32_t>(one.ranks);
    TrainerGang gang(one.ranks);
    const Told whole = gang.Run(start);
    ExpectFinished(whole);
    ASSERT_EQ(whole.checkpoints.size(), 8u);
    ExpectTheRestAgain(gang, start, whole, whole.checkpoints[4]);
  }
}

TEST_F(TensorTest, AnyOtherMeshGoesOnFromItsCheckpointsAndItFromTheirs) {
  nlohmann::json spec = Spec(20);
  spec["checkpoint"]["every"]["steps"] = "4";
  spec["checkpoint"]["keep_latest"] = 100;
  const std::vector<double> losses = TrainerGang(1).Run(Start(spec)).Losses();
  ASSERT_EQ(losses.size(), 20u);
  frames::Start start = StoredStart(spec);
  size_t at = 0;
  for (const Case& one : {Case{.name = "tensor"}, Case{.name = "ddp", .tensor = 1},
                          Case{.name = "four", .tensor = 4, .ranks = 4, .sequence = false},
                          Case{.name = "zero1", .tensor = 1, .strategy = "zero1"},
                          Case{.name = "both", .tensor = 2, .ranks = 4, .strategy = "zero3"}}) {
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

// parallel.md §4, "Bytes a rank and step".
TEST_F(TensorTest, SendsTheBytesThatTheFormulasSay) {
  nlohmann::json spec = Spec(3);
  const double layers = 2, width = 32, ff = 64, micro_steps = 2;
  const double cut_biases = 3 * width + ff;
  const double cut = layers * (4 * width * width + 2 * width * ff + cut_biases);
  const double whole = static_cast<double>(ParametersOf(spec, 2)) - cut;
  // A micro-step's tokens, times the width, in fp32; two exchanges a layer and pass.
  const double exchanged = 4.0 * 4 * 32 * width * layers * micro_steps;
  using Bytes = std::map<std::string, double>;
  const Case tokens{.name = "", .ranks = 4};
  Case again = tokens, all = tokens;
  again.checkpointing = "block";
  all.sequence = false;
  for (const auto& [one, expected] :
       {std::pair(tokens, Bytes{{"all_gather tensor", 4 * exchanged},
                                {"reduce_scatter tensor", 4 * exchanged},
                                {"all_reduce tensor", 4 * whole},
                                {"all_reduce data", 4 * (whole + cut / 2)}}),
        std::pair(again, Bytes{{"all_gather tensor", 6 * exchanged},
                               {"reduce_scatter tensor", 6 * exchanged},
                               {"all_reduce tensor", 4 * whole},
                               {"all_reduce data", 4 * (whole + cut / 2)}}),
        std::pair(all, Bytes{{"all_reduce tensor", 4 * exchanged},
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

TEST_F(TensorTest, HoldsItsPartOfWhatIsCut) {
  nlohmann::json spec = Spec(3);
  spec["model"]["n_layer"] = 12;
  spec["model"]["n_embd"] = 128;
  spec["model"]["n_ff"] = 512;
  const double cut = 12 * (4.0 * 128 * 128 + 2 * 128 * 512 + 3 * 128 + 512);
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

TEST_F(TensorTest, EvaluatesAndWritesAsOneRankDoes) {
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
  for (const Case& each :
       {Case{.name = "alone"}, Case{.name = "ddp", .ranks = 4, .sequence = false},
        Case{.name = "zero3", .ranks = 4, .strategy = "zero3"}}) {
    const Told told = TrainerGang(each.ranks).Run(Start(With(each, spec)));
    ASSERT_EQ(told.Cause(), "finished") << each.name << ": " << told.Message();
    ASSERT_EQ(told.evals.size(), 2u);
    EXPECT_NEAR(told.evals[1].loss, one.evals.at(1).loss, 1e-5) << each.name;
    EXPECT_EQ(told.evals[1].hellaswag_acc, one.evals[1].hellaswag_acc) << each.name;
    EXPECT_EQ(told.evals[1].hellaswag_acc_norm, one.evals[1].hellaswag_acc_norm) << each.name;
    EXPECT_EQ(told.evals[1].samples, one.evals[1].samples) << each.name;
  }
}

TEST_F(TensorTest, AStopWithACheckpointLosesNoStepAndAStopWithoutEndsAll) {
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

TEST_F(TensorTest, AKilledRankEndsTheOthersAndTheNextAttemptGoesOn) {
  nlohmann::json spec = With({.name = "", .ranks = 4}, Spec(20));
  spec["checkpoint"]["every"]["steps"] = "5";
  frames::Start start = StoredStart(spec);
  const Told told =
      TrainerGang(4).Run(start, [](TrainerGang& of, const frames::FromTrainer& frame) {
        const auto* done = std::get_if<frames::StepDone>(&frame);
        if (done == nullptr || done->row.at("step").get<int>() != 12) return;
        kill(of.rank(3).pid(), SIGKILL);
      });
  for (const size_t rank : {0, 1, 2})
    EXPECT_EQ(told.Cause(rank), "collective") << told.Message(rank);
  ASSERT_EQ(told.checkpoints.size(), 2u);
  start.attempt = 2;
  start.resume = ResumeOf(told.checkpoints.at(1));
  const Told rest = TrainerGang(4).Run(start);
  ExpectFinished(rest);
  EXPECT_EQ(rest.resumed_step, 10u);
  EXPECT_EQ(rest.rows.size(), 10u);
}

TEST_F(TensorTest, RanksOfOtherNumbersThanLayersCanBeCutForAreRefused) {
  const Told told = TrainerGang(3).Run(Start(With({.name = ""}, Spec(1))));
  EXPECT_EQ(told.Cause(), "config");
  EXPECT_NE(
      told.Message().find("the 3 ranks of this attempt are not a multiple of parallel.tensor 2"),
      std::string::npos)
      << told.Message();
}

}  // namespace
}  // namespace dt::testing
