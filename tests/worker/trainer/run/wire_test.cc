// wire_test.cc: gradients that travel in fewer bytes: how many, the effect on losses, and exact
// resumes. With real processes.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

// The worst of 20 steps was 1.2e-5 (hsdp) and 1.2e-6; the bounds are about three times that.
constexpr double kBf16Apart = 4e-5;
constexpr double kFp16Apart = 4e-6;

nlohmann::json Spec(int steps) { return StepsOfSequences(steps, 24, 2); }

// A strategy, its ranks, and the type in which gradients travel.
using Case = std::tuple<std::string, int, std::string>;

class WireTest : public AttemptTest, public ::testing::WithParamInterface<Case> {
 protected:
  static std::string strategy() { return std::get<0>(GetParam()); }
  static int ranks() { return std::get<1>(GetParam()); }
  static std::string wire() { return std::get<2>(GetParam()); }
  static nlohmann::json Of(int steps) {
    nlohmann::json spec = Spec(steps);
    spec["parallel"]["strategy"] = strategy();
    if (strategy() == "hsdp") spec["parallel"]["shard"] = 2;
    return spec;
  }
  static nlohmann::json Narrow(nlohmann::json spec) {
    spec["precision"]["reduce"] = wire();
    return spec;
  }
};

TEST_P(WireTest, GivesNearlyTheLossesOfFp32WithHalfTheBytes) {
  const Told whole = TrainerGang(ranks()).Run(Start(Of(20)));
  const Told narrow = TrainerGang(ranks()).Run(Start(Narrow(Of(20))));
  ExpectFinished(whole);
  ExpectFinished(narrow);
  const double apart = LargestDifference(whole.Losses(), narrow.Losses());
  RecordProperty("apart", absl::StrCat(apart));
  EXPECT_LE(apart, wire() == "bf16" ? kBf16Apart : kFp16Apart);
  EXPECT_GT(apart, 0) << "the mode makes a difference";
  auto expected = BytesOf(whole.rows.back());
  for (auto& [way, bytes] : expected) {
    if (!way.starts_with("all_gather")) bytes /= 2;
  }
  EXPECT_EQ(BytesOf(narrow.rows.back()), expected);
}

TEST_P(WireTest, RanksStayEqualAndAResumeIsExact) {
  nlohmann::json spec = Narrow(Of(10));
  if (strategy() != "zero3") spec["train"]["hash_every"] = 1;
  spec["checkpoint"]["every"]["steps"] = "1";
  spec["checkpoint"]["keep_latest"] = 100;
  const frames::Start start = StoredStart(spec);
  TrainerGang gang(ranks());
  const Told whole = gang.Run(start);
  ExpectFinished(whole);
  ExpectTheRestAgain(gang, start, whole, whole.checkpoints.at(5));
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  return std::get<0>(info.param) + "On" + std::to_string(std::get<1>(info.param)) + "RanksIn" +
         std::get<2>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Diagonal, WireTest,
                         ::testing::Values(Case{"ddp", 3, "bf16"}, Case{"ddp", 2, "fp16"},
                                           Case{"zero1", 2, "bf16"}, Case{"hsdp", 4, "bf16"}),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Rest, WireTest,
                         ::testing::Values(Case{"ddp", 2, "bf16"}, Case{"zero2", 3, "fp16"},
                                           Case{"zero3", 2, "bf16"}),
                         NameOf);

class NarrowTest : public AttemptTest {};

TEST_F(NarrowTest, LossesDoNotDependOnTheRanksHosts) {
  nlohmann::json spec = Spec(8);
  spec["precision"]["reduce"] = "bf16";
  const Told together = TrainerGang(3).Run(Start(spec));
  const Told apart = TrainerGang(3, {"--threads", "1", "--all-reduce", "gloo"}).Run(Start(spec));
  ExpectFinished(together);
  EXPECT_EQ(together.Losses(), apart.Losses());
}

TEST_F(NarrowTest, AValueBeyondFp16IsFoundNonFinite) {
  // The first update is so large that the next gradients have norms of 1e7 and 1e12.
  nlohmann::json spec = Spec(3);
  spec["optimizer"]["lr"] = 100;
  spec["schedule"] = {{"type", "constant"}, {"warmup_steps", "0"}};
  spec["train"]["grad_clip"] = 0;
  spec["stop"] = {{"nonfinite", "skip"}};
  const auto left_out = [&](const char* wire) {
    spec["precision"]["reduce"] = wire;
    const Told told = TrainerGang(2).Run(Start(spec));
    double count = 0;
    for (const double steps : told.Column("nonfinite_steps")) count += steps;
    return count;
  };
  EXPECT_EQ(left_out("bf16"), 0) << "finite, and large";
  EXPECT_GT(left_out("fp16"), 0);
}

class WireChoiceTest : public AttemptTest {
 protected:
  static constexpr uint64_t kChosen = 20;

