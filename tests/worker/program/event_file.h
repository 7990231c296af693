// event_file.h: makes TensorBoard's event files for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "common/crc32c.h"

namespace dt::testing {

template <typename Number>
std::string Bytes(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

// Returns a field with a length, for messages below 16 KiB.
inline std::string Field(int number, std::string_view bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) field += static_cast<char>(size | 0x80);
  field += static_cast<char>(size);
  return field + std::string(bytes);
}

inline std::string Scalar(std::string_view tag, float value) {
  return Field(1, Field(1, tag) + "\x15" + Bytes(value));
}

// As TensorFlow 2 writes it.
inline std::string TensorScalar(std::string_view tag, float value) {
  return Field(1, Field(1, tag) + Field(8, std::string("\x08\x01", 2) + Field(4, Bytes(value))));
}

inline std::string Event(double time, uint8_t step, std::string_view summary) {
  return "\x09" + Bytes(time) + "\x10" + std::string(1, static_cast<char>(step)) +
         (summary.empty() ? "" : Field(5, summary));
}

inline std::string Record(std::string_view event) {
  const std::string length = Bytes<uint64_t>(event.size());
  return length + Bytes(MaskedCrc32c(length)) + std::string(event) + Bytes(MaskedCrc32c(event));
}

}  // namespace dt::testing
