// client_trial.h: the command of trials that no worker runs: a client, a process of the user's,
// asks for each, runs it and reports its end (AskTrial in control.proto; Python: Client.study).
//
//   [dtrain:client]                  each trial has a value for each parameter from its start
//   [dtrain:client, define-by-run]   a trial gets each value when its client asks for it
//
// Role:   pure.
// Tests:  tests/coordinator/core/client_trials_test.cc
#pragma once

#include <string_view>

namespace dt {

inline constexpr std::string_view kClientTrialWord = "dtrain:client";
inline constexpr std::string_view kDefineByRunWord = "define-by-run";

// Returns whether `command`, any list of words, is one.
template <typename Words>
bool IsClientTrial(const Words& command) {
  return command.begin() != command.end() && *command.begin() == kClientTrialWord;
}
// Returns whether the parameters become known only while trials run.
template <typename Words>
bool IsDefineByRun(const Words& command) {
  return IsClientTrial(command) && ++command.begin() != command.end() &&
         *++command.begin() == kDefineByRunWord;
}

}  // namespace dt
