// text.h: text that protobuf and Prometheus accept (well-formed UTF-8 of bounded length), text for
// YAML, and sizes.
//
// Role:  pure functions.
// Tests: tests/common/text_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

// Returns the bytes of the well-formed UTF-8 character at the front of `text`, 0 if there is none.
// REQUIRES: not empty.
size_t Utf8Length(std::string_view text);

// The character at the front of `text`. A byte that begins no well-formed character counts as one.
// REQUIRES: not empty.
struct Character {
  uint32_t code_point = 0;
  size_t bytes = 1;
  bool well_formed = true;
};
Character FirstCharacter(std::string_view text);

bool IsUtf8(std::string_view text);

// Returns the longest front of `text` that has at most `bytes_max` bytes and cuts no character in
// two. Each byte of malformed UTF-8 becomes '?'.
std::string CleanText(std::string_view text, size_t bytes_max);

// Returns `text` with control characters and malformed UTF-8 made visible, so that a name or a
// message cannot move the cursor or forge a line. A newline becomes a space, unless it is kept.
enum class Newlines { kEscape, kKeep };
std::string Printable(std::string_view text, Newlines newlines = Newlines::kEscape);

// Returns `text` without the spaces, tabs and carriage returns around it.
std::string_view Trimmed(std::string_view text);

// Parses "2147483648", "512K", "512Ki", "700M" or "2G" into bytes, by powers of 1024. Returns
// nothing for any other text and beyond 2^64 - 1.
std::optional<uint64_t> ParseBytes(std::string_view text);

// Returns whether YAML reads `text` without quotes as this text; the second returns it in double
// quotes.
bool IsPlainYaml(std::string_view text);
std::string QuotedYaml(std::string_view text);

// Returns whether each unit of a duration such as "1h30m" is smaller than the one before: "5m5m" is
// not meant as ten minutes.
bool UnitsDescend(std::string_view duration);

// Formats three significant digits by powers of 1024: "512 B", "1.50 GiB", "700 MiB"; "-" for a
// negative number or NaN.
std::string FormatBytes(double bytes);

// Returns the size of a status text as gRPC sends it: a byte that is not plain ASCII takes three.
size_t PercentEncodedBytes(std::string_view text);

}  // namespace dt
