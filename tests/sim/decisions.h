// decisions.h: the decisions of searches, in a form in which two runs can be compared.
//
// Role: pure. It holds the proposed trials with values and reasons; every comparison at a rung or a
//       share; how each trial ended, and why a search did. It leaves out what depends on when a
//       process learned of it (attempts, workers, how far a trainer got before its stop).
#pragma once

#include <string>
#include <vector>

#include "dtrain/v1/record.pb.h"

namespace dt::sim {

std::vector<std::string> DecisionsOf(const std::vector<dtrain::v1::Record>& journal);

}  // namespace dt::sim
