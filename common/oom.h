// oom.h: counts the processes that the kernel killed for lack of memory.
//
// Role: reads two files of the system; keeps no state.
#pragma once

#include <cstdint>

namespace dt {

// Returns how many processes of this one's memory group (cgroup v2) the kernel has killed so far; 0
// where the kernel does not count. If two readings differ, one was killed in between.
uint64_t OomKills();

}  // namespace dt
