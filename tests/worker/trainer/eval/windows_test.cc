#include "worker/trainer/eval/windows.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace dt::trainer {
namespace {

using Shards = std::vector<uint64_t>;

// Counts how often each token is a target, by shard and position.
std::map<std::pair<uint64_t, uint64_t>, int> TargetsOf(const EvalWindows& windows) {
  std::map<std::pair<uint64_t, uint64_t>, int> targets;
  const auto add = [&](const EvalWindow& window) {
    for (int64_t i = window.skipped; i < window.length; ++i) {
      ++targets[{window.shard, window.first + static_cast<uint64_t>(i) + 1}];
    }
  };
  for (int64_t i = 0; i < windows.whole(); ++i) add(windows.Whole(i));
  for (const EvalWindow& window : windows.rest()) add(window);
  return targets;
}

TEST(EvalWindowsTest, TheTargetsAreTheSameForAnyLengthOfSequences) {
  const Shards shards{101, 1, 40, 0, 77, 2};
  for (const int64_t tokens : {1, 39, 100, 101, 150, 216, 100000}) {
    const auto expected = TargetsOf(EvalWindows::OfTokens(shards, 1, tokens));
    EXPECT_EQ(expected.size(), static_cast<size_t>(std::min<int64_t>(tokens, 100 + 39 + 76 + 1)));
    for (const auto& [target, times] : expected) EXPECT_EQ(times, 1);
    for (const int64_t length : {2, 8, 10, 64, 1000}) {
      EXPECT_EQ(TargetsOf(EvalWindows::OfTokens(shards, length, tokens)), expected)
          << tokens << " tokens, sequences of " << length;
    }
    for (const int64_t multiple : {2, 4, 8}) {
      const EvalWindows windows = EvalWindows::OfTokens(shards, 8, tokens, multiple);
      EXPECT_EQ(TargetsOf(windows), expected) << multiple;
      for (const EvalWindow& window : windows.rest()) {
        EXPECT_TRUE(window.length % multiple == 0 || window.targets() < multiple);
      }
    }
  }
}

TEST(EvalWindowsTest, FullWindowsLieAsInTraining) {
  const EvalWindows windows = EvalWindows::OfTokens(Shards{9, 21}, 4, 100);
  ASSERT_EQ(windows.whole(), 7);
  EXPECT_EQ(windows.Whole(1), (EvalWindow{0, 4, 4, 0}));
  EXPECT_EQ(windows.Whole(2), (EvalWindow{1, 0, 4, 0}));
  EXPECT_EQ(windows.Whole(6), (EvalWindow{1, 16, 4, 0}));
  EXPECT_TRUE(windows.rest().empty());
  EXPECT_EQ(windows.Batches(3), 3);
}

TEST(EvalWindowsTest, ACountOfWindowsLeavesOutTheRestsOfShards) {
  const EvalWindows windows = EvalWindows::OfCount(Shards{11, 0, 11}, 4, 3);
  ASSERT_EQ(windows.whole(), 3);
  EXPECT_EQ(windows.Whole(2), (EvalWindow{2, 0, 4, 0}));
  EXPECT_TRUE(windows.rest().empty());
  EXPECT_EQ(EvalWindows::OfCount(Shards{11, 11}, 4, 100).whole(), 4);
}

}  // namespace
}  // namespace dt::trainer
