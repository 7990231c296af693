// workers.h: the table of workers: name, stream, lease and slot of each.
//
// Tests: tests/coordinator/core/reports_test.cc
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/core/model/turn.h"

namespace dt {

// Returns the worker of this stream's first report, or nullptr if the stream was refused and ended.
Worker* Join(Turn& turn, ReportReceived& received);
// Adds a worker for a new name. Returns nullptr if the table is full.
Worker* AddWorker(LiveState& live, const std::string& name);
// Ends the worker's stream, if it has one. Its lease goes on.
void EndStream(Turn& turn, Worker& worker, absl::Status status);
// Notes that the lease ran out or the worker left: its slot leaves the pool, its rank is lost.
void LoseWorker(Turn& turn, Worker& worker, const std::string& known = {});
// Returns whether the worker stopped as ordered: it reported that nothing is left, and closed its
// stream. Its name is then free at once. If only the connection broke, it keeps its lease.
bool HasLeft(const Worker& worker);

}  // namespace dt
