// lives.h: the earlier instances of a slot's worker that have certainly ended.
//
// Role:      a worker that was killed and restarted reports this, so the coordinator need not wait
//            for a lease. The proof is a lock that each life holds to its end and the kernel frees.
// Layout:    PATH.lock   held by the living worker PATH        instances of those that held it, one
//            a line, the newest last
// Threads:   one.
// Errors:    none: a file that cannot be read or written is no proof, and the lease decides.
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
  // `path`: in a folder that only this user can access.
  Lives(std::string path, uint64_t instance);

  // Returns the instances that have ended. Empty while another process has the lock: the last life
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
