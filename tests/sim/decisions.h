// decisions.h: what searches decided, in a form that two runs are compared by.
//
// Role: pure. Which trials were proposed, with which values and why; every comparison at a rung or
//       a share; how each trial ended, and why a search did. What depends on when a process heard
//       of it (attempts, workers, how far a trainer got before it was told) stays out.
#pragma once

#include <string>
#include <vector>

#include "dtrain/v1/record.pb.h"

namespace dt::sim {

std::vector<std::string> DecisionsOf(const std::vector<dtrain::v1::Record>& journal);

}  // namespace dt::sim
