// wire_choice.h: the type in which gradients are sent under parallel.compression auto: fp32 at
// first; bf16 if ranks wait for gradients for more than a tenth of a step. Lossier types are never
// chosen.
//
// Role:      pure; its clock is what the ranks measured. An attempt measures the second half of its
//            first kSteps steps, since kernels are selected and buckets built in the first half. It
//            then keeps its choice, and so does an attempt that resumes from its checkpoints with
//            the same number of ranks: this makes a resume exact. An attempt that resumes from a
//            checkpoint before the choice measures again.
// Invariant: ranks that get the same measurements choose the same.
// Tests:     tests/worker/trainer/trial/wire_choice_test.cc, tests/worker/trainer/run/wire_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Measurements of one rank, summed over steps.
struct WireMeasure {
  double waited_seconds = 0;  // time waiting for gradients, not hidden by computation
  double seconds = 0;
};

class WireChoice {
 public:
  static constexpr int64_t kSteps = 20;
  static constexpr double kShareToNarrow = 0.1;

  WireChoice() = default;  // nothing to choose
  // Starts after step `begun`; `kept`: the choice in the checkpoint that is resumed.
  WireChoice(std::optional<Wire> kept, int64_t begun) : open_(!kept), kept_(kept), begun_(begun) {}

  // Returns whether the choice is still to be made.
  bool open() const { return open_; }
  const std::optional<Wire>& chosen() const { return kept_; }
  bool Measures(int64_t step) const { return open_ && step > begun_ + kSteps / 2; }
  // Adds this rank's measurement; called for each step that Measures.
  void Add(const WireMeasure& measure);
  const WireMeasure& mine() const { return mine_; }
  bool ChoosesAfter(int64_t step) const { return open_ && step >= begun_ + kSteps; }
  // Chooses from every rank's measurements. `narrows`: whether gradients are sent in messages of
  // their own, so that half the bytes mean half the traffic. Returns a text with the choice and its
  // reason. REQUIRES: open().
  enum class Narrows { kNo, kYes };
  std::string Choose(const std::vector<WireMeasure>& ranks, Narrows narrows);

 private:
  bool open_ = false;
  std::optional<Wire> kept_;
  int64_t begun_ = 0;
  WireMeasure mine_;
};

}  // namespace dt::trainer
