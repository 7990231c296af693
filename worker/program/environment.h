// environment.h: what a program is given: its words, its folder, its environment.
//
// Role:   pure. docs/guides/programs.md describes the same to people.
// Errors: ConfigError, which ends the trial: the thing, the limit, the fix.
// Tests:  tests/worker/program/environment_test.cc
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/spawn.h"
#include "common/status.h"
#include "worker/frames/frames.h"

namespace dt::program {

// Where the program finds the report's descriptor.
inline constexpr int kReportFd = 3;

// The program as the specification of `start` has it.
struct ProgramSpec {
  std::vector<std::string> command;  // or
  std::string run;                   // a text for /bin/sh
  std::string workdir;
  uint64_t steps = 0;
  int64_t seed = 0;
  // auto | torchrun | none | mpi | accelerate; "": of a version that set torchrun's always.
  std::string launcher;
  nlohmann::json parameters;  // values by name, and the seed
  Environment environment;    // resources.env
  int32_t keep_latest = 1;
  int32_t keep_best = 1;
};
absl::StatusOr<ProgramSpec> SpecOf(const nlohmann::json& spec);
// A hash of what must not differ for a checkpoint to be this trial's. In a population without the
// values, and with them the words of the command, which change while it trains.
std::string HashOf(const frames::Start& start, const ProgramSpec& spec);
// Returns the word that PATH turns into the program (lookup.h): the first one of `command`, or of a
// `run` whose shell looks for it in the same way. "": it is a path, or the text does not tell.
std::string WordLookedUp(const ProgramSpec& spec);
// One line for the trial's log: what runs, where, who submitted it, whose variables say its rank,
// and which file the word that was looked up is. `found` "": nothing is said of it.
std::string Announcement(const frames::Start& start, const ProgramSpec& spec,
                         const std::string& folder, const std::string& found);
// The program and its arguments: the command's words, or a shell with the text.
std::vector<std::string> WordsOf(const ProgramSpec& spec);

// What the host has for it.
struct Place {
  bool cuda = false;
  int threads = 1;                // of the slot
  std::string store_address;      // host:port of rank 0's
  std::string report;             // the FIFO
  std::string module_folder;      // that dtrain.py lies in
  std::string checkpoint_folder;  // absolute; "": no storage
  std::string resume_folder;      // "": from the start
  uint64_t resume_step = 0;
  std::vector<uint64_t> rungs;
};
// Those of the worker's own variables that a program of somebody else's may see: where programs,
// libraries and caches are, the language, and how libraries compute and communicate. Never a token
// of dtrain's. `more`: names that the operator adds.
Environment Permitted(const Environment& all, const std::vector<std::string>& more);
// `inherited`, in its place the experiment's resources.env, and in the place of both what this rank
// has to know.
absl::StatusOr<Environment> EnvironmentOf(const frames::Start& start, const ProgramSpec& spec,
                                          const Place& place, Environment inherited);

// Where it starts. `scratch`: a folder of its own, for a program that brings no code and names no
// place.
absl::StatusOr<std::string> FolderOf(const ProgramSpec& spec, const std::string& code_folder,
                                     const std::string& scratch);

}  // namespace dt::program
