// near_miss.h: a printed line that was nearly a report, and what is wrong with it.
//
// Role:   pure. A program that prints its numbers in another form than a report's would end without
//         a number and without a word; this finds the line to show to its writer.
// Bounds: a line above kNearMissBytes is not looked at.
// Tests:  tests/worker/program/near_miss_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dt::program {

inline constexpr size_t kNearMissBytes = 4096;

struct NearMiss {
  std::string line;    // printable, cut
  std::string why;     // and what to write in its place
  bool close = false;  // it has all that a report needs: a step and a number
};

// Looks at a line that is no report. `metric`: the name that the search goes by.
std::optional<NearMiss> FindNearMiss(std::string_view line, std::string_view metric);
// Looks at a line of standard error, where a report does not count.
std::optional<NearMiss> FindNearMissOnError(std::string_view line, std::string_view metric);

}  // namespace dt::program
