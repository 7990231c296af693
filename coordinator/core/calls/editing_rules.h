// editing_rules.h: which changes of a submitted experiment may be made, and which are made already.
//
// Role:      pure; editing.h makes them.
// Errors:    InvalidArgument for a value out of its range; FailedPrecondition where the experiment
//            is not one that can be changed so. Each names the experiment and what to do instead.
// Tests:     tests/coordinator/core/editing_more_test.cc
#pragma once

#include <string>

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Its name, note, labels or place in lists: also of one that has ended.
bool ChangesWords(const v1::ChangeRequest& request);
absl::Status CheckWords(const Experiment& experiment, const v1::ChangeRequest& request);
bool HasSuchWords(const Experiment& experiment, const v1::ChangeRequest& request);
// Its priority or max_gpus_total, if the request has one.
absl::Status CheckResources(const Experiment& experiment, const v1::ChangeRequest& request);
// Or its max_steps.
bool HasSuchResources(const Experiment& experiment, const v1::ChangeRequest& request);
absl::Status CheckMaxSteps(const Experiment& experiment, int64_t max_steps);
// "experiment is extended to 200 steps".
std::string ExtendedText(const Experiment& experiment);

}  // namespace dt
