// fanova.h: functional analysis of variance: which parameters a result depends on.
//
// Role:   pure. The share of a parameter is the part of the variance over the full search space
//         that the parameter alone explains. The share of a pair is the part that the two explain
//         only together.
// Source: Hutter, Hoos, Leyton-Brown: An Efficient Approach for Assessing Hyperparameter
//         Importance, 2014. Exact over each tree of a random forest, then the mean of the trees.
// Errors: FailedPrecondition where the rows allow no conclusion, with what is needed.
// Tests:  tests/report/importance/fanova_test.cc
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "report/importance/forest.h"

namespace dt::report::importance {

// Lower bounds on the rows, in total and for each factor. With fewer, another sample of the same
// size would often name another parameter.
inline constexpr size_t kRowsLeast = 12;
inline constexpr size_t kRowsEachFactor = 4;
size_t RowsNeeded(size_t factors);
// Upper bound on the rows used. More are thinned evenly by value: the trees differ from each other
// by more than the dropped rows would change.
inline constexpr size_t kRowsMost = 1000;
// Number of factors whose pairs are analysed: those with the largest shares.
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
  size_t rows = 0;             // given
  size_t clipped = 0;          // rows far above the others, whose values were reduced
};

// REQUIRES: rows are as long as factors; a lower value is a better one.
absl::StatusOr<Importance> Analyse(const std::vector<Factor>& factors, std::vector<Row> rows);

}  // namespace dt::report::importance
