// cut.h: how parameters are cut for tensor parallelism: queries, keys and values by heads; the up
// projection by rows; the projections back by columns; embedding and head by tokens of the
// vocabulary. Not cut, so replicated on each rank: norms, positions, and biases that are added
// after the parts are summed.
//
// Role:   pure.
// Source: Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language Models Using
//         Model Parallelism", 2019, 3.
// Tests:  tests/worker/trainer/parallel/sharded_home_test.cc
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

struct Cut {
  enum class Way {
    kNone,
    kRows,
    kColumns,
    kHeads,  // rows of queries, keys and values, each cut by heads
  };
  Way way = Way::kNone;
  int part = 0, parts = 1;

  bool IsWhole() const { return way == Way::kNone || parts == 1; }
};

// Returns how a parameter of shape `whole` is cut into `parts`, for the part `part`.
Cut CutOf(std::string_view parameter, at::IntArrayRef whole, int part, int parts);
// Returns the part's shape. REQUIRES: the cut dimension of `whole` is divisible by the parts.
std::vector<int64_t> ShapeOf(const Cut& cut, std::vector<int64_t> whole);
// Returns a view of the part's elements in `whole`, in the order of the part; it may have more
// dimensions than ShapeOf.
at::Tensor PlaceOf(const Cut& cut, const at::Tensor& whole);

// Returns a copy of the part, with shape ShapeOf; `whole` itself if nothing is cut.
at::Tensor TakenPart(const Cut& cut, const at::Tensor& whole);

}  // namespace dt::trainer
