// report.h: one line that a program reports, read.
//
// Role:   pure. A line is a JSON object, such as {"step": 100, "val_loss": 3.1, "any_name": 1.5},
//         {"checkpoint": "dir", "step": 100} or {"progress": 0.4}; they may stand in one line.
// Errors: why a line means nothing, with the fix, in words for the program's writer.
// Bounds: limits::kProgramLineBytes a line, kMetrics numbers, kMetricNameBytes a name.
// Tests:  tests/worker/program/report_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace dt::program {

struct Report {
  std::optional<uint64_t> step;
  std::map<std::string, double> numbers;  // by name; NaN: null, NaN or an infinity in the line
  std::optional<std::string> checkpoint;  // a folder
  std::optional<double> progress;         // 0 to 1
};
struct WrongLine {
  std::string why;
};
std::variant<Report, WrongLine> ReadReport(std::string_view line);

// Whether a step's row has a column of this name: a line of such names alone is a row, any other
// is an evaluation.
bool IsRowColumn(std::string_view name);
bool IsRow(const Report& report);

}  // namespace dt::program