  static nlohmann::json Choosing(int steps) {
    nlohmann::json spec = Spec(steps);
    spec["parallel"]["compression"] = "auto";
    spec["train"]["hash_every"] = 1;
    spec["checkpoint"]["every"]["steps"] = "1";
    spec["checkpoint"]["keep_latest"] = 100;
    return spec;
  }
  // Uses Gloo, where one rank stands still for long during the measurement, while the other waits.
  static Told WithASlowRank(TrainerGang& gang, const frames::Start& start) {
    std::optional<std::chrono::steady_clock::time_point> still;
    return gang.Run(
        start,
        [&](TrainerGang& of, const frames::FromTrainer& frame) {
          const auto* done = std::get_if<frames::StepDone>(&frame);
          if (done == nullptr || still || done->row.at("step").get<int>() < 13) return;
          kill(of.rank(1).pid(), SIGSTOP);
          still = std::chrono::steady_clock::now();
        },
        [&](const Told&) {
          if (!still || std::chrono::steady_clock::now() < *still + std::chrono::seconds(2)) return;
          kill(gang.rank(1).pid(), SIGCONT);
        });
  }
  // Returns the step from which on half as many bytes are sent, if every step has a row; 0 if there
  // is none.
  static uint64_t NarrowFrom(const Told& told) {
    for (const nlohmann::json& row : told.rows) {
      const double whole = 4.0 * static_cast<double>(told.prepared.at(0).model_parameters);
      if (row.at("allreduce_bytes") == whole / 2) return row.at("step").get<uint64_t>();
      EXPECT_EQ(row.at("allreduce_bytes"), whole) << row.at("step");
    }
    return 0;
  }
  std::string WireIn(const frames::CheckpointDone& checkpoint) const {
    const auto text =
        ReadFile(folder_ / ("storage/" + checkpoint.path + "/manifest.json"), 1 << 20);
    EXPECT_TRUE(text.ok());
    return nlohmann::json::parse(*text).at("checkpoint").value("wire", "");
  }
  const std::vector<std::string> gloo_ = {"--threads", "1", "--all-reduce", "gloo"};
};

TEST_F(WireChoiceTest, RanksThatWaitLongSendHalfFromTheTwentiethStepOnAndAResumeIsExact) {
  const frames::Start start = StoredStart(Choosing(30));
  TrainerGang gang(2, gloo_);
  const Told whole = WithASlowRank(gang, start);
  ExpectFinished(whole);
  EXPECT_EQ(NarrowFrom(whole), kChosen + 1);
  ASSERT_EQ(whole.checkpoints.size(), 30u);
  EXPECT_EQ(WireIn(whole.checkpoints[kChosen - 2]), "");
  EXPECT_EQ(WireIn(whole.checkpoints[kChosen - 1]), "bf16") << "of the step after which it chose";
  // The ranks' hosts no longer matter: these ranks could share memory.
  TrainerGang together(2);
  ExpectTheRestAgain(together, start, whole, whole.checkpoints[kChosen - 1]);
}

TEST_F(WireChoiceTest, AnotherNumberOfRanksAndAnOldCheckpointChooseAgain) {
  frames::Start start = StoredStart(Choosing(60));
  TrainerGang gang(2, gloo_);
  const Told whole = WithASlowRank(gang, start);
  ExpectFinished(whole);
  start.attempt = 2;
  start.resume = ResumeOf(whole.checkpoints.at(29));
  const Told three = TrainerGang(3).Run(start);
  ExpectFinished(three);
  EXPECT_EQ(WireIn(three.checkpoints.at(18)), "");
  EXPECT_EQ(WireIn(three.checkpoints.at(19)), "fp32") << "after step 50, in shared memory";
  EXPECT_EQ(NarrowFrom(three), 0u);
  start.attempt = 3;
  start.resume = ResumeOf(whole.checkpoints.at(4));
  const Told two = WithASlowRank(gang, start);
  ExpectFinished(two);
  EXPECT_EQ(NarrowFrom(two), 26u) << "twenty steps after step 5";
}

TEST_F(WireChoiceTest, NothingChangesInSharedMemory) {
  const frames::Start start = StoredStart(Choosing(24));
  TrainerGang gang(2);
  const Told told = WithASlowRank(gang, start);
  ExpectFinished(told);
  EXPECT_EQ(NarrowFrom(told), 0u);
  EXPECT_EQ(WireIn(told.checkpoints.back()), "fp32");
  const Told plain = TrainerGang(2).Run(Start(Spec(24)));
  EXPECT_EQ(told.Losses(), plain.Losses());
  ExpectFinished(TrainerGang(1).Run(Start(Choosing(24))));
}

// The matrices of SmallSpec's model; compressing each of them pays.
constexpr std::pair<int, int> kMatrices[] = {{64, 32}, {32, 32}, {96, 32}, {32, 32}, {64, 32},
                                             {32, 64}, {96, 32}, {32, 32}, {64, 32}, {32, 64}};

struct Method {
  std::string name;
  int ranks;
};

