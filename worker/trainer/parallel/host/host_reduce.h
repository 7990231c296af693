// host_reduce.h: the average of the ranks' gradients, summed in the memory that they share: each
// rank sums its share over all parts and writes the result into every one.
//
// Role:      no LibTorch. Copies nothing: a part is where a rank's gradients are.
// Threads:   Post from the thread that makes gradients; Average from one other; Abort from any.
// Errors:    Average: CollectiveError when the group was aborted, a peer's process ended, or one
//            was silent for too long. The parts are then half summed: never use them again.
// Invariant: the sum is in the order of ranks, element by element, so every rank has the same bits.
// Tests:     tests/worker/trainer/parallel/host/host_reduce_test.cc
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "worker/trainer/parallel/host/host_memory.h"

namespace dt::trainer {

class HostReduce {
 public:
  // `processes`: of each rank, in order. Errors: IoError where one cannot be watched.
  static absl::StatusOr<std::shared_ptr<HostReduce>> Join(std::shared_ptr<HostMemory> memory,
                                                          int rank,
                                                          const std::vector<pid_t>& processes,
                                                          std::chrono::milliseconds timeout);
  ~HostReduce();
  HostReduce(const HostReduce&) = delete;
  HostReduce& operator=(const HostReduce&) = delete;

  const std::shared_ptr<HostMemory>& memory() const { return memory_; }
  int rank() const { return rank_; }

  // Floats [first, first + count) of this rank's part are ready. Returns the number of the
  // reduction: every rank posts the same ranges in the same order.
  uint64_t Post();
  // Waits for every rank's post of `number` and averages that range in all parts. In the order of
  // numbers.
  absl::Status Average(uint64_t number, size_t first, size_t count);
  // Ends every wait, here and on the peers, now and from now on.
  void Abort();

 private:
  HostReduce(std::shared_ptr<HostMemory> memory, int rank, std::chrono::milliseconds timeout)
      : memory_(std::move(memory)), rank_(rank), timeout_(timeout) {}
  using Word = std::atomic<uint64_t> HostRankWords::*;
  absl::Status Await(Word word, uint64_t number);
  bool Reached(Word word, uint64_t number) const;
  void Announce();
  absl::Status RequirePeers() const;

  const std::shared_ptr<HostMemory> memory_;
  const int rank_;
  const std::chrono::milliseconds timeout_;
  std::vector<int> peers_;  // a pidfd each; -1 for this rank
  uint64_t posted_ = 0;
};

}  // namespace dt::trainer
