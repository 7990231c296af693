// checkpoint_builder.h: small checkpoints whose contents show their step.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace dt::checkpoint {

inline constexpr TrialId kTrial{12, 3};
// Three writes, so that a kill can come between them.
inline constexpr size_t kWeights = 3 * (1 << 18) + 5;

inline CheckpointId IdOf(uint64_t step, uint32_t attempt = 1) { return {kTrial, attempt, step}; }

inline absl::StatusOr<SavedCheckpoint> Save(const std::string& storage, const CheckpointId& id,
                                            std::optional<double> loss = std::nullopt,
                                            size_t weights = 64) {
  const std::vector<float> weight(weights, static_cast<float>(id.step));
  const std::vector<float> moment(16, static_cast<float>(id.step) / 2);
  DT_ASSIGN_OR_RETURN(CheckpointWriter writer, CheckpointWriter::Begin(storage, id));
  DT_RETURN_IF_ERROR(
      writer.AddTensors("model.safetensors",
                        {{"weight", DType::kF32, {static_cast<int64_t>(weights)}, weight.data()}}));
  DT_RETURN_IF_ERROR(
      writer.AddTensors("optimizer.safetensors", {{"m", DType::kF32, {4, 4}, moment.data()}}));
  Manifest manifest;
  manifest.seed = -5;
  manifest.world_size = 2;
  manifest.next_sample = id.step * 8;
  manifest.buckets = {{2, 1}, {0}};
  manifest.spec_hash = "spec";
  manifest.loss = loss;
  manifest.provenance = {{"host", "here"}};
  return writer.Commit(std::move(manifest));
}

// Expects that every number in the checkpoint equals its step.
inline void ExpectWhole(const Checkpoint& checkpoint) {
  const auto expected = static_cast<float>(checkpoint.id.step);
  const absl::StatusOr<SafetensorsFile> file = checkpoint.OpenTensors("model.safetensors");
  ASSERT_TRUE(file.ok());
  const TensorEntry* entry = file->Find("weight");
  ASSERT_NE(entry, nullptr);
  std::vector<float> weight(entry->bytes() / sizeof(float));
  ASSERT_TRUE(file->Read(*entry, weight.data()).ok());
  EXPECT_EQ(weight, std::vector<float>(weight.size(), expected));
  EXPECT_EQ(checkpoint.manifest.next_sample, checkpoint.id.step * 8);
}

}  // namespace dt::checkpoint
