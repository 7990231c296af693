// windows.h: which tokens of a validation set are predicted, and from which context.
//
// Role:      pure. A target is a token with a token before it in its shard. Windows of seq_len
//            inputs follow one another in each shard, and the remainder at its end is a shorter
//            window. So the targets are the same whatever the sequence length, batch size and
//            number of ranks.
// Invariant: each of the first `tokens` targets is in exactly one window.
// Tests:     tests/worker/trainer/eval/windows_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dt::trainer {

// Inputs [first, first + length) of a shard. Each target is the token after its input. The first
// `skipped` inputs are context only: their targets belong to another window.
struct EvalWindow {
  uint64_t shard = 0;
  uint64_t first = 0;
  int64_t length = 0;
  int64_t skipped = 0;

  int64_t targets() const { return length - skipped; }
  bool operator==(const EvalWindow&) const = default;
};

class EvalWindows {
 public:
  // Returns windows for the first `tokens` targets; `shards` has the number of tokens of each
  // shard. Lengths are multiples of `multiple`, which must divide seq_len, except for windows with
  // fewer targets than `multiple`.
  static EvalWindows OfTokens(std::span<const uint64_t> shards, int64_t seq_len, int64_t tokens,
                              int64_t multiple = 1);
  // Returns the first `count` full windows, without the remainders at the ends of shards.
  static EvalWindows OfCount(std::span<const uint64_t> shards, int64_t seq_len, int64_t count);

  // Full windows of seq_len, and the remainders.
  int64_t whole() const { return whole_; }
  EvalWindow Whole(int64_t index) const;
  const std::vector<EvalWindow>& rest() const { return rest_; }
  // Returns the number of batches: `batch` full windows each, and one batch per remainder.
  int64_t Batches(int64_t batch) const {
    return (whole_ + batch - 1) / batch + static_cast<int64_t>(rest_.size());
  }

 private:
  int64_t seq_len_ = 0;
  int64_t whole_ = 0;
  std::vector<int64_t> first_whole_;  // of each shard that has a full window
  std::vector<EvalWindow> rest_;
};

}  // namespace dt::trainer
