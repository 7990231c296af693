// host_reduce.h: the average of the ranks' gradients, summed in the memory that they share: each
// rank sums its share over all parts and writes the result into every one. Where ranks are on
// several hosts, the first of each sums over hosts in between: as many bytes travel as if it were
// alone on its host.
//
// Role:      no LibTorch. Copies nothing: a part is where a rank's gradients are.
// Threads:   Post from the thread that makes gradients; Average from one other; Abort from any.
// Errors:    Average: CollectiveError when the group was aborted, a peer's process ended, or one
//            was silent for too long. The parts are then half summed: never use them again.
// Invariant: the sum is in the order of ranks, element by element, so every rank has the same bits;
//            those of other hosts have them if what sums over hosts gives them the same.
// Tests:     tests/worker/trainer/parallel/host/host_reduce_test.cc
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "worker/trainer/parallel/host/host_memory.h"

namespace dt::trainer {

// How the sums of this host become those of all. Called on the host's first rank, in the order of
// reductions, on the thread of Average.
using SumOverHosts = std::function<absl::Status(float* sums, size_t count)>;

class HostReduce {
 public:
  struct Options {
    int rank = 0;                  // on this host
    std::vector<pid_t> processes;  // of each rank of this host, in order
    int ranks_of_all = 1;          // hosts together
    SumOverHosts over_hosts;       // rank 0's, where there are other hosts
    std::chrono::milliseconds timeout{};
  };
  // Errors: IoError where a process cannot be watched.
  static absl::StatusOr<std::shared_ptr<HostReduce>> Join(std::shared_ptr<HostMemory> memory,
                                                          Options options);
  ~HostReduce();
  HostReduce(const HostReduce&) = delete;
  HostReduce& operator=(const HostReduce&) = delete;

  const std::shared_ptr<HostMemory>& memory() const { return memory_; }
  int rank() const { return options_.rank; }

  // Floats [first, first + count) of this rank's part are ready. Returns the number of the
  // reduction: every rank posts the same ranges in the same order.
  uint64_t Post();
  // Waits for every rank's post of `number`.
  absl::Status AwaitPosts(uint64_t number) { return Await(&HostRankWords::posted, number); }
  // Waits for that, and averages the range in all parts. In the order of
  // numbers.
  absl::Status Average(uint64_t number, size_t first, size_t count);
  // Ends every wait, here and on the peers, now and from now on.
  void Abort();

 private:
  HostReduce(std::shared_ptr<HostMemory> memory, Options options)
      : memory_(std::move(memory)), options_(std::move(options)) {}
  // What of those floats this rank sums and gives to all.
  struct Share {
    size_t from = 0, end = 0;
  };
  Share ShareOf(size_t first, size_t count) const;
  bool HasOtherHosts() const { return options_.ranks_of_all > memory_->shape().ranks; }
  absl::Status SumOverAll(uint64_t number, size_t first, size_t count);
  using Word = std::atomic<uint64_t> HostRankWords::*;
  // Until all ranks of this host, or, of `total`, its first one, have come so far.
  absl::Status Await(Word word, uint64_t number);
  bool Reached(Word word, uint64_t number) const;
  void Announce(Word word, uint64_t number);
  void Wake();
  absl::Status RequirePeers() const;

  const std::shared_ptr<HostMemory> memory_;
  const Options options_;
  std::vector<int> peers_;  // a pidfd each; -1 for this rank
  uint64_t posted_ = 0;
};

}  // namespace dt::trainer
