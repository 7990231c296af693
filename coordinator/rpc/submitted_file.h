// submitted_file.h: a submission that brings an experiment file as text, read as dtctl reads it.
//
// Role:    pure. Clients without a reader of their own (python/) send the text; dtctl sends the
//          specification that it read.
// Threads: any; called on work_pool.h's, so that neither the core nor a stream waits for a file.
// Errors:  InvalidArgument where file_name, file_text or overrides are over their limits;
//          DeadlineExceeded where it may not go on. What is wrong with the file itself is data:
//          diagnostics.
// Tests:   tests/coordinator/rpc/submitted_file_test.cc
#pragma once

#include "absl/status/statusor.h"
#include "common/may_go_on.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

// Whether `request` leaves reading to the coordinator: it has a text, and no specification or one
// that says of the code alone what it was packed to.
bool BringsFileAlone(const v1::SubmitRequest& request);

// Reads the file with its overrides, and puts the specification and the text with the overrides
// written in into `request`, as dtctl would have sent it; with the code that came along, where the
// file names a folder. Returns an answer that holds what is to
// be said of the file; where that is an error, `request` gets no specification.
// REQUIRES: BringsFileAlone(request).
absl::StatusOr<v1::SubmitResponse> ReadSubmittedFile(v1::SubmitRequest& request,
                                                     const MayGoOn& may_go_on = {});

}  // namespace dt
