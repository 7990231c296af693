// survivor_test.cc: a rank of real dttrain processes dies, and others save the state of the gang
// after its last complete step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/replicas.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

class SurvivorTest : public AttemptTest {
 protected:
  using Held = std::map<int, frames::Holds>;
  // Returns the replica that is saved: the most advanced one of which all ranks hold the same step.
  static std::vector<int32_t> Chosen(const ReplicaShape& shape, const Held& held) {
    std::vector<int32_t> best;
    for (int32_t replica = 0; replica < shape.replicas; ++replica) {
      const std::vector<int32_t> ranks = RanksOf(shape, replica);
      const bool complete = std::all_of(ranks.begin(), ranks.end(), [&](int32_t rank) {
        return held.contains(rank) && held.contains(ranks[0]) &&
               held.at(rank).step == held.at(ranks[0]).step;
      });
      if (complete && (best.empty() || held.at(ranks[0]).step > held.at(best[0]).step)) {
        best = ranks;
      }
    }
    return best;
  }
  // Lets a replica save, once all `survivors` have reported what they hold.
  static void LetOneSave(TrainerGang& gang, const ReplicaShape& shape, size_t survivors, Held& held,
                         std::optional<uint64_t> rows_after = {}) {
    gang.AnswerHolds([&gang, &held, shape, survivors, rows_after](const Told& told, int rank,
                                                                  const frames::Holds& holds) {
      held[rank] = holds;
      if (held.size() < survivors) return;
      const std::vector<int32_t> savers = Chosen(shape, held);
      const uint64_t newest = told.rows.empty() ? 0 : told.rows.back().at("step").get<uint64_t>();
      for (const auto& [each, offered] : held) {
        if (std::count(savers.begin(), savers.end(), each) > 0) {
          gang.Rescue(each, rows_after.value_or(newest), held.at(savers[0]).meet_at);
        } else {
          gang.Stop(each, /*checkpoint=*/false);
        }
      }
    });
  }
  static nlohmann::json SpecOfSurvivors() {
    nlohmann::json spec = StepsOfSequences(30, 16, 4);
    spec["model"]["dropout"] = 0.1;
    spec["eval"]["every"] = "10";
    spec["checkpoint"]["every"]["steps"] = "100000";
    return spec;
  }
  // Kills rank `dies` after step 12, and expects that survivors save, that each step has its row,
  // and that the next attempt goes on as one that was not disturbed.
  void ExpectSaved(const ReplicaShape& shape, int dies, const nlohmann::json& spec,
                   const std::vector<std::string>& flags, Held& held);
};

