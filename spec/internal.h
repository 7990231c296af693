// internal.h: what the files of this room share and nobody else needs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/spec.h"

namespace dt::spec::internal {

// The largest whole number that a double, and JSON with it, holds exactly with all below it. A
// field with this as its max has no upper bound that a person needs to know.
inline constexpr double kWholeMax = 9007199254740991.0;

// "from 1 to 8", "above 0 and at most 1000", "at least 0 and below 1"; "" without a range.
std::string RangeText(const Field& field);
// "an integer", "a number", …: completes "must be".
std::string TypeText(const Field& field);
// Text that a terminal may print: no control characters. Errors: what is wrong, else "".
enum class Lines { kOne, kMany };
std::string TextProblem(std::string_view text, size_t limit_bytes, Lines lines);
// A piece of what was written, in quotes, short enough for a message.
std::string Quote(std::string_view text);
// Seconds of "60s", "1h30m", "500ms"; nullopt when it is none. And back, in the largest whole unit.
std::optional<double> DurationSeconds(std::string_view text);
std::string DurationText(double seconds);

// The grid as indices: sizes of parameters, and exclusions as sets of value indices. Values that
// cannot be read leave an exclusion that matches nothing; Validate names them.
struct Grid {
  std::vector<size_t> sizes;
  // Per exclusion: (parameter, value) pairs that must all hold. Empty: never matches.
  std::vector<std::vector<std::pair<size_t, size_t>>> excluded;
  // Product of sizes, at most kTooMany.
  size_t combinations = 1;
};
// Walking more, a thousand exclusions each, would hold up the coordinator for seconds.
inline constexpr size_t kTooMany = 100'000;
inline constexpr int kParametersMax = 64;  // a name and a column each
inline constexpr int kExclusionsMax = 1000;
Grid MakeGrid(const v1::ExperimentSpec& spec);
// Calls visit(indices) for each remaining combination in order; stops when it returns false.
// REQUIRES: combinations < kTooMany.
template <typename Visit>
void ForEachTrial(const Grid& grid, Visit visit) {
  std::vector<size_t> at(grid.sizes.size(), 0);
  const auto is_excluded = [&] {
    for (const auto& exclusion : grid.excluded) {
      bool all = !exclusion.empty();
      for (const auto& [parameter, value] : exclusion) all = all && at[parameter] == value;
      if (all) return true;
    }
    return false;
  };
  for (size_t i = 0; i < grid.combinations; ++i) {
    if (!is_excluded() && !visit(at)) return;
    for (size_t p = at.size(); p-- > 0;) {  // the last parameter varies fastest
      if (++at[p] < grid.sizes[p]) break;
      at[p] = 0;
    }
  }
}
std::vector<v1::Assignment> AssignmentsAt(const v1::ExperimentSpec& spec,
                                          const std::vector<size_t>& indices);

// One rule that a resolved trial breaks.
struct Violation {
  std::string rule;                // stable name, to report it once
  std::vector<std::string> paths;  // fields involved, the likeliest culprit first
  std::string message;
  std::string hint;
};
// Combinations of fields of a resolved trial that cannot work together. `set` has the paths that
// the file or the trial's assignments set.
std::vector<Violation> CheckTrial(const v1::Spec& trial, const std::set<std::string>& set);

}  // namespace dt::spec::internal
