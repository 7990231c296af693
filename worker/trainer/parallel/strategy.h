// strategy.h: how the ranks that hold the same part of the model stay together: what happens
// around the backward passes and the update of a step. The step loop knows none by name.
//
// Ownership: made for one membership; borrows the pieces of the parameters, which outlive it.
// Threads:   the training thread.
// Errors:    LibTorch's exceptions pass through; a failed collective leaves gradients half reduced,
//            parameters untouched.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/gpu
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/trainer/model/parameter_home.h"
#include "worker/trainer/parallel/bucket_timer.h"

namespace dt::trainer {

// Which parameters share a bucket, in the order of reduction. Part of a checkpoint: with another
// layout sums round differently, and a resume would not equal the uninterrupted run.
using BucketLayout = std::vector<std::vector<uint32_t>>;

class Strategy {
 public:
  virtual ~Strategy() = default;

  // What this rank updates.
  virtual const std::vector<Piece>& pieces() const = 0;
  // Once a step, before its first forward pass. `measured`: ShareSquaredNorm is wanted after it.
  virtual void BeginStep(bool measured) = 0;
  // Between a forward pass and its backward one. `last`: this backward completes the step's
  // gradients; earlier ones only accumulate.
  virtual void BeforeBackward(bool last) = 0;
  // After the last backward pass: the gradients are whole. Their norm over the whole model, on the
  // device, with the same bits on every rank.
  virtual at::Tensor FinishGradients() = 0;
  // Once a step, when the gradients have been used.
  virtual void AfterUpdate() = 0;

  // On the device: the squared norm of this rank's share of the newest step's gradient, before it
  // was averaged. Undefined where no rank has only a share, or none was wanted.
  virtual at::Tensor ShareSquaredNorm() const = 0;
  // Totals of the newest step. REQUIRES: the device synchronised since.
  virtual AllReduceTotals Totals() const = 0;
  // For a checkpoint; empty where nothing is reduced in buckets.
  virtual BucketLayout Layout() const = 0;
};

// One rank has the whole batch.
class AloneStrategy final : public Strategy {
 public:
  explicit AloneStrategy(const std::vector<Piece>& pieces) : pieces_(pieces) {}

  const std::vector<Piece>& pieces() const override { return pieces_; }
  void BeginStep(bool /*measured*/) override {}
  void BeforeBackward(bool /*last*/) override {}
  at::Tensor FinishGradients() override { return GradientNorm(pieces_); }
  void AfterUpdate() override {}
  at::Tensor ShareSquaredNorm() const override { return {}; }
  AllReduceTotals Totals() const override { return {}; }
  BucketLayout Layout() const override { return {}; }

 private:
  const std::vector<Piece>& pieces_;
};

}  // namespace dt::trainer
