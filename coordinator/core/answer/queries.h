// queries.h: answers about the state, for client calls.
//
// Role:   pure; changes nothing. Page tokens hold the key by which the list is ordered.
// Errors: InvalidArgument for a page token that no answer gave; NotFound names the missing thing.
// Tests:  tests/coordinator/core/queries_test.cc
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/model/state.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

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
