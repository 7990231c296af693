// program_words.h: writes the values of a trial into the words of its program.
//
// Role:    pure.
// Tests:   tests/spec/program_test.cc, tests/spec/inactive_words_test.cc
#pragma once

#include "absl/status/status.h"
#include "spec/inactive_words.h"
#include "spec/program.h"

namespace dt::spec {

// Writes the trial's values into command, run, workdir and the environment. A word of the command
// that is one of W&B's macros is expanded as W&B does: ${args} is each parameter as --name=value;
// kMacros has the others. Words and variables that name a parameter of `inactive` are left out
// (spec/inactive_words.h). REQUIRES: IsProgram(trial).
absl::Status SubstituteAll(v1::Spec& trial, const NameSet& inactive = {});

// Leaves out the words and variables of a program that name a parameter of `inactive`.
void LeaveOutInactive(const NameSet& inactive, v1::Spec& trial);
// Returns the conditional parameters that a trial with these values does not have.
NameSet InactiveNames(const v1::ExperimentSpec& spec,
                      const std::vector<v1::Assignment>& assignments);

}  // namespace dt::spec
