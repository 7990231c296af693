// strategies.cc: the formulas of docs/parallel.md, and the order in which one tries.
#include "plan/strategies.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace dt::plan {
namespace {

// Beyond so many slots nobody is advised to go.
constexpr int64_t kRanksMax = 1024;

// Between the ranks that compute each layer together.
double WireBytesWithinLayers(const StageCosts& stage) {
  const ModelSize& model = stage.model;
  const StepSize& step = stage.step;
  const auto tensor = static_cast<double>(step.tensor);
  // Forward: into each of a layer's two parts and out of it; backward the same, and all of it once
  // more where the forward pass is repeated. A sum to all counts twice and comes half as often.
  const double exchanges = step.keeps_inputs_alone ? 12 : 8;
  const double number = step.half ? 2 : 4;
  const double tokens = static_cast<double>(step.sequences * step.seq_len * step.micro_steps);
  const double numbers = tokens * static_cast<double>(model.width);
  double of_activations = exchanges * number * numbers * static_cast<double>(model.layers);
  if (CutsVocabulary(model.rows, step.tensor)) {
    // Out of the embedding, as layers give it to each other, and into the head; and of each token
    // what every rank knows of its logits.
    const double hidden = step.half && step.cuda ? 2 : 4;
    if (stage.has_embedding) of_activations += 2 * hidden * numbers;
    if (stage.has_head) of_activations += 2 * number * numbers + 3 * kNumber * tokens * tensor;
  }
  // Once a step, of the gradients of what each has whole, or has its shard of.
  double whole =
      kNumber * static_cast<double>(Parameters(model) - CutParameters(model, step.tensor));
  if (SharesState(step.sharing)) {
    whole /= static_cast<double>(step.sharing == Sharing::kHsdp ? step.shard : step.ranks);
  }
  return (of_activations + (step.sequence ? 2 * whole : 0)) * (tensor - 1) / tensor;
}

std::string Word(Sharing sharing) { return kSharingWords[static_cast<size_t>(sharing)]; }

bool HasRoom(const ModelSize& model, const StepSize& step, double memory_bytes) {
  return FitOf(MemoryBytes(model, step), memory_bytes) == Fit::kWithRoom;
}

constexpr char kCheckpointing[] = "model.activation_checkpointing: block";

// What the step could be instead, in the order in which one tries.
std::vector<StepSize> Ladder(const StepSize& step, const std::vector<Sharing>& sharings) {
  std::vector<StepSize> ladder;
  for (const Sharing sharing : sharings) {
    // Where gradients are sent once anyway, zero2 is zero1.
    if (sharing == Sharing::kZero2 && step.micro_steps == 1) continue;
    StepSize next = step;
    next.sharing = sharing;
    ladder.push_back(next);
    if (sharing == Sharing::kDdp || step.keeps_inputs_alone) continue;
    next.keeps_inputs_alone = true;
    ladder.push_back(next);
  }
  return ladder;
}

std::string Named(const StepSize& chosen, const StepSize& asked) {
  const bool more = chosen.keeps_inputs_alone && !asked.keeps_inputs_alone;
  return absl::StrCat(Word(chosen.sharing), more ? absl::StrCat(" with ", kCheckpointing) : "");
}

// One sequence at a time, and so many ranks of each layer on as many slots; "": does not fit.
std::string WithLayersCut(const ModelSize& model, const StepSize& asked, StepSize last,
                          int64_t tensor, double memory_bytes) {
  const int64_t slots = last.ranks * last.tensor;
  if (tensor <= last.tensor || slots % tensor != 0) return "";
  last.micro_steps = asked.micro_steps * last.sequences * tensor / last.tensor;
  last.sequences = 1;
  last.tensor = tensor;
  last.ranks = slots / tensor;
  // Who is alone with its part shares with nobody.
  if (last.ranks == 1) last.sharing = Sharing::kDdp;
  if (!HasRoom(model, last, memory_bytes)) return "";
  return absl::StrCat(Named(last, asked), last.keeps_inputs_alone ? " and" : " with",
                      " parallel.tensor: ", tensor,
                      " and train.batch_size: 1, at the same train.global_batch_size");
}

// The least change that fits where none of the ladder does; `last`: its last rung.
std::string BeyondTheLadder(const ModelSize& model, const StepSize& asked, StepSize last,
                            const std::vector<int64_t>& tensors, double memory_bytes) {
  const int64_t whole = last.sequences;
  for (int64_t parts = 2; parts <= whole; ++parts) {
    if (whole % parts != 0) continue;
    last.sequences = whole / parts;
    last.micro_steps = asked.micro_steps * parts;
    if (!HasRoom(model, last, memory_bytes)) continue;
    return absl::StrCat(Named(last, asked), last.keeps_inputs_alone ? " and" : " with",
                        " train.batch_size: ", last.sequences,
                        ", at the same train.global_batch_size");
  }
  last.sequences = std::max<int64_t>(1, whole);
  last.micro_steps = asked.micro_steps;
  for (const int64_t tensor : tensors) {
    const std::string cut = WithLayersCut(model, asked, last, tensor, memory_bytes);
    if (!cut.empty()) return cut;
  }
  last.sequences = std::min<int64_t>(1, whole);
  last.micro_steps = asked.micro_steps * std::max<int64_t>(1, whole);
  const int64_t of_model = last.tensor * last.stages;
  for (last.ranks = 2 * asked.ranks; last.ranks * of_model <= kRanksMax; last.ranks *= 2) {
    if (!HasRoom(model, last, memory_bytes)) continue;
    return absl::StrCat(last.ranks * of_model, " slots: ", Named(last, asked),
                        last.keeps_inputs_alone ? " and" : " with",
                        " train.batch_size: 1 fits there");
  }
  return "no strategy fits on such slots; take a smaller model, a shorter train.seq_len or devices "
         "with more memory";
}

}  // namespace

