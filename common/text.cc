// text.cc: UTF-8, character by character; sizes.
#include "common/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <system_error>
#include <utility>

namespace dt {

size_t Utf8Length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  size_t length = 0;
  unsigned char low = 0x80;  // bounds of the second byte: no overlong forms, surrogates, > U+10FFFF
  unsigned char high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || at(1) < low || at(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (at(i) < 0x80 || at(i) > 0xBF) return 0;
  }
  return length;
}

Character FirstCharacter(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t length = Utf8Length(text);
  if (length <= 1) return {at(0), 1, length == 1};
  uint32_t point = at(0) & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) point = (point << 6) | (at(i) & 0x3Fu);
  return {point, length, true};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

namespace {

// Returns whether a character moves the cursor or disguises text: C0 and C1 controls, line
// separators, marks that change the direction of writing, and the byte order mark.
bool IsControl(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

void AppendHex(std::string& text, const char* mark, uint32_t value, int digits) {
  text += mark;
  while (digits-- > 0) text += "0123456789abcdef"[(value >> (4 * digits)) & 0xF];
}

}  // namespace

std::string Printable(std::string_view text, Newlines newlines) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Character first = FirstCharacter(text);
    const uint32_t c = first.code_point;
    if (c == '\t' || (c == '\n' && newlines == Newlines::kKeep)) {
      shown += text[0];
    } else if (c == '\n') {
      shown += ' ';
    } else if (!first.well_formed || (IsControl(c) && c < 0x100)) {
      AppendHex(shown, "\\x", c, 2);
    } else if (IsControl(c)) {
      AppendHex(shown, "\\u", c, 4);
    } else {
      shown += text.substr(0, first.bytes);
    }
    text.remove_prefix(first.bytes);
  }
  return shown;
}

std::string CleanText(std::string_view text, size_t bytes_max) {
  std::string clean;
  clean.reserve(std::min(text.size(), bytes_max));
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (clean.size() + std::max<size_t>(length, 1) > bytes_max) break;
    if (length == 0) {
      clean += '?';
      text.remove_prefix(1);
    } else {
      clean += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return clean;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<uint64_t> ParseBytes(std::string_view text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc()) return std::nullopt;
  constexpr std::pair<std::string_view, int> kUnits[] = {
      {"", 0}, {"K", 10}, {"Ki", 10}, {"M", 20}, {"Mi", 20}, {"G", 30}, {"Gi", 30}};
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const auto& [name, shift] : kUnits) {
    if (unit == name && count <= (UINT64_MAX >> shift)) return count << shift;
  }
  return std::nullopt;
}

bool IsPlainYaml(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inside = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || std::string_view("_-./ ").find(c) != text.npos;
  };
  if (text.empty() || text.back() == ' ') return false;
  if (!letter(text[0]) && text[0] != '_' && text[0] != '/') return false;
  constexpr std::string_view kOthers[] = {"true", "false", "null", "yes", "no", "on",
                                          "off",  "y",     "n",    "nan", "inf"};
  const bool other =
      std::any_of(std::begin(kOthers), std::end(kOthers), [&](std::string_view word) {
        return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                          [](char a, char b) { return (a | 0x20) == b; });
      });
  return !other && std::all_of(text.begin(), text.end(), inside);
}

std::string QuotedYaml(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

bool UnitsDescend(std::string_view duration) {
  constexpr std::string_view kUnits[] = {"h", "m", "s", "ms", "us", "ns"};
  constexpr std::string_view kNumber = "+-0123456789.";
  const auto* next = std::begin(kUnits);  // the largest unit that may follow
  for (size_t at = 0; at < duration.size();) {
    const size_t unit = duration.find_first_not_of(kNumber, at);
    if (unit == std::string_view::npos) return true;
    const size_t end = std::min(duration.find_first_of(kNumber, unit), duration.size());
    next = std::find(next, std::end(kUnits), duration.substr(unit, end - unit));
    if (next == std::end(kUnits)) return false;
    ++next;
    at = end;
  }
  return true;
}

std::string FormatBytes(double bytes) {
  if (!std::isfinite(bytes) || bytes < 0) return "-";
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  const int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  char text[40];
  std::snprintf(text, sizeof(text), "%.*f %s", decimals, bytes, kUnits[unit]);
  return text;
}

size_t PercentEncodedBytes(std::string_view text) {
  const auto plain = std::count_if(text.begin(), text.end(),
                                   [](char c) { return c >= ' ' && c <= '~' && c != '%'; });
  return 3 * text.size() - 2 * static_cast<size_t>(plain);
}

}  // namespace dt
