// plan_strategies.cc: rows of the table, and their verdicts.
#include "coordinator/core/plan_strategies.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/vocabulary.h"
#include "plan/strategies.h"
#include "spec/parallel_rules.h"
#include "spec/program.h"
#include "spec/sizes.h"
#include "spec/spec.h"

namespace dt {
namespace {

// The trial with another word for parallel.strategy, and without what was of the first one alone.
v1::Spec WithSharing(v1::Spec spec, plan::Sharing sharing) {
  v1::Parallel& parallel = *spec.mutable_parallel();
  const char* const word = plan::kSharingWords[static_cast<size_t>(sharing)];
  if (parallel.strategy() == word) return spec;
  const v1::Parallel defaults = spec::DefaultSpec().parallel();
  parallel.set_strategy(word);
  parallel.set_shard(defaults.shard());
  parallel.set_sync_every(defaults.sync_every());
  parallel.set_outer_lr(defaults.outer_lr());
  parallel.set_outer_momentum(defaults.outer_momentum());
  return spec;
}

// Those that ask for nothing but their word, and that the rules of files allow.
std::vector<plan::Sharing> Allowed(const v1::Spec& spec) {
  std::vector<plan::Sharing> allowed = {plan::Sharing::kDdp};
  // A data rank that is alone has nobody to share with.
  if (spec::DataRanksOf(spec) < 2) return allowed;
  for (const plan::Sharing sharing :
       {plan::Sharing::kZero1, plan::Sharing::kZero2, plan::Sharing::kZero3}) {
    if (spec::AllowsParallel(WithSharing(spec, sharing))) allowed.push_back(sharing);
  }
  return allowed;
}

// By how many ranks of one host its layers could be computed.
std::vector<int64_t> TensorsOf(v1::Spec spec, int64_t slots_of_host) {
  std::vector<int64_t> tensors;
  const int64_t slots = spec.resources().gpus() / std::max(1, spec.parallel().pipeline());
  for (int64_t tensor = 2; tensor <= std::min(slots, slots_of_host); tensor *= 2) {
    spec.mutable_parallel()->set_tensor(static_cast<int32_t>(tensor));
    if (spec::AllowsParallel(spec)) tensors.push_back(tensor);
  }
  return tensors;
}

std::string VerdictWord(plan::Fit fit) {
  switch (fit) {
    case plan::Fit::kUnknown:
      return "";
    case plan::Fit::kWithRoom:
      return "fits";
    case plan::Fit::kBarely:
      return "tight";
    case plan::Fit::kNot:
      return "too_large";
  }
  return "";
}

struct WireTime {
  double seconds = -1;  // negative: unknown
  std::string from;
};

WireTime WireTimeOf(const v1::Spec& spec, const plan::ModelSize& model,
                    const plan::StrategyCost& cost, const PastPace& past,
                    const NetworkFigures& network) {
  plan::StepSize step = StepOf(spec);
  step.sharing = cost.sharing;
  const double bucket_bytes = spec.parallel().bucket_mb() * (1 << 20);
  if (const auto measured = network.SecondsOf(model, step, bucket_bytes)) {
    return {measured->seconds, measured->from};
  }
  const auto traffic = past.traffic.find({step.ranks, plan::SharesState(cost.sharing)});
  if (traffic == past.traffic.end() || cost.wire_bytes <= 0 || step.tensor != 1 ||
      step.stages != 1) {
    return {};
  }
  return {cost.wire_bytes * traffic->second.seconds / traffic->second.bytes,
          "the bandwidth of trials before"};
}

}  // namespace

void FillStrategies(const v1::Spec& spec, const PastPace& past, const NetworkFigures& network,
                    double memory_bytes, v1::PlannedTrials& planned) {
  if (spec::IsProgram(spec) || spec.model().n_layer() <= 0 || spec.resources().gpus() < 2) return;
  const plan::ModelSize model = SizeOf(spec.model(), PaddedVocabulary(kGpt2Vocabulary));
  const plan::StepSize step = StepOf(spec);
  const std::vector<plan::Sharing> allowed = Allowed(spec);
  // What it asks for has a row as well where nobody would be advised to: it says how many ranks
  // share a copy, or trains otherwise.
  std::vector<plan::Sharing> shown = allowed;
  if (std::find(shown.begin(), shown.end(), step.sharing) == shown.end()) {
    shown.push_back(step.sharing);
  }
  const auto costs = plan::CompareStrategies(model, step, shown);
  const std::optional<size_t> least = plan::LeastWithRoom(costs, memory_bytes);
  std::set<std::string> from;
  for (size_t i = 0; i < costs.size(); ++i) {
    const plan::StrategyCost& cost = costs[i];
    v1::PlannedStrategy& row = *planned.add_strategies();
    row.set_strategy(plan::kSharingWords[static_cast<size_t>(cost.sharing)]);
    row.set_state_bytes(static_cast<uint64_t>(cost.state_bytes));
    row.set_activation_bytes(static_cast<uint64_t>(cost.activation_bytes));
    row.set_peak_bytes(static_cast<uint64_t>(cost.peak_bytes));
    row.set_wire_bytes(static_cast<uint64_t>(cost.wire_bytes));
    const WireTime time = WireTimeOf(spec, model, cost, past, network);
    row.set_wire_seconds(time.seconds);
    if (!time.from.empty()) from.insert(time.from);
    row.set_verdict(VerdictWord(plan::FitOf(cost.peak_bytes, memory_bytes)));
    row.set_least(least == i);
  }
  planned.set_advice(plan::StrategyAdvice(model, step, allowed, memory_bytes,
                                          TensorsOf(spec, network.slots_of_host())));
  planned.set_parameters(plan::Parameters(model));
  planned.set_wire_from(absl::StrJoin(from, "; "));
}

}  // namespace dt
