#include "coordinator/search/parzen.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/normal.h"

namespace dt::search {
namespace {

constexpr double kLogRootTwoPi = 0.91893853320467274178;
// The newest points have full weight; in a long search the old ones fade.
constexpr size_t kFullWeights = 25;
// A kernel is at least this fraction of its range wide, however many points there are.
constexpr double kNarrowestParts = 100;
// A mass that underflows is not zero: its logarithm is compared.
constexpr double kLeastMass = 1e-300;

// Returns the weight of the `index`-th oldest of `count` points: older points rise evenly from
// 1/count to 1.
double WeightOf(size_t index, size_t count) {
  if (count <= kFullWeights || index >= count - kFullWeights) return 1;
  const double first = 1 / static_cast<double>(count);
  const size_t rising = count - kFullWeights;
  if (rising == 1) return first;
  return first + (1 - first) * static_cast<double>(index) / static_cast<double>(rising - 1);
}

double LogSum(const double* terms, size_t count) {
  const double most = *std::max_element(terms, terms + count);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += std::exp(terms[i] - most);
  return most + std::log(sum);
}

}  // namespace

KernelAxis::KernelAxis(const spec::Dimension& dimension)
    : dimension_(&dimension), places_(spec::PlacesOf(dimension)) {
  // A range of one number is not a line.
  const bool one = dimension.kind == spec::DimensionKind::kReal && places_ == 1;
  choice_ = dimension.kind == spec::DimensionKind::kChoice || one;
  if (choice_) return;
  if (dimension.kind == spec::DimensionKind::kOrdered) {
    step_ = 1;
    low_ = -0.5;
    high_ = static_cast<double>(places_) - 0.5;
  } else {
    if (dimension.kind == spec::DimensionKind::kStepped) step_ = dimension.step;
    low_ = Scaled(dimension.low - step_ / 2);
    high_ = Scaled(dimension.high + step_ / 2);
  }
  prior_centre_ = (low_ + high_) / 2;
  prior_width_ = high_ - low_;
  if (dimension.normal) {
    prior_centre_ = dimension.normal->mean;
    prior_width_ = dimension.normal->deviation;
  }
}

double KernelAxis::Scaled(double number) const {
  return dimension_->log ? std::log(number) : number;
}

double KernelAxis::CoordinateOf(double value) const {
  return choice_ ? static_cast<double>(spec::PlaceOf(*dimension_, value)) : Scaled(value);
}

double KernelAxis::ValueAt(double coordinate) const {
  if (choice_) return spec::ValueAt(*dimension_, static_cast<uint64_t>(coordinate));
  return spec::Settled(*dimension_, dimension_->log ? std::exp(coordinate) : coordinate);
}

KernelAxis::Cell KernelAxis::CellOf(double value) const {
  // Computed from the place, not from the rounded value, so that cells meet without a gap.
  const double start = dimension_->kind == spec::DimensionKind::kOrdered ? 0 : dimension_->low;
  const auto place = static_cast<double>(spec::PlaceOf(*dimension_, value));
  return {Scaled(start + (place - 0.5) * step_), Scaled(start + (place + 0.5) * step_)};
}

Mixture::Mixture(const spec::Space& space, const std::vector<const Point*>& points)
    : space_(space) {
  const size_t count = points.size();
  double sum = 0;
  for (size_t i = 0; i <= count; ++i) {
    sum += i < count ? WeightOf(i, count) : 1;
    weights_below_.push_back(sum);
  }
  for (size_t i = 0; i <= count; ++i) {
    log_weights_.push_back(std::log((i < count ? WeightOf(i, count) : 1) / sum));
  }
  columns_.reserve(space.dimensions.size());
  for (size_t i = 0; i < space.dimensions.size(); ++i) {
    columns_.push_back({.axis = KernelAxis(space.dimensions[i])});
    if (columns_[i].axis.is_choice()) {
      FillChoice(points, i);
    } else {
      FillLine(points, i);
    }
  }
}

void Mixture::FillChoice(const std::vector<const Point*>& points, size_t dimension) {
  Column& column = columns_[dimension];
  const auto places = static_cast<double>(column.axis.places());
  const auto with = static_cast<size_t>(std::count_if(
      points.begin(), points.end(),
      [dimension](const Point* point) { return (*point)[dimension] != spec::kInactive; }));
  const double prior = 1 / static_cast<double>(with + 1);
  column.hit = (1 + prior) / (1 + prior * places);
  column.miss = prior / (1 + prior * places);
  for (const Point* point : points) {
    const double value = (*point)[dimension];
    column.chosen.push_back(value == spec::kInactive
                                ? kNoValue
                                : static_cast<uint32_t>(column.axis.CoordinateOf(value)));
  }
}

void Mixture::FillLine(const std::vector<const Point*>& points, size_t dimension) {
  Column& column = columns_[dimension];
  const KernelAxis& axis = column.axis;
  std::vector<double> at(points.size());
  std::vector<uint32_t> order;  // of the points that have the dimension
  for (size_t i = 0; i < points.size(); ++i) {
    const double value = (*points[i])[dimension];
    if (value == spec::kInactive) continue;
    at[i] = axis.CoordinateOf(value);
    order.push_back(static_cast<uint32_t>(i));
  }
  const size_t count = order.size();
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return at[a] != at[b] ? at[a] < at[b] : a < b; });

  const auto add = [&](double centre, double width) {
    const double mass = NormalMass((axis.low() - centre) / width, (axis.high() - centre) / width);
    const double norm = axis.is_continuum() ? std::log(width) + kLogRootTwoPi : 0;
    column.kernels.push_back({centre, width, std::log(mass) + norm});
  };
  // Kernels are no wider than a range, or than the middle of a normal prior.
  constexpr double kMiddle = 4;  // deviations: 95 % of it
  double range = axis.high() - axis.low();
  if (axis.is_normal()) range = std::min(range, kMiddle * axis.prior_width());
  const double least = range / std::min(kNarrowestParts, static_cast<double>(count) + 2);
  column.chosen.resize(points.size() + 1);
  for (size_t i = 0; i < count; ++i) {
    const double here = at[order[i]];
    const double left = here - (i > 0 ? at[order[i - 1]] : axis.low());
    const double right = (i + 1 < count ? at[order[i + 1]] : axis.high()) - here;
    // An end of the range counts as a neighbour only if there is no other.
    double width = std::max(left, right);
    if (count > 1 && i == 0) width = right;
    if (count > 1 && i + 1 == count) width = left;
    width = std::clamp(width, least, range);
    // Points with the same value are adjacent here, and most of them have the same kernel.
    const bool same = !column.kernels.empty() && column.kernels.back().centre == here &&
                      column.kernels.back().width == width;
    if (!same) add(here, width);
    column.chosen[order[i]] = static_cast<uint32_t>(column.kernels.size() - 1);
  }
  add(axis.prior_centre(), axis.prior_width());
  const auto prior = static_cast<uint32_t>(column.kernels.size() - 1);
  column.chosen.back() = prior;
  for (size_t i = 0; i < points.size(); ++i) {
    if ((*points[i])[dimension] == spec::kInactive) column.chosen[i] = prior;
  }
}

