// pages.h: what the coordinator serves over HTTP beside /api/v1: /metrics, /healthz, /readyz, and
// the page, whose files are part of the program.
//
// Role:    paths to answers; no sockets.
// Threads: any; what they read is.
// Tests:   tests/coordinator/http/pages_test.cc
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "coordinator/http/http_server.h"
#include "coordinator/http/metrics.h"

namespace dt {

// `health` says whether the core loop is alive.
HttpAnswer AnswerPage(std::string_view path, const Metrics& metrics,
                      const std::function<absl::Status()>& health);

}  // namespace dt
