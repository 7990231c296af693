// submitted_file.h: reads a submission that brings an experiment file as text, as dtctl reads it.
//
// Role:    pure. Clients without a reader of their own (python/) send the text; dtctl sends the
//          specification that it read.
// Threads: any; called on work_pool.h's threads, so that neither the core nor a stream waits for a
//          file.
// Errors:  InvalidArgument if file_name, file_text or overrides exceed their limits;
//          DeadlineExceeded if it may not go on. Errors in the file itself are data: diagnostics.
// Tests:   tests/coordinator/rpc/submitted_file_test.cc
#pragma once

#include "absl/status/statusor.h"
#include "common/may_go_on.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

// Returns whether `request` leaves reading to the coordinator: it has a text, and no specification
// or one that only names the packed code.
bool BringsFileAlone(const v1::SubmitRequest& request);

// Reads the file with its overrides. Writes the specification, and the text with the overrides
// applied, into `request`, as dtctl would have sent it. Adds the code that was sent if the file
// names a folder. Returns an answer with the diagnostics; if one is an error, `request` gets no
// specification.
// REQUIRES: BringsFileAlone(request).
absl::StatusOr<v1::SubmitResponse> ReadSubmittedFile(v1::SubmitRequest& request,
                                                     const MayGoOn& may_go_on = {});

}  // namespace dt
