// network_text.h: what a measurement of the network came to, and on which slots it would run.
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

// A row for each figure, by axis, operation, way and size.
Listing NetworkListing(const std::vector<v1::NetworkFigure>& figures);
// "4 ranks on 2 hosts: a/cuda:0 and a/cuda:1 (H100), b/cuda:0 and …".
std::string MeasuredOn(const v1::AttemptSummary& attempt);

struct BenchSlots {
  std::string device;
  int32_t slots = 0;
};
// The largest power of two of idle slots, or, where there are not two, of connected ones, for which
// the measurement waits. `device`: "": cuda where a worker has it. `wanted`: so many; 0: as said.
// Errors: FailedPrecondition where not two, or not so many, are connected.
absl::StatusOr<BenchSlots> ChooseBenchSlots(const std::vector<v1::WorkerSummary>& workers,
                                            const std::string& device, int64_t wanted);

}  // namespace dt::cli
