// recipe_test.cc: the recipe's and the guardrails' parts of a step, on every kind of device.
#include "checkpoint/checkpoint.h"
#include "checkpoint/hf_export.h"
#include "tests/gpu/device_fixture.h"

namespace dt::trainer {
namespace {

// With optimizer.eps 0, the embedding of a token that the first batch lacks is NaN from then on,
// and with it the gradient of every later batch that has the token.
constexpr uint16_t kPoison = 40;

class RecipeTest : public DeviceTest {
 protected:
  // Writes equal samples, except for those of `steps`, which have the token.
  nlohmann::json Poisoned(const char* policy, std::initializer_list<size_t> steps) {
    std::vector<uint16_t> tokens(20000);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint16_t>(i % 8);
    testing::WriteTokens(folder_, "val.bin", tokens);
    for (const size_t step : steps) tokens[(step - 1) * 4 * 32 + 10] = kPoison;
    testing::WriteTokens(folder_, "train.bin", tokens);
    nlohmann::json spec = SmallSpec();
    spec["data"]["shuffle"] = false;
    spec["model"]["tie_head"] = false;
    spec["model"]["bias"] = false;  // a bias of keys has no gradient
    spec["optimizer"]["eps"] = testing::kNothing;
    spec["schedule"] = {{"type", "constant"}, {"warmup_steps", "0"}};
    spec["train"]["max_steps"] = "12";
    spec["stop"] = {{"nonfinite", policy}};
    return spec;
  }
  absl::StatusOr<checkpoint::Manifest> ManifestOf(const frames::CheckpointDone& done) const {
    const std::optional<checkpoint::CheckpointId> id = checkpoint::ParseCheckpointPath(done.path);
    if (!id) return DamagedError(done.path);
    DT_ASSIGN_OR_RETURN(const checkpoint::Checkpoint checkpoint,
                        checkpoint::OpenCheckpoint(storage_, *id, done.manifest_hash));
    return checkpoint.manifest;
  }
};

TEST_P(RecipeTest, SkippedStepsNeverReachTheOptimizerAndAResumeKnowsOfThem) {
  nlohmann::json spec = Poisoned("skip", {3, 7});
  spec["logging"] = {{"every", "4"}};
  spec["checkpoint"] = {{"every", {{"steps", 4}}}, {"keep_latest", 10}};
  storage_ = folder_.path();
  const Told whole = Train(spec);
  ASSERT_EQ(whole.Cause(), "finished") << whole.Message();
  EXPECT_EQ(whole.Column("nonfinite_steps"), (std::vector<double>{1, 1, 0}));
  ASSERT_EQ(whole.checkpoints.size(), 3u);
  resume_ = frames::Resume{8, whole.checkpoints[1].path, whole.checkpoints[1].manifest_hash};
  const Told rest = Train(spec);
  ASSERT_EQ(rest.rows.size(), 1u) << rest.Message();
  // The bias correction counts only the updates.
  EXPECT_NEAR(rest.Losses()[0], whole.Losses()[2], 1e-5);
}

TEST_P(RecipeTest, RollbackGoesToTheNewestCheckpointAndContinuesAfterTheStep) {
  nlohmann::json spec = Poisoned("rollback", {6});
  spec["checkpoint"] = {{"every", {{"steps", 4}}}, {"keep_latest", 10}};
  storage_ = folder_.path();
  const Told told = Train(spec);
  ASSERT_EQ(told.Cause(), "finished") << told.Message();
  const std::vector<double> losses = told.Losses();
  ASSERT_EQ(losses.size(), 12u) << "no step is made twice";
  EXPECT_FALSE(std::isfinite(losses[5]));
  EXPECT_NEAR(losses[6], losses[4], 1e-5) << "the state of step 4 again";
  EXPECT_GT(std::abs(losses[6] - losses[3]), 1e-4);
  ASSERT_EQ(told.checkpoints.size(), 3u);
  const absl::StatusOr<checkpoint::Manifest> last = ManifestOf(told.checkpoints.back());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->optimizer_steps, 4u + 6u);
}

TEST_P(RecipeTest, RollbackWithoutACheckpointGoesToTheStartAndIsLogged) {
  nlohmann::json spec = Poisoned("rollback", {3});
  spec["logging"] = {{"every", "4"}};
  const Told told = Train(spec);
  ASSERT_EQ(told.Cause(), "finished") << told.Message();
  // A GPU notices after step 4, a CPU at once; from the start on, both learn the same.
  const std::vector<double> whole = Train(Poisoned("skip", {})).Losses();
  const size_t back = device_->Torch().is_cuda() ? 4 : 3;
  ASSERT_EQ(told.rows.size(), 3u);
  EXPECT_NEAR(told.Losses()[1], whole[7 - back], 1e-5);
  EXPECT_NEAR(told.Losses()[2], whole[11 - back], 1e-5);
}

TEST_P(RecipeTest, ActivationCheckpointingGivesTheSameLosses) {
  for (const char* compute : {"fp32", "bf16"}) {
    nlohmann::json spec = SmallSpec();
    spec["model"]["dropout"] = 0.1;
    spec["precision"]["compute"] = compute;
    const Told kept = Train(spec);
    spec["model"]["activation_checkpointing"] = "block";
    const Told computed = Train(spec);
    ASSERT_EQ(computed.Cause(), "finished") << computed.Message();
    // Backward kernels of a GPU may add in any order.
    const double rounding = spec["precision"]["compute"] == "fp32" ? 1e-4 : 2e-3;
    EXPECT_LE(LargestDifference(kept.Losses(), computed.Losses()),
              device_->Torch().is_cpu() ? 0 : rounding);
    const Told parallel = Train(spec, AttemptOptions::Alone::kDataParallel);
    EXPECT_LE(LargestDifference(computed.Losses(), parallel.Losses()), rounding);
  }
}

TEST_P(RecipeTest, TheGradientNoiseScaleIsLoggedIfMicroStepsAccumulate) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "60";
  spec["train"]["global_batch_size"] = "16";
  for (const char* compute : {"fp32", "fp16"}) {
    spec["precision"]["compute"] = compute;
    const Told told = Train(spec);
    ASSERT_EQ(told.Cause(), "finished") << told.Message();
    const double noise = told.rows.back().value("noise_scale_tokens", 0.0);
    EXPECT_GT(noise, 10) << compute;
    EXPECT_LT(noise, 1e5) << compute << ", of which the loss scale is no part";
  }
}

