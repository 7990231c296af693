// resolved.h: the resolved specifications of trials, as facts.
//
// Role:      pure. A submission stores the resolved specification of each trial: the first one
//            complete, the others by their differences. So a later version with other defaults or
//            rules trains the same. Fields that only the later version has get its values.
// Errors:    InvalidArgument if a trial of version 0.1, which stored nothing, does not resolve any
//            more, or if a stored field does not exist any more.
// Tests:     tests/coordinator/core/resolved_test.cc
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/core/model/durable.h"

namespace dt {

// Fills `resolved` of the fact and of its trials. REQUIRES: its specification was validated.
absl::Status KeepResolved(v1::ExperimentSubmitted& fact);
// Fills `resolved` for trials that an experiment gains.
absl::Status KeepResolved(const Experiment& experiment, v1::TrialsAdded& fact);
// Fills `resolved` for new values of a trial that exists.
absl::Status KeepResolved(const Experiment& experiment, v1::ExpandedTrial& trial);

absl::StatusOr<v1::Spec> ResolvedOf(const Experiment& experiment, const Trial& trial);
// Returns the specification as the gang of the newest attempt trains it: with the gang's size as
// resources.gpus, which changes neither the global batch nor the order of data. REQUIRES: the trial
// has an attempt.
absl::StatusOr<v1::Spec> ResolvedForGang(const Experiment& experiment, const Trial& trial);

}  // namespace dt
