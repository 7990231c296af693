// plan_ask.h: what the core is asked for a plan (planning.h).
//
// Role:      a part of an event.
// Ownership: who asks keeps the facts too, and reads them once the core has answered.
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "coordinator/core/model/shape.h"

namespace dt {

struct PlanFacts;

struct PlanAsk {
  Shape first;                       // of the first trial
  std::set<Constraint> constraints;  // of all trials
  int32_t priority = 0;
  std::shared_ptr<PlanFacts> facts;  // for the answer
};

}  // namespace dt
