// advice.cc: the order in which to try strategies.
#include "plan/advice.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace dt::plan {
namespace {

// More slots than this are never advised.
constexpr int64_t kRanksMax = 1024;
// Micro-steps for each stage with which a pipeline waits for at most a fifth of a step.
constexpr int64_t kMicroStepsOfStage = 4;
// Data ranks above which a message to all of them takes long, on one host or several.
constexpr int64_t kRanksOfRing = 64;
// Part of a step spent on communication above which it pays to let ranks step alone, though they
// then lose elsewhere.
constexpr double kExposedTooMuch = 0.5;

constexpr char kCheckpointing[] = "model.activation_checkpointing: block";

std::string Word(Sharing sharing) { return kSharingWords[static_cast<size_t>(sharing)]; }

bool HasRoom(const ModelSize& model, const StepSize& step, double memory_bytes) {
  return FitOf(MemoryBytes(model, step), memory_bytes) == Fit::kWithRoom;
}

bool SpansHosts(const StepSize& step, int64_t slots_of_host) {
  return slots_of_host > 0 && step.ranks * step.tensor > slots_of_host;
}

// Returns alternatives for the step, in the order in which to try them.
std::vector<StepSize> Ladder(const StepSize& step, const Choices& choices) {
  std::vector<StepSize> ladder;
  const bool groups = SpansHosts(step, choices.slots_of_host) || step.ranks > kRanksOfRing;
  const int64_t copy = groups ? RanksOfCopy(step, choices.slots_of_host) : 0;
  const auto may = [&](Sharing sharing) {
    const auto& all = choices.sharings;
    return std::find(all.begin(), all.end(), sharing) != all.end();
  };
  const auto add = [&](StepSize next, Sharing sharing) {
    next.sharing = sharing;
    if (sharing == Sharing::kHsdp) next.shard = copy;
    ladder.push_back(next);
  };
  for (const Sharing sharing : choices.sharings) {
    if (sharing == Sharing::kHsdp || StepsAlone(sharing)) continue;
    if (sharing != Sharing::kDdp && step.ranks == 1) continue;  // no rank to share with
    // If gradients are sent only once anyway, zero2 equals zero1.
    if (sharing == Sharing::kZero2 && step.micro_steps == 1) continue;
    // Each micro-batch of a pipeline would send as much as a step without a pipeline.
    if (step.stages > 1 && sharing != Sharing::kDdp && sharing != Sharing::kZero1) continue;
    StepSize again = step;
    again.keeps_inputs_alone = true;
    const bool grouped = sharing == Sharing::kZero3 && copy > 0 && may(Sharing::kHsdp);
    if (grouped) add(step, Sharing::kHsdp);
    add(step, sharing);
    // For a cut model the full state may fit even if the activations do not.
    const bool cut = step.tensor * step.stages > 1;
    if ((sharing == Sharing::kDdp && !cut) || step.keeps_inputs_alone) continue;
    if (grouped) add(again, Sharing::kHsdp);
    add(again, sharing);
  }
  return ladder;
}

std::string Named(const StepSize& chosen, const StepSize& asked) {
  std::vector<std::string> with;
  if (chosen.keeps_inputs_alone && !asked.keeps_inputs_alone) with.push_back(kCheckpointing);
  if (chosen.tensor != asked.tensor) {
    with.push_back(absl::StrCat("parallel.tensor: ", chosen.tensor));
  }
  if (chosen.stages != asked.stages) {
    with.push_back(absl::StrCat("parallel.pipeline: ", chosen.stages));
  }
  if (chosen.sharing == Sharing::kHsdp &&
      (asked.sharing != Sharing::kHsdp || chosen.shard != asked.shard)) {
    with.push_back(absl::StrCat("parallel.shard: ", chosen.shard));
  }
  if (chosen.sequences != asked.sequences) {
    with.push_back(absl::StrCat("train.batch_size: ", chosen.sequences));
  }
  const bool dealt = chosen.sequences != asked.sequences || chosen.ranks != asked.ranks;
  return absl::StrCat(Word(chosen.sharing), with.empty() ? "" : " with ",
                      absl::StrJoin(with, " and "),
                      dealt ? ", at the same train.global_batch_size" : "");
}

// Returns the same step in smaller passes.
StepSize InPassesOf(const StepSize& step, int64_t sequences) {
  StepSize smaller = step;
  smaller.micro_steps = step.micro_steps * step.sequences / sequences;
  smaller.sequences = sequences;
  return smaller;
}

// Returns the first strategy that fits with the model cut in this way on the same slots; "": none
// does.
std::string WithModelCut(const ModelSize& model, const StepSize& asked, int64_t tensor,
                         int64_t stages, const Choices& choices, double memory_bytes) {
  const std::optional<StepSize> cut = Recut(asked, tensor, stages);
  if (!cut || (stages > 1 && cut->micro_steps < kMicroStepsOfStage * stages)) return "";
  std::vector<StepSize> ladder = Ladder(*cut, choices);
  if (ladder.empty()) return "";
  if (ladder.back().sequences > 1) ladder.push_back(InPassesOf(ladder.back(), 1));
  for (const StepSize& rung : ladder) {
    if (!HasRoom(model, rung, memory_bytes)) continue;
    const std::string named = Named(rung, asked);
    return named == Word(asked.sharing) ? absl::StrCat(named, ", as it is") : named;
  }
  return "";
}

// Returns cuts within a host first, by layers; then stages between hosts, with the fewest ranks for
// the model first.
std::vector<std::pair<int64_t, int64_t>> CutsOf(const Choices& choices) {
  std::vector<std::pair<int64_t, int64_t>> cuts, in_stages;
  for (const int64_t tensor : choices.tensors) cuts.emplace_back(tensor, 1);
  for (const int64_t stages : choices.stages) {
    in_stages.emplace_back(1, stages);
    for (const int64_t tensor : choices.tensors) in_stages.emplace_back(tensor, stages);
  }
  std::stable_sort(in_stages.begin(), in_stages.end(), [](const auto& a, const auto& b) {
    return a.first * a.second < b.first * b.second;
  });
  cuts.insert(cuts.end(), in_stages.begin(), in_stages.end());
  return cuts;
}

// Returns the smallest change that fits if no rung of the ladder does; `last`: its last rung.
std::string BeyondTheLadder(const ModelSize& model, const StepSize& asked, StepSize last,
                            const Choices& choices, double memory_bytes) {
  const int64_t whole = std::max<int64_t>(1, last.sequences);
  for (int64_t parts = 2; parts <= whole; ++parts) {
    if (whole % parts != 0) continue;
    const StepSize smaller = InPassesOf(last, whole / parts);
    if (HasRoom(model, smaller, memory_bytes)) return Named(smaller, asked);
  }
  for (const auto& [tensor, stages] : CutsOf(choices)) {
    const std::string cut = WithModelCut(model, asked, tensor, stages, choices, memory_bytes);
    if (!cut.empty()) return cut;
  }
  const int64_t ranks = last.ranks;
  if (last.sequences > 1) last = InPassesOf(last, 1);
  // A request for one rank becomes one for several, which could share.
  if (!choices.sharings.empty() && ranks == 1) last.sharing = choices.sharings.back();
  if (last.sharing == Sharing::kHsdp) last.sharing = Sharing::kZero3;
  StepSize named = asked;
  named.ranks = ranks;
  named.sequences = last.sequences;
  const int64_t of_model = last.tensor * last.stages;
  for (last.ranks = 2 * ranks; last.ranks * of_model <= kRanksMax; last.ranks *= 2) {
    if (!HasRoom(model, last, memory_bytes)) continue;
    named.ranks = last.ranks;
    const std::string name = Named(last, named);
    return absl::StrCat(last.ranks * of_model, " slots: ", name,
                        name == Word(last.sharing) ? " with" : " and",
                        " train.batch_size: 1 fits there");
  }
  return "no strategy fits on such slots; take a smaller model, a shorter train.seq_len or devices "
         "with more memory";
}

}  // namespace

