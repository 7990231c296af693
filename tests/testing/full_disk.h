// full_disk.h: writes fail behind a size, as on a disk that is full.
//
// Ownership: the process's limit of a file's size, which it gives back.
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

  // No file may be larger.
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
