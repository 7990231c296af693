// call.h: a request to /api/v1 as a value: the call, its subject and its options.
//
// Role:   pure; the one table of the calls; docs/reference/api.md must match it.
// Errors: NotFound for a path that is no call; InvalidArgument for an option or a value that the
//         call does not take. Each names the thing, the value, the limit and the fix.
// Tests:  tests/coordinator/api/call_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/http/http_server.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

enum class ApiMethod {
  kStatus,
  kExperiments,
  kExperiment,
  kTrials,
  kTrial,
  kTrialFile,
  kCurves,
  kEvaluations,
  kLogs,
  kCheckpoints,
  kImportance,
  kReport,
  kWorkers,
  kQueue,
  kNotices,
  kQuotas,
  kAccess,
  // Acts: POST, with a body of their own (acts.h).
  kPause,
  kResume,
  kChange,
  kCancel,
  kCancelTrial,
  kRetry,
  kRetryTrial,
  kMarkWorker,
  kSetQuota,
};

struct ApiCall {
  ApiMethod method = ApiMethod::kStatus;
  uint64_t experiment = 0;
  bool last = false;  // the newest experiment; `experiment` is 0
  uint32_t trial = 0;
  // Options keep these defaults if the call does not take them.
  std::string page_token;
  int32_t page_size = 0;  // 0: the default
  std::vector<v1::Label> labels;
  bool archived = false;
  std::vector<v1::TrialState> states;
  std::vector<uint32_t> trials;  // sorted, without duplicates
  std::vector<std::string> metrics;
  size_t points = 0;
  int32_t rank = -1;  // -1: all
  size_t tail = 0;
  int64_t since_wall_ms = 0;
  std::string grep;
  std::string format = "html";  // of a report: html, md or csv
};

struct ApiRoute {
  ApiMethod method;
  const char* path;                  // "/api/v1/experiments/{experiment}"
  std::vector<const char*> options;  // names; for an act, the fields of its body
  HttpMethod http = HttpMethod::kGet;
};
const std::vector<ApiRoute>& ApiRoutes();
const ApiRoute& RouteOf(ApiMethod method);

// `path` and `query` are as sent.
absl::StatusOr<ApiCall> ReadApiCall(std::string_view path, std::string_view query,
                                    HttpMethod http = HttpMethod::kGet);

}  // namespace dt
