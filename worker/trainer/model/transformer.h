// transformer.h: the model: a causal transformer whose sizes and variants are all settings. GPT-2
// is pre-norm with learned positions, tanh GELU and a tied head; tiny_transformer is post-norm with
// sinusoidal positions and ReLU.
//
// Role:     parameters are plain named tensors; the forward pass is ATen calls under autograd.
// Ownership: borrows the home, unless it made it itself, and what the tensor axis borrows.
// Threads:  thread-compatible; the training thread.
// Errors:   LibTorch's exceptions (out of memory among them) pass through.
// Tests:    tests/worker/trainer/model/model_test.cc, against PyTorch's values
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/model/head_loss.h"
#include "worker/trainer/model/parameter_home.h"
#include "worker/trainer/model/stage_axis.h"
#include "worker/trainer/model/tensor_axis.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// Returns the number of parameters, without creating the model.
uint64_t CountParameters(const ModelSpec& spec);
// Resets every parameter to its initial value. `pieces`: what a home kept of such a model.
void DrawAgain(const ModelSpec& spec, uint64_t seed, const std::vector<Piece>& pieces);

class Transformer {
 public:
  // Draws parameters on the CPU from `seed` and gives them to `home`, one at a time, so that every
  // device starts with the same values: normal with standard deviation 0.02; residual projections
  // divided by √(2·layers); biases 0. `axis`: the tensor ranks among which this model is cut.
  // `stages`: the pipeline stages; this home keeps only this stage's layers.
  Transformer(const ModelSpec& spec, uint64_t seed, ParameterHome& home, TensorAxis axis = {},
              StageAxis stages = {});
  // Creates the full model on `device`, for callers that need no pieces.
  Transformer(const ModelSpec& spec, uint64_t seed, c10::Device device);

  // Sets the type of activations between layers under autocast, from HiddenType in precision.h;
  // fp32 by default.
  void KeepHiddenIn(at::ScalarType type) { hidden_type_ = type; }

  // Returns the mean cross-entropy of next-token prediction over the real vocabulary, without
  // padding rows. `tokens`, `targets`: [batch, seq] of int64. Dropout is on if `training`, from the
  // device's default generator. `spans`: receives the times of gradients computed in this pass. If
  // tensor ranks split the tokens at the head, returns the mean over this rank's tokens, a fraction
  // PartOfTokens of all.
  at::Tensor Loss(const at::Tensor& tokens, const at::Tensor& targets, bool training,
                  GradientSpans* spans = nullptr) const;
  double PartOfTokens() const {
    return axis_.splits_tokens && !cuts_vocabulary_ ? 1.0 / axis_.ranks : 1;
  }

  // Returns this stage's part of the model for a training pass; without stages, one chunk that is
  // both first and last.
  const StagePart& part() const { return stages_.part; }
  // Computes one chunk. `in`: the tokens for the first chunk, otherwise the activations from the
  // previous stage. Returns the activations for the next stage, or, from the last chunk, the loss
  // as Loss does; only that one uses `targets`.
  at::Tensor Forward(int64_t chunk, const at::Tensor& in, const at::Tensor& targets,
                     GradientSpans* spans) const;
  // Returns the shape of activations between stages for tokens of [batch, seq]; HiddenTypeNow
  // returns their type under the current autocast.
  std::vector<int64_t> HiddenShape(int64_t batch, int64_t seq) const {
    return {batch, axis_.splits_tokens ? seq / axis_.ranks : seq, spec_.n_embd};
  }
  at::ScalarType HiddenTypeNow(c10::DeviceType device) const;

  // The next three functions, and Loss outside of training, run through all stages. Each rank of
  // the stages calls them, and all but the last stage get an undefined tensor.
  //
  // Returns all logits, [batch, seq, vocab_pad].
  at::Tensor Logits(const at::Tensor& tokens, bool training) const;
  // Returns the logits at some positions, [places, vocab_pad], without dropout. `places`: int64
  // indices into the flattened batch, sequence after sequence.
  at::Tensor LogitsAt(const at::Tensor& tokens, const at::Tensor& places) const;
  // Returns the logits after the last token, [batch, vocab_pad], without dropout.
  at::Tensor NextLogits(const at::Tensor& tokens) const;

  // Makes the home's calls of a pass without computing: for a rank that has nothing to compute
  // while others run a pass.
  void PassIdly() const;

  // Returns the parameters that are on this rank, in the order of use. A tied head is not listed
  // again.
  const std::vector<NamedTensor>& Parameters() const { return parameters_; }

 private:
  Transformer(const ModelSpec& spec, uint64_t seed, std::unique_ptr<ParameterHome> home);
  struct NormWeights {
    at::Tensor weight, bias;
  };
  struct Linear {
    at::Tensor weight, bias;
  };
  struct Block {
    NormWeights norm1, norm2;
    Linear qkv, attention_out, up, down;
    std::vector<at::Tensor> Parameters() const;
  };

  using Tokens = TensorAxis::Tokens;
  // Mode of one pass.
  struct Manner {
    bool training = false;
    Tokens tokens = Tokens::kAll;
  };
  // Returns this rank's part of a batch's tokens or targets, [batch, seq].
  at::Tensor OwnOf(const at::Tensor& tokens) const;
  // Returns the activations of the tokens that this rank has between the parts of layers; `tokens`:
  // all of them.
  at::Tensor Hidden(const at::Tensor& tokens, const Manner& manner) const;
  at::Tensor Embed(const at::Tensor& tokens, const Manner& manner) const;
  at::Tensor TokenEmbeddings(const at::Tensor& tokens, const Manner& manner) const;
  at::Tensor Blocks(const plan::LayerRange& layers, at::Tensor x, const Manner& manner) const;
  at::Tensor HeadLoss(const at::Tensor& hidden, const at::Tensor& targets, const Manner& manner,
                      GradientSpans* spans) const;
  at::Tensor LogitsOf(const at::Tensor& hidden) const;
  at::Tensor Through(const Block& block, at::Tensor x, const Manner& manner) const;
  at::Tensor Attention(const Block& block, const at::Tensor& x, const Manner& manner) const;
  at::Tensor FeedForward(const Block& block, const at::Tensor& x, const Manner& manner) const;
  at::Tensor In(const at::Tensor& x, const Manner& manner) const;
  at::Tensor Out(const at::Tensor& x, const Linear& linear, const Manner& manner) const;
  at::Tensor Normed(const NormWeights& norm, const at::Tensor& x) const;
  at::Tensor Dropped(const at::Tensor& x, bool training) const;

  const ModelSpec spec_;
  const TensorAxis axis_;
  const StageAxis stages_;
  // True if embedding and head are cut: this rank has the rows from rank · rows / ranks on.
  const bool cuts_vocabulary_;
  std::vector<plan::LayerRange> chunks_;  // layers of each chunk on this rank
  std::unique_ptr<ParameterHome> own_home_;
  ParameterHome* home_;
  at::ScalarType hidden_type_ = at::kFloat;
  std::vector<NamedTensor> parameters_;
  at::Tensor token_embedding_, positions_, head_weight_, head_bias_;
  std::vector<Block> blocks_;
  NormWeights final_norm_;
};

}  // namespace dt::trainer
