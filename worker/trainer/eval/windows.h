// windows.h: which tokens of a validation set are predicted, and from what.
//
// Role:      pure. A target is a token that has one before it in its shard. Windows of seq_len
//            inputs lie one behind the other in each shard, and what is left at its end is a
//            shorter one, so that the targets are the same whatever the length, the batch and the
//            ranks.
// Invariant: each of the first `tokens` targets is in exactly one window.
// Tests:     tests/worker/trainer/eval/windows_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dt::trainer {

// Inputs [first, first + length) of a shard; each target is the token behind its input. The first
// `skipped` inputs are context alone: their targets are in another window.
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
  // The first `tokens` targets of shards with so many tokens each. Lengths are multiples of
  // `multiple`, which divides seq_len, but of windows with fewer targets than that.
  static EvalWindows OfTokens(std::span<const uint64_t> shards, int64_t seq_len, int64_t tokens,
                              int64_t multiple = 1);
  // The first `count` whole windows, and nothing of what is left at the shards' ends.
  static EvalWindows OfCount(std::span<const uint64_t> shards, int64_t seq_len, int64_t count);

  // Windows of seq_len, and the others.
  int64_t whole() const { return whole_; }
  EvalWindow Whole(int64_t index) const;
  const std::vector<EvalWindow>& rest() const { return rest_; }
  // How many batches there are with `batch` whole windows in each, and each other by itself.
  int64_t Batches(int64_t batch) const {
    return (whole_ + batch - 1) / batch + static_cast<int64_t>(rest_.size());
  }

 private:
  int64_t seq_len_ = 0;
  int64_t whole_ = 0;
  std::vector<int64_t> first_whole_;  // of each shard that has any
  std::vector<EvalWindow> rest_;
};

}  // namespace dt::trainer