TEST_P(RecipeTest, ExportedWeightsGiveTheLossOfTheTrialThatLearnedThem) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "40";
  spec["optimizer"]["lr"] = 3e-3;
  storage_ = folder_.path();
  const Told learned = Train(spec);
  ASSERT_EQ(learned.checkpoints.size(), 1u) << learned.Message();
  const absl::StatusOr<checkpoint::HfExport> exported = checkpoint::ExportHuggingFace(
      {folder_ / learned.checkpoints[0].path, folder_ / "start", {}, {}});
  ASSERT_TRUE(exported.ok()) << exported.status();
  storage_.clear();
  spec["seed"] = "12";
  spec["train"]["max_steps"] = "1";
  spec["optimizer"]["lr"] = testing::kNothing;
  spec["model"]["init_from"] = "start";
  const Told again = Train(spec);
  ASSERT_EQ(again.evals.size(), 1u) << again.Message();
  EXPECT_NEAR(again.evals[0].loss, learned.evals.at(0).loss, 1e-5);
}

TEST_P(RecipeTest, TheLossScaleOfFp16HalvesAtAnOverflowAndIsPartOfACheckpoint) {
  nlohmann::json spec = Poisoned("fail", {3, 9});
  spec["precision"]["compute"] = "fp16";
  spec["checkpoint"] = {{"every", {{"steps", 4}}}, {"keep_latest", 10}};
  storage_ = folder_.path();
  const Told whole = Train(spec);
  ASSERT_EQ(whole.Cause(), "finished") << whole.Message();
  ASSERT_EQ(whole.checkpoints.size(), 3u);
  const std::vector<double> left_out = whole.Column("nonfinite_steps");
  EXPECT_EQ(left_out[2], 1);
  EXPECT_EQ(left_out[8], 1);
  std::vector<double> scales;
  for (const frames::CheckpointDone& done : whole.checkpoints) {
    const absl::StatusOr<checkpoint::Manifest> manifest = ManifestOf(done);
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    scales.push_back(manifest->loss_scale);
  }
  // Gradients of a small model do not overflow by themselves.
  EXPECT_EQ(scales, (std::vector<double>{32768, 32768, 16384}));
  resume_ = frames::Resume{8, whole.checkpoints[1].path, whole.checkpoints[1].manifest_hash};
  const Told rest = Train(spec);
  ASSERT_EQ(rest.rows.size(), 4u) << rest.Message();
  EXPECT_NEAR(rest.Losses()[3], whole.Losses()[11], 1e-4);
}

TEST_P(RecipeTest, AWarmProcessTrainsTheNextTrialEquallyInTheSameMemory) {
  // Larger than the others, so that anything a trial leaves behind would show.
  nlohmann::json spec = SmallSpec();
  spec["model"]["n_embd"] = 128;
  spec["model"]["n_ff"] = 512;
  spec["train"]["batch_size"] = 16;
  const Told first = Train(spec);
  ASSERT_EQ(first.Cause(), "finished") << first.Message();
  spec["train"]["max_steps"] = "1";
  const Told second = Train(spec);
  ASSERT_EQ(second.rows.size(), 1u) << second.Message();
  EXPECT_NEAR(second.Losses()[0], first.Losses()[0], 1e-5);
  const double before = first.Column("memory_peak_bytes").back();
  EXPECT_LE(second.Column("memory_peak_bytes").back(), 1.25 * before);
}

INSTANTIATE_TEST_SUITE_P(On, RecipeTest, ::testing::Values("cpu", "cuda:0"), NameOfKind);

}  // namespace
}  // namespace dt::trainer
