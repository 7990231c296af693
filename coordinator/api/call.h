// call.h: a request to /api/v1 as a value: the call, its subject and its options.
//
// Role:   pure. The table of the calls is in api.cc, with the functions that answer them.
// Errors: NotFound for a path that is no call; InvalidArgument for an option or a value that the
//         call does not take. Each names the thing, the value, the limit and the fix.
// Tests:  tests/coordinator/api/call_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "api/json.h"
#include "common/api_limits.h"
#include "coordinator/http/http_server.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

class Api;
struct ApiTask;
struct ApiRoute;

struct ApiCall {
  const ApiRoute* route = nullptr;  // the row of the table that the path belongs to
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

// A POST: a call of dtctl's, whose request is filled from the path and the body (acts.h).
struct ApiAct {
  // The request with the values of fields that a body may leave out. Its type names the rpc.
  std::shared_ptr<const google::protobuf::Message> request;
  const char* kind = "";  // kind of its answer, as in dtctl
  // Makes its answer, as in dtctl.
  api::Json (*fields)(const google::protobuf::Message& answer) = api::ToJson;
  // Checks rules over several fields of the body; may be nullptr.
  absl::Status (*check)(const api::Json& body) = nullptr;
};

// A row of the one table of the calls (api.cc).
struct ApiRoute {
  using Answer = std::function<void(Api&, const std::shared_ptr<const ApiTask>&)>;

  const char* path;                  // "/api/v1/experiments/{experiment}"
  std::vector<const char*> options;  // names; for an act, the fields of its body
  Answer answer = {};                // of a GET; the gate answers where there is none
  // Time for which an answer is given out again.
  absl::Duration fresh = limits::kApiFresh;
  absl::Status (*check)(ApiCall& call) = nullptr;  // rules over several options; may be nullptr
  ApiAct act = {};                                 // of a POST
  HttpMethod http = HttpMethod::kGet;
};

// Reads a call of one of the routes. `path` and `query` are as sent.
absl::StatusOr<ApiCall> ReadCallOf(const std::vector<ApiRoute>& routes, std::string_view path,
                                   std::string_view query, HttpMethod http);
// Checks the options of curves, and sets the metric of a call that names none.
absl::Status CheckCurves(ApiCall& call);

}  // namespace dt
