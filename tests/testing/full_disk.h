// full_disk.h: makes writes fail beyond a size, as on a full disk.
//
// Ownership: the process's limit of file sizes; the destructor restores it.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <cstdint>

#include "gtest/gtest.h"

namespace dt::testing {

class FullDisk {
 public:
  FullDisk() : handler_(signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
  }
  ~FullDisk() {
    AllowAll();
    signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  // Lets no file grow larger than `bytes`.
  void Allow(uint64_t bytes) const {
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  void AllowAll() const { EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0); }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace dt::testing
