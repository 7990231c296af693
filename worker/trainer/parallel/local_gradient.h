// local_gradient.h: the squared norm of the gradient of a part of a step's batch, before it is
// averaged with the other parts. The noise scale (noise_scale.h) compares it with the full batch's.
//
// Role:      tensor and pipeline ranks of one model each add their parts, and sum them. Some
//            gradients exist only as partial sums on several ranks: with split tokens, or with an
//            embedding tied to the head. These are kept until the end of the step, rounded to bf16,
//            which is precise enough for a norm, and summed over ranks first.
// Ownership: borrows the pieces and the tensor group; shares the other groups.
// Threads:   written on the threads of the backward pass, read between steps.
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

// Ranks that hold the rest of this rank's model replica.
struct ModelRanks {
  TensorGroup* tensor = nullptr;    // null: layers are not cut
  std::shared_ptr<Group> pipeline;  // null: this rank has all layers
  StagePart stage;
  Route ends;  // see PipelineStrategy
};

class LocalGradient {
 public:
  LocalGradient(const std::vector<Piece>& pieces, ModelRanks ranks);

  void Restart(bool wanted);
  bool wanted() const { return wanted_; }
  // Adds the gradients of these pieces, each once per step, in any shape.
  void Add(const std::vector<std::pair<size_t, at::Tensor>>& gradients);
  // Adds the gradients of all parameters in a bucket of the Reducer, in its order.
  void AddBucket(const at::Tensor& buffer, const std::vector<at::Tensor>& parameters,
                 const std::vector<at::Tensor>& gradients);
  // Returns the squared norm over the full model: a scalar on the device. Every rank of the model
  // calls it, once per step.
  at::Tensor SquaredNorm();

 private:
  // How this rank's gradient of a piece counts: fully, not at all, or as a partial sum.
  enum class Counts { kHere, kElsewhere, kInShares };
  Counts CountsOf(const Piece& piece) const;
  // Returns whether the first and the last pipeline stage share it.
  bool IsShared(const Piece& piece) const;
  void AddNorm(const at::Tensor& gradient);
  void SumShares();

  const std::vector<Piece>& pieces_;
  const ModelRanks ranks_;
  std::vector<Counts> counts_;                             // by piece
  bool all_here_ = true;                                   // all pieces are kHere
  std::map<const c10::TensorImpl*, size_t> of_parameter_;  // piece number by parameter
  bool wanted_ = false;
  at::Tensor squared_norm_;            // of the pieces that count here
  std::map<size_t, at::Tensor> kept_;  // partial sums, by piece
};

// Returns `hook`, preceded by the measurement of each bucket.
std::unique_ptr<c10d::CommHookInterface> MakeMeasured(std::unique_ptr<c10d::CommHookInterface> hook,
                                                      std::shared_ptr<LocalGradient> local);

}  // namespace dt::trainer
