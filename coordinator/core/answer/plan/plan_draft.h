// plan_draft.h: an experiment's trials, put together by what they cost, before the core is asked
// what it knows of a fleet and a queue for them (planning.h).
//
// Role:    pure; runs where PrepareSubmission does, beside the core.
// Errors:  in the value: what a submission is refused for.
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

// Trials that differ in nothing that costs.
struct PlannedKind {
  v1::Spec spec;  // resolved, of the first of them
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
  bool drawn = false;  // its trials are proposed later: `kinds` are uniform draws in their place
};

// `request`: as the experiment would be submitted. Where it may not go on, the draft is refused.
PlanDraft PreparePlan(v1::SubmitRequest request, DeviceKind for_auto, uint64_t entropy,
                      const MayGoOn& may_go_on = {});

}  // namespace dt
