// normal_range.h: ranges whose draws follow a normal or a log-normal distribution.
//
// Role:    pure; the reader of files makes such ranges, and the printer omits what follows.
// Errors:  CheckNormal gives Issues.
// Tests:   tests/spec/normal_range_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dt::spec {

// The words of a file: normal: {mean, std}, log_normal: {median, factor}.
struct NormalWords {
  const char* name;
  const char* centre;
  const char* spread;
};
const NormalWords& WordsOfNormal(bool log);

// Bounds and steps as a file gives them; step 0: none.
struct GivenBounds {
  std::optional<double> min, max;
  double step = 0;
};
// Returns the range of a distribution. A bound that is not given is six deviations from the centre
// (beyond it lies one draw in a billion), or the field's own bound if that is nearer, and a
// multiple of the step.
v1::Range NormalRange(const Field& field, const v1::Normal& normal, bool log,
                      const GivenBounds& given);
// Returns the bounds of `range` that NormalRange would not give by itself. REQUIRES: has_normal.
GivenBounds GivenIn(const Field& field, const v1::Range& range);

// Returns the issues of the numbers of the distribution. REQUIRES: has_normal.
std::vector<Issue> CheckNormal(const Field& field, const v1::Range& range);
// Returns the issue if the bounds leave out nearly all of the distribution. REQUIRES: no issue of
// CheckNormal or of the bounds.
std::vector<Issue> CheckMass(const Field& field, const v1::Range& range);

}  // namespace dt::spec
