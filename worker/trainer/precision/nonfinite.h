// nonfinite.h: counts gradients that are NaN or infinite, and decides when there are too many.
//
// Role:    counts on the device. Reads them back from a GPU only with a step that is read back
//          anyway.
// Threads: the training thread.
// Errors:  LibTorch's exceptions pass through.
// Tests:   tests/worker/trainer/run/nonfinite_test.cc, tests/gpu
#pragma once

#include "common/status.h"
#include "worker/trainer/device/download.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Limit on skipped steps in a row. Bad data rarely lasts that long, and parameters for which every
// gradient is bad do not recover by waiting. fp16 needs up to 16 skipped steps at the start, to
// halve its loss scale down to 1.
inline constexpr int64_t kNonFiniteRunMax = 25;
// Limit on rollbacks of one attempt: each costs the steps since a checkpoint.
inline constexpr int32_t kRollbacksMax = 5;

// Returns 1 if the gradient with this norm is not finite and its step is skipped, else 0: an fp32
// scalar on the device of `norm`.
at::Tensor LeftOut(const at::Tensor& norm);

class NonFiniteSteps {
 public:
  // `kScaled`: with a scaled loss some overflows are normal, so only a run of them counts.
  enum class Loss { kPlain, kScaled };
  NonFiniteSteps(NonFinite policy, Loss loss, c10::Device device);

  // Counts after each step. `left_out`: LeftOut of the gradient's norm. The norm is the same on all
  // ranks, so all ranks decide the same without communication.
  void Note(const at::Tensor& left_out);
  // Starts a copy of the counts to the host. The methods below use the newest fetched counts, valid
  // after the device was synchronised. On a CPU the counts are always current.
  void Fetch() { seen_ = Download(counts_); }
  // Returns the number of skipped steps so far.
  int64_t Count() const { return Seen(kCount); }
  // Returns whether training may continue. Errors: NonFiniteError if the policy is to fail, or to
  // skip and there were too many in a row. With a scaled loss, only too many in a row are a reason
  // to fail or to roll back.
  absl::Status Check(int64_t step) const;
  // Returns whether the policy is to roll back and there is a reason to.
  bool CallForRollback() const;
  void ForgetRuns();

 private:
  enum Which { kCount, kRun, kLongestRun, kWhich };
  int64_t Seen(Which which) const {
    return static_cast<int64_t>(seen_.const_data_ptr<double>()[which]);
  }
  bool Enough() const { return Seen(kLongestRun) >= run_max_; }

  const NonFinite policy_;
  const int64_t run_max_;
  const at::Tensor counts_;               // on the device
  at::Tensor count_, run_, longest_run_;  // views of counts_
  at::Tensor seen_;                       // on the host
};

}  // namespace dt::trainer
