// fanova.h: which parameters a result depends on: functional analysis of variance.
//
// Role:   pure. The share of a parameter is the part of the variance over the whole space of the
//         search that it brings about alone, whatever the others are; that of a pair, what the two
//         bring about together beyond that.
// Source: Hutter, Hoos, Leyton-Brown: An Efficient Approach for Assessing Hyperparameter
//         Importance, 2014. Exact over each tree of a random forest, then the mean of the trees.
// Errors: FailedPrecondition where the rows bear no conclusion, with what is needed.
// Tests:  tests/report/importance/fanova_test.cc
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "report/importance/forest.h"

namespace dt::report::importance {

// Fewer rows than this, or than so many for each factor, and another draw of as many would name
// another parameter.
inline constexpr size_t kRowsLeast = 12;
inline constexpr size_t kRowsEachFactor = 4;
size_t RowsNeeded(size_t factors);
// More are thinned evenly, by value: the trees differ by more than the rows left out tell.
inline constexpr size_t kRowsMost = 1000;
// Pairs are looked at among so many factors, those with the largest shares.
inline constexpr size_t kPairedMost = 12;

struct Effect {
  std::vector<size_t> factors;  // one, or two in order
  double share = 0;             // 0 to 1
  double deviation = 0;         // of the trees
};

struct Importance {
  std::vector<Effect> single;  // the largest first, one for each factor
  std::vector<Effect> pairs;   // the largest first
  double fit = 0;              // as Forest::fit
  size_t rows = 0;             // that there were
  size_t clipped = 0;          // rows so far above the others that they count as less
};

// REQUIRES: rows are as long as factors; a lower value is a better one.
absl::StatusOr<Importance> Analyse(const std::vector<Factor>& factors, std::vector<Row> rows);

}  // namespace dt::report::importance
