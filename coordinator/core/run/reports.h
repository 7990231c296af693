// reports.h: takes the reports on workers' streams: the sender, and the attempts that it holds.
//
// Errors: an illegal report ends its stream.
// Tests:  tests/coordinator/core/reports_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

void TakeReport(Turn& turn, ReportReceived& received);
void TakeStreamClosed(Turn& turn, StreamId stream);

}  // namespace dt
