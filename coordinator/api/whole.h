// whole.h: all of an experiment that its report, or the analysis of its parameters, is made of.
//
// Role:    asks the core for it in bounded pieces, and reads its rows; what they come to is
//          cli/report's.
// Threads: `then` runs on whichever thread has the last answer, and only hands over. ReadWhole on a
//          reader's.
// Errors:  those of the core; InvalidArgument, naming the command of dtctl's, where it is too much
//          for an answer over HTTP.
// Tests:   tests/coordinator/api/whole_test.cc
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/report/collect.h"
#include "coordinator/api/call.h"
#include "coordinator/core/model/event.h"
#include "coordinator/http/http_server.h"
#include "coordinator/rpc/pending_calls.h"
#include "coordinator/store/store.h"

namespace dt {

// Posts a call to the core; the continuation runs exactly once, on any thread.
using AskCore = std::function<void(ClientCall, Continuation)>;

using WholePtr = std::shared_ptr<cli::report::Experiment>;
using WholeThen = std::function<void(absl::StatusOr<WholePtr>)>;

// The experiment that the call names with its trials; for a report with their attempts as well.
void GatherWhole(const AskCore& ask, const ApiCall& call, WholeThen then);

// Which parameters mattered (kImportance), or the report (kReport), with what the reader has.
HttpAnswer AnswerOfWhole(Reader& reader, const ApiCall& call, cli::report::Experiment& whole);

}  // namespace dt
