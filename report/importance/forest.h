// forest.h: a random forest of regression trees over a search's parameters. Each tree is a list of
// boxes, one for each leaf.
//
// Role:   pure. The same rows give the same forest, in any order.
// Source: Breiman, Random Forests, 2001: each tree grows on a bootstrap sample and tries every
//         parameter at every split, as in Optuna's importance evaluator.
// Units:  a number's place is in [0, 1], so that the length of a side is a share of the search
//         range; a choice's place is its index.
// Tests:  tests/report/importance/fanova_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt::report::importance {

// A parameter: a number, or one of several choices.
struct Factor {
  size_t choices = 0;  // unordered; 0: a number. At most kChoicesMax.
};
inline constexpr size_t kChoicesMax = 64;

struct Row {
  std::vector<double> at;  // one for each factor
  double value = 0;        // finite
  auto operator<=>(const Row&) const = default;
};

// Part of one factor that a leaf covers.
struct Side {
  double low = 0;
  double high = 1;       // of a number
  uint64_t choices = 0;  // of choices, a bit for each
};
// Returns the share of the factor's values in `side`.
double ShareOf(const Factor& factor, const Side& side);

struct Leaf {
  std::vector<Side> sides;  // one for each factor
  double value = 0;
  double volume = 0;  // as a share of the full space
};
using Tree = std::vector<Leaf>;  // their boxes do not overlap and fill the space

struct Forest {
  std::vector<Tree> trees;
  // Share of the rows' variance that is predicted by the trees that did not see the row (R², out of
  // bag): 1 at best, 0 or less where they predict nothing. NaN: every tree saw every row.
  double fit = 0;
};
// REQUIRES: rows are not empty, and each is as long as factors.
Forest Grow(const std::vector<Factor>& factors, std::vector<Row> rows);

}  // namespace dt::report::importance
