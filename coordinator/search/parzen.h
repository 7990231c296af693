// parzen.h: a Parzen estimator: a density over a space, of one kernel a point and a prior.
//
// Role:      pure. A mixture of products over dimensions: normal kernels cut off at the ends of a
//            range, cells of them on steps and ordered lists, and a share for each choice.
// Units:     coordinates are values, their logarithms on a logarithmic scale, or places in a list.
// Ownership: borrows the space, which must outlive it; keeps nothing of the points.
// Source:    Bergstra et al., Algorithms for Hyper-Parameter Optimization, 2011; as Optuna 5's
//            TPESampler with multivariate=True has it, lists of numbers aside, which are ordered.
// Tests:     tests/coordinator/search/parzen_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/draw.h"
#include "spec/space.h"

namespace dt::search {

using spec::Point;

// A dimension as kernels see it.
class Axis {
 public:
  // REQUIRES: `dimension` outlives it.
  explicit Axis(const spec::Dimension& dimension);

  // Choices have shares; all else lies on the line from low() to high().
  bool is_choice() const { return choice_; }
  // On a line: a density, rather than the mass of cells.
  bool is_continuum() const { return places_ == 0; }
  double low() const { return low_; }
  double high() const { return high_; }
  uint64_t places() const { return places_; }

  double CoordinateOf(double value) const;
  double ValueAt(double coordinate) const;  // the nearest that the dimension has
  // What belongs to a value on steps: it reaches half a step to both sides.
  struct Cell {
    double low, high;
  };
  Cell CellOf(double value) const;

 private:
  double Scaled(double number) const;

  const spec::Dimension* dimension_;
  bool choice_;
  uint64_t places_;
  double step_ = 0;
  double low_ = 0;
  double high_ = 0;
};

class Mixture {
 public:
  // One kernel a point, the newest last; older ones weigh less.
  Mixture(const spec::Space& space, const std::vector<const Point*>& points);

  // The logarithm of the density at each of `at`, a product of masses where there are steps. One
  // call for all, since candidates share values, and kernels do.
  std::vector<double> LogDensities(const std::vector<Point>& at) const;
  // A point from it. `candidate` tells apart the draws of one key.
  Point Draw(const DrawKey& key, uint64_t candidate) const;

 private:
  struct Kernel {
    double centre, width, log_norm;
  };
  // What one dimension holds of all kernels, the prior's last.
  struct Column {
    Axis axis;
    std::vector<Kernel> kernels;   // on a line: those that differ
    std::vector<uint32_t> chosen;  // a kernel's place in `kernels`; of choices its value
    double hit = 0;                // of choices: the share of a kernel's own value, and of another
    double miss = 0;
  };

  void FillLine(const std::vector<const Point*>& points, size_t dimension);
  void FillChoice(const std::vector<const Point*>& points, size_t dimension);
  // The logarithm of what each of `column.kernels` gives at `value`. REQUIRES: no choice.
  void TermsAt(const Column& column, double value, std::vector<double>& terms) const;
  double DrawIn(const Column& column, size_t kernel, double unit) const;

  const spec::Space& space_;
  std::vector<Column> columns_;
  std::vector<double> log_weights_;
  std::vector<double> weights_below_;  // of each kernel and those before it
};

}  // namespace dt::search
