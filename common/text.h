// text.h: text as protobuf and Prometheus take it: well-formed UTF-8 of a bounded length.
//
// Role:  pure functions.
// Tests: tests/common/text_test.cc
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dt {

// Bytes of the well-formed UTF-8 character at the front of `text`, 0 when there is none.
// REQUIRES: not empty.
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

// The longest front of `text` that has at most `bytes_max` bytes and cuts no character in two.
// Malformed UTF-8 is replaced by '?', a byte each.
std::string CleanText(std::string_view text, size_t bytes_max);

// Its size as gRPC sends the text of a status: what is not plain ASCII takes three bytes each.
size_t PercentEncodedBytes(std::string_view text);

}  // namespace dt
