// transformer.h: the one model: a causal transformer whose every size and style is a setting. GPT-2
// is pre-norm, learned positions, tanh GELU, tied head; tiny_transformer post-norm, sinusoidal,
// ReLU.
//
// Role:     parameters are plain tensors with names; the forward pass is ATen calls under autograd.
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

// Without making the model.
uint64_t CountParameters(const ModelSpec& spec);
// Gives every parameter the value it began with. `pieces`: what a home kept of such a model.
void DrawAgain(const ModelSpec& spec, uint64_t seed, const std::vector<Piece>& pieces);

class Transformer {
 public:
  // Parameters are drawn on the CPU from `seed` and then given to `home`, one at a time, so that
  // every device starts alike: normal with standard deviation 0.02, residual projections by
  // 1/√(2·layers) less, biases 0. `axis`: the ranks whose homes keep the parts of this cut model;
  // `stages`: those that have its other layers, which this home keeps nothing of.
  Transformer(const ModelSpec& spec, uint64_t seed, ParameterHome& home, TensorAxis axis = {},
              StageAxis stages = {});
  // Whole on `device`, for those who need no pieces.
  Transformer(const ModelSpec& spec, uint64_t seed, c10::Device device);

  // What layers give each other under autocast from here on; fp32 at first. precision.h's
  // HiddenType.
  void KeepHiddenIn(at::ScalarType type) { hidden_type_ = type; }

  // Mean cross-entropy of next-token prediction over the real vocabulary: rows behind it have no
  // part in it. `tokens`, `targets`: [batch, seq] of int64. Dropout is on when `training`, and then
  // follows the default generator of the device. `spans`: is told when gradients were made already.
  // Where ranks of a layer split the tokens at the head, the mean over this rank's, which are
  // PartOfTokens.
  at::Tensor Loss(const at::Tensor& tokens, const at::Tensor& targets, bool training,
                  GradientSpans* spans = nullptr) const;
  double PartOfTokens() const {
    return axis_.splits_tokens && !cuts_vocabulary_ ? 1.0 / axis_.ranks : 1;
  }

  // What a stage of a pipeline has of a pass, in training; of a model in no stages that is one
  // chunk, the first and the last.
  const StagePart& part() const { return stages_.part; }
  // One chunk of it. `in`: for the first one the tokens, else the hidden states that came from the
  // stage before. Gives hidden states for the stage after, or, of the last one, the loss, as Loss
  // does; `targets` are for that alone.
  at::Tensor Forward(int64_t chunk, const at::Tensor& in, const at::Tensor& targets,
                     GradientSpans* spans) const;
  // What goes between stages: its shape for tokens of [batch, seq], and its type here and now.
  std::vector<int64_t> HiddenShape(int64_t batch, int64_t seq) const {
    return {batch, axis_.splits_tokens ? seq / axis_.ranks : seq, spec_.n_embd};
  }
  at::ScalarType HiddenTypeNow(c10::DeviceType device) const;

  // The next three, and Loss outside of training, pass over all stages: each rank of them calls it,
  // and all but the last stage's get an undefined tensor.
  // [batch, seq, vocab_pad]
  at::Tensor Logits(const at::Tensor& tokens, bool training) const;
  // Without dropout, of some places alone, [places, vocab_pad]: `places` of int64 count through the
  // batch, sequence after sequence.
  at::Tensor LogitsAt(const at::Tensor& tokens, const at::Tensor& places) const;
  // Logits of the token after the last one alone, [batch, vocab_pad]; without dropout.
  at::Tensor NextLogits(const at::Tensor& tokens) const;

  // The calls of the home that a pass makes, without one: for a rank that has nothing to compute
  // while others pass over the model.
  void PassIdly() const;

  // Those that are here, in the order of use, each one once: a tied head is not listed again.
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
  // How one pass is made.
  struct Manner {
    bool training = false;
    Tokens tokens = Tokens::kAll;
  };
  // This rank's of a batch's tokens or targets, [batch, seq].
  at::Tensor OwnOf(const at::Tensor& tokens) const;
  // Hidden states of the tokens that the rank has between the parts of layers; `tokens`: all.
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
  // Whether embedding and head are cut: this rank's rows are those from rank · rows / ranks on.
  const bool cuts_vocabulary_;
  std::vector<plan::LayerRange> chunks_;  // of this rank
  std::unique_ptr<ParameterHome> own_home_;
  ParameterHome* home_;
  at::ScalarType hidden_type_ = at::kFloat;
  std::vector<NamedTensor> parameters_;
  at::Tensor token_embedding_, positions_, head_weight_, head_bias_;
  std::vector<Block> blocks_;
  NormWeights final_norm_;
};

}  // namespace dt::trainer
