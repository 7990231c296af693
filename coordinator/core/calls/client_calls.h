// client_calls.h: the calls of clients that run trials themselves: ask, suggest, report, tell.
//
// A call names its asker (a random number for each trial that a client runs at once) and, but for
// the first, the attempt's token. A repeated call changes nothing and has the same answer.
//
// Errors: FailedPrecondition if trials of the experiment run on workers, or if a parameter has
//         other values already; NotFound for an unknown experiment or token; InvalidArgument for
//         values out of their range. The end of a trial is no error: the answer asks to stop.
// Tests:  tests/coordinator/core/client_trials_test.cc
#pragma once

#include "absl/status/statusor.h"
#include "coordinator/core/model/turn.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

absl::StatusOr<v1::AskTrialResponse> AskTrial(Turn& turn, const v1::AskTrialRequest& request);
absl::StatusOr<v1::SuggestValueResponse> SuggestValue(Turn& turn,
                                                      const v1::SuggestValueRequest& request);
absl::StatusOr<v1::ReportTrialResponse> ReportTrial(Turn& turn,
                                                    const v1::ReportTrialRequest& request);
absl::StatusOr<v1::TellTrialResponse> TellTrial(Turn& turn, const v1::TellTrialRequest& request);

}  // namespace dt
