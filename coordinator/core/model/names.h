// names.h: how messages name a trial, a pause and a person.
#pragma once

#include <string>

#include "coordinator/core/model/durable.h"

namespace dt {

// Returns "trial 3/1", or "the next trial of experiment 3" for a ticket.
std::string TrialText(TrialId id);
// Returns why no trial of the experiment starts. REQUIRES: it is paused.
std::string PausedText(const Experiment& experiment);
// Returns the name under which the history shows the caller.
std::string WhoOf(const std::string& named);

}  // namespace dt
