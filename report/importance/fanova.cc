#include "report/importance/fanova.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace dt::report::importance {
namespace {

// A factor as a tree sees it: the cells that no leaf divides, and the cells of each leaf.
struct Cells {
  std::vector<double> shares;
  std::vector<std::vector<uint32_t>> of_leaf;
  std::vector<double> share_of_leaf;
};

Cells CellsOf(const Factor& factor, size_t number, const Tree& tree) {
  Cells cells;
  std::vector<double> ends;
  if (factor.choices > 0) {
    cells.shares.assign(factor.choices, 1 / static_cast<double>(factor.choices));
  } else {
    for (const Leaf& leaf : tree) {
      ends.push_back(leaf.sides[number].low);
      ends.push_back(leaf.sides[number].high);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    for (size_t i = 0; i + 1 < ends.size(); ++i) cells.shares.push_back(ends[i + 1] - ends[i]);
  }
  for (const Leaf& leaf : tree) {
    const Side& side = leaf.sides[number];
    cells.share_of_leaf.push_back(ShareOf(factor, side));
    std::vector<uint32_t>& has = cells.of_leaf.emplace_back();
    for (uint32_t i = 0; i < cells.shares.size(); ++i) {
      const bool within = factor.choices > 0 ? (side.choices >> i & 1) != 0
                                             : ends[i] >= side.low && ends[i] < side.high;
      if (within) has.push_back(i);
    }
  }
  return cells;
}

struct Shares {
  std::vector<double> single;  // by factor
  std::vector<double> pairs;   // in the order asked
};

// Variances of one tree over the full space.
class TreeVariance {
 public:
  TreeVariance(const std::vector<Factor>& factors, const Tree& tree) : tree_(tree) {
    for (size_t i = 0; i < factors.size(); ++i) cells_.push_back(CellsOf(factors[i], i, tree));
    for (const Leaf& leaf : tree) mean_ += leaf.value * leaf.volume;
    for (const Leaf& leaf : tree) whole_ += leaf.volume * Squared(leaf.value);
    for (size_t i = 0; i < factors.size(); ++i) alone_.push_back(Alone(i));
  }

  double whole() const { return whole_; }
  double Of(size_t factor) const { return alone_[factor]; }
  // Without the shares of the two factors alone.
  double Of(size_t first, size_t second) const {
    const Cells& a = cells_[first];
    const Cells& b = cells_[second];
    std::vector<double> means(a.shares.size() * b.shares.size());
    for (size_t leaf = 0; leaf < tree_.size(); ++leaf) {
      const double part =
          tree_[leaf].value * tree_[leaf].volume / (a.share_of_leaf[leaf] * b.share_of_leaf[leaf]);
      for (const uint32_t i : a.of_leaf[leaf]) {
        for (const uint32_t j : b.of_leaf[leaf]) means[i * b.shares.size() + j] += part;
      }
    }
    double variance = 0;
    for (size_t i = 0; i < a.shares.size(); ++i) {
      for (size_t j = 0; j < b.shares.size(); ++j) {
        variance += a.shares[i] * b.shares[j] * Squared(means[i * b.shares.size() + j]);
      }
    }
    return std::max(0.0, variance - alone_[first] - alone_[second]);
  }

 private:
  double Squared(double value) const { return (value - mean_) * (value - mean_); }
  double Alone(size_t factor) const {
    const Cells& cells = cells_[factor];
    std::vector<double> means(cells.shares.size());
    for (size_t leaf = 0; leaf < tree_.size(); ++leaf) {
      const double part = tree_[leaf].value * tree_[leaf].volume / cells.share_of_leaf[leaf];
      for (const uint32_t i : cells.of_leaf[leaf]) means[i] += part;
    }
    double variance = 0;
    for (size_t i = 0; i < means.size(); ++i) variance += cells.shares[i] * Squared(means[i]);
    return variance;
  }

  const Tree& tree_;
  std::vector<Cells> cells_;
  double mean_ = 0;
  double whole_ = 0;
  std::vector<double> alone_;
};

// Clips outliers. The value of a diverged trial would dominate the variance. A value more than
// three interquartile ranges above the upper quartile counts as exactly that.
size_t Clip(std::vector<Row>& rows) {
  std::vector<double> values;
  for (const Row& row : rows) values.push_back(row.value);
  std::sort(values.begin(), values.end());
  const double low = values[(values.size() - 1) / 4];
  const double high = values[(values.size() - 1) * 3 / 4];
  constexpr double kFar = 3;
  const double most = high + kFar * (high - low);
  size_t clipped = 0;
  if (!(high > low)) return clipped;
  for (Row& row : rows) {
    if (!(row.value > most)) continue;
    row.value = most;
    ++clipped;
  }
  return clipped;
}

void Thin(std::vector<Row>& rows) {
  if (rows.size() <= kRowsMost) return;
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.value, a.at) < std::tie(b.value, b.at);
  });
  std::vector<Row> kept;
  for (size_t i = 0; i < kRowsMost; ++i) kept.push_back(rows[i * rows.size() / kRowsMost]);
  rows = std::move(kept);
}

