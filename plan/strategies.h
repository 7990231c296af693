// strategies.h: what a trial takes under each way of sharing the model and its state.
//
// Role:    pure. A new strategy is a case of HeldBytes (cost.h) and of WireBytes, and has a place
//          in the order of advice.h.
// Units:   bytes of one rank; what is sent is sent in an optimizer step, as a ring does it:
//          every message but the part that a rank has itself.
// Source:  Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
//          Models", 2020, sections 5 and 7.
// Tests:   tests/plan/strategies_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "plan/cost.h"

namespace dt::plan {

// `step` says who shares.
// 0: not foreseen, of compressed gradients.
double WireBytes(const ModelSize& model, const StepSize& step);

// Bytes of what is gathered as one, embeddings, norms and head together and each block, as it
// travels: under zero3 and hsdp blocks as products take them, and their norms with the root. Of one
// stage.
struct GatheredUnits {
  double root = 0, block = 0, blocks = 0;
};
GatheredUnits GatheredUnitsOf(const ModelSize& model, const StepSize& step);

// What a stage that has others before it and after it sends in a step: hidden states forward, their
// gradients back, so many messages of so many bytes; and, of an embedding that both ends have, its
// gradients' sum.
struct StageMessages {
  double bytes = 0, count = 0, ends = 0;
};
// REQUIRES: several stages.
StageMessages StageMessagesOf(const ModelSize& model, const StepSize& step);

struct StrategyCost {
  StepSize step;
  double state_bytes = 0;       // between steps
  double activation_bytes = 0;  // logits included
  double peak_bytes = 0;        // of a step, with what the process itself holds
  double wire_bytes = 0;        // sent in a step
};
// A row for each, in their order.
std::vector<StrategyCost> CompareSteps(const ModelSize& model, const std::vector<StepSize>& steps);

// Whether it fits into so much memory, of which a fifth should be free: estimates are not exact,
// and an allocator needs room.
inline constexpr double kPartToFill = 0.8;
enum class Fit { kUnknown, kWithRoom, kBarely, kNot };
Fit FitOf(double peak_bytes, double memory_bytes);  // 0 bytes of memory: unknown

// The first that leaves room and trains what the others train: rows are in the order of what they
// cost. Nothing: none does.
std::optional<size_t> LeastWithRoom(const std::vector<StrategyCost>& costs, double memory_bytes);

}  // namespace dt::plan
