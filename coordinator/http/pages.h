// pages.h: the coordinator's HTTP paths beside /api/v1: /metrics, /healthz, /readyz, and the page,
// whose files are part of the program.
//
// Role:    maps paths to answers; no sockets.
// Threads: any; the data it reads is thread-safe.
// Tests:   tests/coordinator/http/pages_test.cc
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "coordinator/http/http_server.h"
#include "coordinator/http/metrics.h"

namespace dt {

// `health` returns whether the core loop is alive.
HttpAnswer AnswerPage(std::string_view path, const Metrics& metrics,
                      const std::function<absl::Status()>& health);

}  // namespace dt
