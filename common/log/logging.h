// logging.h: how dtcoord and dtworker write their logs: text for a person at a terminal, lines with
// a priority for journald, JSON otherwise. Room dt_log.
//
// Tests: tests/common/log/logging_test.cc, tests/coordinator/dtcoord_test.cc,
// tests/worker/dtworker_test.cc
#pragma once

namespace dt {

// Sets spdlog's default logger, which writes to stderr. Call once, before other threads start.
void SetUpLogging();
// Returns when all that was logged is written, or two seconds later where nobody reads stderr. What
// any thread logs afterwards is dropped. Any thread may call it, and again.
void FinishLogging();

}  // namespace dt
