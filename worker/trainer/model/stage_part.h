// stage_part.h: the part of a model in one pipeline stage: ranges of layers. The first stage also
// has what comes before the layers, the last what comes after them.
//
// Role:  pure.
// Tests: tests/worker/trainer/parallel/sharded_home_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/stages.h"

namespace dt::trainer {

// Returns the unit of a parameter, a group of parameters that are used together: block b is unit
// b + 1, and unit 0 has all parameters outside of blocks.
size_t UnitOf(std::string_view parameter);

class StagePart {
 public:
  // The complete model.
  StagePart() = default;
  // REQUIRES: stages × chunks_each <= model.layers.
  StagePart(const plan::ModelSize& model, int stages, int chunks_each, int stage);

  bool IsAll() const { return stages_ == 1; }
  int stage() const { return stage_; }
  int stages() const { return stages_; }
  // Returns the layers of this stage's chunks, in the order of a forward pass. REQUIRES: !IsAll().
  const std::vector<plan::LayerRange>& chunks() const { return chunks_; }
  // Return whether a chunk of this stage is the model's first or last one.
  bool IsFirst(int64_t chunk) const { return stage_ == 0 && chunk == 0; }
  bool IsLast(int64_t chunk) const {
    const auto last = static_cast<int64_t>(chunks_.size()) - 1;
    return IsAll() || (stage_ == stages_ - 1 && chunk == last);
  }

  // Returns whether a pass through the chunk uses parameters outside of blocks.
  bool LeavesBlocks(int64_t chunk) const { return IsFirst(chunk) || IsLast(chunk); }

  // Returns the stage that has a parameter; the first one if two have it.
  int HolderOf(std::string_view parameter) const;
  bool Has(std::string_view parameter) const;
  // Returns the chunk of this stage that uses the parameter. REQUIRES: Has(parameter).
  int64_t ChunkOf(std::string_view parameter) const;
  int64_t layers() const { return static_cast<int64_t>(holders_.size()); }  // of all stages
  // Returns whether both the first and the last stage have it: the embedding tied to the head.
  bool IsTied(std::string_view parameter) const;

 private:
  int stage_ = 0, stages_ = 1;
  bool tied_head_ = false;
  std::vector<int> holders_;  // by layer
  std::vector<plan::LayerRange> chunks_;
};

}  // namespace dt::trainer
