// network_text.h: results of a network measurement, and the slots that it uses.
//
// Role:  pure.
// Tests: tests/cli/commands/network_text_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/remote/session.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

// Returns a row for each result, by axis, operation, way and size.
Listing NetworkListing(const std::vector<v1::NetworkFigure>& figures);
// Returns "4 ranks on 2 hosts: a/cuda:0 and a/cuda:1 (H100), b/cuda:0 and …".
std::string MeasuredOn(const v1::AttemptSummary& attempt);

struct BenchSlots {
  std::string device;
  int32_t slots = 0;
};
// Returns the slots to measure: the largest power of two of idle ones; where fewer than two are
// idle, of connected ones, for which the measurement waits. An empty `device` means cuda if a
// worker has it. `wanted` is the number of slots, or 0 for that choice. Errors: FailedPrecondition
// where fewer than two, or than `wanted`, are connected.
absl::StatusOr<BenchSlots> ChooseBenchSlots(const std::vector<v1::WorkerSummary>& workers,
                                            const std::string& device, int64_t wanted);

}  // namespace dt::cli
