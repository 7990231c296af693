// nonfinite_test.cc: the effects of stop.nonfinite on gradients that are not finite, with real
// processes of two ranks.
//
// A NaN arises so: with optimizer.eps 0, the first update of a weight without a gradient is 0/0. So
// the embedding of a token that the first batch lacks is NaN from then on, and with it the gradient
// of every later batch with the token. Here the token is always in a sample of rank 1 alone.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "checkpoint/manifest.h"
#include "common/files.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

constexpr int kSteps = 12, kBatch = 4, kRanks = 2, kLength = 32;
constexpr uint16_t kPoison = 40;

class NonFiniteTest : public AttemptTest {
 protected:
  // All samples are the same, so that with a constant learning rate equal states give equal losses,
  // at every step.
  void WritePoisoned(const std::set<int>& steps) {
    std::vector<uint16_t> tokens((kSteps + 30) * kBatch * kRanks * kLength + 1);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint16_t>(i % 8);
    WriteTokens(folder_, "data/val.bin", tokens);
    for (const int step : steps) {
      const int sample = (step - 1) * kBatch * kRanks + kBatch;  // the first one of rank 1
      tokens[sample * kLength + kLength / 2] = kPoison;
    }
    WriteTokens(folder_, "data/train.bin", tokens);
  }
  static nlohmann::json Spec(const char* policy) {
    nlohmann::json spec = SmallSpec();
    spec["data"]["shuffle"] = false;
    spec["model"]["tie_head"] = false;
    spec["model"]["bias"] = false;  // a bias of keys has no gradient
    spec["optimizer"]["eps"] = kNothing;
    spec["schedule"] = {{"type", "constant"}, {"warmup_steps", "0"}};
    spec["train"]["max_steps"] = std::to_string(kSteps);
    spec["stop"] = {{"nonfinite", policy}};
    return spec;
  }
  // Returns the steps after which something was left out, and how much.
  static std::map<int, int> LeftOut(const Told& told) {
    std::map<int, int> steps;
    for (const nlohmann::json& row : told.rows) {
      const int count = row.at("nonfinite_steps").get<int>();
      if (count == 0) continue;
      steps[row.at("step").get<int>()] = count;
      EXPECT_TRUE(row.at("loss").is_null()) << row.at("loss");
      EXPECT_TRUE(row.at("grad_norm").is_null());
    }
    return steps;
  }
  static nlohmann::json LossAfter(const Told& told, int step) {
    return told.rows.at(static_cast<size_t>(step)).at("loss");
  }
  checkpoint::Manifest ManifestOf(const frames::CheckpointDone& checkpoint) const {
    const absl::StatusOr<std::string> text =
        ReadFile(folder_ / ("storage/" + checkpoint.path + "/manifest.json"), 1 << 20);
    EXPECT_TRUE(text.ok());
    const absl::StatusOr<checkpoint::Manifest> manifest = checkpoint::ParseManifest(*text);
    EXPECT_TRUE(manifest.ok());
    return *manifest;
  }
};

TEST_F(NonFiniteTest, SkippedStepsCountAsStepsButNeverReachTheOptimizer) {
  WritePoisoned({3, 6, 7});
  nlohmann::json spec = Spec("skip");
  spec["checkpoint"] = {{"every", {{"steps", 1}}}, {"keep_latest", 100}};
  const Told told = TrainerGang(kRanks).Run(StoredStart(spec));
  ASSERT_EQ(told.Cause(0), "finished") << told.Message();
  EXPECT_EQ(told.Cause(1), "finished");
  ASSERT_EQ(told.rows.size(), static_cast<size_t>(kSteps));
  EXPECT_EQ(LeftOut(told), (std::map<int, int>{{3, 1}, {6, 1}, {7, 1}}));
  ASSERT_EQ(told.checkpoints.size(), static_cast<size_t>(kSteps));
  const std::vector<uint64_t> updates = {1, 2, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9};
  for (size_t i = 0; i < updates.size(); ++i) {
    const checkpoint::Manifest manifest = ManifestOf(told.checkpoints[i]);
    EXPECT_EQ(manifest.step, i + 1);
    EXPECT_EQ(manifest.optimizer_steps, updates[i]);
    if (i == 0) continue;
    // Parameters and moments change when the count does, and otherwise stay equal to the bit.
    const checkpoint::Manifest before = ManifestOf(told.checkpoints[i - 1]);
    for (size_t file = 0; file < manifest.files.size(); ++file) {
      EXPECT_EQ(manifest.files[file].sha256 == before.files[file].sha256,
                updates[i] == updates[i - 1])
          << manifest.files[file].name << " after step " << i + 1;
    }
  }
}

