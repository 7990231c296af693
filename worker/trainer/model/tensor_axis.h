// tensor_axis.h: tensor parallelism, as a model sees it.
//
// Role:      attention and feed-forward of each layer are cut among the ranks. Each part's input
//            goes to all ranks, and its output is the sum of the ranks' results. Between the parts,
//            each rank has all tokens, or only its own (sequence parallelism). Embedding and head
//            are cut by tokens of the vocabulary: an embedding is a sum over ranks too, and for a
//            softmax the ranks exchange the statistics of their columns.
// Ownership: `in` and `out` borrow the ranks' group.
// Source:    Shoeybi et al., "Megatron-LM", 2019, 3; Korthikanti et al., "Reducing Activation
//            Recomputation in Large Transformer Models", 2022, 4.2.
// Tests:     tests/worker/trainer/run/tensor_test.cc
#pragma once

#include <functional>

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

struct TensorAxis {
  // Tokens of a sequence that a rank has between the parts.
  enum class Tokens { kAll, kOwn };
  // Takes [batch, tokens, width] under autograd. All ranks of the axis call it, in one order.
  using Exchange = std::function<at::Tensor(const at::Tensor&, Tokens)>;

  int rank = 0, ranks = 1;
  bool splits_tokens = false;  // in training and validation: this rank has the tokens from
                               // rank · n / ranks on
  Exchange in, out;            // set if there are several ranks
  // Returns every rank's tensor in rank order, [ranks, …]; without gradients.
  std::function<at::Tensor(const at::Tensor&)> gather;

  bool IsAlone() const { return ranks == 1; }
  Tokens Trained() const { return splits_tokens ? Tokens::kOwn : Tokens::kAll; }
};

}  // namespace dt::trainer
