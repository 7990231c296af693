// queries.h: answers about the state, for client calls and for the metrics snapshot.
//
// Role:   pure; changes nothing. Lists are paged by what they are ordered by.
// Errors: InvalidArgument for a page token that no answer gave; NotFound names what is missing.
// Tests:  tests/coordinator/queries_test.cc
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/state.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

v1::ExperimentSummary Summarize(const State& state, const Experiment& experiment);
// REQUIRES: the trial exists. `now` is steady time, as everywhere here.
v1::TrialSummary Summarize(const State& state, TrialId id, absl::Duration now);
v1::WorkerSummary Summarize(const Worker& worker, absl::Duration now);

// A trial's value of search.metric: the loss of its newest row, or its best validation loss by
// search.goal. NaN: none yet.
double MetricOf(const State& state, const Experiment& experiment, uint32_t trial);
// The step that still counts.
uint64_t ValidStep(const State& state, TrialId id);
// Until the trial ends, at its present pace; negative: unknown.
double EtaSeconds(const State& state, TrialId id);

absl::StatusOr<v1::ListExperimentsResponse> Query(const State& state,
                                                  const v1::ListExperimentsRequest& request,
                                                  absl::Duration now);
absl::StatusOr<v1::GetExperimentResponse> Query(const State& state,
                                                const v1::GetExperimentRequest& request,
                                                absl::Duration now);
absl::StatusOr<v1::ListTrialsResponse> Query(const State& state,
                                             const v1::ListTrialsRequest& request,
                                             absl::Duration now);
absl::StatusOr<v1::ListWorkersResponse> Query(const State& state,
                                              const v1::ListWorkersRequest& request,
                                              absl::Duration now);
absl::StatusOr<v1::ListCheckpointsResponse> Query(const State& state,
                                                  const v1::ListCheckpointsRequest& request,
                                                  absl::Duration now);
absl::StatusOr<v1::ExplainTrialResponse> Query(const State& state,
                                               const v1::ExplainTrialRequest& request,
                                               absl::Duration now);
absl::StatusOr<v1::GetStatusResponse> Query(const State& state, const v1::GetStatusRequest& request,
                                            absl::Duration now);

}  // namespace dt