TEST_F(NonFiniteTest, AResumeAfterASkippedStepEqualsTheUninterruptedRunBitForBit) {
  WritePoisoned({3, 9});
  nlohmann::json spec = Spec("skip");
  spec["checkpoint"] = {{"every", {{"steps", 1}}}, {"keep_latest", 100}};
  frames::Start start = StoredStart(spec);
  TrainerGang gang(kRanks);
  const Told whole = gang.Run(start);
  ASSERT_EQ(whole.checkpoints.size(), static_cast<size_t>(kSteps));
  for (const size_t step : {3, 5}) {
    start.attempt = 1 + static_cast<uint32_t>(step);
    start.resume = ResumeOf(whole.checkpoints.at(step - 1));
    const Told rest = gang.Run(start);
    ASSERT_EQ(rest.Cause(), "finished") << rest.Message();
    ASSERT_EQ(rest.rows.size(), kSteps - step);
    for (size_t i = 0; i < rest.rows.size(); ++i) {
      for (const char* column : {"step", "loss", "grad_norm", "nonfinite_steps"}) {
        EXPECT_EQ(rest.rows[i][column], whole.rows[i + step][column]) << "step " << step + i + 1;
      }
    }
  }
}

TEST_F(NonFiniteTest, Fp16TakesSingleNonFiniteStepsForOverflowsUnderAnyPolicy) {
  WritePoisoned({3, 9});
  nlohmann::json spec = Spec("fail");
  spec["precision"]["compute"] = "fp16";
  spec["checkpoint"] = {{"every", {{"steps", 1}}}, {"keep_latest", 100}};
  frames::Start start = StoredStart(spec);
  TrainerGang gang(kRanks);
  const Told whole = gang.Run(start);
  ASSERT_EQ(whole.Cause(0), "finished") << whole.Message();
  EXPECT_EQ(LeftOut(whole), (std::map<int, int>{{3, 1}, {9, 1}}));
  ASSERT_EQ(whole.checkpoints.size(), static_cast<size_t>(kSteps));
  EXPECT_EQ(ManifestOf(whole.checkpoints[1]).loss_scale, 65536);
  EXPECT_EQ(ManifestOf(whole.checkpoints[1]).loss_scale_steps, 2u);
  EXPECT_EQ(ManifestOf(whole.checkpoints[2]).loss_scale, 32768);
  EXPECT_EQ(ManifestOf(whole.checkpoints.back()).loss_scale, 16384);
  EXPECT_EQ(ManifestOf(whole.checkpoints.back()).loss_scale_steps, 3u);
  // The rest uses the stored factor, not the initial one.
  start.attempt = 2;
  start.resume = ResumeOf(whole.checkpoints.at(4));
  const Told rest = gang.Run(start);
  ASSERT_EQ(rest.checkpoints.size(), kSteps - 5u);
  EXPECT_EQ(ManifestOf(rest.checkpoints.back()).loss_scale, 16384);
  for (size_t i = 0; i < rest.rows.size(); ++i) {
    EXPECT_EQ(rest.rows[i]["loss"], whole.rows[i + 5]["loss"]) << i;
  }
}