std::optional<StepSize> Recut(const StepSize& step, int64_t tensor, int64_t stages) {
  StepSize cut = step;
  cut.sharing = Sharing::kDdp;
  cut.outer = false;
  if (tensor == step.tensor && stages == step.stages) return cut;
  const int64_t slots = step.ranks * step.tensor * step.stages;
  const int64_t sequences = step.sequences * step.micro_steps * step.ranks;
  if (slots % (tensor * stages) != 0) return std::nullopt;
  cut.ranks = slots / (tensor * stages);
  cut.tensor = tensor;
  cut.stages = stages;
  if (stages == 1) cut.chunks_each = 1;
  if (stages == 1) cut.forward_first = false;
  if (sequences <= 0 || sequences % cut.ranks != 0) return std::nullopt;
  const int64_t each = sequences / cut.ranks;
  const int64_t least = stages == 1 ? 1 : std::min(each, kMicroStepsOfStage * stages);
  const auto will_do = [&](int64_t batch) {
    // Interleaved micro-steps come in multiples of the number of stages.
    return batch <= step.sequences && each / batch >= least &&
           (cut.chunks_each == 1 || each / batch % stages == 0);
  };
  // Finds the largest suitable divisor: divisors come in pairs, so trying up to the square root is
  // enough.
  int64_t best = 0;
  for (int64_t small = 1; small * small <= each; ++small) {
    if (each % small != 0) continue;
    for (const int64_t batch : {small, each / small}) {
      if (batch > best && will_do(batch)) best = batch;
    }
  }
  if (best == 0) return std::nullopt;
  cut.sequences = best;
  cut.micro_steps = each / best;
  return cut;
}

