// oom.h: what the kernel says of processes that it killed for want of memory.
//
// Role: reads two files of the system; no state.
#pragma once

#include <cstdint>

namespace dt {

// How many processes of this one's memory group (cgroup v2) the kernel has killed so far; 0 where
// nobody counts. Two readings that differ say that one was killed in between.
uint64_t OomKills();

}  // namespace dt
