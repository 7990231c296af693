// descendants.h: finds and ends the processes that this one's children left behind.
//
// Role:    a daemon leaves the process group and the session of its starter. Where this process
//          adopts orphans, the daemon becomes its child once its parent has died, so no process
//          that began below is out of reach.
// Threads: one, which must not wait for a child elsewhere meanwhile.
// Bounds:  EndDescendants returns at its deadline, even if processes are left.
// Source:  prctl(2), PR_SET_CHILD_SUBREAPER; proc(5).
// Tests:   tests/common/descendants_test.cc
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace dt {

// Makes this process adopt orphans below it; from now on it has to reap them.
void AdoptOrphans();
// Returns every living process below this one: children, their children, and so on.
std::vector<pid_t> Descendants();
// Returns the parent of a process; nullopt once that has ended.
std::optional<pid_t> ParentOf(pid_t pid);
// Sends SIGKILL to every descendant and reaps its children, until none is left. Returns how many it
// had to kill. No other thread may wait for a child of this process meanwhile.
int EndDescendants(absl::Duration patience);

}  // namespace dt
