// advice.h: which way of sharing a trial among its slots to choose, by the memory of a slot.
//
// Role:    pure. The order is that of docs/parallel.md: what is simplest and sends least first. A
//          new strategy has its place in Ladder.
// Tests:   tests/plan/advice_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/strategies.h"

namespace dt::plan {

// What a trial may be changed to.
struct Choices {
  // For ranks that have the whole model, or the same part of it, the simplest first. kHsdp is
  // advised where ranks are on several hosts, or many; of those that step alone none is.
  std::vector<Sharing> sharings;
  // How many ranks could compute each layer together, and how many stages there could be, on the
  // same slots: ascending, of more than one.
  std::vector<int64_t> tensors, stages;
  int64_t slots_of_host = 0;  // most that one has; 0: unknown
};

// The step with as many sequences on as many slots, the model cut otherwise, shared as under ddp;
// the batch of a pass is as large as before where that can be dealt, and small enough for a
// pipeline to have four micro-steps for each stage. Nothing: its sequences cannot be dealt so.
std::optional<StepSize> Recut(const StepSize& step, int64_t tensor, int64_t stages);

// Over how many ranks one of several copies of the state would be spread: as many as a host has,
// or half of all where one host has all. 0: they cannot be grouped.
int64_t RanksOfCopy(const StepSize& step, int64_t slots_of_host);

// One line, such as "zero1; with model.activation_checkpointing: block ddp would do". "": how much
// memory there is, is not known.
std::string StrategyAdvice(const ModelSize& model, const StepSize& step, const Choices& choices,
                           double memory_bytes);

// What more there is to say where sending takes `exposed_ratio` of a step, if nothing hides it: ""
// where that is half of it or less, or ranks cannot step alone within the memory.
std::string StepAloneAdvice(const ModelSize& model, const StepSize& step, double memory_bytes,
                            double exposed_ratio);

}  // namespace dt::plan
