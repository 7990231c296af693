// select.h: which experiment or trial a request means.
//
// Errors: NotFound names what is missing.
// Tests:  tests/coordinator/core/queries_test.cc
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/core/model/durable.h"

namespace dt {

// The experiment that a request means. Errors: NotFound.
absl::StatusOr<ExperimentId> ResolveExperiment(const DurableState& state, ExperimentId id,
                                               bool last);
// Errors: NotFound. Trial 0 is all of them. REQUIRES: the experiment is known.
absl::Status CheckTrial(const DurableState& durable, TrialId id);

}  // namespace dt
