// report.h: parses one line that a program reports.
//
// Role:      pure. A line is a JSON object, such as {"step": 100, "val_loss": 3.1, "any_name":
//            1.5}, {"checkpoint": "dir", "step": 100} or {"progress": 0.4}; they may stand in one
//            line.
// Errors:    why a line, or one of its fields, is invalid, with the fix, in words for the program's
//            author. An invalid field does not affect the others.
// Bounds:    limits::kProgramLineBytes a line, kMetrics numbers, kMetricNameBytes a name.
// Invariant: if the line has the search's metric, it is always among the numbers: a value that is
//            not a number becomes NaN, since a trial without a valid result must not count as good.
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

// A field that is dropped from its line.
struct Flaw {
  std::string name;  // in printable form
  std::string why;
};
struct Report {
  std::optional<uint64_t> step;
  std::string step_word;                  // its name in the line: "step", "epoch", …
  std::map<std::string, double> numbers;  // by name; NaN: null, NaN or infinity in the line
  std::optional<std::string> checkpoint;  // a folder
  std::optional<double> progress;         // 0 to 1
  std::vector<Flaw> flaws;
};
struct WrongLine {
  std::string why;
};
// `metric`: the name that the search uses; "": none.
std::variant<Report, WrongLine> ReadReport(std::string_view line, std::string_view metric = {});

// First byte of a text that stands for a number beyond the range of a double. A program's JSON may
// contain it too, with the same meaning.
inline constexpr char kBeyond = '\1';
// Returns the line in a form that the JSON parser accepts. JSON has no word for values that are not
// finite, while Python, NumPy and printf have several: each becomes `not_finite`. A number beyond a
// double's range, which would make the line unreadable, becomes a text: kBeyond and the number.
// Texts in the line stay as they are.
std::string ReadableJson(std::string_view line, std::string_view not_finite);

// Returns whether a step's row has a column of this name: a line with only such names is a row, any
// other an evaluation.
bool IsRowColumn(std::string_view name);
bool IsRow(const Report& report);

}  // namespace dt::program
