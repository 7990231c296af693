#include "coordinator/core/quotas.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/access_limits.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/text.h"
#include "coordinator/core/editing.h"
#include "coordinator/core/schedule.h"

namespace dt {
namespace {

QuotaKey KeyOf(const v1::QuotaSet& fact) { return {fact.user(), fact.label()}; }

// Those that count what it holds.
std::vector<QuotaKey> KeysOf(const DurableState& state, const Experiment& experiment) {
  std::vector<QuotaKey> keys;
  if (state.quotas.empty()) return keys;
  const auto add = [&](QuotaKey key) {
    if (state.quotas.contains(key)) keys.push_back(std::move(key));
  };
  if (!experiment.submitted_by.empty()) add({experiment.submitted_by, ""});
  for (const v1::Label& label : experiment.spec.labels()) {
    add({"", absl::StrCat(label.key(), "=", label.value())});
  }
  return keys;
}

uint32_t HeldOf(const LiveState& live, const QuotaKey& key) {
  const auto found = live.quota_held.find(key);
  return found == live.quota_held.end() ? 0 : found->second;
}

int32_t LeftOf(const State& state, const QuotaKey& key) {
  const auto slots = static_cast<int32_t>(state.durable.quotas.at(key).slots);
  return std::max(0, slots - static_cast<int32_t>(HeldOf(state.live, key)));
}

// Who of those that wait may start something is asked anew.
void RekeyWaiting(State& state, const std::vector<QuotaKey>& keys) {
  for (const ExperimentId id : state.live.lines.Experiments()) {
    const std::vector<QuotaKey> theirs = KeysOf(state.durable, GetExperiment(state.durable, id));
    const bool shares = std::any_of(theirs.begin(), theirs.end(), [&keys](const QuotaKey& key) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    });
    if (shares) Rekey(state, id);
  }
}

absl::Status CheckQuota(const DurableState& state, const v1::SetQuotaRequest& request) {
  if (request.user().empty() == request.label().empty()) {
    return absl::InvalidArgumentError(
        "a quota is of a user or of a label: set one of user and label (dtctl quota set --user ann "
        "--slots 8)");
  }
  const std::string& name = request.user().empty() ? request.label() : request.user();
  const size_t most = request.user().empty() ? 2 * limits::kTextBytes : limits::kWhoBytes;
  if (name.size() > most || Printable(name) != name) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Printable(CleanText(name, limits::kWhoBytes)),
                     "' is not plain text of at most ", most, " bytes; no experiment has it"));
  }
  const size_t equals = request.label().find('=');
  if (!request.label().empty() && (equals == 0 || equals == std::string::npos)) {
    return absl::InvalidArgumentError(
        absl::StrCat("label '", Printable(name), "' is not KEY=VALUE, as team=vision"));
  }
  if (request.slots() > limits::kWorkers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "slots is ", request.slots(), "; it is from 0, for none, to ", limits::kWorkers));
  }
  if (request.removed() || state.quotas.size() < limits::kQuotas ||
      state.quotas.contains({request.user(), request.label()})) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("there are ", state.quotas.size(),
                   " quotas, which is the limit; take some back with 'dtctl quota remove'"));
}

v1::QuotaSummary SummaryOf(const State& state, const QuotaKey& key, const Quota& quota) {
  v1::QuotaSummary summary;
  summary.set_user(key.user);
  summary.set_label(key.label);
  summary.set_slots(quota.slots);
  summary.set_held(HeldOf(state.live, key));
  summary.set_set_by(quota.who);
  summary.set_set_wall_ms(quota.since_wall_ms);
  return summary;
}

}  // namespace

absl::Status ApplyQuotaSet(DurableState& state, const v1::QuotaSet& fact, int64_t wall_ms) {
  if (fact.user().empty() == fact.label().empty()) {
    return absl::FailedPreconditionError("a quota is of neither a user nor a label, or of both");
  }
  if (fact.removed()) {
    state.quotas.erase(KeyOf(fact));
  } else {
    state.quotas[KeyOf(fact)] = {fact.slots(), fact.who(), wall_ms};
  }
  return absl::OkStatus();
}

int32_t QuotaLeft(const State& state, const Experiment& experiment) {
  int32_t left = limits::kWorldSizeMax;
  if (Mutated(Mutant::kQuotaForgotten)) return left;
  for (const QuotaKey& key : KeysOf(state.durable, experiment)) {
    left = std::min(left, LeftOf(state, key));
  }
  return left;
}

std::string QuotaText(const State& state, const Experiment& experiment, int32_t wanted) {
  std::string text;
  int32_t least = wanted;
  for (const QuotaKey& key : KeysOf(state.durable, experiment)) {
    const int32_t left = LeftOf(state, key);
    if (left >= least) continue;
    least = left;
    const uint32_t slots = state.durable.quotas.at(key).slots;
    text = absl::StrCat(key.user.empty() ? absl::StrCat("experiments with the label ", key.label)
                                         : absl::StrCat("experiments of ", key.user),
                        " hold ", HeldOf(state.live, key), " of at most ", slots,
                        slots == 1 ? " slot" : " slots", " (dtctl quota list), and this needs ",
                        wanted);
  }
  return text;
}

void NoteHeld(State& state, const Experiment& experiment, int32_t change) {
  const std::vector<QuotaKey> keys = KeysOf(state.durable, experiment);
  if (keys.empty()) return;
  for (const QuotaKey& key : keys) state.live.quota_held[key] += static_cast<uint32_t>(change);
  RekeyWaiting(state, keys);
}

void FollowQuotas(State& state) {
  state.live.quota_held.clear();
  for (const auto& [id, live] : state.live.experiments) {
    for (const QuotaKey& key : KeysOf(state.durable, GetExperiment(state.durable, id))) {
      state.live.quota_held[key] += live.held;
    }
  }
  for (const ExperimentId id : state.live.lines.Experiments()) Rekey(state, id);
}

absl::StatusOr<v1::SetQuotaResponse> SetQuota(Turn& turn, const v1::SetQuotaRequest& request) {
  if (absl::Status status = CheckQuota(turn.durable(), request); !status.ok()) return status;
  const QuotaKey key{request.user(), request.label()};
  const auto known = turn.durable().quotas.find(key);
  const bool there = known != turn.durable().quotas.end();
  v1::SetQuotaResponse response;
  if (request.removed() ? there : !there || known->second.slots != request.slots()) {
    v1::Record record;
    v1::QuotaSet& fact = *record.mutable_quota_set();
    fact.set_user(request.user());
    fact.set_label(request.label());
    fact.set_removed(request.removed());
    fact.set_slots(request.removed() ? 0 : request.slots());
    fact.set_who(WhoOf(request.who()));
    Journal(turn, std::move(record));
    FollowQuotas(turn.state);
    response.set_changed(true);
  }
  const auto now = turn.durable().quotas.find(key);
  if (now != turn.durable().quotas.end()) {
    *response.mutable_quota() = SummaryOf(turn.state, key, now->second);
  }
  return response;
}

v1::ListQuotasResponse ListQuotas(const State& state) {
  v1::ListQuotasResponse response;
  for (const auto& [key, quota] : state.durable.quotas) {
    *response.add_quotas() = SummaryOf(state, key, quota);
  }
  return response;
}

}  // namespace dt