void Mixture::TermsAt(const Column& column, double value, std::vector<double>& terms) const {
  const KernelAxis& axis = column.axis;
  terms.resize(column.kernels.size());
  if (axis.is_continuum()) {
    const double at = axis.CoordinateOf(value);
    for (size_t i = 0; i < terms.size(); ++i) {
      const Kernel& kernel = column.kernels[i];
      const double z = (at - kernel.centre) / kernel.width;
      terms[i] = -0.5 * z * z - kernel.log_norm;
    }
    return;
  }
  const KernelAxis::Cell cell = axis.CellOf(value);
  for (size_t i = 0; i < terms.size(); ++i) {
    const Kernel& kernel = column.kernels[i];
    const double mass = NormalMass((cell.low - kernel.centre) / kernel.width,
                                   (cell.high - kernel.centre) / kernel.width);
    terms[i] = std::log(std::max(mass, kLeastMass)) - kernel.log_norm;
  }
}

std::vector<double> Mixture::LogDensities(const std::vector<Point>& at) const {
  const size_t kernels = log_weights_.size();
  std::vector<double> sums;  // a row of kernels for each point
  sums.reserve(at.size() * kernels);
  for (size_t i = 0; i < at.size(); ++i) {
    sums.insert(sums.end(), log_weights_.begin(), log_weights_.end());
  }
  std::vector<uint32_t> order(at.size());
  std::vector<double> terms;
  for (size_t d = 0; d < columns_.size(); ++d) {
    const Column& column = columns_[d];
    const double prior =
        column.axis.is_choice() ? -std::log(static_cast<double>(column.axis.places())) : 0;
    const double log_hit = column.axis.is_choice() ? std::log(column.hit) : 0;
    const double log_miss = column.axis.is_choice() ? std::log(column.miss) : 0;
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return at[a][d] != at[b][d] ? at[a][d] < at[b][d] : a < b;
    });
    for (size_t i = 0; i < order.size(); ++i) {
      const double value = at[order[i]][d];
      if (value == spec::kInactive) continue;
      double* row = &sums[order[i] * kernels];
      if (column.axis.is_choice()) {
        // A kernel contributes one of two numbers, however many choices there are.
        const auto place = static_cast<uint32_t>(column.axis.CoordinateOf(value));
        for (size_t k = 0; k < column.chosen.size(); ++k) {
          const uint32_t chosen = column.chosen[k];
          row[k] += chosen == place ? log_hit : chosen == kNoValue ? prior : log_miss;
        }
        row[kernels - 1] += prior;
        continue;
      }
      if (i == 0 || value != at[order[i - 1]][d]) TermsAt(column, value, terms);
      for (size_t k = 0; k < column.chosen.size(); ++k) row[k] += terms[column.chosen[k]];
    }
  }
  std::vector<double> densities;
  densities.reserve(at.size());
  for (size_t i = 0; i < at.size(); ++i) densities.push_back(LogSum(&sums[i * kernels], kernels));
  return densities;
}

