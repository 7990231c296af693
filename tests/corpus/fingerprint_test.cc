#include "corpus/fingerprint.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/temp_folder.h"

namespace dt::corpus {
namespace {

using ::dt::testing::TempFolder;

std::string Bytes(size_t count) {
  std::string bytes(count, '\0');
  uint32_t state = 7;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

class FingerprintTest : public ::testing::Test {
 protected:
  // Computes a fingerprint with bounds far below the files' sizes.
  std::string Of(const std::vector<std::string>& paths,
                 const FingerprintBounds& bounds = {.all_bytes = 1 << 16, .pages = 64}) {
    const auto made = Fingerprint(paths, bounds);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.value_or("");
  }
  TempFolder folder_;
};

TEST_F(FingerprintTest, DependsOnContentSizeAndOrderAndNotOnNames) {
  std::string bytes = Bytes(3 << 20);
  const std::string a = folder_.Write("a.bin", bytes);
  const std::string same = folder_.Write("b.bin", bytes);
  const std::string small = folder_.Write("small.bin", Bytes(100));
  EXPECT_EQ(Of({a, small}), Of({same, small}));
  EXPECT_NE(Of({a, small}), Of({small, a}));
  EXPECT_NE(Of({a}), Of({a, small}));
  for (const size_t place : {size_t{0}, bytes.size() - 1}) {
    bytes[place] ^= 1;
    EXPECT_NE(Of({a}), Of({folder_.Write("other.bin", bytes)})) << place;
    bytes[place] ^= 1;
  }
  EXPECT_NE(Of({a}), Of({folder_.Write("longer.bin", bytes + "x")}));
  EXPECT_FALSE(Fingerprint(std::vector<std::string>{folder_ / "absent"}).ok());
}

TEST_F(FingerprintTest, ASmallSetIsReadToTheLastByte) {
  std::string bytes = Bytes(50000);
  const std::string whole = Of({folder_.Write("a.bin", bytes)});
  for (size_t place = 0; place < bytes.size(); place += 777) {
    bytes[place] ^= 1;
    EXPECT_NE(Of({folder_.Write("b.bin", bytes)}), whole) << place;
    bytes[place] ^= 1;
  }
}

TEST_F(FingerprintTest, AHoleOfTwoPartsIsSeenAnywhere) {
  std::string bytes = Bytes(3 << 20);
  const std::string whole = Of({folder_.Write("a.bin", bytes)});
  const size_t hole = 2 * bytes.size() / 64;
  for (size_t place = 0; place + hole <= bytes.size(); place += hole / 2) {
    std::string damaged = bytes;
    damaged.replace(place, hole, std::string(hole, '\0'));
    EXPECT_NE(Of({folder_.Write("b.bin", damaged)}), whole) << place;
  }
}

TEST_F(FingerprintTest, FingerprintsOfVersion020CannotBeComparedWithNewerOnes) {
  const std::string now = Of({folder_.Write("a.bin", "bytes")});
  EXPECT_TRUE(AreComparable(now, Of({folder_.Write("b.bin", "other")})));
  EXPECT_FALSE(AreComparable(now, std::string(64, 'a')));
}

}  // namespace
}  // namespace dt::corpus
