// reports.h: workers' streams: who speaks, and what it holds.
//
// Errors: what a stream may not say ends it.
// Tests:  tests/coordinator/core/reports_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

void TakeReport(Turn& turn, ReportReceived& received);
void TakeStreamClosed(Turn& turn, StreamId stream);

}  // namespace dt
