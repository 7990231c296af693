#include "coordinator/api/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace dt {

void Curve::Add(uint64_t step, double value) {
  last_ = {step, std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN()};
  uint64_t index = step / width_;
  if (!buckets_.empty()) index = std::max(index, buckets_.back().index);
  Bucket one;
  one.index = index;
  if (std::isfinite(value)) {
    one.any = true;
    one.least = one.largest = last_;
  } else {
    one.gaps = true;
    one.gap = step;
  }
  if (!buckets_.empty() && buckets_.back().index == index) {
    Join(one, buckets_.back());
    return;
  }
  buckets_.push_back(one);
  while (buckets_.size() > std::max<size_t>(1, buckets_max_)) Halve();
}

void Curve::Join(const Bucket& from, Bucket& into) {
  if (from.gaps) {
    into.gaps = true;
    into.gap = from.gap;
  }
  if (!from.any) return;
  if (!into.any || from.least.value < into.least.value) into.least = from.least;
  if (!into.any || from.largest.value > into.largest.value) into.largest = from.largest;
  into.any = true;
}

void Curve::Halve() {
  width_ *= 2;
  std::vector<Bucket> joined;
  for (Bucket& bucket : buckets_) {
    bucket.index /= 2;
    if (!joined.empty() && joined.back().index == bucket.index) {
      Join(bucket, joined.back());
    } else {
      joined.push_back(bucket);
    }
  }
  buckets_ = std::move(joined);
}

std::vector<CurvePoint> Curve::Points() const {
  std::vector<CurvePoint> points;
  for (const Bucket& bucket : buckets_) {
    const size_t first = points.size();
    if (bucket.any) {
      points.push_back(bucket.least);
      if (bucket.largest.step != bucket.least.step) points.push_back(bucket.largest);
    }
    if (bucket.gaps) points.push_back({bucket.gap, std::numeric_limits<double>::quiet_NaN()});
    std::sort(points.begin() + static_cast<int64_t>(first), points.end(),
              [](const CurvePoint& a, const CurvePoint& b) { return a.step < b.step; });
  }
  if (!points.empty() && points.back().step != last_.step) points.push_back(last_);
  return points;
}

}  // namespace dt
