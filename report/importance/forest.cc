#include "report/importance/forest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "common/draw.h"

namespace dt::report::importance {
namespace {

constexpr uint64_t kSeed = 0x66414e4f5641;  // fixed: the same trials give the same report
constexpr uint64_t kTrees = 64;
// Minimum rows of a leaf. A leaf of one trial would fit the noise of that trial.
constexpr size_t kLeafLeast = 2;

using Rows = std::vector<const Row*>;

struct Split {
  size_t factor = 0;
  double below = 0;      // of a number: these go left
  uint64_t choices = 0;  // of choices: these go left
  double gain = 0;       // decrease of the sum of squares
};

bool GoesLeft(const Factor& factor, const Split& split, double at) {
  if (factor.choices == 0) return at < split.below;
  return (split.choices >> static_cast<size_t>(at) & 1) != 0;
}

double Sum(const Rows& rows) {
  double sum = 0;
  for (const Row* row : rows) sum += row->value;
  return sum;
}

// Rows at one place, which no split separates.
struct TiedRows {
  double at = 0;
  double sum = 0;
  size_t count = 0;
};

std::vector<TiedRows> GroupsOf(const Rows& rows, size_t factor) {
  std::vector<std::pair<double, double>> sorted;
  sorted.reserve(rows.size());
  for (const Row* row : rows) sorted.emplace_back(row->at[factor], row->value);
  std::sort(sorted.begin(), sorted.end());
  std::vector<TiedRows> groups;
  for (const auto& [at, value] : sorted) {
    if (groups.empty() || groups.back().at != at) groups.push_back({at, 0, 0});
    groups.back().sum += value;
    ++groups.back().count;
  }
  return groups;
}

// Returns the best cut of `factor`. Choices are tried in the order of their means: the best of all
// partitions is among these (Fisher, On Grouping for Maximum Homogeneity, 1958).
std::optional<Split> BestCut(const Factor& factor, size_t number, const Rows& rows, double sum) {
  std::vector<TiedRows> groups = GroupsOf(rows, number);
  if (factor.choices > 0) {
    std::stable_sort(groups.begin(), groups.end(), [](const TiedRows& a, const TiedRows& b) {
      return a.sum * static_cast<double>(b.count) < b.sum * static_cast<double>(a.count);
    });
  }
  const auto all = static_cast<double>(rows.size());
  std::optional<Split> best;
  Split split{number, 0, 0, 0};
  double left_sum = 0;
  size_t left = 0;
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    left_sum += groups[i].sum;
    left += groups[i].count;
    if (factor.choices > 0) split.choices |= uint64_t{1} << static_cast<size_t>(groups[i].at);
    if (left < kLeafLeast || rows.size() - left < kLeafLeast) continue;
    const auto count = static_cast<double>(left);
    const double right_sum = sum - left_sum;
    split.gain =
        left_sum * left_sum / count + right_sum * right_sum / (all - count) - sum * sum / all;
    split.below = (groups[i].at + groups[i + 1].at) / 2;
    if (!best.has_value() || split.gain > best->gain) best = split;
  }
  return best;
}

std::optional<Split> BestSplit(const std::vector<Factor>& factors, const Rows& rows) {
  const double sum = Sum(rows);
  const double mean = sum / static_cast<double>(rows.size());
  double squares = 0;
  for (const Row* row : rows) squares += (row->value - mean) * (row->value - mean);
  std::optional<Split> best;
  for (size_t i = 0; i < factors.size(); ++i) {
    const std::optional<Split> cut = BestCut(factors[i], i, rows, sum);
    if (cut.has_value() && (!best.has_value() || cut->gain > best->gain)) best = cut;
  }
  // A smaller gain is a rounding error of the sums.
  constexpr double kLeastGain = 1e-12;
  if (!best.has_value() || !(best->gain > kLeastGain * (1 + squares))) return std::nullopt;
  return best;
}

class TreeBuilder {
 public:
  explicit TreeBuilder(const std::vector<Factor>& factors) : factors_(factors) {}

