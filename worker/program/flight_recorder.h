// flight_recorder.h: PyTorch's record of the newest collectives over NCCL, as a file of a rank that
// hangs.
//
// Role:    PyTorch keeps the record in memory, and writes it when a collective times out or when
//          something is written to its pipe. A program on GPUs with several ranks gets names for
//          both; at a hang we write to the pipe.
// Threads: one.
// Errors:  none: no record is no failure. The file is the program's: it is named and never read.
// Bounds:  kFlightPatience.
// Source:  ProcessGroupNCCL.hpp (DumpPipe) and FlightRecorder.hpp of PyTorch 2.11. It has not been
//          run with NCCL.
// Tests:   tests/worker/program/flight_recorder_test.cc, program_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/spawn.h"

namespace dt::program {

// PyTorch looks at its pipe once a second (TORCH_NCCL_COORD_CHECK_MILSEC).
inline constexpr absl::Duration kFlightPatience = absl::Seconds(3);

// Beginnings of the names of files; PyTorch appends the rank.
struct FlightFiles {
  std::string record;
  std::string pipe;
};

// Sets the variables of the recorder, except for those that the person or the worker's operator
// set, under the present names or the former ones.
void SetFlightRecorder(const FlightFiles& files, Environment& to);
// Returns the names that the variables have; empty ones where they are not set.
FlightFiles FlightFilesIn(const Environment& environment);
// Makes the rank write its record, if it listens at its pipe. Blocks until the file is complete or
// kFlightPatience has passed. Returns the file; "": there is none.
std::string TakeFlightRecord(const FlightFiles& files, int32_t rank);

}  // namespace dt::program