namespace {

// Between the data ranks.
double WireBytesOfSharing(const ModelSize& model, const StepSize& step) {
  const double all = kNumber * static_cast<double>(RankParameters(model, step.tensor));
  const auto ranks = static_cast<double>(step.ranks);
  const auto micro_steps = static_cast<double>(step.micro_steps);
  // One pass of every number around the ring of so many: a sum to one rank each, or a gather.
  const auto pass_among = [all](double ring) { return all * (ring - 1) / ring; };
  const double pass = pass_among(ranks);
  const double of_gradients = step.narrow ? 0.5 : 1;
  const auto gathered_and_summed = [&](double ring) {
    // Gathered forward and backward; embeddings and head stay for the backward pass, and so does
    // the last block.
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
      // To one peer after each step but that of the average.
      const auto steps = static_cast<double>(step.sync_every);
      return (all * (steps - 1) + 3 * 2 * pass) / steps;
    }
  }
  return 0;
}

}  // namespace

// Between stages, by one that has others before it and after it: hidden states forward, their
// gradients back; and, of an embedding that both ends have, its gradients' sum.
double WireBytesBetweenStages(const ModelSize& model, const StepSize& step) {
  const double message = (step.half ? 2.0 : 4.0) *
                         static_cast<double>(step.sequences * step.seq_len * model.width) /
                         static_cast<double>(step.sequence ? step.tensor : 1);
  const int64_t messages = 2 * step.chunks_each - (step.stages == 2 ? 1 : 0);
  const double parts =
      CutsVocabulary(model.rows, step.tensor) ? static_cast<double>(step.tensor) : 1;
  const double ends =
      model.tied_head ? kNumber * static_cast<double>(model.rows * model.width) / parts : 0;
  return static_cast<double>(messages * step.micro_steps) * message + ends;
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
  of_stage.half = stage.step.half && step.stages == 1;  // stages gather as parameters are
  return WireBytesOfSharing(stage.model, of_stage) +
         (step.tensor == 1 ? 0 : WireBytesWithinLayers(stage)) +
         (step.stages == 1 ? 0 : WireBytesBetweenStages(model, step));
}

std::vector<StrategyCost> CompareStrategies(const ModelSize& model, StepSize step,
                                            const std::vector<Sharing>& sharings) {
  std::vector<StrategyCost> costs;
  for (const Sharing sharing : sharings) {
    step.sharing = sharing;
    costs.push_back({.sharing = sharing,
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
    return FitOf(cost.peak_bytes, memory_bytes) == Fit::kWithRoom;
  });
  if (found == costs.end()) return std::nullopt;
  return static_cast<size_t>(found - costs.begin());
}

std::string StrategyAdvice(const ModelSize& model, const StepSize& step,
                           const std::vector<Sharing>& sharings, double memory_bytes,
                           const std::vector<int64_t>& tensors) {
  if (memory_bytes <= 0 || sharings.empty()) return "";
  const std::vector<StepSize> ladder = Ladder(step, sharings);
  const auto fits = std::find_if(ladder.begin(), ladder.end(), [&](const StepSize& rung) {
    return HasRoom(model, rung, memory_bytes);
  });
  if (fits == ladder.end()) {
    return BeyondTheLadder(model, step, ladder.back(), tensors, memory_bytes);
  }
  std::string advice = Named(*fits, step);
  if (fits->sharing == Sharing::kDdp) return advice + ": it fits, and is the fastest";
  StepSize simplest = step;
  simplest.sharing = sharings.front();
  simplest.keeps_inputs_alone = true;
  if (simplest.sharing != fits->sharing && !step.keeps_inputs_alone &&
      HasRoom(model, simplest, memory_bytes)) {
    absl::StrAppend(&advice, "; with ", kCheckpointing, " ", Word(simplest.sharing), " would do");
  }
  return advice;
}

}  // namespace dt::plan
