// golden.h: a search's proposals on each problem of bench/search, as one number for each seed.
#pragma once

#include <cstdint>
#include <string>

#include "bench/search/problems.h"

namespace dt::search::testing {

// Hashes 100 proposals with eight trials side by side: every bit of every value.
uint64_t HashOfProposals(const bench::Problem& problem, uint64_t seed);

inline constexpr uint64_t kGoldenSeeds = 10;
// Returns the lines of golden.txt for seeds below `seeds`: "sphere5 0 1f2e…".
std::string GoldenLines(uint64_t seeds);

}  // namespace dt::search::testing
