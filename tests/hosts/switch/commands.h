// commands.h: the lines that rule a switch, and its answers.
//
//   set FROM TO delay=50 jitter=20 loss=5 reorder=10 cut=1   ways from FROM to TO; * is every host
//   clear                                                    everything passes at once
//   show FROM TO                                             the rule and the counts of one way
//
// An answer is one line: "ok", "ok" and what was asked for, or "error: " and the reason.
//
// Role:    pure. A line that is wrong changes nothing.
// Threads: none.
// Tests:   tests/hosts/switch/links_test.cc
#pragma once

#include <string>

#include "tests/hosts/switch/links.h"

namespace dt::hosts {

std::string Execute(const std::string& line, Links& links);

}  // namespace dt::hosts
