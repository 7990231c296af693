// read_output.h: runs a short-lived program and reads what it prints.
//
// Threads: any; blocks until the program has ended or was killed.
// Errors:  a program that does not start has no output, and has not ended.
// Bounds:  `bytes_max` and `patience`; a program that would go beyond them is killed.
// Tests:   tests/common/read_output_test.cc
#pragma once

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "common/spawn.h"

namespace dt {

struct ProgramOutput {
  bool ended = false;  // by itself, and printed no more than `text`
  bool ok = false;     // it ended so, with status 0
  std::string text;    // of its output
};
enum class StandardError { kDropped, kRead };  // kRead: into `text`, as it comes
// Starts the program of `options` with its standard output to here. It gets the descriptors of
// `options` too, under numbers above 2.
ProgramOutput ReadOutput(SpawnOptions options, size_t bytes_max, absl::Duration patience,
                         StandardError errors = StandardError::kDropped);

}  // namespace dt
