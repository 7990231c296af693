// collectives.h: communication between the ranks of each trial, by operation and axis.
//
// Role:  pure. Adds a section only where ranks communicated; for pipelines also the time that
//        stages waited, beside the time to fill and drain the pipeline.
// Tests: tests/report/page/sections_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

void AppendCollectives(const Experiment& experiment, Document& document);

}  // namespace dt::report
