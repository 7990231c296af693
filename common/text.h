// text.h: text as protobuf and Prometheus take it, well-formed UTF-8 of a bounded length; as YAML
// takes it; and sizes.
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

// Bytes of the well-formed UTF-8 character at the front of `text`, 0 when there is none.
// REQUIRES: not empty.
size_t Utf8Length(std::string_view text);

// The character at the front of `text`. A byte that begins no well-formed one is one by itself.
// REQUIRES: not empty.
struct Character {
  uint32_t code_point = 0;
  size_t bytes = 1;
  bool well_formed = true;
};
Character FirstCharacter(std::string_view text);

bool IsUtf8(std::string_view text);

// The longest front of `text` that has at most `bytes_max` bytes and cuts no character in two.
// Malformed UTF-8 is replaced by '?', a byte each.
std::string CleanText(std::string_view text, size_t bytes_max);

// `text` with control characters and malformed UTF-8 made visible, so that a name or a message
// cannot move the cursor or forge a line. A newline becomes a space, unless it is kept.
enum class Newlines { kEscape, kKeep };
std::string Printable(std::string_view text, Newlines newlines = Newlines::kEscape);

// "2147483648", "512K", "512Ki", "700M" or "2G" in bytes, by powers of 1024; none for any other
// text and beyond 2^64 - 1.
std::optional<uint64_t> ParseBytes(std::string_view text);

// Whether YAML reads `text` without quotes as this text; and it in double quotes.
bool IsPlainYaml(std::string_view text);
std::string QuotedYaml(std::string_view text);

// Whether each unit of a duration such as "1h30m" is smaller than the one before: "5m5m" is not meant
// as ten minutes.
bool UnitsDescend(std::string_view duration);

// Three figures, by powers of 1024: "512 B", "1.50 GiB", "700 MiB"; "-" for what is no size.
std::string FormatBytes(double bytes);

// Its size as gRPC sends the text of a status: what is not plain ASCII takes three bytes each.
size_t PercentEncodedBytes(std::string_view text);

}  // namespace dt