TEST_F(NonFiniteTest, Fp16EndsWhenNoLossScaleHelps) {
  std::set<int> steps;
  for (int step = 3; step <= kSteps + 30; ++step) steps.insert(step);
  WritePoisoned(steps);
  nlohmann::json spec = Spec("fail");
  spec["precision"]["compute"] = "fp16";
  spec["train"]["max_steps"] = std::to_string(kSteps + 30);
  const Told told = TrainerGang(kRanks).Run(Start(spec));
  EXPECT_EQ(told.Cause(0), "nonfinite");
  EXPECT_EQ(told.rows.size(), 2 + 24u) << "the 25th ends it";
}

TEST_F(NonFiniteTest, SkippingEndsAfterTooManyStepsInARow) {
  std::set<int> steps;
  for (int step = 3; step <= kSteps + 30; ++step) steps.insert(step);
  WritePoisoned(steps);
  nlohmann::json spec = Spec("skip");
  spec["train"]["max_steps"] = std::to_string(kSteps + 30);
  const Told told = TrainerGang(kRanks).Run(Start(spec));
  EXPECT_EQ(told.Cause(0), "nonfinite");
  EXPECT_EQ(told.Cause(1), "nonfinite");
  EXPECT_EQ(told.rows.size(), 2 + 24u) << "the 25th ends it";
  EXPECT_NE(told.Message().find("25 gradients in a row"), std::string::npos) << told.Message();
}

TEST_F(NonFiniteTest, RollbackGoesToTheNewestCheckpointAndContinuesAfterTheStep) {
  WritePoisoned({6});
  nlohmann::json spec = Spec("rollback");
  spec["checkpoint"] = {{"every", {{"steps", 4}}}, {"keep_latest", 1}, {"keep_best", 0}};
  const Told told = TrainerGang(kRanks).Run(StoredStart(spec));
  ASSERT_EQ(told.Cause(0), "finished") << told.Message();
  EXPECT_EQ(told.Cause(1), "finished");
  ASSERT_EQ(told.rows.size(), static_cast<size_t>(kSteps)) << "no step is made twice";
  EXPECT_EQ(LeftOut(told), (std::map<int, int>{{6, 1}}));
  EXPECT_EQ(LossAfter(told, 6), LossAfter(told, 4));
  EXPECT_NE(LossAfter(told, 6), LossAfter(told, 5)) << "step 5 is undone";
  // Four updates before the checkpoint, and those after step 6.
  ASSERT_EQ(told.checkpoints.size(), 3u);
  EXPECT_EQ(ManifestOf(told.checkpoints.back()).optimizer_steps, 4u + 6u);
}

TEST_F(NonFiniteTest, RollbackWithoutACheckpointGoesToTheStart) {
  WritePoisoned({3});
  const Told told = TrainerGang(kRanks).Run(Start(Spec("rollback")));
  ASSERT_EQ(told.Cause(0), "finished") << told.Message();
  EXPECT_EQ(told.Cause(1), "finished");
  EXPECT_EQ(LossAfter(told, 3), LossAfter(told, 0));
  EXPECT_EQ(LossAfter(told, 4), LossAfter(told, 1)) << "the moments are reset too";
}

// The poisoned sample belongs to the second data rank.
TEST_F(NonFiniteTest, RanksThatShareOneModelRollBackTogether) {
  WritePoisoned({6});
  uint32_t trial = 3;
  const auto on = [](const char* strategy, int ranks, nlohmann::json parallel) {
    parallel["strategy"] = strategy;
    return std::tuple(strategy, ranks, std::move(parallel));
  };
  for (const auto& [strategy, ranks, parallel] :
       {on("ddp", 2 * kRanks, {{"tensor", 2}}), on("zero1", 2 * kRanks, {{"tensor", 2}}),
        on("zero1", 2 * kRanks, {{"pipeline", 2}}), on("zero2", kRanks, nlohmann::json::object()),
        on("zero3", kRanks, nlohmann::json::object()), on("hsdp", kRanks, {{"shard", 2}}),
        on("ddp", kRanks, {{"compression", "powersgd"}})}) {
    nlohmann::json spec = Spec("rollback");
    spec["parallel"] = parallel;
    TrainerGang gang(ranks);
    ++trial;
    for (const bool saves : {false, true}) {
      spec["checkpoint"] = {{"every", {{"steps", saves ? 4 : 0}}}, {"keep_best", 0}};
      frames::Start start = saves ? StoredStart(spec) : Start(spec);
      start.trial = trial;
      const Told told = gang.Run(start);
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(told.Cause(rank), "finished") << strategy << ": " << told.Message(rank);
      }
      ASSERT_EQ(told.rows.size(), static_cast<size_t>(kSteps)) << "no step is made twice";
      EXPECT_EQ(LeftOut(told), (std::map<int, int>{{6, 1}}));
      EXPECT_EQ(LossAfter(told, 6), LossAfter(told, saves ? 4 : 0)) << strategy;
    }
  }
}

