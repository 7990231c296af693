// search_index.h: what an experiment's search has learnt, kept up to date as facts are made, so
// that a proposal or a rung asks no more than it needs.
//
// Role:      an index over the durable state; part of the live state, made where it is first asked
//            for, dropped where a fact takes back what is in it. It follows from the facts alone,
//            so a restart decides what would have been decided.
// Tests:     tests/coordinator/core/searching_test.cc, tests/sim
#pragma once

#include <variant>

#include "coordinator/core/model/live_search.h"
#include "coordinator/core/model/state.h"
#include "coordinator/search/searcher.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

// REQUIRES: the experiment exists. The index holds until the next record.
const SearchIndex& SearchIndexOf(State& state, const Experiment& experiment);
// What the search tries next.
std::variant<search::Proposal, search::Exhausted> NextOf(const Experiment& experiment,
                                                         const SearchIndex& index);

// After `record` was applied.
void Reindex(State& state, const v1::Record& record);

}  // namespace dt
