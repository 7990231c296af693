// row_gatherer.h: the rows of a home that keeps shards: gathered before a unit is used, forward and
// backward, the next one on its way meanwhile, and dropped after it.
//
// Role:      what zero3 adds to zero2. The last block stays between its forward and its backward
//            pass, which needs it at once; what is outside of blocks stays from the pass's begin to
//            its last gradient.
// Ownership: borrows the home, which it is the keeper of while it lives; shares group and times.
// Threads:   where the model computes: the training thread, and where its backward pass runs.
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
  // `shard`: of the ranks that share the rows. `shared`: where their shards lie in memory of all;
  // null: nowhere. There nothing is gathered ahead: it would not be under way meanwhile.
  // `products`: what products take; where norms lie outside, rows of blocks travel so.
  RowGatherer(ShardedHome& home, Route shard, SharedRows* shared, at::ScalarType products);
  ~RowGatherer() override;
  RowGatherer(const RowGatherer&) = delete;
  RowGatherer& operator=(const RowGatherer&) = delete;

  void BeginPass(bool leaves_blocks) override;
  void EndPass() override;
  at::Tensor Around(size_t unit, const at::Tensor& x,
                    const ParameterHome::Through& through) override;
  // A backward pass begins that leaves the blocks: another one may have dropped what it needs
  // there.
  void BeginBackward();
  // Whether no row is here or on its way: what would be used after an update is gathered after it.
  bool AllAreAway() const;
  // The backward pass reaches a block.
  void BeforeBackward(size_t unit);
  // The unit's gradients are made: nothing needs its parameters any more.
  void Drop(size_t unit);

 private:
  enum class Where { kAway, kComing, kHere };
  struct State {
    Where where = Where::kAway;
    Transfer gather;
    at::Tensor narrow;  // the row as it travels, where not as it is
  };
  // The blocks that this rank's stage has after and before one; 0: none.
  size_t After(size_t unit) const;
  size_t Before(size_t unit) const;
  void Start(size_t unit);
  void Await(size_t unit, CommTimes::During during);

  ShardedHome& home_;
  const Route shard_;
  SharedRows* const shared_;
  const at::ScalarType of_blocks_;  // what their rows travel in
  std::vector<State> units_;
  std::vector<size_t> blocks_;   // units of this rank's stage, rising
  std::vector<size_t> outside_;  // its other ones
};

}  // namespace dt::trainer
