// plan_draft.h: groups an experiment's trials by cost, before the core is asked about the fleet and
// the queue (planning.h).
//
// Role:    pure; runs where PrepareSubmission runs, beside the core.
// Errors:  in the value: the reasons for which a submission is refused.
// Tests:   tests/coordinator/core/planning_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/device.h"
#include "common/may_go_on.h"
#include "coordinator/core/model/shape.h"
#include "dtrain/v1/control.pb.h"
#include "dtrain/v1/model.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

// Trials with equal cost.
struct PlannedKind {
  v1::Spec spec;  // resolved, of the first
  uint32_t first = 0;
  uint32_t trials = 0;
  std::vector<v1::Assignment> assignments;  // of the first
  Shape shape;                              // of the first
};
struct PlanDraft {
  absl::Status refused;  // unless OK, the rest is empty
  v1::ExperimentSpec spec;
  uint32_t trials = 0;
  std::vector<PlannedKind> kinds;
  bool drawn = false;  // trials are proposed later: `kinds` are uniform draws in their place
};

// Prepares the draft. `request` is as for a submission. If it may not go on, the draft is refused.
PlanDraft PreparePlan(v1::SubmitRequest request, DeviceKind for_auto, uint64_t entropy,
                      const MayGoOn& may_go_on = {});

}  // namespace dt