class CompressionTest : public AttemptTest, public ::testing::WithParamInterface<Method> {
 protected:
  static nlohmann::json Of(int steps) {
    nlohmann::json spec = Spec(steps);
    spec["parallel"]["compression"] = GetParam().name;
    spec["parallel"]["rank"] = 2;
    spec["parallel"]["share"] = 0.05;
    return spec;
  }
  static double WholeBytes(const Told& told) {
    return 4.0 * static_cast<double>(told.prepared.at(0).model_parameters);
  }
  static std::map<std::string, double> ExpectedBytes(const Told& told) {
    double vectors = WholeBytes(told), factors = 0, pairs = 0;
    for (const auto& [rows, columns] : kMatrices) {
      vectors -= 4.0 * rows * columns;
      factors += 4.0 * 2 * (rows + columns);
      pairs += 8.0 * GetParam().ranks * std::ceil(0.05 * rows * columns);
    }
    if (GetParam().name == "powersgd") return {{"all_reduce data", vectors + factors}};
    return {{"all_reduce data", vectors}, {"all_gather data", pairs}};
  }
};

TEST_P(CompressionTest, SendsTheFormulasBytesAndLearns) {
  const Told whole = TrainerGang(GetParam().ranks).Run(Start(Spec(60)));
  const Told told = TrainerGang(GetParam().ranks).Run(Start(Of(60)));
  ExpectFinished(told);
  for (const int row : {0, 1, 30, 58}) {
    EXPECT_EQ(BytesOf(told.rows.at(row)), ExpectedBytes(told)) << "row " << row;
  }
  EXPECT_EQ(told.Column("allreduce_bytes").back(), WholeBytes(told)) << "saved after it";
  RecordProperty("fp32", std::to_string(whole.evals.at(0).loss));
  RecordProperty("compressed", std::to_string(told.evals.at(0).loss));
  const double learned = whole.Losses().front() - whole.evals.at(0).loss;
  EXPECT_LT(told.evals.at(0).loss, whole.Losses().front() - learned / 3);
}

TEST_P(CompressionTest, RanksStayEqualAndAResumeIsExact) {
  nlohmann::json spec = Of(14);
  spec["train"]["hash_every"] = 1;
  spec["model"]["dropout"] = 0.1;
  spec["checkpoint"]["every"]["steps"] = "4";
  spec["checkpoint"]["keep_latest"] = 100;
  const frames::Start start = StoredStart(spec);
  TrainerGang gang(GetParam().ranks);
  const Told whole = gang.Run(start);
  ExpectFinished(whole);
  ASSERT_EQ(whole.checkpoints.size(), 4u);
  ExpectTheRestAgain(gang, start, whole, whole.checkpoints.at(1));
}

TEST_P(CompressionTest, CheckpointsByTimeOrAtAStopFollowAFullStep) {
  nlohmann::json spec = Of(2000);
  spec["checkpoint"]["every"]["seconds"] = 0.2;
  spec["checkpoint"]["keep_latest"] = 100;
  const frames::Start start = StoredStart(spec);
  TrainerGang gang(GetParam().ranks);
  int saved = 0;
  const Told told = gang.Run(start, [&](TrainerGang& of, const frames::FromTrainer& frame) {
    if (!std::holds_alternative<frames::CheckpointDone>(frame) || ++saved != 2) return;
    for (int rank = 0; rank < GetParam().ranks; ++rank) of.Stop(rank, /*checkpoint=*/true);
  });
  ASSERT_GE(told.checkpoints.size(), 3u);
  for (const frames::CheckpointDone& checkpoint : told.checkpoints) {
    EXPECT_EQ(told.rows.at(checkpoint.step - 1)["allreduce_bytes"], WholeBytes(told));
  }
  for (int rank = 0; rank < GetParam().ranks; ++rank) {
    EXPECT_EQ(told.Cause(rank), "cancelled") << told.Message(rank);
    EXPECT_EQ(told.EndStep(rank), told.checkpoints.back().step);
  }
}

TEST_P(CompressionTest, AKilledRankEndsTheOthersAndTheNextAttemptGoesOn) {
  ExpectToGoOnAfterADeath(Of(20), GetParam().ranks, GetParam().ranks - 1);
}

TEST_P(CompressionTest, AStopWithoutACheckpointEndsAllRanks) {
  ExpectAllStopped(
      TrainerGang(GetParam().ranks).Run(Start(Of(2000)), AfterStep(3, [](TrainerGang& of) {
                                          of.StopAll(/*checkpoint=*/false);
                                        })));
}

INSTANTIATE_TEST_SUITE_P(All, CompressionTest,
                         ::testing::Values(Method{"powersgd", 2}, Method{"powersgd", 3},
                                           Method{"topk", 2}),
                         [](const auto& info) {
                           return info.param.name + "On" + std::to_string(info.param.ranks) +
                                  "Ranks";
                         });

}  // namespace
}  // namespace dt::testing
