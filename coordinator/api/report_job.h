// report_job.h: makes the report of an experiment, or the analysis of its parameters.
//
// Role:    asks the core for the experiment in bounded pieces, and reads its rows. report/ makes
//          the pages.
// Threads: `then` runs on the thread that gets the last answer, and must only hand over.
//          AnswerReportJob runs on a reader's thread.
// Errors:  those of the core. InvalidArgument, naming dtctl's command, where the experiment is too
//          large for an answer over HTTP.
// Tests:   tests/coordinator/api/report_job_test.cc
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/api/call.h"
#include "coordinator/core/model/event.h"
#include "coordinator/http/http_server.h"
#include "coordinator/rpc/pending_calls.h"
#include "coordinator/store/store.h"
#include "report/analysis/collect.h"

namespace dt {

// Posts a call to the core; the continuation runs exactly once, on any thread.
using AskCore = std::function<void(ClientCall, Continuation)>;

using ExperimentPtr = std::shared_ptr<report::Experiment>;
using ExperimentThen = std::function<void(absl::StatusOr<ExperimentPtr>)>;

enum class ReportJob { kReport, kImportance };

// Gathers the experiment that the call names, with its trials; for a report also their attempts.
void GatherExperiment(const AskCore& ask, const ApiCall& call, ReportJob job, ExperimentThen then);

// Returns the report, or the importance of the parameters. Reads the rows with `reader`.
HttpAnswer AnswerReportJob(StoreReader& reader, const ApiCall& call, ReportJob job,
                           report::Experiment& experiment);

}  // namespace dt
