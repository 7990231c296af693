#include "common/draw.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace dt {
namespace {

TEST(DrawTest, TheSameKeyAlwaysGivesTheSameNumber) {
  EXPECT_EQ(DrawBits({}), 0x243F6A8885A308D3u);
  // A stored sweep continues with these values: a change here would change the meaning of seeds.
  EXPECT_EQ(DrawBits({777, 0}), 0xD63D98F3DA1FBABCu);
  const DrawKey key{.seed = 7, .configuration = 12, .redraw = 1};
  EXPECT_EQ(DrawUnit(key, Purpose::kKernel, 3, 4), DrawUnit({7, 2, 12, 1, 3, 4}));
}

TEST(DrawTest, EveryPartOfTheKeyCounts) {
  std::set<double> numbers;
  for (uint64_t part = 0; part < 6; ++part) {
    for (uint64_t value = 1; value <= 100; ++value) {
      DrawKey key{.seed = part == 0 ? value : 0,
                  .configuration = static_cast<uint32_t>(part == 1 ? value : 0),
                  .redraw = static_cast<uint32_t>(part == 2 ? value : 0)};
      const auto purpose = part == 3 ? static_cast<Purpose>(value + 100) : Purpose::kUniform;
      numbers.insert(DrawUnit(key, purpose, part == 4 ? value : 0, part == 5 ? value : 0));
    }
  }
  EXPECT_EQ(numbers.size(), 600u);
}

TEST(DrawTest, UnitsFillZeroToOneEvenly) {
  constexpr int kCells = 64;
  constexpr int kDraws = 64'000;
  int counts[kCells] = {};
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double unit = DrawUnit({5, i});
    ASSERT_GE(unit, 0.0) << "key {5, " << i << "}";
    ASSERT_LT(unit, 1.0) << "key {5, " << i << "}";
    ++counts[static_cast<int>(unit * kCells)];
  }
  double chi2 = 0;
  for (const int count : counts) {
    const double expected = static_cast<double>(kDraws) / kCells;
    chi2 += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi2, 121.1);  // 63 degrees of freedom, exceeded once in 100,000
}

TEST(DrawTest, NamesThatDifferInOneLetterAreOtherKeys) {
  EXPECT_NE(DrawName("optimizer.lr"), DrawName("optimizer.ls"));
  EXPECT_EQ(DrawName("a"), 0xAF63DC4C8601EC8Cu);  // the value that FNV's authors publish
}

}  // namespace
}  // namespace dt
