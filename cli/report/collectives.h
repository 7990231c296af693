// collectives.h: what the ranks of each trial sent one another, by operation and axis.
//
// Role:  pure. A section only where ranks sent something; of pipelines also how long their stages
//        waited, beside what filling and draining them takes.
// Tests: tests/cli/report/sections_test.cc
#pragma once

#include "cli/report/collect.h"
#include "cli/report/document.h"

namespace dt::cli::report {

void AppendCollectives(const Experiment& experiment, Document& document);

}  // namespace dt::cli::report
