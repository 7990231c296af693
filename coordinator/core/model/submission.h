// submission.h: an experiment as it is submitted, made ready before the core sees it.
//
// Role:    pure; runs on threads of its own (rpc/work_pool.h): checking, expanding and resolving
//          10,000 trials takes many times what the core has for an event, or a thread has that
//          serves streams. The core gives it its number.
// Errors:  in the value: the core may know the request, and then answers as it did before.
//          DeadlineExceeded where it may not go on.
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
  absl::Status refused;   // unless OK, the rest holds the request's id and digest alone
  v1::Record record;      // an ExperimentSubmitted without its number
  std::vector<v1::ExpandedTrial> shown;  // on a dry run, with their values
};

// `for_auto` is what the device `auto` becomes, once and for all; a seed that is left to chance
// derives from `entropy`.
Submission PrepareSubmission(v1::SubmitRequest request, DeviceKind for_auto, uint64_t entropy,
                             const MayGoOn& may_go_on = {});

}  // namespace dt
