#include "coordinator/search/front.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "common/check.h"
#include "coordinator/search/cost.h"

namespace dt::search {
namespace {

using Indices = std::vector<size_t>;

// The reference is beyond the worst point by this part of the range, so that the ends of a front
// have a volume too.
constexpr double kBeyondWorst = 0.1;

double Ordered(double cost) { return std::isnan(cost) ? kWorstCost : cost; }

bool IsBefore(const Costs& a, const Costs& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (Ordered(a[i]) != Ordered(b[i])) return Ordered(a[i]) < Ordered(b[i]);
  }
  return false;
}

// Returns the area below `reference` of points with two costs.
double AreaOf(std::vector<Costs> points, const Costs& reference) {
  std::sort(points.begin(), points.end(), IsBefore);
  double area = 0;
  double height = reference[1];
  for (const Costs& point : points) {
    if (point[1] >= height) continue;
    area += (reference[0] - point[0]) * (height - point[1]);
    height = point[1];
  }
  return area;
}

// Slices the volume along the last objective. REQUIRES: every point is below the reference.
double VolumeOf(std::vector<Costs> points, const Costs& reference) {
  if (points.empty()) return 0;
  const size_t last = reference.size() - 1;
  if (last == 0) {
    double least = reference[0];
    for (const Costs& point : points) least = std::min(least, point[0]);
    return reference[0] - least;
  }
  if (last == 1) return AreaOf(std::move(points), reference);
  std::sort(points.begin(), points.end(),
            [last](const Costs& a, const Costs& b) { return a[last] < b[last]; });
  const Costs below(reference.begin(), reference.end() - 1);
  std::vector<Costs> slice;
  double volume = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    slice.emplace_back(points[i].begin(), points[i].end() - 1);
    const double end = i + 1 < points.size() ? points[i + 1][last] : reference[last];
    if (end > points[i][last]) volume += VolumeOf(slice, below) * (end - points[i][last]);
  }
  return volume;
}

// Returns a reference beyond the worst finite costs of all points.
Costs ReferenceOf(const std::vector<Costs>& points) {
  Costs reference(points.front().size());
  for (size_t i = 0; i < reference.size(); ++i) {
    double best = kWorstCost;
    double worst = -kWorstCost;
    for (const Costs& point : points) {
      if (!std::isfinite(point[i])) continue;
      best = std::min(best, point[i]);
      worst = std::max(worst, point[i]);
    }
    if (worst < best) best = worst = 0;
    reference[i] = worst + (worst > best ? kBeyondWorst * (worst - best) : 1);
  }
  return reference;
}

// Adds to `chosen` the `count` points of `front` with the largest common hypervolume: each time the
// one that adds most. A point never adds more than it did before, so most need no second look.
void ChooseByVolume(const std::vector<Costs>& points, const std::vector<size_t>& front,
                    size_t count, std::vector<size_t>& chosen) {
  const Costs reference = ReferenceOf(points);
  std::vector<Costs> taken;
  double volume = 0;
  struct Candidate {
    size_t index;
    double most;   // upper bound on the volume that it adds
    size_t known;  // number of points taken when that was computed
  };
  std::vector<Candidate> left;
  for (const size_t index : front) {
    left.push_back({index, Hypervolume({points[index]}, reference), 0});
  }
  const auto is_worse = [](const Candidate& a, const Candidate& b) {
    return a.most != b.most ? a.most < b.most : a.index > b.index;
  };
  std::make_heap(left.begin(), left.end(), is_worse);
  while (taken.size() < count) {
    std::pop_heap(left.begin(), left.end(), is_worse);
    Candidate& best = left.back();
    std::vector<Costs> with = taken;
    with.push_back(points[best.index]);
    if (best.known != taken.size()) {
      best.most = Hypervolume(std::move(with), reference) - volume;
      best.known = taken.size();
      std::push_heap(left.begin(), left.end(), is_worse);
      continue;
    }
    taken = std::move(with);
    volume = Hypervolume(taken, reference);
    chosen.push_back(best.index);
    left.pop_back();
  }
}

// Finds the points that no other one dominates, half by half.
class Maxima {
 public:
  explicit Maxima(const std::vector<Costs>& points) : points_(points) {}

  // Returns those of `order`. REQUIRES: it is sorted by IsBefore, without equal points. So a point
  // never dominates an earlier one, and an earlier one that is nowhere worse dominates it.
  Indices Of(std::span<const size_t> order) const {
    if (order.size() < 2) return {order.begin(), order.end()};
    const size_t half = order.size() / 2;
    Indices front = Of(order.first(half));
    Indices behind = Of(order.subspan(half));
    Drop(front, 1, behind);
    front.insert(front.end(), behind.begin(), behind.end());
    return front;
  }

 private:
  double At(size_t index, size_t place) const { return Ordered(points_[index][place]); }

  // Drops those of `behind` that, in the costs from `place` on, are nowhere better than some point
  // of `front`.
  void Drop(const Indices& front, size_t place, Indices& behind) const {
    if (front.empty() || behind.empty()) return;
    const size_t costs = points_[front[0]].size();
    if (place >= costs) return behind.clear();
    if (place + 2 >= costs) return DropBelowStairs(front, place, behind);
    const double cut = CutOf(front, place);
    const auto is_low = [&](size_t index) { return At(index, place) < cut; };
    const auto [front_low, front_high] = Split(front, is_low);
    auto [low, high] = Split(behind, is_low);
    if (front_low.empty()) {  // all are equal here
      Drop(front_high, place + 1, high);
    } else {
      Drop(front_low, place, low);
      Drop(front_high, place, high);
      Drop(front_low, place + 1, high);
    }
    behind = std::move(low);
    behind.insert(behind.end(), high.begin(), high.end());
  }

