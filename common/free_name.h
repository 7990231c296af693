// free_name.h: names of a person's beside ours, so that none stands twice: labels, columns.
//
// Role:  pure.
// Tests: tests/common/free_name_test.cc
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace dt {

// Returns `name` with `prefix` in front as often as it takes to differ from all of `taken`, and
// adds the result to these. So the same names in the same order give the same results.
inline std::string TakeFreeName(std::string name, std::string_view prefix,
                                std::set<std::string>& taken) {
  while (!taken.insert(name).second) name = absl::StrCat(std::string(prefix), name);
  return name;
}

// Stands before the column of a parameter whose path is a column of ours.
inline constexpr char kParameterColumn[] = "parameters.";
// The same for a metric that a program named.
inline constexpr char kMetricColumn[] = "metric.";

}  // namespace dt