double Mixture::DrawIn(const Column& column, size_t kernel, double unit) const {
  const KernelAxis& axis = column.axis;
  if (!axis.is_choice()) {
    const Kernel& from = column.kernels[column.chosen[kernel]];
    const double below = NormalCdf((axis.low() - from.centre) / from.width);
    const double within = NormalCdf((axis.high() - from.centre) / from.width) - below;
    const double z = NormalQuantile(below + unit * within);
    return axis.ValueAt(std::clamp(from.centre + from.width * z, axis.low(), axis.high()));
  }
  const bool prior = kernel == column.chosen.size() || column.chosen[kernel] == kNoValue;
  double passed = 0;
  for (uint64_t place = 0; place + 1 < axis.places(); ++place) {
    const double share = prior ? 1 / static_cast<double>(axis.places())
                               : (column.chosen[kernel] == place ? column.hit : column.miss);
    passed += share;
    if (unit < passed) return axis.ValueAt(static_cast<double>(place));
  }
  return axis.ValueAt(static_cast<double>(axis.places() - 1));
}

Point Mixture::Draw(const DrawKey& key, uint64_t candidate) const {
  const double sought = DrawUnit(key, Purpose::kKernel, candidate) * weights_below_.back();
  const auto found = std::lower_bound(weights_below_.begin(), weights_below_.end(), sought);
  const auto kernel = static_cast<size_t>(found - weights_below_.begin());
  Point point;
  for (size_t d = 0; d < columns_.size(); ++d) {
    const uint64_t name = DrawName(space_.dimensions[d].path);
    point.push_back(DrawIn(columns_[d], kernel, DrawUnit(key, Purpose::kValue, candidate, name)));
  }
  spec::Deactivate(space_, point);
  return point;
}

}  // namespace dt::search