  // Does the same for the last cost or the last two.
  void DropBelowStairs(const Indices& front, size_t place, Indices& behind) const {
    const size_t last = points_[front[0]].size() - 1;
    // The least last cost of all points up to a cost at `place`.
    std::vector<std::pair<double, double>> stairs;
    for (const size_t index : front) stairs.emplace_back(At(index, place), At(index, last));
    std::sort(stairs.begin(), stairs.end());
    for (size_t i = 1; i < stairs.size(); ++i) {
      stairs[i].second = std::min(stairs[i].second, stairs[i - 1].second);
    }
    std::erase_if(behind, [&](size_t index) {
      const auto above =
          std::upper_bound(stairs.begin(), stairs.end(), std::pair(At(index, place), kWorstCost));
      return above != stairs.begin() && std::prev(above)->second <= At(index, last);
    });
  }

  // Returns a cost that splits the points into two parts, the lower ones below it. If all are
  // equal, the lower part is empty.
  double CutOf(const Indices& front, size_t place) const {
    std::vector<double> costs;
    for (const size_t index : front) costs.push_back(At(index, place));
    std::sort(costs.begin(), costs.end());
    const double middle = costs[costs.size() / 2];
    if (costs.front() < middle) return middle;
    const auto above = std::upper_bound(costs.begin(), costs.end(), middle);
    return above == costs.end() ? middle : *above;
  }

  template <typename IsLow>
  static std::pair<Indices, Indices> Split(const Indices& all, const IsLow& is_low) {
    std::pair<Indices, Indices> parts;
    for (const size_t index : all) (is_low(index) ? parts.first : parts.second).push_back(index);
    return parts;
  }

  const std::vector<Costs>& points_;
};

// Returns all indices in the order of IsBefore; equal points stay in their order.
Indices InOrder(const std::vector<Costs>& points) {
  Indices order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return IsBefore(points[a], points[b]); });
  return order;
}

}  // namespace

bool Dominates(const Costs& a, const Costs& b) {
  DT_CHECK(a.size() == b.size());
  bool better = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (Ordered(a[i]) > Ordered(b[i])) return false;
    better = better || Ordered(a[i]) < Ordered(b[i]);
  }
  return better;
}

std::vector<std::vector<size_t>> FrontsOf(const std::vector<Costs>& points, size_t enough) {
  // In this order no point dominates an earlier one.
  std::vector<size_t> left = InOrder(points);
  std::vector<std::vector<size_t>> fronts;
  for (size_t sorted = 0; !left.empty() && (fronts.empty() || sorted < enough);) {
    std::vector<size_t> front;
    std::vector<size_t> behind;
    for (const size_t index : left) {
      // With two costs, the last point of the front is the best one in the second cost.
      const bool one = !front.empty() && points[index].size() == 2;
      const auto first = one ? front.end() - 1 : front.begin();
      const bool dominated = std::any_of(first, front.end(), [&](size_t other) {
        return Dominates(points[other], points[index]);
      });
      (dominated ? behind : front).push_back(index);
    }
    std::sort(front.begin(), front.end());
    sorted += front.size();
    fronts.push_back(std::move(front));
    left = std::move(behind);
  }
  return fronts;
}

std::vector<size_t> ParetoFront(const std::vector<Costs>& points) {
  const Indices order = InOrder(points);
  const auto is_equal = [&](size_t a, size_t b) { return !IsBefore(points[a], points[b]); };
  Indices distinct;
  std::unique_copy(order.begin(), order.end(), std::back_inserter(distinct), is_equal);
  const Indices best = Maxima(points).Of(distinct);
  std::vector<bool> chosen(points.size(), false);
  for (const size_t index : best) chosen[index] = true;
  // A point that equals one of the front is on it too.
  for (size_t i = 1; i < order.size(); ++i) {
    if (is_equal(order[i - 1], order[i])) chosen[order[i]] = chosen[order[i - 1]];
  }
  Indices front;
  for (size_t index = 0; index < points.size(); ++index) {
    if (chosen[index]) front.push_back(index);
  }
  return front;
}

double Hypervolume(std::vector<Costs> points, const Costs& reference) {
  std::erase_if(points, [&](const Costs& point) {
    for (size_t i = 0; i < reference.size(); ++i) {
      if (!(point[i] < reference[i])) return true;
    }
    return false;
  });
  return VolumeOf(std::move(points), reference);
}

std::vector<size_t> BestOf(const std::vector<Costs>& points, size_t count) {
  std::vector<size_t> best;
  count = std::min(count, points.size());
  for (const std::vector<size_t>& front : FrontsOf(points, count)) {
    if (best.size() + front.size() <= count) {
      best.insert(best.end(), front.begin(), front.end());
    } else if (best.size() < count) {
      ChooseByVolume(points, front, count - best.size(), best);
    }
  }
  std::sort(best.begin(), best.end());
  return best;
}

}  // namespace dt::search
