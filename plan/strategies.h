// strategies.h: the memory and traffic of a trial under each strategy.
//
// Role:    pure. A new strategy is a case of HeldBytes (cost.h) and of WireBytes, and has a place
//          in the order of advice.h.
// Units:   bytes of one rank; sent bytes are those of an optimizer step with ring algorithms: every
//          message except the part that a rank has itself.
// Source:  Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
//          Models", 2020, sections 5 and 7.
// Tests:   tests/plan/strategies_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "plan/cost.h"

namespace dt::plan {

// Returns the sent bytes; `step` has the strategy. 0 for compressed gradients, which cannot be
// predicted.
double WireBytes(const ModelSize& model, const StepSize& step);

// Bytes of the units that are gathered as one, in their format on the wire: embeddings, norms and
// head together, and each block. Under zero3 and hsdp blocks travel in the format of the products,
// and their norms with the root. For one stage.
struct GatheredUnits {
  double root = 0, block = 0, blocks = 0;
};
GatheredUnits GatheredUnitsOf(const ModelSize& model, const StepSize& step);

// The messages in a step of a stage that has others before and after it: hidden states forward and
// their gradients back, `count` messages of `bytes` each; and the sum of the gradients of an
// embedding that both ends have.
struct StageMessages {
  double bytes = 0, count = 0, ends = 0;
};
// REQUIRES: several stages.
StageMessages StageMessagesOf(const ModelSize& model, const StepSize& step);

struct StrategyCost {
  StepSize step;
  double state_bytes = 0;       // between steps
  double activation_bytes = 0;  // logits included
  double peak_bytes = 0;        // at the peak of a step, including the process itself
  double wire_bytes = 0;        // sent in a step
};
// Returns a row for each step, in the same order.
std::vector<StrategyCost> CompareSteps(const ModelSize& model, const std::vector<StepSize>& steps);

// How well it fits into memory, of which a fifth should stay free: estimates are not exact, and an
// allocator needs room.
inline constexpr double kPartToFill = 0.8;
enum class Fit { kUnknown, kWithRoom, kBarely, kNot };
Fit FitOf(double peak_bytes, double memory_bytes);  // 0 bytes of memory: unknown

// Returns the first that leaves room and trains the same as the others: rows are ordered by cost.
// Nothing: none does.
std::optional<size_t> LeastWithRoom(const std::vector<StrategyCost>& costs, double memory_bytes);

}  // namespace dt::plan
