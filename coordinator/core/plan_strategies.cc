// plan_strategies.cc: rows of the table, and their verdicts.
#include "coordinator/core/plan_strategies.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "common/vocabulary.h"
#include "plan/strategies.h"
#include "spec/program.h"
#include "spec/sizes.h"

namespace dt {
namespace {

// That the specification's rules allow.
std::vector<plan::Sharing> Allowed(const v1::Spec& spec) {
  // A data rank that is alone has nobody to share with.
  const std::string& compression = spec.parallel().compression();
  const bool compresses = !compression.empty() && compression != "none";
  if (compresses || spec::DataRanksOf(spec) < 2) return {plan::Sharing::kDdp};
  std::vector<plan::Sharing> allowed = {plan::Sharing::kDdp, plan::Sharing::kZero1,
                                        plan::Sharing::kZero2};
  // It compares copies of the parameters, of which zero3 keeps one.
  if (spec.train().hash_every() == 0) allowed.push_back(plan::Sharing::kZero3);
  return allowed;
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

}  // namespace

void FillStrategies(const v1::Spec& spec, const PastPace& past, double memory_bytes,
                    v1::PlannedTrials& planned) {
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
  for (size_t i = 0; i < costs.size(); ++i) {
    const plan::StrategyCost& cost = costs[i];
    v1::PlannedStrategy& row = *planned.add_strategies();
    row.set_strategy(plan::kSharingWords[static_cast<size_t>(cost.sharing)]);
    row.set_state_bytes(static_cast<uint64_t>(cost.state_bytes));
    row.set_activation_bytes(static_cast<uint64_t>(cost.activation_bytes));
    row.set_peak_bytes(static_cast<uint64_t>(cost.peak_bytes));
    row.set_wire_bytes(static_cast<uint64_t>(cost.wire_bytes));
    row.set_wire_seconds(-1);
    const auto traffic = past.traffic.find({step.ranks, plan::SharesState(cost.sharing)});
    if (traffic != past.traffic.end() && cost.wire_bytes > 0 && step.tensor == 1) {
      row.set_wire_seconds(cost.wire_bytes * traffic->second.seconds / traffic->second.bytes);
    }
    row.set_verdict(VerdictWord(plan::FitOf(cost.peak_bytes, memory_bytes)));
    row.set_least(least == i);
  }
  planned.set_advice(plan::StrategyAdvice(model, step, allowed, memory_bytes));
  planned.set_parameters(plan::Parameters(model));
}

}  // namespace dt
