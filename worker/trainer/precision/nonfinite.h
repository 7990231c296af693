// nonfinite.h: gradients that are NaN or infinite: how many there were, and when it is enough.
//
// Role:    counts on the device; a GPU is asked only where a step is read back anyway.
// Threads: the training thread.
// Errors:  LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/run/nonfinite_test.cc, tests/gpu
#pragma once

#include "common/status.h"
#include "worker/trainer/device/download.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Steps left out one after another before it is taken for the end: bad data is rarely as long, and
// parameters from which every gradient is bad do not get better by waiting. fp16 needs up to 16 at
// the start, to halve its loss scale down to 1.
inline constexpr int64_t kNonFiniteRunMax = 25;
// How often one attempt goes back: each time costs the steps since a checkpoint.
inline constexpr int32_t kRollbacksMax = 5;

// 1 where the gradient of this norm is not finite and its step is left out, else 0: fp32, of no
// dimension, on the device of `norm`.
at::Tensor LeftOut(const at::Tensor& norm);

class NonFiniteSteps {
 public:
  // `scaled`: the loss is, so that some overflows are usual: a run of them counts, not each.
  enum class Loss { kPlain, kScaled };
  NonFiniteSteps(NonFinite policy, Loss loss, c10::Device device);

  // After each step. `left_out`: LeftOut of its gradient's norm, which every rank has alike, so
  // that all decide alike without asking.
  void Note(const at::Tensor& left_out);
  // Begins to copy the counts to the host, for what follows: that is told as of the newest Fetch,
  // once the device was synchronised. On a CPU it is always as of now.
  void Fetch() { seen_ = Download(counts_); }
  // All so far.
  int64_t Count() const { return Seen(kCount); }
  // Errors: NonFiniteError when the policy is to fail, or to skip and there were too many in a row.
  // With a scaled loss only many in a row are reason to fail or to go back.
  absl::Status Check(int64_t step) const;
  // Whether the policy is to go back and there is reason to.
  bool CallForRollback() const;
  void OnRolledBack();

 private:
  enum Which { kCount, kRun, kLongestRun, kWhich };
  int64_t Seen(Which which) const {
    return static_cast<int64_t>(seen_.const_data_ptr<double>()[which]);
  }
  bool Enough() const { return Seen(kLongestRun) >= run_max_; }

  const NonFinite policy_;
  const int64_t run_max_;
  const at::Tensor counts_;               // on the device
  at::Tensor count_, run_, longest_run_;  // each a view of it
  at::Tensor seen_;                       // on the host
};

}  // namespace dt::trainer
