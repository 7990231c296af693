// report_check.h: checks a worker's report before the core sees it.
//
// Role:    pure; runs on RPC threads, so that the core never parses rows.
// Errors:  InvalidArgument names the item, the value and the limit. The cause is a bug in the
//          worker, or another program on the port.
// Tests:   tests/coordinator/rpc/report_check_test.cc
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/core/model/event.h"

namespace dt {

enum class ReportPlace { kFirstOfStream, kLater };

// Returns the totals of the items with rows, in the order of the items.
absl::StatusOr<std::vector<RowTotals>> CheckReport(const v1::WorkerReport& report,
                                                   ReportPlace place);

}  // namespace dt
