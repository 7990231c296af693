// editing_rules.h: checks whether a submitted experiment may be changed so, or is so already.
//
// Role:      pure; editing.h makes them.
// Errors:    InvalidArgument for a value out of its range; FailedPrecondition if the experiment
//            cannot be changed so. Each names the experiment and the alternative.
// Tests:     tests/coordinator/core/editing_more_test.cc
#pragma once

#include <string>

#include "absl/status/status.h"
#include "coordinator/core/model/durable.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Returns whether the request changes the name, note, labels or place in lists, which is also
// allowed after the end.
bool ChangesWords(const v1::ChangeRequest& request);
absl::Status CheckWords(const Experiment& experiment, const v1::ChangeRequest& request);
bool HasSuchWords(const Experiment& experiment, const v1::ChangeRequest& request);
// Checks the priority or max_gpus_total, if the request has one.
absl::Status CheckResources(const Experiment& experiment, const v1::ChangeRequest& request);
// Returns whether the experiment has these resources, or this max_steps, already.
bool HasSuchResources(const Experiment& experiment, const v1::ChangeRequest& request);
absl::Status CheckMaxSteps(const Experiment& experiment, int64_t max_steps);
// Returns "experiment is extended to 200 steps".
std::string ExtendedText(const Experiment& experiment);

}  // namespace dt
