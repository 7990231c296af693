// search_index.h: keeps the results of an experiment's search up to date with the facts, so that a
// proposal or a rung reads no more than it needs.
//
// Role:      an index over the durable state, as part of the live state. It is made when it is
//            first needed, and dropped when a fact takes back a result. It follows from the facts
//            alone, so that decisions after a restart are the same.
// Tests:     tests/coordinator/core/searching_test.cc, tests/sim
#pragma once

#include <variant>

#include "coordinator/core/model/live_search.h"
#include "coordinator/core/model/state.h"
#include "coordinator/search/searcher.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

// Returns the index, valid until the next record. REQUIRES: the experiment exists.
const SearchIndex& SearchIndexOf(State& state, const Experiment& experiment);
// Returns the next proposal of the search.
std::variant<search::Proposal, search::Exhausted> NextOf(const Experiment& experiment,
                                                         const SearchIndex& index);

// Updates the index after `record` was applied.
void Reindex(State& state, const v1::Record& record);

}  // namespace dt
