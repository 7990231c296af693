// stage_part.h: what of a model a stage of a pipeline has: ranges of layers; the first also what
// comes before them, the last what comes after them.
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

// Parameters that are used together: those of a block of the model, or, as unit 0, what is outside
// of the blocks.
size_t UnitOf(std::string_view parameter);

class StagePart {
 public:
  // All of a model.
  StagePart() = default;
  // REQUIRES: stages × chunks_each <= model.layers.
  StagePart(const plan::ModelSize& model, int stages, int chunks_each, int stage);

  bool IsAll() const { return stages_ == 1; }
  int stage() const { return stage_; }
  int stages() const { return stages_; }
  // Layers of this stage's chunks, in the order in which a pass comes to them. REQUIRES: !IsAll().
  const std::vector<plan::LayerRange>& chunks() const { return chunks_; }
  // Whether a chunk of this stage is the first one of the model, and the last.
  bool IsFirst(int64_t chunk) const { return stage_ == 0 && chunk == 0; }
  bool IsLast(int64_t chunk) const {
    const auto last = static_cast<int64_t>(chunks_.size()) - 1;
    return IsAll() || (stage_ == stages_ - 1 && chunk == last);
  }

  // Whether a pass through it uses what is outside of the blocks.
  bool LeavesBlocks(int64_t chunk) const { return IsFirst(chunk) || IsLast(chunk); }

  // The stage that has a parameter; of one that two have, the first one.
  int HolderOf(std::string_view parameter) const;
  bool Has(std::string_view parameter) const;
  // The chunk of this stage that computes with it. REQUIRES: Has(parameter).
  int64_t ChunkOf(std::string_view parameter) const;
  int64_t layers() const { return static_cast<int64_t>(holders_.size()); }  // of all stages
  // Whether the first and the last stage have it both: the embedding that is the head as well.
  bool IsTied(std::string_view parameter) const;

 private:
  int stage_ = 0, stages_ = 1;
  bool tied_head_ = false;
  std::vector<int> holders_;  // by layer
  std::vector<plan::LayerRange> chunks_;
};

}  // namespace dt::trainer