void SurvivorTest::ExpectSaved(const ReplicaShape& shape, int dies, const nlohmann::json& spec,
                               const std::vector<std::string>& flags, Held& held) {
  const int ranks = shape.replicas * shape.ranks_each();
  const Told& expected = Known(ranks, spec, flags);
  frames::Start start = StoredStart(spec);
  Told told;
  {
    TrainerGang gang(ranks, flags);
    LetOneSave(gang, shape, static_cast<size_t>(ranks - 1), held);
    told = gang.Run(start, KillAfterStep(12, dies));
  }
  ASSERT_FALSE(told.checkpoints.empty());
  const frames::CheckpointDone& saved = told.checkpoints.back();
  ASSERT_GE(saved.step, 12u) << "those before are of validations";
  for (const auto& [rank, holds] : held) {
    EXPECT_LE(saved.step - holds.step, 1u) << "rank " << rank;
    EXPECT_EQ(told.Cause(static_cast<size_t>(rank)), "collective");
  }
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

// Rank 0 dies, and then rank 3, before it meets rank 2 to save their replica.
TEST_F(SurvivorTest, TheFirstRankOfAReplicaDoesNotWaitLongForOneThatIsLost) {
  nlohmann::json spec = SpecOfSurvivors();
  spec["parallel"]["strategy"] = "hsdp";
  spec["parallel"]["shard"] = 2;
  Held held;
  TrainerGang gang(4);
  gang.AnswerHolds([&](const Told&, int rank, const frames::Holds& holds) {
    held[rank] = holds;
    if (held.size() < 3) return;
    kill(gang.rank(3).pid(), SIGKILL);
    gang.Rescue(2, 12, held.at(2).meet_at);
    gang.Stop(1, /*checkpoint=*/false);
  });
  const Told told = gang.Run(StoredStart(spec), KillAfterStep(12, 0));
  EXPECT_EQ(told.Cause(2), "collective") << "it ends by itself, long before the gang is killed";
  for (const frames::CheckpointDone& saved : told.checkpoints) EXPECT_LE(saved.step, 10u);
}

struct Death {
  int ranks = 2;
  int dies = 0;
  const char* sums_over = "auto";  // shared memory; gloo: sockets
};

class SurvivorOfTest : public SurvivorTest, public ::testing::WithParamInterface<Death> {};

TEST_P(SurvivorOfTest, SavesTheLastCompleteStepAndTheRestIsTheSameBitForBit) {
  const auto [ranks, dies, sums_over] = GetParam();
  nlohmann::json spec = SpecOfSurvivors();
  spec["train"]["batch_size"] = 4;
  spec["train"]["global_batch_size"] = std::to_string(4 * ranks);
  spec["train"]["hash_every"] = "7";
  Held held;
  ExpectSaved({.replicas = ranks}, dies, spec, {"--threads", "1", "--all-reduce", sums_over}, held);
  std::map<uint64_t, std::set<uint64_t>> hashes;  // by step
  for (const auto& [rank, holds] : held) {
    EXPECT_NE(holds.hash, 0u);
    hashes[holds.step].insert(holds.hash);
  }
  for (const auto& [step, each] : hashes) EXPECT_EQ(each.size(), 1u) << step;
}

INSTANTIATE_TEST_SUITE_P(All, SurvivorOfTest,
                         ::testing::Values(Death{2, 0}, Death{2, 1}, Death{3, 0, "gloo"},
                                           Death{3, 2}),
                         [](const auto& tested) {
                           return std::to_string(tested.param.ranks) + "Ranks" +
                                  std::to_string(tested.param.dies) + "Dies_" +
                                  tested.param.sums_over;
                         });

struct Replicas {
  const char* name = "";
  ReplicaShape shape;
  int dies = 0;
};

class SurvivingReplicaTest : public SurvivorTest, public ::testing::WithParamInterface<Replicas> {};

TEST_P(SurvivingReplicaTest, IsSavedByItsRanksTogetherAndTheRestIsTheSameBitForBit) {
  const ReplicaShape& shape = GetParam().shape;
  nlohmann::json spec = SpecOfSurvivors();
  spec["model"]["n_layer"] = 2;
  spec["parallel"]["tensor"] = shape.tensor;
  spec["parallel"]["pipeline"] = shape.pipeline;
  if (shape.shard > 1) {
    spec["parallel"]["strategy"] = "hsdp";
    spec["parallel"]["shard"] = shape.shard;
  }
  Held held;
  ExpectSaved(shape, GetParam().dies, spec, {"--threads", "1"}, held);
}

INSTANTIATE_TEST_SUITE_P(
    All, SurvivingReplicaTest,
    ::testing::Values(Replicas{"HsdpWithoutRank0", {.replicas = 2, .shard = 2}, 0},
                      Replicas{"HsdpWithoutRank3", {.replicas = 2, .shard = 2}, 3},
                      Replicas{"Tensor", {.replicas = 2, .tensor = 2}, 1},
                      Replicas{"Pipeline", {.replicas = 2, .pipeline = 2}, 2}),
    [](const auto& tested) { return tested.param.name; });

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
  Held held;
  TrainerGang gang(2);
  // The newest rows of rank 0 that are known here are older than those that rank 1 keeps.
  constexpr int kMoreThanIsKept = 2100;
  LetOneSave(gang, {.replicas = 2}, 1, held, /*rows_after=*/2);
  const Told told = gang.Run(StoredStart(spec), KillAfterStep(kMoreThanIsKept, 0));
  EXPECT_EQ(held.size(), 1u);
  EXPECT_TRUE(told.checkpoints.empty());
  EXPECT_TRUE(told.missing.empty());
  EXPECT_EQ(told.Cause(1), "collective");
}

}  // namespace
}  // namespace dt::testing
