// metric_lines.h: reads numbers from the lines that a program prints, by the experiment's patterns.
//
// Role:   pure. `metrics.pattern` lists patterns (spec/pattern/line_pattern.h) and named shapes:
//         progress bars of tqdm and of Lightning.
// Bounds: limits::kMetricLineBytes a line, kMetricPatterns patterns; one pass each.
// Tests:  tests/worker/program/metric_lines_test.cc, tests/fuzz/metric_lines_fuzz.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "spec/pattern/line_pattern.h"
#include "worker/program/samples.h"

namespace dt::program {

// Reads progress bars such as "45%|████▌     | 450/1000 [00:12<00:15, 36.2it/s, loss=0.53]".
class ProgressBars {
 public:
  enum class Kind { kTqdm, kLightning };
  ProgressBars(Kind kind, uint64_t resumed_step) : kind_(kind), resumed_step_(resumed_step) {}

  // Returns the bar's new numbers. A bar keeps a number until it gets another one, so a number
  // that stands as before is not new.
  std::optional<Sample> Take(std::string_view line);

 private:
  // A bar as it is printed.
  struct Bar {
    std::optional<uint64_t> epoch;
    uint64_t done = 0, total = 0;  // total 0: unknown
    std::string_view numbers;      // "loss=0.53, acc=0.8"
  };
  static std::optional<Bar> BarIn(std::string_view line);
  uint64_t StepOf(const Bar& bar);

  const Kind kind_;
  const uint64_t resumed_step_;
  std::optional<uint64_t> total_;  // of the bar that counts the steps: the first with numbers
  uint64_t before_ = 0;            // steps of its earlier rounds
  uint64_t done_ = 0;
  std::map<std::string, double> shown_;
};

class MetricLines {
 public:
  // Errors: InvalidArgument, of the first wrong pattern.
  static absl::StatusOr<MetricLines> Make(const std::vector<std::string>& patterns,
                                          uint64_t resumed_step);

  // Returns the line's numbers; nullopt: it has no numbers.
  std::optional<Sample> Take(std::string_view line);
  bool matched() const { return matched_; }  // a line had numbers

 private:
  std::vector<spec::LinePattern> patterns_;
  std::vector<ProgressBars> bars_;
  std::string step_word_;  // the best of the patterns' words for a step; "": they have none
  bool matched_ = false;
};

}  // namespace dt::program
