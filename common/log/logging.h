// logging.h: how dtcoord and dtworker write their logs: text for a person at a terminal, lines with
// a priority for journald, JSON otherwise. Room dt_log.
//
// Tests: tests/common/log/logging_test.cc, tests/coordinator/dtcoord_test.cc,
// tests/worker/dtworker_test.cc
#pragma once

namespace dt {

// Sets spdlog's default logger, which writes to stderr. Call once, before other threads start.
void SetUpLogging();
// Returns when everything logged so far is written, or after two seconds if nobody reads stderr.
// Lines that any thread logs afterwards are dropped. Any thread may call it, more than once.
void FinishLogging();

}  // namespace dt
