#include "coordinator/core/keep/quotas.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "common/mutant.h"

namespace dt {
namespace {

int32_t LeftOf(const State& state, const QuotaKey& key) {
  const auto slots = static_cast<int32_t>(state.durable.quotas.at(key).slots);
  return std::max(0, slots - static_cast<int32_t>(QuotaHeld(state.live, key)));
}

}  // namespace

std::vector<QuotaKey> QuotaKeysOf(const DurableState& state, const Experiment& experiment) {
  std::vector<QuotaKey> keys;
  // A trial in its client takes no slot of a worker.
  if (state.quotas.empty() || IsClientTrial(experiment.spec.base().command())) return keys;
  const auto add = [&](QuotaKey key) {
    if (state.quotas.contains(key)) keys.push_back(std::move(key));
  };
  if (!experiment.submitted_by.empty()) add({experiment.submitted_by, ""});
  for (const v1::Label& label : experiment.spec.labels()) {
    add({"", absl::StrCat(label.key(), "=", label.value())});
  }
  return keys;
}

uint32_t QuotaHeld(const LiveState& live, const QuotaKey& key) {
  const auto found = live.quota_held.find(key);
  return found == live.quota_held.end() ? 0 : found->second;
}

int32_t QuotaLeft(const State& state, const Experiment& experiment) {
  int32_t left = limits::kWorldSizeMax;
  if (Mutated(Mutant::kQuotaForgotten)) return left;
  for (const QuotaKey& key : QuotaKeysOf(state.durable, experiment)) {
    left = std::min(left, LeftOf(state, key));
  }
  return left;
}

std::string QuotaText(const State& state, const Experiment& experiment, int32_t wanted) {
  std::string text;
  int32_t least = wanted;
  for (const QuotaKey& key : QuotaKeysOf(state.durable, experiment)) {
    const int32_t left = LeftOf(state, key);
    if (left >= least) continue;
    least = left;
    const uint32_t slots = state.durable.quotas.at(key).slots;
    text = absl::StrCat(key.user.empty() ? absl::StrCat("experiments with the label ", key.label)
                                         : absl::StrCat("experiments of ", key.user),
                        " hold ", QuotaHeld(state.live, key), " of at most ", slots,
                        slots == 1 ? " slot" : " slots", " (dtctl quota list), and this needs ",
                        wanted);
  }
  return text;
}

}  // namespace dt