// Returns mean and deviation over the trees.
Effect MakeEffect(std::vector<size_t> factors, const std::vector<double>& shares) {
  Effect effect{std::move(factors), 0, 0};
  const auto count = static_cast<double>(shares.size());
  for (const double share : shares) effect.share += share / count;
  for (const double share : shares) {
    effect.deviation += (share - effect.share) * (share - effect.share) / count;
  }
  effect.deviation = std::sqrt(effect.deviation);
  return effect;
}

void LargestFirst(std::vector<Effect>& effects) {
  std::stable_sort(effects.begin(), effects.end(),
                   [](const Effect& a, const Effect& b) { return a.share > b.share; });
}

}  // namespace

size_t RowsNeeded(size_t factors) { return std::max(kRowsLeast, kRowsEachFactor * factors); }

absl::StatusOr<Importance> Analyse(const std::vector<Factor>& factors, std::vector<Row> rows) {
  if (rows.size() < RowsNeeded(factors.size())) {
    return absl::FailedPreconditionError(
        absl::StrCat(rows.size(), " trials have a value, and ", RowsNeeded(factors.size()),
                     " are needed to say what ", factors.size(),
                     factors.size() == 1 ? " parameter does" : " parameters do"));
  }
  Importance importance;
  importance.rows = rows.size();
  importance.clipped = Clip(rows);
  Thin(rows);
  const Forest forest = Grow(factors, std::move(rows));
  importance.fit = forest.fit;
  std::vector<TreeVariance> trees;
  for (const Tree& tree : forest.trees) {
    TreeVariance variance(factors, tree);
    if (variance.whole() > 0) trees.push_back(std::move(variance));
  }
  if (trees.empty()) {
    return absl::FailedPreconditionError(
        "the trials' values do not differ; there is nothing that a parameter could explain");
  }
  std::vector<double> shares(trees.size());
  for (size_t i = 0; i < factors.size(); ++i) {
    for (size_t t = 0; t < trees.size(); ++t) shares[t] = trees[t].Of(i) / trees[t].whole();
    importance.single.push_back(MakeEffect({i}, shares));
  }
  LargestFirst(importance.single);
  const size_t paired = std::min(kPairedMost, factors.size());
  for (size_t a = 0; a < paired; ++a) {
    for (size_t b = a + 1; b < paired; ++b) {
      const auto [first, second] =
          std::minmax(importance.single[a].factors[0], importance.single[b].factors[0]);
      for (size_t t = 0; t < trees.size(); ++t) {
        shares[t] = trees[t].Of(first, second) / trees[t].whole();
      }
      importance.pairs.push_back(MakeEffect({first, second}, shares));
    }
  }
  LargestFirst(importance.pairs);
  return importance;
}

}  // namespace dt::report::importance
