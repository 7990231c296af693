// live_search.h: the results of an experiment's search so far, as kept in memory.
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

// A parameter whose values are chosen when clients ask for them, and the results of the trials that
// have one.
struct SuggestedParameter {
  spec::Space space;  // of one dimension
  search::History history;
};

struct SearchIndex {
  // Why the search can neither propose nor change values; "": it can. An earlier version may have
  // accepted a space that this one does not allow, or trials that lie outside of it.
  std::string error;
  // For sampler bayes, which proposes trials while others train, and for a population, which
  // changes the values of trials while they train.
  spec::Space space;
  search::Plan plan;
  search::History history;  // for bayes only
  spec::Admits admits;
  std::map<std::string, SuggestedParameter> suggested;  // by path; then `space` is empty
  // Entries by bracket and rung. With asha; with pbt all are of bracket 0.
  std::map<std::pair<int, int>, search::Rung> rungs;
  // For stop.median.
  search::Means means;
  std::map<uint32_t, size_t> counted;  // number of means of each trial in `means`
};

}  // namespace dt
