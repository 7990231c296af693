// live_search.h: what an experiment's search has learnt, as the coordinator keeps it in memory.
//
// Role:      a part of the live state; keep/search_index.h fills it from the facts.
// Ownership: a value, part of LiveState.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "coordinator/search/history.h"
#include "coordinator/search/ladder.h"
#include "coordinator/search/searcher.h"
#include "coordinator/search/stopping.h"
#include "spec/search.h"
#include "spec/space.h"

namespace dt {

struct SearchIndex {
  // Why it can propose or move no values; "": it can. Of an experiment that an earlier version took
  // with a space that this one does not allow, or whose trials do not lie in it.
  std::string error;
  // For sampler bayes, whose trials are proposed while others train, and for a population, whose
  // values change while they train.
  spec::Space space;
  search::Plan plan;
  search::History history;  // of bayes alone
  spec::Admits admits;
  // The entries by bracket and rung under asha; under pbt all are of bracket 0.
  std::map<std::pair<int, int>, search::Rung> rungs;
  // For stop.median.
  search::Means means;
  std::map<uint32_t, size_t> counted;  // how many of a trial's means are in it
};

}  // namespace dt
