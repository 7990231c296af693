// advice.h: advises how to share a trial among its slots, by the memory of a slot.
//
// Role:    pure. The order is that of docs/guides/parallel.md: strategies that are simple and send
//          little come first. Ladder has the place for a new strategy.
// Tests:   tests/plan/advice_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/strategies.h"

namespace dt::plan {

// The changes that may be made to a trial.
struct Choices {
  // Strategies for ranks that have the full model, or the same part of it, the simplest first.
  // kHsdp is advised if the ranks are on several hosts, or many. Strategies whose ranks step alone
  // are never in it.
  std::vector<Sharing> sharings;
  // Possible numbers of ranks that compute each layer together, and of stages, on the same slots:
  // ascending, each above one.
  std::vector<int64_t> tensors, stages;
  int64_t slots_of_host = 0;  // the most slots of any host; 0: unknown
};

// Returns the step with the same sequences on the same slots, the model cut differently, shared as
// under ddp. The batch of a pass stays as large as before if it can be divided so, and small enough
// that a pipeline has four micro-steps for each stage. Nothing: its sequences cannot be divided so.
std::optional<StepSize> Recut(const StepSize& step, int64_t tensor, int64_t stages);

// Returns the number of ranks over which one of several copies of the state would be spread: as
// many as a host has, or half of all if one host has all. 0: they cannot be grouped.
int64_t RanksOfCopy(const StepSize& step, int64_t slots_of_host);

// Returns one line, such as "zero1; with model.activation_checkpointing: block ddp would do". "":
// the amount of memory is unknown.
std::string StrategyAdvice(const ModelSize& model, const StepSize& step, const Choices& choices,
                           double memory_bytes);

// Returns further advice if sending takes `exposed_ratio` of a step when nothing hides it. "" if
// that is half of it or less, or if ranks cannot step alone within the memory.
std::string StepAloneAdvice(const ModelSize& model, const StepSize& step, double memory_bytes,
                            double exposed_ratio);

}  // namespace dt::plan
