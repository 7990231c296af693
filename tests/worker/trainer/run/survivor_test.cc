// survivor_test.cc: a rank of real dttrain processes dies, and another one saves the state of the
// gang after its last complete step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

class SurvivorTest : public AttemptTest {
 protected:
  // Lets the most advanced survivor save, once all `survivors` have reported what they hold.
  static void LetOneSave(TrainerGang& gang, size_t survivors, std::map<int, frames::Holds>& held,
                         std::optional<uint64_t> rows_after = {}) {
    gang.AnswerHolds([&gang, &held, survivors, rows_after](const Told& told, int rank,
                                                           const frames::Holds& holds) {
      held[rank] = holds;
      if (held.size() < survivors) return;
      const auto best = std::max_element(
          held.begin(), held.end(),
          [](const auto& a, const auto& b) { return a.second.step < b.second.step; });
      const uint64_t newest = told.rows.empty() ? 0 : told.rows.back().at("step").get<uint64_t>();
      for (const auto& [each, offered] : held) {
        if (each == best->first) {
          gang.Rescue(each, rows_after.value_or(newest));
        } else {
          gang.Stop(each, /*checkpoint=*/false);
        }
      }
    });
  }
};

struct Death {
  int ranks = 2;
  int dies = 0;
  const char* sums_over = "auto";  // shared memory; gloo: sockets
};

class SurvivorOfTest : public SurvivorTest, public ::testing::WithParamInterface<Death> {};

TEST_P(SurvivorOfTest, SavesTheLastCompleteStepAndTheRestIsTheSameBitForBit) {
  const auto [ranks, dies, sums_over] = GetParam();
  const std::vector<std::string> flags = {"--threads", "1", "--all-reduce", sums_over};
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "200";
  spec["train"]["hash_every"] = "7";
  spec["model"]["dropout"] = 0.1;
  spec["eval"]["every"] = "10";
  spec["checkpoint"]["every"]["steps"] = "100000";
  const Told& expected = Known(ranks, spec, flags);
  frames::Start start = StoredStart(spec);
  std::map<int, frames::Holds> held;
  Told told;
  {
    TrainerGang gang(ranks, flags);
    LetOneSave(gang, static_cast<size_t>(ranks - 1), held);
    told = gang.Run(start, KillAfterStep(12, dies));
  }
  ASSERT_FALSE(told.checkpoints.empty());
  const frames::CheckpointDone& saved = told.checkpoints.back();
  ASSERT_GE(saved.step, 12u) << "those before are of validations";
  std::set<uint64_t> hashes;
  for (const auto& [rank, holds] : held) {
    EXPECT_LE(saved.step - holds.step, 1u) << "rank " << rank;
    EXPECT_NE(holds.hash, 0u);
    if (holds.step == saved.step) hashes.insert(holds.hash);
    EXPECT_EQ(told.Cause(static_cast<size_t>(rank)), "collective");
  }
  EXPECT_EQ(hashes.size(), 1u) << "ranks after the same step are equal";
  std::map<uint64_t, nlohmann::json> rows;
  for (const auto* part : {&told.rows, &told.missing}) {
    for (const nlohmann::json& row : *part) rows[row.at("step").get<uint64_t>()] = row;
  }
  ASSERT_GE(rows.size(), saved.step);
  for (uint64_t step = 1; step <= saved.step; ++step) {
    ASSERT_TRUE(rows.contains(step)) << step;
    ExpectSameStep(rows.at(step), expected.rows.at(step - 1));
  }
  TrainerGang again(ranks, flags);
  ExpectTheRestAgain(again, start, expected, saved);
}

INSTANTIATE_TEST_SUITE_P(All, SurvivorOfTest,
                         ::testing::Values(Death{2, 0}, Death{2, 1}, Death{3, 0, "gloo"},
                                           Death{3, 2}),
                         [](const auto& tested) {
                           return std::to_string(tested.param.ranks) + "Ranks" +
                                  std::to_string(tested.param.dies) + "Dies_" +
                                  tested.param.sums_over;
                         });

TEST_F(SurvivorTest, DoesNotSaveIfRowsWouldBeMissing) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "1000000";
  spec["train"]["batch_size"] = 1;
  spec["train"]["global_batch_size"] = "2";
  spec["train"]["seq_len"] = 4;
  spec["model"]["n_layer"] = 1;
  spec["eval"]["every"] = "0";
  spec["logging"]["every"] = "1";
  spec["checkpoint"]["every"]["steps"] = "1000000";
  std::map<int, frames::Holds> held;
  TrainerGang gang(2);
  // The newest rows of rank 0 that are known here are older than those that rank 1 keeps.
  constexpr int kMoreThanIsKept = 2100;
  LetOneSave(gang, 1, held, /*rows_after=*/2);
  const Told told = gang.Run(StoredStart(spec), KillAfterStep(kMoreThanIsKept, 0));
  EXPECT_EQ(held.size(), 1u);
  EXPECT_TRUE(told.checkpoints.empty());
  EXPECT_TRUE(told.missing.empty());
  EXPECT_EQ(told.Cause(1), "collective");
}

}  // namespace
}  // namespace dt::testing
