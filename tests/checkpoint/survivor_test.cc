// survivor_test.cc: ranks of a broken gang that save the same step disturb neither each other nor a
// checkpoint that may be registered.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "tests/testing/temp_folder.h"

namespace dt::checkpoint {
namespace {

using ::dt::testing::TempFolder;

TEST(SurvivorTest, ASurvivorReplacesOnlyADamagedCheckpointOfItsStep) {
  const TempFolder folder(::dt::testing::Medium::kMemory);
  const CheckpointId id{{12, 3}, 1, 10};
  const auto save = [&](int32_t rank) -> absl::StatusOr<SavedCheckpoint> {
    absl::StatusOr<CheckpointWriter> writer = CheckpointWriter::Begin(folder.path(), id, rank);
    if (!writer.ok()) return writer.status();
    const std::vector<float> values = {1, 2};
    const absl::Status added =
        writer->AddTensors("model.safetensors", {{"w", DType::kF32, {2}, values.data()}});
    if (!added.ok()) return added;
    Manifest manifest;
    manifest.seed = rank;
    return writer->Commit(manifest);
  };
  folder.Write("12/3/a1/.tmp-step-10/model.safetensors", "rank 0 writes");
  const absl::StatusOr<SavedCheckpoint> first = save(1);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(std::filesystem::exists(folder / "12/3/a1/.tmp-step-10/model.safetensors"))
      << "a survivor writes beside the others";
  const absl::StatusOr<SavedCheckpoint> second = save(2);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->manifest_hash, first->manifest_hash) << "the first one may be registered";
  EXPECT_EQ(second->bytes, first->bytes);
  EXPECT_FALSE(std::filesystem::exists(folder / "12/3/a1/.tmp-step-10-2"));
  std::filesystem::resize_file(folder / (id.Path() + "/model.safetensors"), 5);
  const absl::StatusOr<SavedCheckpoint> third = save(2);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_TRUE(OpenCheckpoint(folder.path(), id, third->manifest_hash).ok());
}

}  // namespace
}  // namespace dt::checkpoint
