// free_name.h: keeps names that people choose apart from ours, for labels and columns.
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
// adds the result to them. So the same names in the same order give the same results.
inline std::string TakeFreeName(std::string name, std::string_view prefix,
                                std::set<std::string>& taken) {
  while (!taken.insert(name).second) name = absl::StrCat(std::string(prefix), name);
  return name;
}

// Prefix of the column of a parameter whose path is the name of one of our columns.
inline constexpr char kParameterColumn[] = "parameters.";
// The same for a metric named by a program.
inline constexpr char kMetricColumn[] = "metric.";

}  // namespace dt
