// early_losses.h: gathers each rank's loss of a step while the backward pass runs.
//
// Role:      if a peer dies after the gradients were summed, the survivors complete the step, and
//            know its loss.
// Ownership: shares the group.
// Threads:   the training thread.
// Errors:    LibTorch's exceptions pass through.
// Tests:     tests/e2e/survive_test.cc
#pragma once

#include <memory>
#include <optional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "worker/trainer/parallel/group.h"

namespace dt::trainer {

class EarlyLosses {
 public:
  explicit EarlyLosses(std::shared_ptr<Group> group) : group_(std::move(group)) {}

  // Starts a step without losses.
  void Restart();
  // Starts to gather. Every rank calls it once in a step, before its sums of gradients, which may
  // use the same group. nullopt: another pipeline stage has the loss.
  void Begin(std::optional<double> loss);
  // Blocks until the losses of all ranks are here. Does nothing if none are gathered.
  void Finish();
  // Returns the mean of the newest step's losses, over the ranks that have one, in their order, as
  // a row has it; NaN: they are not known.
  double Mean() const;

 private:
  const std::shared_ptr<Group> group_;
  at::Tensor mine_, all_;
  c10::intrusive_ptr<c10d::Work> work_;  // null: nothing is gathered
  std::vector<double> losses_;           // of the ranks that have one
};

}  // namespace dt::trainer
