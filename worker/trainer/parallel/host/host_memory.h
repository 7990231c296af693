// host_memory.h: memory shared by the ranks of one host: one part per rank for its gradients, and
// the control words through which ranks wait for each other.
//
// Role:      no LibTorch. Rank 0 creates a memfd, and its peers open it through /proc. It has no
//            file name, so nothing is left behind whichever process is killed.
// Ownership: the mapping lives as long as this object; every tensor in this memory shares the
//            object.
// Errors:    Make and Open return the reason if there is no memory; the ranks then work without it.
// Tests:     tests/worker/trainer/parallel/host/host_reduce_test.cc
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/status.h"

namespace dt::trainer {

// Limit on ranks per host: more than the GPUs or CPU slots that a host has for one gang. The layout
// of the control words depends on it.
inline constexpr int kHostRanksMax = 256;

struct HostMemoryShape {
  int ranks = 1;
  size_t floats = 0;  // length of each rank's part
  uint64_t key = 0;   // drawn by rank 0: identifies this memory among other descriptors
};

// Words written by one rank and read by the others; each rank's words have a cache line of their
// own.
struct alignas(64) HostRankWords {
  std::atomic<uint64_t> posted{0};   // newest reduction for which this rank's part is ready
  std::atomic<uint64_t> reduced{0};  // newest reduction of which this rank has summed its share
  // Used only if there are several hosts:
  std::atomic<uint64_t> total{0};   // rank 0 only: newest reduction summed over hosts
  std::atomic<uint64_t> spread{0};  // newest reduction of which this rank copied its share to all
                                    // parts
};
struct HostControl {
  std::atomic<uint64_t> key{0};
  // Futex: incremented at every change that a peer may wait for
  alignas(64) std::atomic<uint32_t> changes{0};
  std::atomic<uint32_t> aborted{0};
  HostRankWords ranks[kHostRanksMax];
};

class HostMemory {
 public:
  static absl::StatusOr<std::shared_ptr<HostMemory>> Make(const HostMemoryShape& shape);
  // Opens the memory of process `owner`, in which it is descriptor `descriptor`.
  static absl::StatusOr<std::shared_ptr<HostMemory>> Open(pid_t owner, int descriptor,
                                                          const HostMemoryShape& shape);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  int descriptor() const { return fd_; }
  // Closes the descriptor. Call it once every peer has opened the memory.
  void CloseDescriptor();
  HostControl& control() { return *static_cast<HostControl*>(base_); }
  float* Part(int rank);
  const HostMemoryShape& shape() const { return shape_; }

 private:
  explicit HostMemory(const HostMemoryShape& shape) : shape_(shape) {}
  size_t PartBytes() const;
  size_t Bytes() const;
  absl::Status Map();

  const HostMemoryShape shape_;
  int fd_ = -1;
  void* base_ = nullptr;
  uint64_t charged_ = 0;  // bytes subtracted from the soft limit on data, which does not count
                          // shared memory
};

}  // namespace dt::trainer
