// search_index.h: what an experiment's search has learnt, kept up to date as facts are made, so
// that a proposal or a rung asks no more than it needs.
//
// Role:      an index over the durable state; part of the live state, made anew by Recover. It
//            follows from the facts alone, so a restart decides what would have been decided.
// Invariant: what ReindexAll would make.
// Tests:     tests/coordinator/core/searching_test.cc, tests/sim
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>

#include "coordinator/core/durable.h"
#include "coordinator/search/history.h"
#include "coordinator/search/ladder.h"
#include "coordinator/search/searcher.h"
#include "coordinator/search/stopping.h"
#include "spec/search.h"
#include "spec/space.h"

namespace dt {

struct State;

struct SearchIndex {
  // Of sampler bayes, whose trials are proposed while others train.
  spec::Space space;
  search::Plan plan;
  search::History history;
  spec::Admits admits;
  // Of method asha: the entries by bracket and rung.
  spec::Ladder ladder;
  std::map<std::pair<int, int>, search::Rung> rungs;
  // Of stop.median.
  search::Means means;
  std::map<uint32_t, size_t> counted;  // how many of a trial's means are in it
};

// Whether the experiment's search proposes trials while others train.
bool Proposes(const Experiment& experiment);
// Whether its trials are compared at rungs.
bool Climbs(const Experiment& experiment);
// Trials of one configuration differ in their seed alone, and are neighbours by number.
uint32_t ReplicatesOf(const Experiment& experiment);
inline uint32_t ConfigurationOf(const Experiment& experiment, uint32_t trial) {
  return (trial - 1) / ReplicatesOf(experiment) + 1;
}
spec::Ladder LadderOf(const Experiment& experiment);
// That the trial failed says something of its values, not of the machines.
bool BlamesValues(v1::Cause cause);

// What the search tries next.
std::variant<search::Proposal, search::Exhausted> NextOf(const Experiment& experiment,
                                                         const SearchIndex& index);

// After `record` was applied.
void Reindex(State& state, const v1::Record& record);
void ReindexAll(State& state);

}  // namespace dt
