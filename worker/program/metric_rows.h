// metric_rows.h: reads the lines of a file of metrics: CSV with a header, or JSON lines.
//
// Role:   pure. The first line decides: one that begins with { is JSON.
// Bounds: limits::kProgramLineBytes a line, kSampleNames columns.
// Errors: a line that is no row, or a cell that is no number, gives nothing.
// Tests:  tests/worker/program/metric_rows_test.cc, tests/fuzz/metric_rows_fuzz.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/program/samples.h"

namespace dt::program {

class MetricRows {
 public:
  // Returns the row's numbers. nullopt: it is the header, or has none.
  std::optional<Sample> Take(std::string_view line);

 private:
  std::optional<Sample> TakeJson(std::string_view line) const;
  std::optional<Sample> TakeCells(std::string_view line) const;

  bool begun_ = false, json_ = false;
  char separator_ = ',';
  std::vector<std::string> columns_;  // "": its cells are dropped
  std::string step_word_;             // the name of the step's column; "": none
};

}  // namespace dt::program
