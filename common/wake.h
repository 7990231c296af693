// wake.h: a descriptor with which one thread wakes another that polls.
//
// Threads: thread-safe.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "common/check.h"
#include "common/unique_fd.h"

namespace dt {

class Wake {
 public:
  Wake() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { DT_CHECK(event_.valid()); }

  // Readable between Signal and Clear.
  int fd() const { return event_.get(); }
  void Signal() const {
    const uint64_t one = 1;
    // A full counter wakes as well.
    [[maybe_unused]] const ssize_t put = write(event_.get(), &one, sizeof(one));
  }
  // Returns whether it was signalled since the last call.
  bool Clear() const {
    uint64_t count = 0;
    return read(event_.get(), &count, sizeof(count)) == sizeof(count);
  }

 private:
  UniqueFd event_;
};

}  // namespace dt
