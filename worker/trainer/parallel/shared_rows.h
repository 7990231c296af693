// shared_rows.h: the rows of a sharded home in memory shared by the ranks of one host. A gather
// copies the other ranks' shards directly, and a sum reads all ranks' gradients in place: no
// socket.
//
// Role:      replaces transfer.h's all-gather and reduce-scatter if Group::ShareMemory returned
//            memory.
// Ownership: placed tensors keep the memory alive; borrows the home.
// Threads:   the training thread, and the threads of the backward pass.
// Errors:    kCollective as c10::DistError.
// Invariant: a rank writes its shards only between FinishGradients, by when all ranks of the axis
//            have ended their passes, and Publish, before which nobody reads them again. A row's
//            gradients go to the buffer of the row before the last one: all ranks have posted the
//            last one, so nobody reads that buffer any more.
// Tests:     tests/worker/trainer/run/strategy_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "worker/trainer/parallel/host/host_reduce.h"
#include "worker/trainer/parallel/sharded_home.h"
#include "worker/trainer/parallel/transfer.h"

namespace dt::trainer {

// Returns the address in another rank's part that corresponds to `mine` in this rank's part.
const float* PlaceOf(const HostReduce& ranks, int rank, const float* mine);
// Sums the `share` numbers at `mine` over the ranks, in rank order. REQUIRES: all ranks have
// written theirs.
void SumShares(const HostReduce& ranks, const float* mine, int64_t share, float* sum);

class SharedRows {
 public:
  // Moves the home's rows into shared memory; only their shards if rows come and go. Returns null
  // if not all ranks of the axis share the memory of one host. Every rank of the axis calls this.
  static std::unique_ptr<SharedRows> Make(ShardedHome& home, const Route& shard);

  // Announces that this rank's shards are final until the next update.
  void Publish();
  // Copies all ranks' shards of a unit to its row.
  void Gather(size_t unit, CommTimes::During during);

  // Returns the buffer for the gradients of the next row, of `numbers` floats.
  at::Tensor Place(int64_t numbers);
  // Announces that the gradients are in the buffer. Returns the number of the sum.
  uint64_t Post();
  // Writes to `sum` this rank's part of the sum over ranks of `row`, a tensor from Place. Takes no
  // time before this call.
  void Sum(uint64_t number, const at::Tensor& row, const at::Tensor& sum, CommTimes::During during);

 private:
  SharedRows(ShardedHome& home, Route shard, std::shared_ptr<HostReduce> ranks)
      : home_(home), shard_(std::move(shard)), ranks_(std::move(ranks)) {}
  void PlaceRows();
  void AwaitPosts(uint64_t number);

  ShardedHome& home_;
  const Route shard_;
  const std::shared_ptr<HostReduce> ranks_;
  float* staged_[2] = {};  // gradients of a row, used alternately
  uint64_t rows_staged_ = 0;
  uint64_t published_ = 0;
};

}  // namespace dt::trainer
