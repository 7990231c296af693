// wire_choice.h: what gradients travel in under parallel.compression auto: fp32 at first; then, if
// ranks wait for them for more than a tenth of a step, bf16. Nothing that loses more is chosen.
//
// Role:      pure; its clock is what ranks measured. An attempt measures the later half of its
//            first kSteps, because kernels are chosen and buckets made in the first ones, and keeps
//            to what it chose: so does whoever goes on from its checkpoints on as many ranks, which
//            makes a resume exact. From one of before the choice an attempt measures anew.
// Invariant: ranks that take the same measures choose alike.
// Tests:     tests/worker/trainer/trial/wire_choice_test.cc,
//            tests/worker/trainer/run/wire_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// What one rank measured, summed over steps.
struct WireMeasure {
  double waited_seconds = 0;  // for gradients, that no computation hid
  double seconds = 0;
};

class WireChoice {
 public:
  static constexpr int64_t kSteps = 20;
  static constexpr double kShareToNarrow = 0.1;

  WireChoice() = default;  // there is nothing to choose
  // Behind step `begun`; `kept`: of the checkpoint that is gone on from.
  WireChoice(std::optional<Wire> kept, int64_t begun) : open_(!kept), kept_(kept), begun_(begun) {}

  // Whether it is to be chosen yet.
  bool open() const { return open_; }
  const std::optional<Wire>& chosen() const { return kept_; }
  bool Measures(int64_t step) const { return open_ && step > begun_ + kSteps / 2; }
  // Adds this rank's, for each step that it measures.
  void Add(const WireMeasure& measure);
  const WireMeasure& mine() const { return mine_; }
  bool ChoosesAfter(int64_t step) const { return open_ && step >= begun_ + kSteps; }
  // From every rank's. `narrows`: whether gradients travel by themselves, and half the bytes are
  // half the traffic. Returns the choice and its reason in words. REQUIRES: open.
  enum class Narrows { kNo, kYes };
  std::string Choose(const std::vector<WireMeasure>& ranks, Narrows narrows);

 private:
  bool open_ = false;
  std::optional<Wire> kept_;
  int64_t begun_ = 0;
  WireMeasure mine_;
};

}  // namespace dt::trainer
