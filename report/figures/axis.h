// axis.h: where values are on an axis, and the ticks that are written beside it.
//
// Role:      pure. Figures and text plots share it.
// Invariant: an axis has at least two ticks, also of no values, of one, and of NaN or infinities,
//            which have no place on it.
// Tests:     tests/report/figures/axis_test.cc
#pragma once

#include <string>
#include <vector>

namespace dt::report {

enum class Scale { kLinear, kLog };

// kLog where all finite values are above 0 and span a decade or more.
Scale ChooseScale(const std::vector<double>& values);

struct Tick {
  double value = 0;
  std::string text;
};

// A number as an axis shows it: "0.25", "128", "20,000", "1e-5".
std::string TickText(double value);
// The same in at most seven places: "5e6" for what is longer.
std::string NarrowTickText(double value);

class Axis {
 public:
  // From one round number to another, around the values; `wanted` is about how many ticks.
  static Axis Round(Scale scale, const std::vector<double>& values, int wanted);
  // A tick at each of `values`, as of a swept parameter, with some room at both ends.
  static Axis AtValues(Scale scale, std::vector<double> values);

  // 0 at the low end, 1 at the high end; NaN for a value that has no place.
  double Position(double value) const;
  const std::vector<Tick>& ticks() const { return ticks_; }
  Scale scale() const { return scale_; }

 private:
  Axis(Scale scale, double low, double high, std::vector<Tick> ticks);

  Scale scale_;
  double low_;   // of a log axis: its logarithm
  double high_;  // above low_
  std::vector<Tick> ticks_;
};

}  // namespace dt::report
