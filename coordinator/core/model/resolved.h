// resolved.h: what trials resolve to, as facts.
//
// Role:      pure. A submission keeps each trial's resolved specification, the first whole and the
//            others by what differs, so that a later version with other defaults or rules trains
//            what was taken. Fields that only the later version has get its values.
// Errors:    InvalidArgument where a trial of version 0.1, which kept nothing, does not resolve any
//            more, or where a field that was kept is no more.
// Tests:     tests/coordinator/core/resolved_test.cc
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/core/model/durable.h"

namespace dt {

// Fills `resolved` of the fact and of its trials. REQUIRES: its specification was validated.
absl::Status KeepResolved(v1::ExperimentSubmitted& fact);
// The same for trials that an experiment gains.
absl::Status KeepResolved(const Experiment& experiment, v1::TrialsAdded& fact);
// And for other values of one that it has.
absl::Status KeepResolved(const Experiment& experiment, v1::ExpandedTrial& trial);

absl::StatusOr<v1::Spec> ResolvedOf(const Experiment& experiment, const Trial& trial);
// The same as the gang of its newest attempt trains it: with its size for resources.gpus, which
// changes neither the global batch nor the order of data. REQUIRES: it has one.
absl::StatusOr<v1::Spec> ResolvedForGang(const Experiment& experiment, const Trial& trial);

}  // namespace dt
