// format.h: numbers and times as a person reads them.
//
// Role:  pure. Machine formats (json, csv) never use these.
// Units: times in seconds, sizes in bytes, wall clock in milliseconds since 1970.
// Tests: tests/report/words/format_test.cc
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/columns.h"
#include "common/text.h"

namespace dt::report {

// Shown where a value is not known.
inline constexpr char kNone[] = "-";
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::string FormatDuration(double seconds);  // "0.8 s", "42 s", "3 min 20 s", "2 h 05 min"
std::string FormatElapsed(double seconds);   // the same without decimals: "0 s", "42 s"
std::string FormatShort(
    double seconds);  // for tables: "42s", "2m05s", "14m", "2h05m", "3d4h", "42d"
std::string FormatRate(double per_second);     // "950", "12.3k", "1.20M"
std::string FormatRatio(double ratio);         // "12%"
std::string FormatLoss(double value);          // "3.0142"
std::string FormatExact(double value);         // the shortest text that reads back the same
std::string FormatCount(uint64_t value);       // "10,000"
std::string FormatLocalTime(int64_t wall_ms);  // "2025-11-21 07:40:12 CET", in the user's zone
std::string Plural(uint64_t n, std::string_view noun);  // "1 trial", "10,000 trials"

// Reads "90s", "1.5h" or "2d"; a bare number is seconds. Errors: InvalidArgument, with the text and
// the form that is expected.
absl::StatusOr<absl::Duration> ParseDuration(std::string_view text);

// Numbers as reports write them; "-" where unknown.
std::string FixedText(double value);    // "3.63", "0.0042", "2.1e+12"
std::string PercentText(double ratio);  // "12.3%"
std::string MillisecondsText(double seconds);
std::string UtcText(int64_t wall_ms);  // "2025-11-21 07:40:12 UTC"; "" for 0

}  // namespace dt::report
