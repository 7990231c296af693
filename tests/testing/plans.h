// plans.h: makes a plan as the RPC layer does: a draft outside the core, the core's facts, and the
// plan from both.
#pragma once

#include <utility>

#include "absl/functional/function_ref.h"
#include "coordinator/core/answer/plan/planning.h"

namespace dt {

// Plans `spec`; `call` asks the core for its facts.
inline absl::StatusOr<v1::PlanResponse> TryPlan(
    v1::ExperimentSpec spec,
    absl::FunctionRef<absl::StatusOr<v1::PlanResponse>(const PlanAsk&)> call) {
  v1::SubmitRequest request;
  *request.mutable_spec() = std::move(spec);
  const PlanDraft draft = PreparePlan(std::move(request), DeviceKind::kCpu, 1);
  if (!draft.refused.ok()) return draft.refused;
  const PlanAsk ask = AskOf(draft);
  const auto answer = call(ask);
  return answer.ok() ? PlanOf(draft, ask) : answer;
}

}  // namespace dt
