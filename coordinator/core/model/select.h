// select.h: finds the experiment or trial that a request means.
//
// Errors: NotFound names the missing thing.
// Tests:  tests/coordinator/core/queries_test.cc
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/core/model/durable.h"

namespace dt {

// Returns the experiment that a request means. Errors: NotFound.
absl::StatusOr<ExperimentId> ResolveExperiment(const DurableState& state, ExperimentId id,
                                               bool last);
// Checks that the trial exists; trial 0 means all trials. Errors: NotFound. REQUIRES: the
// experiment exists.
absl::Status CheckTrial(const DurableState& durable, TrialId id);

}  // namespace dt
