// join.h: how a worker that was invited gets its lasting token.
//
// Role:      makes the token here, on disk before anybody hears of it, and has the coordinator take
//            its hash for the joiner's token, which is used up by that. What is killed, or whose
//            answer is lost, at any moment does the same again: the draft is there, and the
//            coordinator answers the same hash as before.
// Threads:   the main thread, before the shell starts. Workers that share one token file wait for
//            each other, by a lock beside it; the first joins for all.
// Errors:    InvalidArgument naming the flag and the file; what the coordinator refuses, in its own
//            words; Cancelled when told to stop.
// Invariant: the token file is whole or not there, and its user alone may read it.
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
  std::string token_file;  // where the lasting one goes
  std::string worker;      // its name
};

// Nothing to do where the token file holds a token. Tries again for as long as nobody answers and
// `pause` returns true.
absl::Status JoinFleet(const JoinOptions& options,
                       const std::function<bool(absl::Duration)>& pause);

}  // namespace dt
