// plan_strategies.cc: builds the rows of the table, and their verdicts.
#include "coordinator/core/answer/plan/plan_strategies.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/arithmetic.h"
#include "common/vocabulary.h"
#include "plan/advice.h"
#include "plan/stages.h"
#include "plan/strategies.h"
#include "spec/parallel_rules.h"
#include "spec/program.h"
#include "spec/sizes.h"
#include "spec/spec.h"

namespace dt {
namespace {

// Returns the trial with such a step, without the settings of its own step.
v1::Spec WithStep(v1::Spec spec, const plan::StepSize& step) {
  v1::Parallel& parallel = *spec.mutable_parallel();
  const v1::Parallel defaults = spec::DefaultSpec().parallel();
  const char* const word = plan::kSharingWords[static_cast<size_t>(step.sharing)];
  if (parallel.strategy() != word) {
    parallel.set_strategy(word);
    parallel.set_outer_lr(defaults.outer_lr());
    parallel.set_outer_momentum(defaults.outer_momentum());
    if (!plan::StepsAlone(step.sharing)) parallel.set_sync_every(defaults.sync_every());
  }
  parallel.set_shard(step.sharing == plan::Sharing::kHsdp ? static_cast<int32_t>(step.shard)
                                                          : defaults.shard());
  parallel.set_tensor(static_cast<int32_t>(step.tensor));
  parallel.set_pipeline(static_cast<int32_t>(step.stages));
  spec.mutable_train()->set_batch_size(static_cast<int32_t>(step.sequences));
  return spec;
}

bool Allows(const v1::Spec& spec, const plan::StepSize& step) {
  return spec::AllowsParallel(WithStep(spec, step));
}

// Returns the step with other sharing; nullopt if the rules of files refuse it or no rank is left.
std::optional<plan::StepSize> Shared(const v1::Spec& spec, plan::StepSize step,
                                     plan::Sharing sharing, int64_t slots_of_host) {
  const bool as_asked = sharing == step.sharing;
  step.sharing = sharing;
  if (!as_asked) {
    step.outer = false;
    step.shard =
        sharing == plan::Sharing::kHsdp ? plan::RanksOfCopy(step, slots_of_host) : step.shard;
    if (sharing == plan::Sharing::kHsdp && step.shard < 2) return std::nullopt;
    if (step.ranks < 2 && sharing != plan::Sharing::kDdp) return std::nullopt;
    if (!Allows(spec, step)) return std::nullopt;
  }
  return step;
}

// Returns the powers of two from 2 on.
std::vector<int64_t> Powers(int64_t most) {
  std::vector<int64_t> powers;
  for (int64_t power = 2; power <= most; power *= 2) powers.push_back(power);
  return powers;
}

using enum plan::Sharing;
constexpr plan::Sharing kSharings[] = {kDdp, kZero1, kZero2, kZero3, kHsdp, kLocalSgd, kGossip};
// Strategies that all train the same result, by sharded state.
constexpr plan::Sharing kThatTrainTheSame[] = {kDdp, kZero1, kZero2, kZero3};
// Most stages of a shown row; the advice considers more.
constexpr int64_t kStagesShown = 8;

// Ways in which a trial could use its slots.
struct StrategyOptions {
  std::vector<plan::StepSize> shown;  // its own way is among them
  plan::Choices choices;
};

StrategyOptions StrategyOptionsOf(const v1::Spec& spec, const plan::StepSize& asked,
                                  int64_t slots_of_host) {
  StrategyOptions options;
  const int64_t slots = asked.ranks * asked.tensor * asked.stages;
  const int64_t of_host = slots_of_host > 0 ? slots_of_host : slots;
  const std::optional<plan::StepSize> whole = plan::Recut(asked, 1, 1);
  const bool cut = asked.tensor * asked.stages > 1;
  if (cut && whole) {
    for (const plan::Sharing sharing : kThatTrainTheSame) {
      plan::StepSize step = *whole;
      step.sharing = sharing;
      if (Allows(spec, step)) options.shown.push_back(step);
    }
  }
  for (const plan::Sharing sharing : kSharings) {
    const auto step = Shared(spec, asked, sharing, slots_of_host);
    if (step) options.shown.push_back(*step);
  }
  for (const plan::Sharing sharing : {kDdp, kZero1, kZero2, kZero3, kHsdp}) {
    const auto step = Shared(spec, whole.value_or(asked), sharing, slots_of_host);
    if (sharing == kDdp || step) options.choices.sharings.push_back(sharing);
  }
  options.choices.slots_of_host = slots_of_host;
  const auto consider = [&](int64_t tensor, int64_t stages, std::vector<int64_t>& allowed) {
    const std::optional<plan::StepSize> other = plan::Recut(asked, tensor, stages);
    if (!other || !Allows(spec, *other)) return;
    allowed.push_back(tensor * stages);
    if (!cut && stages <= kStagesShown) options.shown.push_back(*other);
  };
  for (const int64_t tensor : Powers(std::min(slots, of_host))) {
    consider(tensor, 1, options.choices.tensors);
  }
  for (const int64_t stages : Powers(std::min<int64_t>(slots, spec.model().n_layer()))) {
    consider(1, stages, options.choices.stages);
  }
  return options;
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
  const plan::StepSize& step = cost.step;
  const double bucket_bytes = spec.parallel().bucket_mb() * (1 << 20);
  if (const auto measured = network.SecondsOf(model, step, bucket_bytes)) {
    return {measured->seconds, measured->from};
  }
  const auto traffic = past.traffic.find({step.ranks, plan::SharesState(step.sharing)});
  if (traffic == past.traffic.end() || cost.wire_bytes <= 0 || step.tensor != 1 ||
      step.stages != 1) {
    return {};
  }
  return {cost.wire_bytes * traffic->second.seconds / traffic->second.bytes,
          "the bandwidth of trials before"};
}

// Returns the share of a step for sending, without overlap; 0: unknown.
double ExposedRatio(double wire_seconds, const Estimate& estimate) {
  const double step = estimate.step_seconds;
  if (wire_seconds <= 0 || step <= 0) return 0;
  return std::min(1.0, wire_seconds / (estimate.with_sending ? step : step + wire_seconds));
}

v1::PlannedStrategy RowOf(const plan::StrategyCost& cost, double memory_bytes) {
  v1::PlannedStrategy row;
  const plan::StepSize& step = cost.step;
  row.set_strategy(plan::kSharingWords[static_cast<size_t>(step.sharing)]);
  row.set_state_bytes(BoundedInteger<uint64_t>(cost.state_bytes));
  row.set_activation_bytes(BoundedInteger<uint64_t>(cost.activation_bytes));
  row.set_peak_bytes(BoundedInteger<uint64_t>(cost.peak_bytes));
  row.set_wire_bytes(BoundedInteger<uint64_t>(cost.wire_bytes));
  row.set_verdict(VerdictWord(plan::FitOf(cost.peak_bytes, memory_bytes)));
  row.set_tensor(static_cast<int32_t>(step.tensor));
  row.set_pipeline(static_cast<int32_t>(step.stages));
  if (step.sharing == kHsdp) row.set_shard(static_cast<int32_t>(step.shard));
  row.set_microbatches(BoundedInteger<int32_t>(static_cast<double>(step.micro_steps)));
  row.set_bubble_ratio(plan::BubbleRatio(step.stages, step.chunks_each, step.micro_steps));
  return row;
}

bool AsAsked(const plan::StepSize& step, const plan::StepSize& asked) {
  return step.sharing == asked.sharing && step.tensor == asked.tensor &&
         step.stages == asked.stages;
}

}  // namespace

void FillStrategies(const v1::Spec& spec, const PastPace& past, const NetworkFigures& network,
                    double memory_bytes, const Estimate& estimate, v1::PlannedTrials& planned) {
  if (spec::IsProgram(spec) || spec.model().n_layer() <= 0 || spec.resources().gpus() < 2) return;
  const plan::ModelSize model = SizeOf(spec.model(), PaddedVocabulary(kGpt2Vocabulary));
  const plan::StepSize asked = StepOf(spec);
  const StrategyOptions options = StrategyOptionsOf(spec, asked, network.slots_of_host());
  const auto costs = plan::CompareSteps(model, options.shown);
  const std::optional<size_t> least = plan::LeastWithRoom(costs, memory_bytes);
  double exposed = 0;
  std::set<std::string> from;
  for (size_t i = 0; i < costs.size(); ++i) {
    v1::PlannedStrategy& row = *planned.add_strategies();
    row = RowOf(costs[i], memory_bytes);
    row.set_least(least == i);
    const WireTime time = WireTimeOf(spec, model, costs[i], past, network);
    row.set_wire_seconds(time.seconds);
    if (!time.from.empty()) from.insert(time.from);
    if (AsAsked(costs[i].step, asked)) exposed = ExposedRatio(time.seconds, estimate);
  }
  std::string advice = plan::StrategyAdvice(model, asked, options.choices, memory_bytes);
  const std::string alone = plan::StepAloneAdvice(model, asked, memory_bytes, exposed);
  plan::StepSize averaged = plan::Recut(asked, 1, 1).value_or(asked);
  averaged.sharing = kLocalSgd;
  if (!alone.empty() && Allows(spec, averaged)) {
    absl::StrAppend(&advice, advice.empty() ? "" : "; ", alone);
  }
  planned.set_advice(advice);
  planned.set_parameters(plan::Parameters(model));
  planned.set_wire_from(absl::StrJoin(from, "; "));
}

}  // namespace dt
