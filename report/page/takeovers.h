// takeovers.h: who of a population went on with whose weights, and with which values.
//
// Role:  pure. Tests: tests/report/page/takeovers_test.cc
#pragma once

#include "report/analysis/collect.h"
#include "report/page/document.h"

namespace dt::report {

// A row for each time that a member took over; nothing where none did.
void AppendTakeovers(const Experiment& experiment, Document& document);

}  // namespace dt::report
