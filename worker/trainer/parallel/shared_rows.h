// shared_rows.h: the rows of a sharded home in memory that the ranks of one host share: a gather
// copies the others' shards from where they lie, and a sum reads everybody's gradients where they
// were put: no socket.
//
// Role:      stands in for transfer.h's all-gather and reduce-scatter where Group::ShareMemory gave
//            memory.
// Ownership: what was placed keeps the memory alive; borrows the home.
// Threads:   the training thread, and where the backward pass runs.
// Errors:    kCollective as c10::DistError.
// Invariant: a rank writes its shards only between FinishGradients, for which all ranks of the axis
//            have ended their passes, and Publish, before which nobody reads them again. It puts a
//            row's gradients where those of the row before the last one were: all have posted the
//            last one, so nobody reads that any more.
// Tests:     tests/worker/trainer/run/strategy_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "worker/trainer/parallel/host/host_reduce.h"
#include "worker/trainer/parallel/sharded_home.h"
#include "worker/trainer/parallel/transfer.h"

namespace dt::trainer {

// In another rank's part the place that `mine` is in this rank's.
const float* PlaceOf(const HostReduce& ranks, int rank, const float* mine);
// The sum over the ranks, in their order, of the `share` numbers there: all of them have put theirs
// there.
void SumShares(const HostReduce& ranks, const float* mine, int64_t share, float* sum);

class SharedRows {
 public:
  // Moves the home's rows, or where they come and go its shards, into shared memory. Null where the
  // ranks of the axis do not share a host's, or not all of them. Every rank of it calls this.
  static std::unique_ptr<SharedRows> Make(ShardedHome& home, const Route& shard);

  // This rank's shards are as they stay until the next update.
  void Publish();
  // Everybody's shards of a unit to its row.
  void Gather(size_t unit, CommTimes::During during);

  // Where the gradients of a row of so many numbers are put next.
  at::Tensor Place(int64_t numbers);
  // They are there. Returns the number of the sum.
  uint64_t Post();
  // The sum over the ranks of this rank's part of what `row`, of Place's, has in each. It takes
  // time from here on only.
  void Sum(uint64_t number, const at::Tensor& row, const at::Tensor& sum, CommTimes::During during);

 private:
  SharedRows(ShardedHome& home, Route shard, std::shared_ptr<HostReduce> ranks)
      : home_(home), shard_(std::move(shard)), ranks_(std::move(ranks)) {}
  void PlaceRows();
  void AwaitPosts(uint64_t number);

  ShardedHome& home_;
  const Route shard_;
  const std::shared_ptr<HostReduce> ranks_;
  float* staged_[2] = {};  // gradients of a row, in turns
  uint64_t rows_staged_ = 0;
  uint64_t published_ = 0;
};

}  // namespace dt::trainer
