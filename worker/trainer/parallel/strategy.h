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
#include "worker/trainer/parallel/actions.h"
#include "worker/trainer/parallel/comm_times.h"

namespace dt::trainer {

// Which parameters share a bucket, in the order of reduction, by their place among the pieces; the
// number after the last is what the last stage of a pipeline has of a tied embedding. Part of a
// checkpoint: with another layout sums round differently, and a resume would not equal the
// uninterrupted run.
using BucketLayout = std::vector<std::vector<uint32_t>>;

// What is known of a step before it.
struct StepNotes {
  int64_t number = 0;
  bool measured = false;  // ShareSquaredNorm is wanted after it
  bool saved = false;     // the state may be saved after it
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // What this rank updates.
  virtual const std::vector<Piece>& pieces() const = 0;
  // Once a step, before its first forward pass.
  virtual void BeginStep(const StepNotes& notes) = 0;
  // Between a forward pass and its backward one, `pass`: one that does not complete gradients only
  // accumulates.
  virtual void BeforeBackward(const Action& pass) = 0;
  // After it. Waits, after the last one, for what it communicates.
  virtual void AfterBackward(const Action& /*pass*/) {}
  // After the last backward pass: the gradients are whole. Their norm over the whole model, on the
  // device, with the same bits on every rank.
  virtual at::Tensor FinishGradients() = 0;
  // Once a step, when the gradients have been used. `step`: its number, from 1.
  virtual void AfterUpdate(int64_t step) = 0;
  // pieces() were loaded: the model is to compute with them.
  virtual void AfterLoad() {}

  // Whether rank 0 can save by itself; else all ranks take part, after the same step.
  virtual bool RootHasAll() const { return true; }
  // Whether ranks step alone between those steps after which they are equal (SyncSteps): what one
  // finds in its gradients the others do not.
  virtual bool StepsAlone() const { return false; }
  // Whether a resume equals the uninterrupted run only after a step whose notes said `saved`.
  virtual bool SavesAreNoted() const { return false; }
  // Whether what gradients travel in may become 16 bits, the same on every rank.
  virtual bool MayNarrow() const { return false; }
  // It does, from the next step on. Every rank calls it after the same step. REQUIRES: MayNarrow.
  virtual void Narrow() {}
  // On the device: the squared norm of this data rank's share of the newest step's gradient, before
  // it was averaged, over the whole model. Undefined where no rank has only a share, or none was
  // wanted. Once a step, on every rank.
  virtual at::Tensor ShareSquaredNorm() = 0;
  // Whether that is of the step's first micro-step, divided by their number, rather than of all.
  virtual bool MeasuresMicroStep() const { return false; }
  // Totals of the newest step; where ranks step alone, one step's share of those since the last
  // call, on a GPU as the newest step sent them. REQUIRES: the device synchronised since.
  virtual CommTotals Totals() = 0;
  // For a checkpoint; empty where nothing is reduced in buckets.
  virtual BucketLayout Layout() const = 0;

  // What this rank holds that others hold as well: those that say the same set. Of kNobody it has
  // nothing to compare, and takes part all the same.
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
