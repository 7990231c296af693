// local_gradient.h: the squared norm of the gradient of a part of a step's batch, before it is
// averaged with the others: what the noise scale (noise_scale.h) compares with the whole.
//
// Role:      where ranks have a model among them each adds what it has, and they sum it. What
//            several have a share of alone, as where they split the tokens, or where the embedding
//            is the head as well, is kept until the end of the step, rounded to bf16, which a norm
//            does not notice, and summed first.
// Ownership: borrows the pieces and the tensor group; shares the other groups.
// Threads:   written where the backward pass runs, read between steps.
// Errors:    LibTorch's exceptions pass through.
// Tests:     tests/worker/trainer/parallel/noise_scale_test.cc,
//            tests/worker/trainer/run/noise_test.cc
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "worker/trainer/model/parameter_home.h"
#include "worker/trainer/parallel/tensor_group.h"

namespace c10d {
class CommHookInterface;
}  // namespace c10d

namespace dt::trainer {

// The ranks that have the rest of this rank's copy of the model.
struct ModelRanks {
  TensorGroup* tensor = nullptr;    // null: a rank has whole layers
  std::shared_ptr<Group> pipeline;  // null: a rank has all layers
  StagePart stage;
  Route ends;  // as of PipelineStrategy
};

class LocalGradient {
 public:
  LocalGradient(const std::vector<Piece>& pieces, ModelRanks ranks);

  void Restart(bool wanted);
  bool wanted() const { return wanted_; }
  // Gradients of these pieces, each once a step; in any shape.
  void Add(const std::vector<std::pair<size_t, at::Tensor>>& gradients);
  // Those of all the parameters in a bucket of the Reducer, in its order.
  void AddBucket(const at::Tensor& buffer, const std::vector<at::Tensor>& parameters,
                 const std::vector<at::Tensor>& gradients);
  // Over the whole model, on the device, of no dimension. Every rank of the model calls it, once a
  // step.
  at::Tensor SquaredNorm();

 private:
  // How this rank's gradient of a piece counts.
  enum class Counts { kHere, kElsewhere, kInShares };
  Counts CountsOf(const Piece& piece) const;
  bool IsShared(const Piece& piece) const;  // among the ends of a pipeline
  void AddNorm(const at::Tensor& gradient);
  void SumShares();

  const std::vector<Piece>& pieces_;
  const ModelRanks ranks_;
  std::vector<Counts> counts_;                             // by piece
  bool all_here_ = true;                                   // all pieces are counted so
  std::map<const c10::TensorImpl*, size_t> of_parameter_;  // whose piece has the value itself
  bool wanted_ = false;
  at::Tensor squared_norm_;            // of what is counted here
  std::map<size_t, at::Tensor> kept_;  // shares, by piece
};

// `hook`, with every bucket measured before it.
std::unique_ptr<c10d::CommHookInterface> MakeMeasured(std::unique_ptr<c10d::CommHookInterface> hook,
                                                      std::shared_ptr<LocalGradient> local);

}  // namespace dt::trainer
