// plan_ask.h: the question that a plan asks the core (answer/plan/planning.h).
//
// Role:      a part of an event.
// Ownership: the caller shares the facts, and reads them once the core has answered.
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
