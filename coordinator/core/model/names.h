// names.h: how messages name a trial, a pause and a person.
#pragma once

#include <string>

#include "coordinator/core/model/durable.h"

namespace dt {

// "trial 3/1", "the next trial of experiment 3".
std::string TrialText(TrialId id);
// Why nothing of it starts. REQUIRES: it is paused.
std::string PausedText(const Experiment& experiment);
// By which name the history knows who asks.
std::string WhoOf(const std::string& named);

}  // namespace dt
