// constraint.h: the limits of search.constraints, such as "memory_peak_bytes < 70GiB".
//
// Role:    pure. A constraint is METRIC OPERATOR NUMBER[UNIT]; the operator is <, <=, > or >=.
// Units:   a bound is in the unit of its metric: the end of the metric's name decides ("_ms",
//          "_bytes"); without such an end, times are in seconds, sizes in bytes, percentages are
//          shares.
// Errors:  ParseConstraint returns a fault with the place in the text and the fix.
// Tests:   tests/spec/constraint_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace dt::spec {

enum class Comparison : uint8_t { kBelow, kAtMost, kAbove, kAtLeast };

struct Constraint {
  std::string metric;
  Comparison comparison = Comparison::kAtMost;
  double bound = 0;  // in the metric's unit
  std::string text;  // as written
};

struct ConstraintFault {
  size_t at = 0;  // place in the text, in bytes from 1
  std::string message;
  std::string hint;
};

std::variant<Constraint, ConstraintFault> ParseConstraint(std::string_view text);

// Returns how far the value is beyond the bound: 0 within it, otherwise above 0. The excess is a
// share of the bound, so that constraints of different units can be summed. A value that is not a
// number is infinitely far.
double ViolationOf(const Constraint& constraint, double value);

}  // namespace dt::spec
