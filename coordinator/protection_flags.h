// protection_flags.h: dtcoord's flags for how long running gangs are left in peace
// (docs/guides/scheduling.md).
//
// Errors: InvalidArgument names the flag, its value, and what is right.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/core/model/live.h"

namespace dt {

struct ProtectionFlags {
  std::string protect = "1m";
  std::string grow_after = "30s";
  std::string resize_every = "10m";
};

void DescribeProtection(CLI::App& app, ProtectionFlags& flags);
absl::StatusOr<GangProtection> ProtectionOf(const ProtectionFlags& flags);

}  // namespace dt
