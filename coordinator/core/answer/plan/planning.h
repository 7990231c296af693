// planning.h: what an experiment would take if it were submitted now: whether its trials fit, how
// long they train, when they are done, and what they would wait for.
//
// Role:    pure. plan_draft.h has what follows from the file alone. The core is asked for the
//          workers, the queue, and how fast such trials were (Query); the plan is reckoned with
//          these beside the core (PlanOf), since a thousand kinds of trials take seconds.
// Cost:    Query looks at each worker for each of limits::kConstraints constraints, and at the
//          newest limits::kTrialsCompared trials that trained.
// Errors:  Query: ResourceExhausted where trials ask for more kinds of worker than that. PlanOf:
//          DeadlineExceeded where it may not go on.
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

// The workers that take work of one kind.
struct Fleet {
  uint32_t slots = 0;
  uint32_t free = 0;
  uint64_t least_memory = 0;  // of a slot; 0: unknown
  std::string device_name;    // of most of them
  uint64_t of_host = 0;       // most that one host has
  std::string nobody_has;     // what no connected worker has of it, as the end of a sentence
};

// What the core knows that a plan needs.
struct PlanFacts {
  std::map<Constraint, Fleet> fleets;  // of each constraint that was asked for
  PastPace past;
  NetworkFigures network;
  FleetQueue queue;
};

// What to ask the core for; its facts are empty. REQUIRES: the draft is not refused.
PlanAsk AskOf(const PlanDraft& draft);
// Fills the facts. The answer is empty.
absl::StatusOr<v1::PlanResponse> Query(const State& state, const PlanAsk& ask, absl::Duration now);
// REQUIRES: `ask` is AskOf(draft), and was answered.
absl::StatusOr<v1::PlanResponse> PlanOf(const PlanDraft& draft, const PlanAsk& ask,
                                        const MayGoOn& may_go_on = {});

}  // namespace dt
