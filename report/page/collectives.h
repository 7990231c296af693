// collectives.h: what the ranks of each trial sent one another, by operation and axis.
//
// Role:  pure. A section only where ranks sent something; of pipelines also how long their stages
//        waited, beside what filling and draining them takes.
// Tests: tests/report/page/sections_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

void AppendCollectives(const Experiment& experiment, Document& document);

}  // namespace dt::report
