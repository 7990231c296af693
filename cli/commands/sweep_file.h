// sweep_file.h: writes the experiment file of a `dtctl sweep`.
//
// Role:   pure, given which files are there.
// Errors: InvalidArgument: the option, its value, and what to write.
// Tests:  tests/cli/commands/sweep_file_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dt::cli {

struct SweepOptions {
  std::string command;
  std::vector<std::string> parameters;  // "lr=1e-4..1e-1:log", "layers=2,4"
  std::optional<int64_t> trials, steps, slots, max_concurrent;
  std::string metric, goal;
  bool maximize = false;
  std::string search;       // a method; "": as the parameters need it
  bool early_stop = false;  // trials that fall behind end
  std::vector<std::string> patterns;
  std::string metrics_file, tensorboard, name;
  std::string seeds;  // "3", or "1,2,5"
  std::string code;  // a folder; "none": no code; "": this folder if the command names a file in it
  std::vector<std::string> variables;  // "NAME=VALUE"
};

// Returns the file's text. `is_file`: whether a path is a file below the working folder.
absl::StatusOr<std::string> SweepFile(const SweepOptions& options,
                                      const std::function<bool(const std::string&)>& is_file);

// Returns the words of a command, without their quotation marks; nullopt if it needs a shell.
std::optional<std::vector<std::string>> WordsOfCommand(const std::string& command);

}  // namespace dt::cli
