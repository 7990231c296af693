// workers.h: the table of workers: who goes by a name, its stream, its lease, its slot.
//
// Tests: tests/coordinator/core/reports_test.cc
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// The worker that this stream's first report introduces, or nullptr: the stream has been ended.
Worker* Join(Turn& turn, ReportReceived& received);
// Ends the worker's stream, if it has one; its lease goes on.
void EndStream(Turn& turn, Worker& worker, absl::Status status);
// Its lease ran out, or it left: the slot leaves the pool, its rank is lost.
void LoseWorker(Turn& turn, Worker& worker, const std::string& known = {});
// It was told to stop, said that it has nothing left, and closed its stream: its name is free
// without a lease's wait. Where only the connection broke, it comes back as what it was.
bool HasLeft(const Worker& worker);

}  // namespace dt
