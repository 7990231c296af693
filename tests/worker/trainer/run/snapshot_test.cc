// snapshot_test.cc: a training state written to files and read back, one tensor at a time.
#include "worker/trainer/run/snapshot.h"

#include <gtest/gtest.h>

#include "checkpoint/manifest.h"
#include "common/files.h"
#include "tests/testing/temp_folder.h"
#include "tests/worker/trainer/gpt2_trial.h"
#include "worker/trainer/model/transformer.h"
#include "worker/trainer/run/training_line.h"

namespace dt::trainer {
namespace {

using ::dt::testing::TempFolder;

// A model with moments that are not zero.
struct State {
  explicit State(uint64_t seed) : model(SmallGpt2(), seed, home) {
    auto generator = at::detail::createCPUGenerator(seed + 1);
    for (const Piece& moment : optimizer.State()) moment.value.normal_(0, 1, generator);
  }
  WholeHome home{at::kCPU};
  Transformer model;
  AdamW optimizer{home.pieces(), Gpt2Trial().optimizer};
};

const std::atomic<bool> kStay{false};
constexpr checkpoint::CheckpointId kId{{7, 2}, 1, 5};

frames::Start ResumeFrom(const std::string& storage, const checkpoint::SavedCheckpoint& saved) {
  frames::Start start;
  start.experiment = kId.trial.experiment;
  start.trial = kId.trial.trial;
  start.attempt = 2;
  start.spec = nlohmann::json::object();
  start.storage = storage;
  start.resume = frames::Resume{kId.step, saved.id.Path(), saved.manifest_hash};
  return start;
}

checkpoint::Manifest SmallManifest() {
  checkpoint::Manifest manifest;
  manifest.optimizer_steps = 4;
  frames::Start start;
  start.spec = nlohmann::json::object();
  manifest.line_hash = TrainingLine(start).hash();
  return manifest;
}

TEST(SnapshotTest, TheFilesEqualThoseOfAllTensorsWrittenAtOnce) {
  const TempFolder folder;
  const State state(3);
  const auto saved = SaveSnapshot(
      folder.path(), kId, {state.home.pieces(), state.optimizer.State()}, SmallManifest(), kStay);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const std::pair<const char*, const std::vector<Piece>*> files[] = {
      {"model.safetensors", &state.home.pieces()},
      {"optimizer.safetensors", &state.optimizer.State()}};
  for (const auto& [name, pieces] : files) {
    std::vector<checkpoint::TensorRef> refs;
    for (const Piece& piece : *pieces) {
      refs.push_back(
          {piece.name, checkpoint::DType::kF32, piece.shape, piece.value.const_data_ptr()});
    }
    ASSERT_TRUE(checkpoint::WriteSafetensors(folder / name, refs).ok());
    const auto expected = ReadFile(folder / name, 1 << 20);
    const auto written = ReadFile(folder / saved->id.Path() + "/" + name, 1 << 20);
    ASSERT_TRUE(expected.ok() && written.ok()) << written.status();
    EXPECT_EQ(*written, *expected) << name;
  }
}

TEST(SnapshotTest, ComesBackBitForBit) {
  const TempFolder folder;
  const State state(3);
  const auto saved = SaveSnapshot(
      folder.path(), kId, {state.home.pieces(), state.optimizer.State()}, SmallManifest(), kStay);
  ASSERT_TRUE(saved.ok()) << saved.status();
  State other(4);
  Mesh mesh;
  const auto restored = RestoreSnapshot(ResumeFrom(folder.path(), *saved), mesh,
                                        other.home.pieces(), other.optimizer);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->step, 5);
  EXPECT_EQ(other.optimizer.Updates(), 4);
  for (size_t i = 0; i < state.home.pieces().size(); ++i) {
    EXPECT_TRUE(at::equal(state.home.pieces()[i].value, other.home.pieces()[i].value));
  }
  for (size_t i = 0; i < state.optimizer.State().size(); ++i) {
    EXPECT_TRUE(at::equal(state.optimizer.State()[i].value, other.optimizer.State()[i].value));
  }
}

}  // namespace
}  // namespace dt::trainer
