// planning.h: the plan of an experiment if it were submitted now: whether its trials fit, how long
// they train, when they are done, and what they wait for.
//
// Role:    pure. plan_draft.h has the part that follows from the file alone. Query asks the core
//          for the workers, the queue and the speed of such trials. PlanOf computes the plan from
//          these beside the core, since a thousand kinds of trials take seconds.
// Cost:    Query reads each worker for each of limits::kConstraints constraints, and the newest
//          limits::kTrialsCompared trials that trained.
// Errors:  Query: ResourceExhausted if trials ask for more kinds of workers. PlanOf:
//          DeadlineExceeded if it may not go on.
// Tests:   tests/coordinator/core/planning_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/may_go_on.h"
#include "coordinator/core/answer/plan/past_pace.h"
#include "coordinator/core/answer/plan/plan_draft.h"
#include "coordinator/core/answer/plan/plan_queue.h"
#include "coordinator/core/facts/network_figures.h"
#include "coordinator/core/model/plan_ask.h"
#include "coordinator/core/model/state.h"
#include "dtrain/v1/control.pb.h"

namespace dt {

// Slots of the workers that meet one constraint.
struct EligibleSlots {
  uint32_t slots = 0;
  uint32_t free = 0;
  uint64_t least_memory = 0;  // per slot; 0: unknown
  std::string device_name;    // the most frequent one
  uint64_t of_host = 0;       // the most slots of one host
  std::string nobody_has;     // the unmet part of the constraint, as the end of a sentence
};

// Knowledge of the core that a plan needs.
struct PlanFacts {
  std::map<Constraint, EligibleSlots> fleets;  // by requested constraint
  PastPace past;
  NetworkFigures network;
  FleetQueue queue;
};

// Returns the question for the core; its facts are empty. REQUIRES: the draft is not refused.
PlanAsk AskOf(const PlanDraft& draft);
// Fills the facts. The response is empty.
absl::StatusOr<v1::PlanResponse> Query(const State& state, const PlanAsk& ask, absl::Duration now);
// Computes the plan. REQUIRES: `ask` is AskOf(draft), and was answered.
absl::StatusOr<v1::PlanResponse> PlanOf(const PlanDraft& draft, const PlanAsk& ask,
                                        const MayGoOn& may_go_on = {});

}  // namespace dt
