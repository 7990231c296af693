// windows.cc: see windows.h.
#include "worker/trainer/eval/windows.h"

#include <algorithm>

#include "common/check.h"

namespace dt::trainer {

EvalWindows EvalWindows::OfTokens(std::span<const uint64_t> shards, int64_t seq_len, int64_t tokens,
                                  int64_t multiple) {
  DT_CHECK(seq_len > 0 && tokens > 0 && multiple > 0 && seq_len % multiple == 0);
  EvalWindows windows;
  windows.seq_len_ = seq_len;
  auto left = static_cast<uint64_t>(tokens);
  for (uint64_t shard = 0; shard < shards.size() && left > 0; ++shard) {
    const uint64_t targets = std::min(left, shards[shard] > 0 ? shards[shard] - 1 : 0);
    left -= targets;
    windows.first_whole_.push_back(windows.whole_);
    const uint64_t whole = targets / static_cast<uint64_t>(seq_len);
    windows.whole_ += static_cast<int64_t>(whole);
    const auto length = static_cast<int64_t>(targets % static_cast<uint64_t>(seq_len));
    const uint64_t first = whole * static_cast<uint64_t>(seq_len);
    const int64_t even = length - length % multiple;
    if (even > 0) windows.rest_.push_back({shard, first, even, 0});
    if (even < length) windows.rest_.push_back({shard, first, length, even});
  }
  return windows;
}

EvalWindows EvalWindows::OfCount(std::span<const uint64_t> shards, int64_t seq_len, int64_t count) {
  DT_CHECK(seq_len > 0);
  EvalWindows windows;
  windows.seq_len_ = seq_len;
  for (const uint64_t tokens : shards) {
    windows.first_whole_.push_back(windows.whole_);
    if (tokens > 0) {
      windows.whole_ += static_cast<int64_t>((tokens - 1) / static_cast<uint64_t>(seq_len));
    }
  }
  windows.whole_ = std::min(windows.whole_, count);
  return windows;
}

EvalWindow EvalWindows::Whole(int64_t index) const {
  DT_CHECK(index >= 0 && index < whole_);
  const auto after = std::upper_bound(first_whole_.begin(), first_whole_.end(), index);
  const auto shard = static_cast<uint64_t>(after - first_whole_.begin()) - 1;
  const auto within = static_cast<uint64_t>(index - first_whole_[shard]);
  return {shard, within * static_cast<uint64_t>(seq_len_), seq_len_, 0};
}

}  // namespace dt::trainer
