// join.h: gets the lasting token of an invited worker.
//
// Role:      makes the token here, writes it to disk, then has the coordinator take its hash in
//            exchange for the join token, which is used up by that. A worker that is killed at any
//            moment, or whose answer is lost, does the same again: the draft is on disk, and the
//            coordinator accepts the same hash again.
// Threads:   the main thread, before the shell starts. Workers that share one token file wait for
//            each other, by a lock beside it; the first joins for all.
// Errors:    InvalidArgument naming the flag and the file; the coordinator's refusals, in its own
//            words; Cancelled when asked to stop.
// Invariant: the token file is complete or absent, and only its user may read it.
// Tests:     tests/worker/shell/join_test.cc, tests/e2e/access_test.cc
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/security/credentials.h"

namespace dt {

struct JoinOptions {
  std::vector<std::string> coordinators;  // one of which leads; not empty
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::string join_token_file;
  std::string token_file;  // where the lasting one is stored
  std::string worker;      // its name
};

// Does nothing if the token file holds a token. Tries again as long as no coordinator answers and
// `pause` returns true.
absl::Status JoinFleet(const JoinOptions& options,
                       const std::function<bool(absl::Duration)>& pause);

}  // namespace dt
