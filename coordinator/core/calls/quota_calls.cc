#include "coordinator/core/calls/quota_calls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/access_limits.h"
#include "common/limits.h"
#include "common/text.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/quotas.h"
#include "coordinator/core/model/names.h"

namespace dt {
namespace {

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
  summary.set_held(QuotaHeld(state.live, key));
  summary.set_set_by(quota.who);
  summary.set_set_wall_ms(quota.since_wall_ms);
  return summary;
}

}  // namespace

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

absl::StatusOr<v1::ListQuotasResponse> Query(const State& state, const v1::ListQuotasRequest&,
                                             absl::Duration) {
  v1::ListQuotasResponse response;
  for (const auto& [key, quota] : state.durable.quotas) {
    *response.add_quotas() = SummaryOf(state, key, quota);
  }
  return response;
}

}  // namespace dt
