// near_miss.h: finds a printed line that was nearly a report, and explains what is wrong with it.
//
// Role:   pure. A program that prints its numbers in another form would end without any number and
//         without an explanation; this finds the line to show to its author.
// Bounds: a line longer than kNearMissBytes is ignored.
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
  std::string why;     // the reason, and what to write instead
  bool close = false;  // it has all parts of a report: a step and a number
};

// Checks a line that is not a report. `metric`: the name that the search uses.
std::optional<NearMiss> FindNearMiss(std::string_view line, std::string_view metric);
// Checks a line of standard error, where reports do not count.
std::optional<NearMiss> FindNearMissOnError(std::string_view line, std::string_view metric);

}  // namespace dt::program
