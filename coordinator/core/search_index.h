// search_index.h: what an experiment's search has learnt, kept up to date as facts are made, so
// that a proposal or a rung asks no more than it needs.
//
// Role:      an index over the durable state; part of the live state, made where it is first asked
//            for, dropped where a fact takes back what is in it. It follows from the facts alone,
//            so a restart decides what would have been decided.
// Tests:     tests/coordinator/core/searching_test.cc, tests/sim
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
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

// Whether the experiment's search proposes trials while others train.
bool Proposes(const Experiment& experiment);
// Whether its trials are compared at rungs that end those behind.
bool Climbs(const Experiment& experiment);
// Whether its trials are compared at shares, where those behind take over from those ahead.
bool IsPopulation(const Experiment& experiment);
// From 1.
uint32_t ConfigurationOf(const Experiment& experiment, uint32_t trial);
spec::Ladder LadderOf(const Experiment& experiment);
int BracketOf(const Experiment& experiment, uint32_t trial);
// That the trial failed says something of its values, not of the machines.
bool BlamesValues(v1::Cause cause);
// That the trial failed is its own doing, rather than the fleet's or a person's: it counts as bad
// where values are proposed, and a rung that it was heading for keeps one in eta of all that
// started.
bool FailedByItself(v1::Cause cause);

// REQUIRES: the experiment exists. The index holds until the next record.
const SearchIndex& SearchIndexOf(State& state, const Experiment& experiment);
// What the search tries next.
std::variant<search::Proposal, search::Exhausted> NextOf(const Experiment& experiment,
                                                         const SearchIndex& index);

// After `record` was applied.
void Reindex(State& state, const v1::Record& record);

}  // namespace dt
