// items.h: takes the items of a worker, each once and in order.
//
// Tests: tests/coordinator/core/reports_test.cc
#pragma once

#include "coordinator/core/model/turn.h"
#include "coordinator/core/run/searching.h"

namespace dt {

// Takes the new items of a checked report, in order, and acknowledges them.
void TakeItems(Turn& turn, Worker& worker, ReportReceived& received);

// Takes one item of a client, which numbers none and gets its acknowledgement as the answer to its
// call.
void TakeClientItem(Turn& turn, Worker& client, v1::Item& item, Last last);

}  // namespace dt
