// takeovers.h: takeovers in a population: which member went on with the weights of which other, and
// with which values.
//
// Role:  pure. Tests: tests/report/page/takeovers_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// Adds a row for each takeover; nothing where there was none.
void AppendTakeovers(const Experiment& experiment, Document& document);

}  // namespace dt::report
