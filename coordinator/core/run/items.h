// items.h: what happened on a worker, taken once each and in order.
//
// Tests: tests/coordinator/core/reports_test.cc
#pragma once

#include "coordinator/core/model/turn.h"

namespace dt {

// The items of a checked report that are new, in order; acknowledges them.
void TakeItems(Turn& turn, Worker& worker, ReportReceived& received);

}  // namespace dt
