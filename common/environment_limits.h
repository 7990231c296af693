// environment_limits.h: bounds of the environments of users' programs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace dt::limits {

// The exact packages of an environment, a line each. A line has some 25 bytes, and the largest
// environments have some 500 packages. Orders repeat it, and a frame to the trainer has 1 MiB.
inline constexpr size_t kEnvironmentLockBytes = 64 << 10;
// Kinds in a worker's hello: four today, with room for later ones.
inline constexpr size_t kEnvironmentKinds = 16;
// Packages in a list in the file; more belong into a file of requirements.
inline constexpr int kEnvironmentPackages = 256;
// To resolve and to make an environment: PyTorch for CUDA has 5 GB to load.
inline constexpr absl::Duration kEnvironmentTime = absl::Hours(1);
// Bytes kept of what a tool prints when it fails.
inline constexpr size_t kEnvironmentErrorBytes = 2048;
// Bytes of all environments and of uv's cache on a host.
inline constexpr uint64_t kEnvironmentsBytes = 20ull << 30;

}  // namespace dt::limits
