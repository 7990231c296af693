// submission.h: prepares a submitted experiment before the core sees it.
//
// Role:    pure; runs on its own threads (rpc/work_pool.h). Checking, expanding and resolving
//          10,000 trials takes far longer than the core, or a thread that serves streams, has for
//          an event. The core gives the experiment its number.
// Errors:  in the value: the core may know the request, and then answers as before.
//          DeadlineExceeded if it may not go on.
// Tests:   tests/coordinator/core/calls_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/may_go_on.h"
#include "coordinator/core/model/placement.h"
#include "dtrain/v1/control.pb.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

struct Submission {
  bool dry_run = false;
  bool was_auto = false;  // the file left the device open
  absl::Status refused;   // unless OK, the rest holds only the request's id and digest
  v1::Record record;      // ExperimentSubmitted without its number
  std::vector<v1::ExpandedTrial> shown;  // on a dry run, with their values
};

// Prepares the request. `for_auto` replaces the device `auto` for good. A seed that the file leaves
// open derives from `entropy`.
Submission PrepareSubmission(v1::SubmitRequest request, DeviceKind for_auto, uint64_t entropy,
                             const MayGoOn& may_go_on = {});

}  // namespace dt
