// host_reduce.h: averages gradients in memory shared by the ranks of a host. Each rank sums its
// share over all parts and writes the result into every part. With several hosts, the first rank of
// each sums over hosts in between, so each host sends as many bytes as a host with one rank would.
//
// Role:      no LibTorch. Copies nothing: a rank's gradients live in its part.
// Threads:   Post from the thread that computes gradients; Average from one other thread; Abort
//            from any.
// Errors:    Average returns CollectiveError if the group was aborted, a peer's process ended, or a
//            peer was silent for too long. The parts are then partly summed and must not be used
//            again.
// Invariant: sums are in rank order, element by element, so all ranks of a host have the same bits.
//            All hosts have the same bits if the sum over hosts gives each the same.
// Tests:     tests/worker/trainer/parallel/host/host_reduce_test.cc
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "worker/trainer/parallel/host/host_memory.h"

namespace dt::trainer {

// Sums in place over all hosts. Called on the host's first rank, in the order of reductions, on the
// thread that calls Average.
using SumOverHosts = std::function<absl::Status(float* sums, size_t count)>;

class HostReduce {
 public:
  struct Options {
    int rank = 0;                  // among the ranks of this host
    std::vector<pid_t> processes;  // of each rank of this host, in rank order
    int ranks_of_all = 1;          // number of ranks on all hosts
    SumOverHosts over_hosts;       // on rank 0 only, if there are several hosts
    std::chrono::milliseconds timeout{};
  };
  // Errors: IoError if a process cannot be watched.
  static absl::StatusOr<std::shared_ptr<HostReduce>> Join(std::shared_ptr<HostMemory> memory,
                                                          Options options);
  ~HostReduce();
  HostReduce(const HostReduce&) = delete;
  HostReduce& operator=(const HostReduce&) = delete;

  const std::shared_ptr<HostMemory>& memory() const { return memory_; }
  int rank() const { return options_.rank; }

  // Announces that this rank's floats of the next reduction are ready; Average names their range.
  // Returns the number of the reduction. Every rank posts the same ranges in the same order.
  uint64_t Post();
  // Blocks until every rank has posted `number`.
  absl::Status AwaitPosts(uint64_t number) { return Await(&HostRankWords::posted, number); }
  // Blocks until every rank has posted `number`, then averages floats [first, first + count) in all
  // parts. Call it in ascending order of numbers.
  absl::Status Average(uint64_t number, size_t first, size_t count);
  // Ends every wait, here and on the peers, now and in the future.
  void Abort();

 private:
  HostReduce(std::shared_ptr<HostMemory> memory, Options options)
      : memory_(std::move(memory)), options_(std::move(options)) {}
  // Range of floats that this rank sums and writes to all parts.
  struct Share {
    size_t from = 0, end = 0;
  };
  Share ShareOf(size_t first, size_t count) const;
  bool HasOtherHosts() const { return options_.ranks_of_all > memory_->shape().ranks; }
  absl::Status SumOverAll(uint64_t number, size_t first, size_t count);
  using Word = std::atomic<uint64_t> HostRankWords::*;
  // Blocks until all ranks of this host have reached `number`; for `total`, until its first rank
  // has.
  absl::Status Await(Word word, uint64_t number);
  bool Reached(Word word, uint64_t number) const;
  void Announce(Word word, uint64_t number);
  void Wake();
  absl::Status RequirePeers() const;

  const std::shared_ptr<HostMemory> memory_;
  const Options options_;
  std::vector<int> peers_;  // one pidfd per rank; -1 for this rank
  uint64_t posted_ = 0;
};

}  // namespace dt::trainer
