// device.h: which slot a worker is for, and what its host has.
//
// Role:   reads /proc and /dev, no CUDA library: the agent links none.
// Errors: InvalidArgument for a slot nobody could mean, NotFound for a GPU that is not there; both
//         name what would do.
// Tests:  tests/worker/device_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dt {

enum class DeviceKind { kCpu, kCuda };

// What --slot says: "cpu", "cpu:2", "cuda:0".
struct Slot {
  DeviceKind kind = DeviceKind::kCpu;
  int index = -1;    // -1: "cpu" alone
  std::string name;  // as written
};
absl::StatusOr<Slot> ParseSlot(std::string_view text);

struct Gpu {
  int index = 0;  // in the order of the PCI bus, among those that this process may open
  std::string name;
  std::string uuid;
};
// GPUs whose device file exists, as in a container that was given some of the host's. `root` is the
// folder that holds proc and dev, "" but for tests.
std::vector<Gpu> FindGpus(const std::string& root = "");

struct HostFacts {
  std::string host;
  std::string cpu_name;
  int cores = 1;  // that this process may use
  uint64_t memory_bytes = 0;
};
HostFacts ReadHostFacts();

}  // namespace dt
