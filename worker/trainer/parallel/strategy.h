// strategy.h: how ranks that hold the same part of the model stay consistent: the work around the
// backward passes and the update of a step. The step loop knows no strategy by name.
//
// Ownership: made for one membership; borrows the pieces of the parameters, which must outlive it.
// Threads:   the training thread.
// Errors:    LibTorch's exceptions pass through. A failed collective leaves gradients partly
//            reduced and parameters untouched.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/gpu
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/trainer/model/parameter_home.h"
#include "worker/trainer/parallel/actions.h"
#include "worker/trainer/parallel/comm_times.h"

namespace dt::trainer {

// Parameters that share a bucket, in the order of reduction, as indices of pieces. The number after
// the last index stands for the last pipeline stage's copy of a tied embedding. Part of a
// checkpoint: another layout rounds sums differently, and a resume would not equal the
// uninterrupted run.
using BucketLayout = std::vector<std::vector<uint32_t>>;

// Facts about a step that are known before it.
struct StepNotes {
  int64_t number = 0;
  bool measured = false;  // ShareSquaredNorm is wanted after it
  bool saved = false;     // the state may be saved after it
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // Returns the pieces that this rank updates.
  virtual const std::vector<Piece>& pieces() const = 0;
  // Called once per step, before its first forward pass.
  virtual void BeginStep(const StepNotes& notes) = 0;
  // Called between the forward and the backward pass `pass`. A pass that does not complete
  // gradients only accumulates them.
  virtual void BeforeBackward(const Action& pass) = 0;
  // Called after the pass. After the last pass, waits for its communication.
  virtual void AfterBackward(const Action& /*pass*/) {}
  // Completes the gradients; called after the last backward pass. Returns their norm over the full
  // model, on the device, with the same bits on every rank.
  virtual at::Tensor FinishGradients() = 0;
  // Called once per step, after the gradients were used. `step`: its number, from 1.
  virtual void AfterUpdate(int64_t step) = 0;
  // Called after pieces() were loaded, so that the model computes with them.
  virtual void AfterLoad() {}

  // Returns whether rank 0 can save by itself; otherwise all ranks take part, after the same step.
  virtual bool RootHasAll() const { return true; }
  // Returns whether there are several replicas of the state, each complete between two steps, which
  // its ranks could save without the others.
  virtual bool ReplicasHaveAll() const { return false; }
  // Returns whether ranks train independently between the steps after which they are equal
  // (SyncSteps). Then one rank's findings in its gradients are unknown to the others.
  virtual bool StepsAlone() const { return false; }
  // Returns whether a resume equals the uninterrupted run only after a step with StepNotes::saved.
  virtual bool SavesAreNoted() const { return false; }
  // Returns whether gradients may later be sent in 16 bits; same on every rank.
  virtual bool MayNarrow() const { return false; }
  // Sends gradients in 16 bits from the next step on. Every rank calls it after the same step.
  // REQUIRES: MayNarrow.
  virtual void Narrow() {}
  // Returns, on the device, the squared norm over the full model of this data-parallel rank's share
  // of the newest step's gradient, before averaging. Undefined if every rank has the full batch, or
  // if it was not wanted. Called once per step, on every rank.
  virtual at::Tensor ShareSquaredNorm() = 0;
  // Returns whether that norm covers the first micro-step only, divided by the number of
  // micro-steps.
  virtual bool MeasuresMicroStep() const { return false; }
  // Returns the totals of the newest step. If ranks train independently: the average per step since
  // the last call; on a GPU, with the newest step's times. REQUIRES: the device was synchronised
  // since.
  virtual CommTotals Totals() = 0;
  // Returns the layout for a checkpoint; empty if nothing is reduced in buckets.
  virtual BucketLayout Layout() const = 0;

  // Tensors of this rank of which other ranks hold copies: the ranks with the same `set`. A rank
  // with kNobody has nothing to compare, but takes part in the collectives.
  struct Copies {
    static constexpr int64_t kNobody = -1;
    std::vector<at::Tensor> tensors;
    int64_t set = 0;
  };
  virtual std::vector<Copies> copies() const {
    Copies copies;
    for (const Piece& piece : pieces()) {
      if (piece.here) copies.tensors.push_back(piece.value.detach());
    }
    return {copies};
  }
};

}  // namespace dt::trainer