int64_t RanksOfCopy(const StepSize& step, int64_t slots_of_host) {
  const int64_t of_host = SpansHosts(step, slots_of_host)
                              ? slots_of_host / std::max<int64_t>(1, step.tensor)
                              : step.ranks / 2;
  for (int64_t shard = std::min(of_host, step.ranks / 2); shard >= 2; --shard) {
    if (step.ranks % shard == 0) return shard;
  }
  return 0;
}

std::string StrategyAdvice(const ModelSize& model, const StepSize& step, const Choices& choices,
                           double memory_bytes) {
  if (memory_bytes <= 0 || choices.sharings.empty()) return "";
  const StepSize whole = Recut(step, 1, 1).value_or(step);
  const std::vector<StepSize> ladder = Ladder(whole, choices);
  if (ladder.empty()) return "";
  const auto fits = std::find_if(ladder.begin(), ladder.end(), [&](const StepSize& rung) {
    return HasRoom(model, rung, memory_bytes);
  });
  if (fits == ladder.end()) {
    return BeyondTheLadder(model, step, ladder.back(), choices, memory_bytes);
  }
  std::string advice = Named(*fits, step);
  if (fits->sharing == Sharing::kDdp) {
    return absl::StrCat(advice, ": it fits, and is the fastest");
  }
  StepSize simplest = whole;
  simplest.sharing = choices.sharings.front();
  simplest.keeps_inputs_alone = true;
  if (simplest.sharing != fits->sharing && !step.keeps_inputs_alone &&
      HasRoom(model, simplest, memory_bytes)) {
    absl::StrAppend(&advice, "; with ", kCheckpointing, " ", Word(simplest.sharing), " would do");
  }
  return advice;
}

std::string StepAloneAdvice(const ModelSize& model, const StepSize& step, double memory_bytes,
                            double exposed_ratio) {
  if (exposed_ratio <= kExposedTooMuch || StepsAlone(step.sharing)) return "";
  std::optional<StepSize> alone = Recut(step, 1, 1);
  if (!alone || alone->ranks < 2) return "";
  alone->sharing = Sharing::kLocalSgd;
  if (!HasRoom(model, *alone, memory_bytes)) return "";
  return absl::StrFormat(
      "sending takes up to %.0f %% of a step: local_sgd would send every %d steps, at losses of "
      "its own",
      100 * exposed_ratio, alone->sync_every);
}

}  // namespace dt::plan
