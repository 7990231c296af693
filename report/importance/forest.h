// forest.h: a random forest of regression trees over a search's parameters, each tree as the boxes
// that its leaves are.
//
// Role:   pure. The same rows give the same forest, in whatever order they come.
// Source: Breiman, Random Forests, 2001: each tree grows on a bootstrap sample and tries every
//         parameter at every split, as Optuna's evaluator of importance has it.
// Units:  a number's place is in [0, 1], so that the length of a side is a share of what may be
//         searched; a choice's is its index.
// Tests:  tests/report/importance/fanova_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt::report::importance {

// What a parameter may be.
struct Factor {
  size_t choices = 0;  // without an order; 0: a number. At most kChoicesMax.
};
inline constexpr size_t kChoicesMax = 64;

struct Row {
  std::vector<double> at;  // one for each factor
  double value = 0;        // finite
  auto operator<=>(const Row&) const = default;
};

// What of one factor a leaf holds.
struct Side {
  double low = 0;
  double high = 1;       // of a number
  uint64_t choices = 0;  // of choices, a bit for each
};
// The part of the factor's values that is in `side`.
double ShareOf(const Factor& factor, const Side& side);

struct Leaf {
  std::vector<Side> sides;  // one for each factor
  double value = 0;
  double volume = 0;  // the part of the whole space that it is
};
using Tree = std::vector<Leaf>;  // their boxes do not overlap and fill the space

struct Forest {
  std::vector<Tree> trees;
  // How much of the rows' variance the trees foretell that did not see the row (R², out of bag): 1
  // at best, 0 or less where they know nothing. NaN: no row was left out of some tree.
  double fit = 0;
};
// REQUIRES: rows are not empty, and each is as long as factors.
Forest Grow(const std::vector<Factor>& factors, std::vector<Row> rows);

}  // namespace dt::report::importance
