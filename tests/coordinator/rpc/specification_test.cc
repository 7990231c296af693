// specification_test.cc: no specification that a client may send ends or stalls anything, for fixed
// seeds. tests/fuzz/specification_fuzz.cc explores further.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/draw.h"
#include "tests/testing/specification_hunt.h"

namespace dt {
namespace {

// DTRAIN_HUNT: the number of specifications; a thousand take some ten seconds.
TEST(SpecificationTest, NoSpecificationEndsACheckAPlanASearchOrAPlacement) {
  const char* wanted = std::getenv("DTRAIN_HUNT");
  const char* from = std::getenv("DTRAIN_HUNT_FROM");
  const uint64_t count = wanted == nullptr ? 200 : std::strtoull(wanted, nullptr, 10);
  const uint64_t first = from == nullptr ? 1 : std::strtoull(from, nullptr, 10);
  uint64_t taken = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<uint8_t> bytes(200 + DrawBits({seed}) % 800);
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(DrawBits({seed, i}));
    }
    // If one ends the process, only this line shows its seed.
    if (wanted != nullptr)
      std::fprintf(stderr, "\rseed %llu ", static_cast<unsigned long long>(seed));
    if (hunt::Hunt(bytes.data(), bytes.size())) ++taken;
  }
  RecordProperty("taken", static_cast<int>(taken));
  EXPECT_GT(taken, count / 50);
}

}  // namespace
}  // namespace dt
