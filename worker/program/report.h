// report.h: one line that a program reports, read.
//
// Role:      pure. A line is a JSON object, such as {"step": 100, "val_loss": 3.1, "any_name": 1.5},
//            {"checkpoint": "dir", "step": 100} or {"progress": 0.4}; they may stand in one line.
// Errors:    why a line means nothing, or a field of it, with the fix, in words for the program's
//            writer. A field that means nothing takes no other one with it.
// Bounds:    limits::kProgramLineBytes a line, kMetrics numbers, kMetricNameBytes a name.
// Invariant: the search's metric is always among the numbers where the line has it: what is not a
//            number there is NaN, since a trial that cannot say how good it is is no good one.
// Tests:     tests/worker/program/report_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dt::program {

// A field that is left out of its line.
struct Flaw {
  std::string name;  // made printable
  std::string why;
};
struct Report {
  std::optional<uint64_t> step;
  std::string step_word;                  // the name that it has in the line: "step", "epoch", …
  std::map<std::string, double> numbers;  // by name; NaN: null, NaN or an infinity in the line
  std::optional<std::string> checkpoint;  // a folder
  std::optional<double> progress;         // 0 to 1
  std::vector<Flaw> flaws;
};
struct WrongLine {
  std::string why;
};
// `metric`: the name that the search goes by; "": none.
std::variant<Report, WrongLine> ReadReport(std::string_view line, std::string_view metric = {});

// Whether a step's row has a column of this name: a line of such names alone is a row, any other
// is an evaluation.
bool IsRowColumn(std::string_view name);
bool IsRow(const Report& report);

}  // namespace dt::program
