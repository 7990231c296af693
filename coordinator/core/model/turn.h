// turn.h: the data that the parts of one call of Step share. Internal to the core.
#pragma once

#include <array>

#include "common/clock.h"
#include "common/view.h"
#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/state.h"

namespace dt {

struct Turn {
  State& state;
  Instant now;
  std::array<uint64_t, 2> entropy{};
  Effects effects;

  DurableState& durable() { return state.durable; }
  LiveState& live() { return state.live; }
};

// Sets the attempt, or only the trial, that a fact is about.
template <typename Fact>
void SetId(Fact& fact, const AttemptId& id) {
  fact.set_experiment(id.trial.experiment);
  fact.set_trial(id.trial.trial);
  if constexpr (requires { fact.set_attempt(id.attempt); }) fact.set_attempt(id.attempt);
}

}  // namespace dt
