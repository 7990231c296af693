// line_pattern.h: finds named numbers in one line of text.
//
// Role:    pure. A pattern is text with {names}, such as "step {step}: val loss {val_loss}"; each
//          name stands for a number, {} for any text, and a run of spaces for any run of spaces. A
//          pattern with a group (?P<name>…) is a regular expression of RE2. It matches anywhere in
//          a line.
// Bounds:  limits::kMetricPatternBytes a pattern, kMetrics names; RE2 needs time linear in the
//          line, and at most kPatternMemory bytes.
// Errors:  InvalidArgument, with the reason and the fix.
// Threads: a pattern is immutable.
// Tests:   tests/spec/line_pattern_test.cc, tests/fuzz/metric_lines_fuzz.cc
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace re2 {
class RE2;
}

namespace dt::spec {

// Shapes of lines that have a name instead of a pattern.
inline constexpr std::array<std::string_view, 2> kNamedShapes = {"tqdm", "lightning"};
bool IsNamedShape(std::string_view pattern);

// Names by which a line counts, the best first.
inline constexpr std::array<std::string_view, 5> kStepWords = {"step", "global_step", "iteration",
                                                               "iter", "epoch"};
bool IsStepWord(std::string_view name);

class LinePattern {
 public:
  static absl::StatusOr<LinePattern> Make(std::string_view text);

  // Returns the numbers of the first match, in the order of names(). Empty: there is no match. A
  // group without a number gives none.
  std::vector<std::pair<std::string, double>> Find(std::string_view line) const;
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::shared_ptr<const re2::RE2> expression_;
  std::vector<std::string> names_;
};

// Returns nullopt if the text is not one number, as printf and Python write it.
std::optional<double> NumberIn(std::string_view text);

}  // namespace dt::spec
