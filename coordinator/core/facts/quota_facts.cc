#include "coordinator/core/facts/quota_facts.h"

namespace dt {
namespace {

QuotaKey QuotaKeyOf(const v1::QuotaSet& fact) { return {fact.user(), fact.label()}; }

}  // namespace

absl::Status ApplyQuotaSet(DurableState& state, const v1::QuotaSet& fact, int64_t wall_ms) {
  if (fact.user().empty() == fact.label().empty()) {
    return absl::FailedPreconditionError("a quota is of neither a user nor a label, or of both");
  }
  if (fact.removed()) {
    state.quotas.erase(QuotaKeyOf(fact));
  } else {
    state.quotas[QuotaKeyOf(fact)] = {fact.slots(), fact.who(), wall_ms};
  }
  return absl::OkStatus();
}

}  // namespace dt
