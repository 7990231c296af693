// answers.h: turns answers of the core and the reader into the JSON of /api/v1.
//
// Role:  pure.
// Rules: as in `dtctl -o json` (api/json.h). A page of a list has next_page_token, null at the end.
//        An error is {"apiVersion", "kind": "Error", "code", "message"} with dtctl's message.
// Tests: tests/coordinator/api/api_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/json.h"
#include "coordinator/api/call.h"
#include "coordinator/api/curve_keeper.h"
#include "coordinator/api/log_lines.h"
#include "coordinator/http/http_server.h"
#include "report/words/hang.h"

namespace dt {

HttpAnswer JsonAnswer(const api::Json& json);
HttpAnswer ErrorAnswer(const absl::Status& status);

api::Json StatusJson(const v1::GetStatusResponse& status);
api::Json ExperimentsJson(const v1::ListExperimentsResponse& page);
// Includes the steps of its rungs, if it has rungs.
api::Json ExperimentDocument(const v1::GetExperimentResponse& found);
api::Json TrialsJson(const v1::ListTrialsResponse& page);
api::Json CheckpointsJson(const v1::ListCheckpointsResponse& page);
api::Json WorkersJson(const v1::ListWorkersResponse& page);
api::Json QuotasJson(const v1::ListQuotasResponse& all);
// Includes how long the pipeline's stages waited, and the formula's value; null without a pipeline.
// `hung`: the ranks of its newest ended attempt, if that hung.
api::Json TrialDocument(const v1::ExplainTrialResponse& found, const v1::ExperimentSpec& file,
                        const std::vector<report::HungRank>& hung);
absl::StatusOr<api::Json> TrialFileJson(const v1::GetExperimentResponse& found,
                                        const v1::TrialSummary& trial);
// Returns `curves` in the order of call.trials; numbers have seven digits.
api::Json CurvesJson(ExperimentId experiment, const ApiCall& call,
                     const std::vector<TrialCurves>& curves);
api::Json LogsJson(const LogLines& logs);
api::Json EvaluationsJson(const std::vector<v1::EvaluationRow>& rows);
// Counts of notices since the start, and the receivers that fail now.
struct NoticeFacts {
  uint64_t waiting = 0;
  uint64_t delivered = 0;
  uint64_t failed = 0;
  uint64_t dropped = 0;
  std::vector<std::pair<std::string, std::string>> failing = {};  // receiver, why
};
api::Json NoticesJson(const NoticeFacts& notices);
// Returns the waiting trials, the highest priority first.
api::Json QueueJson(const std::vector<v1::ExperimentSummary>& experiments,
                    const std::vector<v1::TrialSummary>& waiting);

}  // namespace dt
