// host_memory.h: memory that the ranks of one host share: a part for each one's gradients, and the
// words by which they wait for each other.
//
// Role:      no LibTorch. A memfd that rank 0 makes and its peers open through /proc: it has no
//            name, so nothing is left of it whichever process is killed when.
// Ownership: the mapping lives as long as this object; whoever hands out its floats shares it.
// Errors:    Make and Open return why there is none: the ranks then do without it.
// Tests:     tests/worker/trainer/parallel/host/host_reduce_test.cc
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/status.h"

namespace dt::trainer {

// More ranks than a host has GPUs or CPU slots to spare for one gang; the control words are laid
// out for so many.
inline constexpr int kHostRanksMax = 256;

struct HostMemoryShape {
  int ranks = 1;
  size_t floats = 0;  // of each rank's part
  uint64_t key = 0;   // drawn by rank 0: tells this memory from any other descriptor
};

// Written by one rank, read by the others; each on a cache line of its own.
struct alignas(64) HostRankWords {
  std::atomic<uint64_t> posted{0};   // the newest reduction that this rank's part is ready for
  std::atomic<uint64_t> reduced{0};  // the newest one of which this rank has summed its share
  // Where there are other hosts as well.
  std::atomic<uint64_t> total{0};   // rank 0's: the newest one of which it has the sum over hosts
  std::atomic<uint64_t> spread{0};  // the newest one of which this rank has given its share to all
};
struct HostControl {
  std::atomic<uint64_t> key{0};
  alignas(64) std::atomic<uint32_t> changes{0};  // the futex: counts whatever a peer may wait for
  std::atomic<uint32_t> aborted{0};
  HostRankWords ranks[kHostRanksMax];
};

class HostMemory {
 public:
  static absl::StatusOr<std::shared_ptr<HostMemory>> Make(const HostMemoryShape& shape);
  // Opens that of process `owner`, which has it as `descriptor`.
  static absl::StatusOr<std::shared_ptr<HostMemory>> Open(pid_t owner, int descriptor,
                                                          const HostMemoryShape& shape);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  int descriptor() const { return fd_; }
  // Once every peer has opened it.
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
  uint64_t charged_ = 0;  // taken off the soft limit on data, which does not see shared memory
};

}  // namespace dt::trainer
