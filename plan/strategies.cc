// strategies.cc: the formulas of docs/guides/parallel.md.
#include "plan/strategies.h"

#include <algorithm>

namespace dt::plan {
namespace {

// Returns the bytes between the ranks that compute each layer together.
double WireBytesWithinLayers(const StageCosts& stage) {
  const ModelSize& model = stage.model;
  const StepSize& step = stage.step;
  const auto tensor = static_cast<double>(step.tensor);
  // Forward: into each of a layer's two parts and out of it; backward the same, and all of it again
  // if the forward pass is repeated. An all-reduce counts twice and comes half as often.
  const double exchanges = step.keeps_inputs_alone ? 12 : 8;
  const double number = step.half ? 2 : 4;
  const double tokens = static_cast<double>(step.sequences) * static_cast<double>(step.seq_len) *
                        static_cast<double>(step.micro_steps);
  const double numbers = tokens * static_cast<double>(model.width);
  double of_activations = exchanges * number * numbers * static_cast<double>(model.layers);
  if (CutsVocabulary(model.rows, step.tensor)) {
    // Out of the embedding, in the format that layers exchange, and into the head; and for each
    // token every rank's statistics of its logits.
    const double hidden = step.half && step.cuda ? 2 : 4;
    if (stage.has_embedding) of_activations += 2 * hidden * numbers;
    if (stage.has_head) of_activations += 2 * number * numbers + 3 * kNumber * tokens * tensor;
  }
  // Once a step, the gradients of parameters that each rank has in full, or of its shard of them.
  double whole =
      kNumber * static_cast<double>(Parameters(model) - CutParameters(model, step.tensor));
  if (SharesState(step.sharing)) {
    whole /= static_cast<double>(step.sharing == Sharing::kHsdp ? step.shard : step.ranks);
  }
  return (of_activations + (step.sequence ? 2 * whole : 0)) * (tensor - 1) / tensor;
}

// Returns the bytes between the data ranks.
double WireBytesOfSharing(const ModelSize& model, const StepSize& step) {
  const double all = kNumber * static_cast<double>(RankParameters(model, step.tensor));
  const auto ranks = static_cast<double>(step.ranks);
  const auto micro_steps = static_cast<double>(step.micro_steps);
  // A pass of every number around a ring of this many ranks: a reduce-scatter or a gather.
  const auto pass_among = [all](double ring) { return all * (ring - 1) / ring; };
  const double pass = pass_among(ranks);
  const double of_gradients = step.narrow ? 0.5 : 1;
  const auto gathered_and_summed = [&](double ring) {
    // Gathered forward and backward; embeddings, head and the last block stay for the backward
    // pass.
    const GatheredUnits units = GatheredUnitsOf(model, step);
    const double gathered = units.root + (2 * units.blocks - 1) * units.block;
    return micro_steps * (of_gradients * pass_among(ring) + gathered * (ring - 1) / ring);
  };
  switch (step.sharing) {
    case Sharing::kDdp:
      return step.carries_over ? 0 : 2 * of_gradients * pass;
    case Sharing::kZero1:
      return (of_gradients + 1) * pass;
    case Sharing::kZero2:
      return (micro_steps * of_gradients + 1) * pass;
    case Sharing::kZero3:
      return gathered_and_summed(ranks);
    case Sharing::kHsdp: {
      const auto shard = static_cast<double>(step.shard);
      return gathered_and_summed(shard) + 2 * of_gradients * pass_among(ranks / shard) / shard;
    }
    case Sharing::kLocalSgd:
      return 3 * 2 * pass / static_cast<double>(step.sync_every);  // parameters and two moments
    case Sharing::kGossip: {
      if (step.ranks == 1) return 0;
      // To one peer after each step except that of the average.
      const auto steps = static_cast<double>(step.sync_every);
      return (all * (steps - 1) + 3 * 2 * pass) / steps;
    }
  }
  return 0;
}

}  // namespace

StageMessages StageMessagesOf(const ModelSize& model, const StepSize& step) {
  StageMessages messages;
  messages.bytes = (step.half ? 2.0 : 4.0) * static_cast<double>(step.sequences) *
                   static_cast<double>(step.seq_len) * static_cast<double>(model.width) /
                   static_cast<double>(step.sequence ? step.tensor : 1);
  const int64_t each = 2 * step.chunks_each - (step.stages == 2 ? 1 : 0);
  messages.count = static_cast<double>(each) * static_cast<double>(step.micro_steps);
  const double parts =
      CutsVocabulary(model.rows, step.tensor) ? static_cast<double>(step.tensor) : 1;
  if (model.tied_head) {
    messages.ends =
        kNumber * static_cast<double>(model.rows) * static_cast<double>(model.width) / parts;
  }
  return messages;
}

GatheredUnits GatheredUnitsOf(const ModelSize& model, const StepSize& step) {
  GatheredUnits units;
  units.root = kNumber * static_cast<double>(RootParameters(model, step.tensor));
  units.blocks = static_cast<double>(model.layers);
  if (model.layers == 0) return units;
  double of_blocks = kNumber * static_cast<double>(RankParameters(model, step.tensor)) - units.root;
  if (step.half && (step.sharing == Sharing::kZero3 || step.sharing == Sharing::kHsdp)) {
    const double norms = kNumber * static_cast<double>(NormParameters(model));
    units.root += norms;
    of_blocks = (of_blocks - norms) / 2;
  }
  units.block = of_blocks / units.blocks;
  return units;
}

double WireBytes(const ModelSize& model, const StepSize& step) {
  const StageCosts stage = HeaviestStage(model, step);
  StepSize of_stage = stage.step;
  of_stage.half = stage.step.half && step.stages == 1;  // stages gather in the format of the
                                                        // parameters
  const StageMessages between = StageMessagesOf(model, step);
  return WireBytesOfSharing(stage.model, of_stage) +
         (step.tensor == 1 ? 0 : WireBytesWithinLayers(stage)) +
         (step.stages == 1 ? 0 : between.count * between.bytes + between.ends);
}

std::vector<StrategyCost> CompareSteps(const ModelSize& model, const std::vector<StepSize>& steps) {
  std::vector<StrategyCost> costs;
  for (const StepSize& step : steps) {
    costs.push_back({.step = step,
                     .state_bytes = HeldBytes(model, step),
                     .activation_bytes = ActivationBytes(model, step),
                     .peak_bytes = MemoryBytes(model, step),
                     .wire_bytes = WireBytes(model, step)});
  }
  return costs;
}

Fit FitOf(double peak_bytes, double memory_bytes) {
  if (memory_bytes <= 0) return Fit::kUnknown;
  if (peak_bytes <= kPartToFill * memory_bytes) return Fit::kWithRoom;
  return peak_bytes <= memory_bytes ? Fit::kBarely : Fit::kNot;
}

std::optional<size_t> LeastWithRoom(const std::vector<StrategyCost>& costs, double memory_bytes) {
  const auto found = std::find_if(costs.begin(), costs.end(), [&](const StrategyCost& cost) {
    return !StepsAlone(cost.step.sharing) && FitOf(cost.peak_bytes, memory_bytes) == Fit::kWithRoom;
  });
  if (found == costs.end()) return std::nullopt;
  return static_cast<size_t>(found - costs.begin());
}

}  // namespace dt::plan
