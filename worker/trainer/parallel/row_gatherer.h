// row_gatherer.h: gathers the rows of a sharded home before a unit is used, forward and backward,
// with the next row prefetched meanwhile, and drops each row after use.
//
// Role:      the difference between zero3 and zero2. The last block's row stays between its forward
//            and its backward pass, which follows at once. Rows outside of blocks stay from the
//            begin of a pass to its last gradient.
// Ownership: borrows the home, whose keeper it is for its lifetime; shares group and times.
// Threads:   the training thread, and the threads of the backward pass.
// Errors:    LibTorch's exceptions pass through.
// Source:    Zhao et al., "PyTorch FSDP", 2023, 3.3 (prefetching).
// Tests:     tests/worker/trainer/run/strategy_test.cc
#pragma once

#include <cstddef>
#include <vector>

#include "worker/trainer/parallel/sharded_home.h"
#include "worker/trainer/parallel/shared_rows.h"
#include "worker/trainer/parallel/transfer.h"

namespace dt::trainer {

class RowGatherer final : public RowKeeper {
 public:
  // `shard`: route of the ranks that share the rows. `shared`: their shards in shared memory; null:
  // none. With shared memory nothing is prefetched, since a copy would not run in the background.
  // `products`: input type of matrix products; if norms are outside of blocks, rows of blocks are
  // gathered in this type.
  RowGatherer(ShardedHome& home, Route shard, SharedRows* shared, at::ScalarType products);
  ~RowGatherer() override;
  RowGatherer(const RowGatherer&) = delete;
  RowGatherer& operator=(const RowGatherer&) = delete;

  void BeginPass(bool leaves_blocks) override;
  void EndPass() override;
  at::Tensor Around(size_t unit, const at::Tensor& x,
                    const ParameterHome::Through& through) override;
  // Begins a backward pass that uses the parameters outside of blocks: another backward pass may
  // have dropped their rows.
  void BeginBackward();
  // Returns whether no row is present or in transit. It must be true during an update: rows
  // gathered before it would be stale.
  bool AllAreAway() const;
  // Gathers the block's row before its backward pass.
  void BeforeBackward(size_t unit);
  // Drops the unit's row: its gradients are complete, so nothing needs its parameters any more.
  void Drop(size_t unit);

 private:
  enum class Where { kAway, kComing, kHere };
  struct State {
    Where where = Where::kAway;
    Transfer gather;
    at::Tensor narrow;  // row in the type in which it is gathered, if not fp32
  };
  // Return the next and the previous block of this rank's stage; 0: none.
  size_t After(size_t unit) const;
  size_t Before(size_t unit) const;
  void Start(size_t unit);
  void Await(size_t unit, CommTimes::During during);

  ShardedHome& home_;
  const Route shard_;
  SharedRows* const shared_;
  const at::ScalarType of_blocks_;  // type in which rows of blocks are gathered
  std::vector<State> units_;
  std::vector<size_t> blocks_;   // units of this rank's stage, ascending
  std::vector<size_t> outside_;  // its units outside of blocks
};

}  // namespace dt::trainer
