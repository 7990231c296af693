// parzen.h: a Parzen estimator: a density over a space, with one kernel for each point and a prior.
//
// Role:      pure. A mixture of products over dimensions: normal kernels truncated to a range,
//            masses of their cells for steps and ordered lists, and a probability for each choice.
// Units:     coordinates are values, logarithms of values on a logarithmic scale, or places in a
//            list.
// Conditions: a kernel whose point lacks a dimension has the prior there, and a density does not
//            depend on dimensions that its point lacks.
// Ownership: borrows the space, which must outlive it; stores no points.
// Source:    Bergstra et al., Algorithms for Hyper-Parameter Optimization, 2011; as in Optuna 5's
//            TPESampler with multivariate=True, except that lists of numbers are ordered.
// Tests:     tests/coordinator/search/parzen_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/draw.h"
#include "spec/space.h"

namespace dt::search {

using spec::Point;

// A dimension in the form that kernels need.
class KernelAxis {
 public:
  // REQUIRES: `dimension` outlives the KernelAxis.
  explicit KernelAxis(const spec::Dimension& dimension);

  // Returns whether the dimension is a choice; others lie on the line from low() to high().
  bool is_choice() const { return choice_; }
  // Returns whether kernels on the line give a density instead of masses of cells.
  bool is_continuum() const { return places_ == 0; }
  double low() const { return low_; }
  double high() const { return high_; }
  uint64_t places() const { return places_; }

  // The centre and the deviation of the prior; is_normal(): the file gives them.
  bool is_normal() const { return dimension_->normal.has_value(); }
  double prior_centre() const { return prior_centre_; }
  double prior_width() const { return prior_width_; }

  double CoordinateOf(double value) const;
  double ValueAt(double coordinate) const;  // the nearest value of the dimension
  // The interval of a value on steps: half a step to both sides.
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
  double prior_centre_ = 0;
  double prior_width_ = 1;
};

class Mixture {
 public:
  // Makes one kernel for each point. The newest point is last; older ones weigh less.
  Mixture(const spec::Space& space, const std::vector<const Point*>& points);

  // Returns the logarithm of the density at each point of `at`; dimensions with steps contribute
  // masses. Takes all points in one call, since candidates share values and kernels.
  std::vector<double> LogDensities(const std::vector<Point>& at) const;
  // Draws a point from the mixture. `candidate` distinguishes draws with the same key.
  Point Draw(const DrawKey& key, uint64_t candidate) const;

 private:
  struct Kernel {
    double centre, width, log_norm;
  };
  // All kernels in one dimension, the prior's last.
  struct Column {
    KernelAxis axis;
    std::vector<Kernel> kernels;   // on a line: the distinct kernels
    std::vector<uint32_t> chosen;  // on a line: a kernel's index in `kernels`; for choices: its
                                   // value, or kNoValue
    double hit = 0;                // for choices: probability of a kernel's own value
    double miss = 0;
  };

  // The value of a kernel whose point lacks the dimension.
  static constexpr uint32_t kNoValue = ~uint32_t{0};

  void FillLine(const std::vector<const Point*>& points, size_t dimension);
  void FillChoice(const std::vector<const Point*>& points, size_t dimension);
  // Computes the logarithm of each of `column.kernels` at `value`. REQUIRES: no choice.
  void TermsAt(const Column& column, double value, std::vector<double>& terms) const;
  double DrawIn(const Column& column, size_t kernel, double unit) const;

  const spec::Space& space_;
  std::vector<Column> columns_;
  std::vector<double> log_weights_;
  std::vector<double> weights_below_;  // sum of the weights of each kernel and those before it
};

}  // namespace dt::search
