// curve.h: a metric over steps in a bounded number of points that keeps spikes.
//
// Role:  pure. Steps are put into buckets of equal width. Each bucket keeps the smallest and the
//        largest value, so that a spike of one step stays visible in a trial of any length. When
//        there are too many buckets, each two become one. A value that is not a number makes a gap.
// Units: memory: 48 bytes for each bucket, independent of the number of rows.
// Tests: tests/coordinator/api/curve_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

struct CurvePoint {
  uint64_t step = 0;
  double value = 0;                                    // NaN: a gap
  bool operator==(const CurvePoint&) const = default;  // NOLINT: clang-tidy 14 wants a nullptr
};

class Curve {
 public:
  // Keeps at most about `points` points. REQUIRES: points >= 2.
  explicit Curve(size_t points) : buckets_max_(points / 2) {}

  // Adds steps in order. A step smaller than the last counts towards the newest bucket.
  void Add(uint64_t step, double value);
  // Returns points in order of steps, always including the last one added.
  std::vector<CurvePoint> Points() const;

 private:
  struct Bucket {
    uint64_t index = 0;  // covers steps [index × width, …)
    CurvePoint least, largest;
    bool any = false;   // has a number
    uint64_t gap = 0;   // the last step whose value is not a number
    bool gaps = false;  // has such a step
  };
  static void Join(const Bucket& from, Bucket& into);
  void Halve();

  size_t buckets_max_;
  uint64_t width_ = 1;
  std::vector<Bucket> buckets_;
  CurvePoint last_;
};

}  // namespace dt
