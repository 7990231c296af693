// svg.h: the width of drawings, and the text of numbers in them.
#pragma once

#include <string>

#include "absl/strings/str_format.h"

namespace dt::report {

// Widths in the units of the drawing, which are pixels at its usual size.
inline constexpr double kDrawingWidth = 1000;
inline constexpr double kDigitWidth = 7;  // about

inline std::string Number(double value) { return absl::StrFormat("%.1f", value); }

}  // namespace dt::report
