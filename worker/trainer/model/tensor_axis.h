// tensor_axis.h: the ranks that compute each layer together, as a model sees them.
//
// Role:      a layer's two parts, attention and feed-forward, are cut among the ranks. What goes in
//            comes to all of them, what comes out is the sum of what each has computed. Between the
//            parts each rank has all tokens, or its own alone: sequence parallelism. Embedding and
//            head are cut by tokens of the vocabulary: what an embedding gives is a sum as well,
//            and of a softmax the ranks join what each knows of its columns.
// Ownership: `in` and `out` borrow the ranks' group.
// Source:    Shoeybi et al., "Megatron-LM", 2019, 3; Korthikanti et al., "Reducing Activation
//            Recomputation in Large Transformer Models", 2022, 4.2.
// Tests:     tests/worker/trainer/run/tensor_test.cc
#pragma once

#include <functional>

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

struct TensorAxis {
  // Which of a sequence's tokens a rank has between the parts.
  enum class Tokens { kAll, kOwn };
  // Under autograd, of [batch, tokens, width]. All ranks of the axis call it, in one order.
  using Exchange = std::function<at::Tensor(const at::Tensor&, Tokens)>;

  int rank = 0, ranks = 1;
  bool splits_tokens = false;  // while it trains and validates: tokens rank · n / ranks and on
  Exchange in, out;            // of more ranks than one
  // Every rank's in order of rank, [ranks, …]; without gradients.
  std::function<at::Tensor(const at::Tensor&)> gather;

  bool IsAlone() const { return ranks == 1; }
  Tokens Trained() const { return splits_tokens ? Tokens::kOwn : Tokens::kAll; }
};

}  // namespace dt::trainer
