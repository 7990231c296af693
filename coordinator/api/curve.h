// curve.h: a metric over steps in a bounded number of points, and what stands out stays.
//
// Role:  pure. Steps are put into buckets of equal width; of each the least and the largest value
//        are kept, so that a spike of one step stays visible however long the trial is. Where the
//        buckets become too many, each two become one. What is no number makes a gap.
// Units: memory 48 bytes a bucket, whatever the number of rows.
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
  // About `points` points at most. REQUIRES: points >= 2.
  explicit Curve(size_t points) : buckets_max_(points / 2) {}

  // Steps come in order; one that is smaller than the last counts as of the newest bucket.
  void Add(uint64_t step, double value);
  // In order of steps; the last one that was added is always among them.
  std::vector<CurvePoint> Points() const;

 private:
  struct Bucket {
    uint64_t index = 0;  // of steps [index × width, …)
    CurvePoint least, largest;
    bool any = false;   // a number
    uint64_t gap = 0;   // the last step whose value is no number
    bool gaps = false;  // there is one
  };
  static void Join(const Bucket& from, Bucket& into);
  void Halve();

  size_t buckets_max_;
  uint64_t width_ = 1;
  std::vector<Bucket> buckets_;
  CurvePoint last_;
};

}  // namespace dt
