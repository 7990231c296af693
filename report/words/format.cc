#include "report/words/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace dt::report {

std::string FormatDuration(double seconds) {
  if (seconds >= 0 && seconds < 9.95) return absl::StrFormat("%.1f s", seconds);
  return FormatElapsed(seconds);
}

std::string FormatElapsed(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return kNone;
  const auto whole = static_cast<int64_t>(std::llround(std::min(seconds, 1e15)));
  if (whole < 60) return absl::StrFormat("%d s", whole);
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  if (whole < 86400) return absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
  return absl::StrFormat("%d d %d h", whole / 86400, whole % 86400 / 3600);
}

std::string FormatShort(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return kNone;
  const auto whole = static_cast<int64_t>(std::llround(std::min(seconds, 1e15)));
  if (whole < 60) return absl::StrFormat("%ds", whole);
  if (whole < 600) return absl::StrFormat("%dm%02ds", whole / 60, whole % 60);
  const int64_t minutes = (whole + 30) / 60;
  if (minutes < 60) return absl::StrFormat("%dm", minutes);
  if (minutes < 24 * 60) return absl::StrFormat("%dh%02dm", minutes / 60, minutes % 60);
  const int64_t hours = minutes / 60;
  if (hours < 10 * 24) return absl::StrFormat("%dd%dh", hours / 24, hours % 24);
  return absl::StrFormat("%dd", hours / 24);
}

std::string FormatRate(double per_second) {
  if (!std::isfinite(per_second)) return kNone;
  constexpr std::array kUnits = {"", "k", "M", "G", "T", "P"};
  size_t unit = 0;
  for (; std::abs(per_second) >= 1000 && unit + 1 < kUnits.size(); ++unit) per_second /= 1000;
  const int decimals = unit == 0 ? 0 : std::abs(per_second) < 9.995 ? 2 : 1;
  return absl::StrFormat("%.*f%s", decimals, per_second, kUnits[unit]);
}

std::string FormatRatio(double ratio) {
  return std::isfinite(ratio) ? absl::StrFormat("%.0f%%", ratio * 100) : kNone;
}

std::string FormatLoss(double value) {
  if (!std::isfinite(value)) return kNone;
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e6)) return absl::StrFormat("%.3e", value);
  return absl::StrFormat("%.4f", value);
}

std::string FormatExact(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end.ptr);
}

std::string FormatCount(uint64_t value) {
  std::string digits = absl::StrCat(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

std::string FormatLocalTime(int64_t wall_ms) {
  if (wall_ms <= 0) return kNone;
  return absl::FormatTime("%Y-%m-%d %H:%M:%S %Z", absl::FromUnixMillis(wall_ms),
                          absl::LocalTimeZone());
}

std::string Plural(uint64_t n, std::string_view noun) {
  return absl::StrCat(FormatCount(n), " ", std::string(noun), n == 1 ? "" : "s");
}

absl::StatusOr<absl::Duration> ParseDuration(std::string_view text) {
  const std::string written(text);
  const absl::Status refused = absl::InvalidArgumentError(absl::StrCat(
      "'", written, "' is not a duration; write a number with s, m, h or d, such as 90s or 1.5h"));
  double number = 0;
  if (absl::SimpleAtod(written, &number)) {
    return number >= 0 ? absl::StatusOr<absl::Duration>(absl::Seconds(number)) : refused;
  }
  if (!written.empty() && written.back() == 'd' &&
      absl::SimpleAtod(written.substr(0, written.size() - 1), &number) && number >= 0) {
    return absl::Hours(24 * number);
  }
  absl::Duration duration;
  if (!UnitsDescend(written)) return refused;
  if (!absl::ParseDuration(written, &duration) || duration < absl::ZeroDuration()) return refused;
  return duration;
}

std::string FixedText(double value) {
  if (!std::isfinite(value)) return kNone;
  const double size = std::abs(value);
  if (size >= 1e6 || (size != 0 && size < 1e-4)) return absl::StrFormat("%.2e", value);
  if (size < 0.1) return absl::StrFormat("%.2g", value);
  return absl::StrFormat("%.2f", value);
}

std::string MillisecondsText(double seconds) {
  return std::isfinite(seconds) ? absl::StrFormat("%.2f", seconds * 1000) : kNone;
}

std::string PercentText(double ratio) {
  return std::isfinite(ratio) ? absl::StrFormat("%.1f%%", ratio * 100) : kNone;
}

std::string UtcText(int64_t wall_ms) {
  if (wall_ms <= 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixMillis(wall_ms),
                          absl::UTCTimeZone());
}

}  // namespace dt::report
