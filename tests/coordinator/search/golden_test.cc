#include "tests/coordinator/search/golden.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace dt::search::testing {
namespace {

// A sanitizer's build takes ten times as long; the first seeds are enough to test this compiler.
#ifdef DTRAIN_SANITIZE
constexpr uint64_t kSeeds = 1;
#else
constexpr uint64_t kSeeds = kGoldenSeeds;
#endif

TEST(GoldenTest, ProposalsEqualThoseOfOtherBuilds) {
  std::ifstream file(DTRAIN_GOLDEN);
  std::string expected;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string problem;
    uint64_t seed = 0;
    ASSERT_TRUE(words >> problem >> seed) << DTRAIN_GOLDEN << ": " << line;
    if (seed < kSeeds) expected += line + "\n";
  }
  EXPECT_EQ(GoldenLines(kSeeds), expected)
      << "problem, seed, hash of 100 proposals. Where the algorithm was meant to change, write "
         "what golden_gcc_O3 prints into " DTRAIN_GOLDEN;
}

}  // namespace
}  // namespace dt::search::testing