  Tree Grow(Rows rows) {
    std::vector<Side> whole(factors_.size());
    for (size_t i = 0; i < factors_.size(); ++i) {
      const size_t choices = factors_[i].choices;
      whole[i].choices = choices >= kChoicesMax ? ~uint64_t{0} : (uint64_t{1} << choices) - 1;
    }
    // Uses a loop, not recursion: a tree may be as deep as it has rows.
    std::vector<std::pair<Rows, std::vector<Side>>> left;
    left.emplace_back(std::move(rows), std::move(whole));
    Tree tree;
    while (!left.empty()) {
      auto [here, sides] = std::move(left.back());
      left.pop_back();
      const std::optional<Split> split =
          here.size() < 2 * kLeafLeast ? std::nullopt : BestSplit(factors_, here);
      if (!split.has_value()) {
        tree.push_back(MakeLeaf(here, std::move(sides)));
        continue;
      }
      const Factor& factor = factors_[split->factor];
      const auto middle = std::stable_partition(here.begin(), here.end(), [&](const Row* row) {
        return GoesLeft(factor, *split, row->at[split->factor]);
      });
      std::vector<Side> low = sides;
      std::vector<Side> high = std::move(sides);
      low[split->factor].high = high[split->factor].low = split->below;
      low[split->factor].choices &= split->choices;
      high[split->factor].choices &= ~split->choices;
      left.emplace_back(Rows(here.begin(), middle), std::move(low));
      left.emplace_back(Rows(middle, here.end()), std::move(high));
    }
    return tree;
  }

 private:
  Leaf MakeLeaf(const Rows& rows, std::vector<Side> sides) const {
    Leaf leaf;
    leaf.value = Sum(rows) / static_cast<double>(rows.size());
    leaf.volume = 1;
    for (size_t i = 0; i < factors_.size(); ++i) leaf.volume *= ShareOf(factors_[i], sides[i]);
    leaf.sides = std::move(sides);
    return leaf;
  }

  const std::vector<Factor>& factors_;
};

double Foretell(const std::vector<Factor>& factors, const Tree& tree, const Row& row) {
  const auto holds = [&](const Leaf& leaf) {
    for (size_t i = 0; i < factors.size(); ++i) {
      const Side& side = leaf.sides[i];
      const double at = row.at[i];
      const bool within = factors[i].choices > 0
                              ? (side.choices >> static_cast<size_t>(at) & 1) != 0
                              : at >= side.low && (at < side.high || (side.high == 1 && at <= 1));
      if (!within) return false;
    }
    return true;
  };
  const auto found = std::find_if(tree.begin(), tree.end(), holds);
  return found == tree.end() ? std::nan("") : found->value;
}

// Predictions of a row by the trees that did not see it: their sum and number.
struct OutOfBag {
  double sum = 0;
  size_t trees = 0;
};

double FitOf(const std::vector<Row>& rows, const std::vector<OutOfBag>& out_of_bag) {
  double mean = 0;
  size_t count = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (out_of_bag[i].trees == 0) continue;
    mean += rows[i].value;
    ++count;
  }
  mean /= static_cast<double>(count);
  double missed = 0;
  double whole = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (out_of_bag[i].trees == 0) continue;
    const double said = out_of_bag[i].sum / static_cast<double>(out_of_bag[i].trees);
    missed += (rows[i].value - said) * (rows[i].value - said);
    whole += (rows[i].value - mean) * (rows[i].value - mean);
  }
  return 1 - missed / whole;
}

}  // namespace

double ShareOf(const Factor& factor, const Side& side) {
  if (factor.choices == 0) return side.high - side.low;
  return static_cast<double>(std::popcount(side.choices)) / static_cast<double>(factor.choices);
}

Forest Grow(const std::vector<Factor>& factors, std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end());
  TreeBuilder grower(factors);
  Forest forest;
  std::vector<OutOfBag> out_of_bag(rows.size());
  for (uint64_t tree = 0; tree < kTrees; ++tree) {
    Rows drawn;
    std::vector<bool> seen(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const double unit = DrawUnit({kSeed, tree, i});
      const auto chosen = static_cast<size_t>(unit * static_cast<double>(rows.size()));
      seen[chosen] = true;
      drawn.push_back(&rows[chosen]);
    }
    forest.trees.push_back(grower.Grow(std::move(drawn)));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (seen[i]) continue;
      out_of_bag[i].sum += Foretell(factors, forest.trees.back(), rows[i]);
      ++out_of_bag[i].trees;
    }
  }
  forest.fit = FitOf(rows, out_of_bag);
  return forest;
}

}  // namespace dt::report::importance
