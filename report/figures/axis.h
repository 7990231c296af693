// axis.h: positions of values on an axis, and the ticks beside it.
//
// Role:      pure. Figures and text plots share it.
// Invariant: an axis has at least two ticks, even for no values or for a single one. NaN and
//            infinities have no position.
// Tests:     tests/report/figures/axis_test.cc
#pragma once

#include <string>
#include <vector>

namespace dt::report {

enum class Scale { kLinear, kLog };

// Returns kLog where all finite values are above 0 and span a factor of ten or more.
Scale ChooseScale(const std::vector<double>& values);

struct Tick {
  double value = 0;
  std::string text;
};

// Returns a number as an axis shows it: "0.25", "128", "20,000", "1e-5".
std::string TickText(double value);
// Returns the same in at most seven characters: "5e6" where it would be longer.
std::string NarrowTickText(double value);

class ChartAxis {
 public:
  // Returns an axis between two round numbers around the values, with about `wanted` ticks.
  static ChartAxis Round(Scale scale, const std::vector<double>& values, int wanted);
  // Returns an axis with a tick at each of `values`, such as a swept parameter's, and some room at
  // both ends.
  static ChartAxis AtValues(Scale scale, std::vector<double> values);

  // Returns 0 at the low end, 1 at the high end, and NaN for a value without a position.
  double Position(double value) const;
  const std::vector<Tick>& ticks() const { return ticks_; }
  Scale scale() const { return scale_; }

 private:
  ChartAxis(Scale scale, double low, double high, std::vector<Tick> ticks);

  Scale scale_;
  double low_;   // of a log axis: its logarithm
  double high_;  // above low_
  std::vector<Tick> ticks_;
};

}  // namespace dt::report
