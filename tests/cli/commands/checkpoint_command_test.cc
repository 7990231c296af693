// checkpoint_command_test.cc: dtctl checkpoint export, against a fake coordinator.
#include <filesystem>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/hf_gpt2.h"
#include "tests/cli/commands/fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

using ::dt::testing::TempFolder;

class CheckpointCommandTest : public CommandTest {
 protected:
  // Saves a checkpoint of trial 12/1 as a trainer does, and makes the coordinator know it.
  checkpoint::SavedCheckpoint Save(uint64_t step, bool best) {
    const nlohmann::json model = {
        {"n_layer", 1u},   {"n_head", 1u},      {"n_embd", 2u},
        {"n_ff", 2u},      {"n_positions", 2u}, {"vocab_size", 2u},
        {"vocab_pad", 2u}, {"tie_head", true},  {"activation", "gelu_tanh"}};
    const std::vector<float> values(16, static_cast<float>(step));
    std::vector<checkpoint::TensorRef> refs;
    for (const auto& tensor : checkpoint::Gpt2Tensors(*checkpoint::Gpt2ShapeOf(model))) {
      refs.push_back({tensor.ours, checkpoint::DType::kF32, tensor.our_shape, values.data()});
    }
    auto writer = checkpoint::CheckpointWriter::Begin(folder_.path(), {{12, 1}, 1, step});
    EXPECT_TRUE(writer->AddTensors("model.safetensors", refs).ok());
    checkpoint::Manifest manifest;
    manifest.model = model;
    const absl::StatusOr<checkpoint::SavedCheckpoint> saved = writer->Commit(manifest);
    control_.Edit([&](FakeControl::World& world) {
      v1::CheckpointSummary& one = world.experiments[12].checkpoints.emplace_back();
      one.set_experiment(12);
      one.set_trial(1);
      one.mutable_checkpoint()->set_step(step);
      one.mutable_checkpoint()->set_best(best);
      one.mutable_checkpoint()->set_path(saved->id.Path());
      one.mutable_checkpoint()->set_manifest_hash(saved->manifest_hash);
    });
    return *saved;
  }
  TempFolder folder_;
};

TEST_F(CheckpointCommandTest, ExportsAFolderWithoutACoordinator) {
  const auto saved = Save(500, true);
  const Ran ran = RunAsWritten({"checkpoint", "export", folder_ / saved.id.Path(), "-o",
                                folder_ / "out", "--address", "127.0.0.1:1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out, "parameters of step 500")) << ran.out;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/model.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/config.json"));
}

TEST_F(CheckpointCommandTest, ATrialStandsForItsBestCheckpoint) {
  AddExperiment(12, 1);
  Save(500, true);
  Save(600, false);
  const Ran ran =
      Run({"checkpoint", "export", "last/1", "--storage", folder_.path(), "-o", folder_ / "out"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out, "step 500")) << ran.out;
}

TEST_F(CheckpointCommandTest, InTheStorageATrialIsATrialAlthoughItHasAFolder) {
  AddExperiment(12, 1);
  Save(500, true);
  Save(600, false);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const Ran exported = Run({"checkpoint", "export", "12/1", "--storage", ".", "-o", "out"});
  const Ran unplaced = Run({"checkpoint", "export", "12/1", "-o", "out2"});
  std::filesystem::current_path(before);
  EXPECT_EQ(exported.code, 0) << exported.err;
  EXPECT_TRUE(Has(exported.out, "step 500")) << exported.out;
  EXPECT_EQ(unplaced.code, 2);
  EXPECT_TRUE(Has(unplaced.err, "give --storage DIR")) << unplaced.err;
}

TEST_F(CheckpointCommandTest, TakesACheckpointAsItIsPrinted) {
  AddExperiment(12, 1);
  Save(500, true);
  const auto saved = Save(600, false);
  Ran ran = Run({"get", "checkpoints", "12/1"});
  ASSERT_TRUE(Has(ran.out, saved.id.Path())) << ran.out;
  ran = RunAsWritten({"checkpoint", "export", saved.id.Path(), "--storage", folder_.path(), "-o",
                      folder_ / "out", "--address", "127.0.0.1:1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out, "step 600")) << ran.out;
  ran = Run({"checkpoint", "export", "12/1/a1/step-700", "--storage", folder_.path(), "-o",
             folder_ / "out2"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "under --storage " + folder_.path())) << ran.err;
}

TEST_F(CheckpointCommandTest, AnotherStorageThanTheWorkersIsRefusedWithTheirNames) {
  AddExperiment(12, 1);
  Save(500, true);
  control_.Edit([](FakeControl::World& world) {
    world.experiments[12].checkpoints.back().add_seen_by("gpu07/0");
  });
  const Ran ran = Run(
      {"checkpoint", "export", "12/1", "--storage", folder_ / "elsewhere", "-o", folder_ / "out"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "let --storage name the storage folder of gpu07/0")) << ran.err;
}

TEST_F(CheckpointCommandTest, NamesTheOptionsNeededToFindACheckpoint) {
  AddExperiment(12, 1);
  Ran ran = Run({"checkpoint", "export", "12/1", "-o", folder_ / "out"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "give --storage DIR")) << ran.err;
  ran = Run({"checkpoint", "export", "12/1", "--storage", folder_.path(), "-o", folder_ / "out"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_TRUE(Has(ran.err, "has no checkpoint yet")) << ran.err;
  ran = Run({"checkpoint", "export", "no/such/folder", "-o", folder_ / "out"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "is not a checkpoint's folder and not a trial")) << ran.err;
  ran = Run({"checkpoint", "export", folder_.path(), "-o", folder_ / "out"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "has no manifest.json")) << ran.err;
  ran = Run({"checkpoint", "export", "12", "--storage", folder_.path(), "-o", folder_ / "out"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "write '12/1'")) << ran.err;
  ran = Run({"checkpoint", "export", folder_.path(), "--format", "onnx", "-o", folder_ / "out"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "it must be hf")) << ran.err;
}

}  // namespace
}  // namespace dt::cli
