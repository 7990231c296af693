// descendants.h: the processes that this one's children left behind, found and ended.
//
// Role:    a daemon leaves the process group and the session of what started it. Where this
//          process adopts orphans, the daemon becomes its child once its parent has died, so that
//          nothing that began below is out of reach.
// Threads: one, which waits for no child while it is in here.
// Bounds:  EndDescendants returns at its deadline, whatever is left.
// Source:  prctl(2), PR_SET_CHILD_SUBREAPER; proc(5).
// Tests:   tests/common/descendants_test.cc
#pragma once

#include <sys/types.h>

#include <vector>

#include "absl/time/time.h"

namespace dt {

// From now on orphans below this process become its children, and it has to reap them.
void AdoptOrphans();
// Every living process below this one: children, theirs, and so on.
std::vector<pid_t> Descendants();
// SIGKILL to every descendant, and reaps those that are children, until none is left. Returns how
// many had to be killed. Nobody else may be waiting for a child of this process.
int EndDescendants(absl::Duration patience);

}  // namespace dt
