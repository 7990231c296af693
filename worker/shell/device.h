// device.h: finds the slot of a worker, and its host's GPUs and cores.
//
// Role:   reads /proc and /dev, no CUDA library: the agent links none.
// Errors: InvalidArgument for a slot that cannot exist, NotFound for an absent GPU; both name the
//         valid choices.
// Tests:  tests/worker/shell/device_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/device.h"

namespace dt {

// The value of --slot: "cpu", "cpu:2", "cuda:0".
struct LocalSlot {
  DeviceKind kind = DeviceKind::kCpu;
  int index = -1;    // -1: "cpu" without a number
  std::string name;  // as written
};
absl::StatusOr<LocalSlot> ParseSlot(std::string_view text);

struct Gpu {
  int index = 0;  // in the order of the PCI bus, among those that this process may open
  std::string name;
  std::string uuid;  // as in nvidia-smi -L, "GPU-…"; "" if the driver does not report it
};
// Returns GPUs whose device file can be opened, as in a container with some of the host's. `root`
// is the folder that holds proc and dev; "" except in tests.
std::vector<Gpu> FindGpus(const std::string& root = "");
// Returns those of `gpus` that CUDA_VISIBLE_DEVICES lists, numbered in its order: by UUID or the
// start of one, or by index in the order of the PCI bus. As with CUDA, the list ends at the first
// word that names none. It also ends at one that is listed again: a GPU is one slot. nullptr: all.
std::vector<Gpu> VisibleGpus(const std::vector<Gpu>& gpus, const char* visible);

struct HostFacts {
  std::string host;
  std::string cpu_name;
  std::vector<int> cores;  // usable by this process, ascending; never empty
  uint64_t memory_bytes = 0;
};
HostFacts ReadHostFacts();
// Makes a text from the system, such as a host's name, fit for messages to the coordinator: escapes
// bytes that are not UTF-8 and terminal controls, and cuts it to 128 bytes.
std::string TellableText(std::string_view text);

// The share of its host's cores that a slot's trainer may use.
struct CpuShare {
  int threads = 1;         // of its CPU kernels
  std::vector<int> cores;  // it is pinned to these; empty: not pinned
};
// Gives slot cpu:K of `slots` the K-th run of `threads` cores, so that equal slots compute at equal
// speed and none moves into another's cache. `threads` 0 means cores ÷ slots. Not pinned are: "cpu"
// without a number, which may be one of many; cuda:N, whose work is elsewhere; and a slot whose run
// goes beyond the last core. REQUIRES: slots >= 1, threads >= 0, `cores` not empty.
CpuShare ShareOfCores(const LocalSlot& slot, int slots, int threads, const std::vector<int>& cores);

}  // namespace dt
