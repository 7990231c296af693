// slot_environments.h: a worker's flags about environments of programs, as its hello and dtprogram
// take them.
//
// Threads: one, before the worker begins.
// Errors:  InvalidArgument, which names the flag.
// Tests:   tests/worker/dtworker_test.cc, tests/e2e/image_test.cc
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "dtrain/v1/fleet.pb.h"
#include "worker/flags.h"

namespace dt {

namespace v1 = ::dtrain::v1;

// Adds the kinds that this worker makes, or why it does not.
absl::Status AddEnvironments(const Flags& flags, v1::Hello& hello);
// Returns the arguments of dtprogram about environments and containers.
absl::StatusOr<std::vector<std::string>> EnvironmentArguments(const Flags& flags);
// Returns dtprogram's folder, from the slot's lock.
std::string ProgramScratch(const std::string& lock);
// Ends a container of this slot that outlived its dtprogram and dtworker, so that it does not keep
// the devices. Does nothing while another process has the slot.
void EndLeftContainer(const Flags& flags, const std::string& lock);

}  // namespace dt