TEST_F(NonFiniteTest, RollbackOfAResumedAttemptGoesToItsResumedStep) {
  WritePoisoned({6});
  nlohmann::json spec = Spec("rollback");
  spec["checkpoint"] = {{"every", {{"steps", 4}}}, {"keep_latest", 100}};
  frames::Start start = StoredStart(spec);
  TrainerGang gang(kRanks);
  const Told whole = gang.Run(start);
  ASSERT_EQ(whole.checkpoints.size(), 3u);
  start.attempt = 2;
  start.resume = ResumeOf(whole.checkpoints[0]);
  const Told rest = gang.Run(start);
  ASSERT_EQ(rest.Cause(), "finished") << rest.Message();
  ASSERT_EQ(rest.rows.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(rest.rows[i]["loss"], whole.rows[4 + i]["loss"]) << i;
}

// The second of two ranks has the poisoned sample.
TEST_F(NonFiniteTest, ARankThatStepsAloneLeavesOutItsOwnStep) {
  WritePoisoned({6});
  nlohmann::json spec = Spec("skip");
  spec["parallel"]["strategy"] = "local_sgd";
  spec["parallel"]["sync_every"] = "4";
  spec["checkpoint"] = {{"every", {{"steps", 4}}}, {"keep_latest", 100}};
  frames::Start start = StoredStart(spec);
  const Told told = TrainerGang(kRanks).Run(start);
  ASSERT_EQ(told.Cause(0), "finished") << told.Message();
  EXPECT_EQ(told.Cause(1), "finished");
  ASSERT_EQ(told.rows.size(), static_cast<size_t>(kSteps));
  for (const nlohmann::json& row : told.rows) {
    const int step = row.at("step").get<int>();
    EXPECT_EQ(row.at("nonfinite_steps"), step == 6 ? 1 : 0) << step;
    EXPECT_EQ(row.at("loss").is_null(), step == 6) << step;
    EXPECT_TRUE(row.at("grad_norm").is_number()) << "rank 0's, at step " << step;
  }
  ASSERT_EQ(told.checkpoints.size(), 3u);
  EXPECT_EQ(ManifestOf(told.checkpoints.back()).optimizer_steps, 12u) << "rank 0 took all";
  // After the sync of step 8, rank 1 has rank 0's count, as in an attempt that begins there.
  start.attempt = 2;
  start.resume = ResumeOf(told.checkpoints[1]);
  const Told rest = TrainerGang(kRanks).Run(start);
  ASSERT_EQ(rest.rows.size(), 4u) << rest.Message();
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(rest.rows[i]["loss"], told.rows[i + 8]["loss"]) << i;
}

TEST_F(NonFiniteTest, RanksThatStepAloneRollBackTogetherAtTheNextSync) {
  WritePoisoned({6});
  nlohmann::json spec = Spec("rollback");
  spec["parallel"]["strategy"] = "local_sgd";
  spec["parallel"]["sync_every"] = "4";
  spec["parallel"]["outer_lr"] = 0.7;
  spec["parallel"]["outer_momentum"] = 0.9;
  spec["checkpoint"] = {{"every", {{"steps", 4}}}, {"keep_latest", 100}};
  const Told told = TrainerGang(kRanks).Run(StoredStart(spec));
  ASSERT_EQ(told.Cause(0), "finished") << told.Message();
  EXPECT_EQ(told.Cause(1), "finished");
  ASSERT_EQ(told.rows.size(), static_cast<size_t>(kSteps)) << "no step is made twice";
  EXPECT_EQ(LossAfter(told, 8), LossAfter(told, 4)) << "steps 5 to 8 are undone";
  ASSERT_EQ(told.checkpoints.size(), 3u);
  EXPECT_EQ(ManifestOf(told.checkpoints[1]).optimizer_steps, 4u)
      << "the state to which step 8 rolled back";
  EXPECT_EQ(ManifestOf(told.checkpoints.back()).optimizer_steps, 4u + 4u);
}

TEST_F(NonFiniteTest, RanksThatGossipLeaveOutTheirOwnStepsAndRollBackTogether) {
  WritePoisoned({6});
  for (const char* policy : {"skip", "rollback"}) {
    nlohmann::json spec = Spec(policy);
    spec["parallel"]["strategy"] = "gossip";
    spec["parallel"]["sync_every"] = "4";
    spec["checkpoint"] = {{"every", {{"steps", 4}}}, {"keep_latest", 100}};
    frames::Start start = StoredStart(spec);
    start.trial = policy == std::string("skip") ? 20 : 21;
    const Told told = TrainerGang(kRanks).Run(start);
    ASSERT_EQ(told.Cause(0), "finished") << told.Message();
    EXPECT_EQ(told.Cause(1), "finished");
    ASSERT_EQ(told.rows.size(), static_cast<size_t>(kSteps));
    for (const nlohmann::json& row : told.rows) {
      const int step = row.at("step").get<int>();
      EXPECT_EQ(row.at("nonfinite_steps"), step == 6 ? 1 : 0) << step;
    }
    ASSERT_EQ(told.checkpoints.size(), 3u);
    const bool back = policy == std::string("rollback");
    EXPECT_EQ(LossAfter(told, 8) == LossAfter(told, 4), back) << "steps 5 to 8 are undone";
    EXPECT_EQ(ManifestOf(told.checkpoints[1]).optimizer_steps, back ? 4u : 8u);
  }
}

TEST_F(NonFiniteTest, RollbackEndsWhenItHappensTooOften) {
  std::set<int> steps;
  for (int step = 3; step <= kSteps; ++step) steps.insert(step);
  WritePoisoned(steps);
  nlohmann::json spec = Spec("rollback");
  spec["checkpoint"] = {{"every", {{"steps", 2}}}, {"keep_latest", 1}};
  const Told told = TrainerGang(kRanks).Run(StoredStart(spec));
  EXPECT_EQ(told.Cause(0), "nonfinite");
  EXPECT_EQ(told.Cause(1), "nonfinite");
  EXPECT_EQ(told.EndStep(), 8u) << "five times back, from steps 3 to 7";
  EXPECT_NE(told.Message().find("rolled back 5 times"), std::string::npos) << told.Message();
}

TEST_F(NonFiniteTest, RollbackAlsoFollowsAValidationLossThatIsNotFinite) {
  WritePoisoned({});
  WriteTokens(folder_, "data/val.bin", std::vector<uint16_t>(4000, kPoison));
  nlohmann::json spec = Spec("rollback");
  spec["eval"]["every"] = "5";
  const Told told = TrainerGang(kRanks).Run(Start(spec));
  ASSERT_EQ(told.Cause(0), "finished") << told.Message();
  ASSERT_EQ(told.evals.size(), 3u);
  for (const frames::Eval& eval : told.evals) EXPECT_EQ(eval.loss, told.evals[0].loss);
  EXPECT_EQ(LossAfter(told, 5), LossAfter(told, 0)) << "back at the start";
  for (const char* policy : {"fail", "skip"}) {
    EXPECT_EQ(TrainerGang(kRanks).Run(Start(Spec(policy))).Cause(0), "nonfinite") << policy;
  }
}

}  // namespace
}  // namespace dt::testing
