// cut.h: how parameters are cut among ranks that compute each layer together: queries, keys and
// values by heads, the way up by rows, the ways back by columns; embedding and head by tokens of
// the vocabulary. Norms, positions, and the biases that are added once the parts are summed, are
// whole on each.
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
    kHeads,  // rows of queries, then of keys, then of values, each by heads
  };
  Way way = Way::kNone;
  int part = 0, parts = 1;

  bool IsWhole() const { return way == Way::kNone || parts == 1; }
};

// How a parameter of such a shape is cut into `parts`, and which of them is `part`.
Cut CutOf(std::string_view parameter, at::IntArrayRef whole, int part, int parts);
// The part's shape. REQUIRES: the cut's dimension of `whole` is divisible by its parts.
std::vector<int64_t> ShapeOf(const Cut& cut, std::vector<int64_t> whole);
// The part's elements where they lie in `whole`, in the order of the part; its shape may have more
// dimensions than that.
at::Tensor PlaceOf(const Cut& cut, const at::Tensor& whole);

// A copy of it, of ShapeOf; the whole itself where nothing is cut.
at::Tensor TakenPart(const Cut& cut, const at::Tensor& whole);

}  // namespace dt::trainer
