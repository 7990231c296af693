// network.h: hosts that do not reach each other, and hosts that stand still: shared by workers and
// trainers of one world.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "absl/time/time.h"

namespace dt::sim {

struct Network {
  int slots_per_host = 1;
  std::set<std::pair<int, int>>
      cut;  // hosts that do not reach each other, the smaller number first
  std::map<int, absl::Duration> still_until;  // by host, in the scheduler's time

  int HostOf(int worker) const { return worker / slots_per_host; }
  bool Reaches(int worker, int other) const {
    const int one = HostOf(worker);
    const int two = HostOf(other);
    return !cut.contains(one < two ? std::pair(one, two) : std::pair(two, one));
  }
  // Returns until when the worker's host stands still; zero: it does not.
  absl::Duration StillUntil(int worker) const {
    const auto found = still_until.find(HostOf(worker));
    return found == still_until.end() ? absl::ZeroDuration() : found->second;
  }
};

}  // namespace dt::sim
