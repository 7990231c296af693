// samples.h: turns numbers found in a program's output or files into the lines that it could have
// reported.
//
// Role:   pure. Gives a step to numbers without one, and drops what was reported already.
// Bounds: kSampleNames names are remembered; numbers of further names are dropped.
// Tests:  tests/worker/program/metric_lines_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dt::program {

inline constexpr size_t kSampleNames = 256;

// Numbers that belong together: of a printed line, a row of a file, an event.
struct Sample {
  std::optional<double> step;  // as it was written; a step that is no integer is refused later
  std::vector<std::pair<std::string, double>> values;
};

// Returns whether a number stands as before; NaN equals NaN.
bool SameNumber(double a, double b);

// The samples of a program, in their order.
class Samples {
 public:
  // How to read a step below the newest one.
  enum class Fall {
    kKeep,  // as it is: the report is refused, and the log says why
    kLift   // as the newest: writers of events count different numbers differently
  };
  Samples(uint64_t resumed_step, Fall fall) : resumed_step_(resumed_step), fall_(fall) {}

  // Returns a line of JSON for Reports::Take. "": the sample has nothing new.
  std::string LineOf(const Sample& sample);

 private:
  struct Last {
    double step = 0;
    double value = 0;
    uint64_t count = 0;  // of its values without a step
  };
  std::optional<double> StepOf(const Sample& sample);

  const uint64_t resumed_step_;
  const Fall fall_;
  std::optional<double> step_;  // the newest that was written
  uint64_t counted_ = 0;        // the newest of values without a step
  std::map<std::string, Last> last_;
};

}  // namespace dt::program
