// takeovers.h: who of a population went on with whose weights, and with which values.
//
// Role:  pure. Tests: tests/cli/report/takeovers_test.cc
#pragma once

#include "cli/report/collect.h"
#include "cli/report/document.h"

namespace dt::cli::report {

// A row for each time that a member took over; nothing where none did.
void AppendTakeovers(const Experiment& experiment, Document& document);

}  // namespace dt::cli::report
