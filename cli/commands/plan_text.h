// plan_text.h: the cost of an experiment before it runs, as a table and a sentence.
//
// Role:  pure.
// Tests: tests/cli/commands/plan_test.cc
#pragma once

#include <string>

#include "cli/remote/session.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

// Returns a row for each kind of trials.
Listing PlanListing(const v1::PlanResponse& plan);
// Returns "6.2 slot-hours, done in 1 h 33 min on 4 slots (estimated from 12 trials of the same
// model)".
std::string PlanSentence(const v1::PlanResponse& plan);
// Returns "2 of 8 trials will not run: needs 8 slots; 4 are connected"; "" if all will run.
std::string MisfitSentence(const v1::PlanResponse& plan);

}  // namespace dt::cli
