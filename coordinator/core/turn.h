// turn.h: one call of Step: what its parts share. Internal to the core.
//
// The parts, a header and a source each: calls, submit, editing, marking, searching, queries,
// standings, summaries, explain; reports, claims, items, workers; attempts, retrying, timers,
// orders, resolved; schedule, holding, yielding, pools; noticing.
#pragma once

#include <array>

#include "common/clock.h"
#include "common/view.h"
#include "coordinator/core/effects.h"
#include "coordinator/core/state.h"

namespace dt {

struct Turn {
  State& state;
  Instant now;
  std::array<uint64_t, 2> entropy{};
  Effects effects;

  DurableState& durable() { return state.durable; }
  LiveState& live() { return state.live; }
};

// Names the attempt, or the trial alone, that a fact is about.
template <typename Fact>
void SetId(Fact& fact, const AttemptId& id) {
  fact.set_experiment(id.trial.experiment);
  fact.set_trial(id.trial.trial);
  if constexpr (requires { fact.set_attempt(id.attempt); }) fact.set_attempt(id.attempt);
}

// Applies the record and adds it to the effects. A record that Apply refuses is a bug: aborts.
void Journal(Turn& turn, v1::Record record);

}  // namespace dt
