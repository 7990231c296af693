// lives.h: the instances that a slot's worker had before, of which it is certain that they have
// ended.
//
// Role:      a worker that was killed and is started again says so, and the coordinator need not
//            wait for a lease. The proof is a lock that each life holds to its end and the kernel
//            frees.
// Layout:    PATH.lock   held by the living worker
//            PATH        instances of those that held it, one a line, the newest last
// Threads:   one.
// Errors:    none leave: what cannot be read or written is no proof, and the lease decides.
// Bounds:    limits::kEndedInstances.
// Tests:     tests/worker/shell/lives_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace dt {

class Lives {
 public:
  // `path`: in a folder of this user's alone.
  Lives(std::string path, uint64_t instance);

  // Returns the instances that have ended. None while another process has the lock: the life before
  // may need a moment, so ask before each connection.
  const std::vector<uint64_t>& Ended();

 private:
  void Begin();

  const std::string path_;
  const uint64_t instance_;
  UniqueFd lock_;
  std::vector<uint64_t> ended_;
};

}  // namespace dt
