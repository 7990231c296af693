// event_records.cc: see event_records.h.
#include "worker/program/event_records.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "common/crc32c.h"
#include "common/limits.h"
#include "common/metric_limits.h"

namespace dt::program {
namespace {

static_assert(std::endian::native == std::endian::little, "files have their numbers so");

constexpr size_t kHeadBytes = 12;  // a length and its checksum
constexpr size_t kTailBytes = 4;
// Types of a field in protobuf's wire format.
constexpr uint64_t kVarint = 0, kEightBytes = 1, kLength = 2, kFourBytes = 5;
// A record above this is damage: no writer makes one.
constexpr uint64_t kRecordMost = 1ull << 31;

template <typename Number>
Number Get(std::string_view bytes, size_t at) {
  Number number{};
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

// A field of a message in protobuf's wire format.
struct WireField {
  uint32_t number = 0;
  uint64_t value = 0;      // of a varint, or of 4 or 8 bytes
  std::string_view bytes;  // of a field with a length
};

// Walks a message's fields. Ends early at bytes that are none.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : rest_(bytes) {}

  std::optional<WireField> Next() {
    uint64_t key = 0;
    if (rest_.empty() || !Varint(key)) return std::nullopt;
    WireField field;
    field.number = static_cast<uint32_t>(key >> 3);
    const uint64_t type = key & 7;
    if (type == kVarint) return Varint(field.value) ? std::optional(field) : std::nullopt;
    if (type == kEightBytes) return Fixed<uint64_t>(field);
    if (type == kFourBytes) return Fixed<uint32_t>(field);
    uint64_t length = 0;
    if (type != kLength || !Varint(length) || length > rest_.size()) return std::nullopt;
    field.bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return field;
  }

 private:
  bool Varint(uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  template <typename Number>
  std::optional<WireField> Fixed(WireField field) {
    if (rest_.size() < sizeof(Number)) return std::nullopt;
    field.value = Get<Number>(rest_, 0);
    rest_.remove_prefix(sizeof(Number));
    return field;
  }

  std::string_view rest_;
};

// Returns the one number of a tensorflow.TensorProto of floats or doubles.
std::optional<double> NumberOfTensor(std::string_view bytes) {
  constexpr uint64_t kFloat = 1, kDouble = 2;
  uint64_t type = 0;
  std::string_view content, floats, doubles;
  std::optional<uint32_t> one_float;
  std::optional<uint64_t> one_double;
  Wire wire(bytes);
  while (const auto field = wire.Next()) {
    if (field->number == 1) type = field->value;
    if (field->number == 4) content = field->bytes;
    if (field->number == 5) floats = field->bytes, one_float = static_cast<uint32_t>(field->value);
    if (field->number == 6) doubles = field->bytes, one_double = field->value;
  }
  if (type == kFloat) {
    for (const std::string_view packed : {content, floats}) {
      if (packed.size() == sizeof(float)) return Get<float>(packed, 0);
    }
    if (one_float && floats.empty()) return std::bit_cast<float>(*one_float);
  } else if (type == kDouble) {
    for (const std::string_view packed : {content, doubles}) {
      if (packed.size() == sizeof(double)) return Get<double>(packed, 0);
    }
    if (one_double && doubles.empty()) return std::bit_cast<double>(*one_double);
  }
  return std::nullopt;
}

// Adds the value of a Summary.Value, if it is a scalar.
void AddScalar(std::string_view bytes, const ScalarEvent& event, std::vector<ScalarEvent>& to) {
  ScalarEvent scalar = event;
  std::optional<double> number;
  Wire wire(bytes);
  while (const auto field = wire.Next()) {
    if (field->number == 1) scalar.tag = std::string(field->bytes.substr(0, 512));
    if (field->number == 2) number = std::bit_cast<float>(static_cast<uint32_t>(field->value));
    if (field->number == 8) number = NumberOfTensor(field->bytes);
  }
  if (!number || scalar.tag.empty()) return;
  scalar.value = *number;
  to.push_back(std::move(scalar));
}

void AddEvent(std::string_view bytes, std::vector<ScalarEvent>& to) {
  ScalarEvent event;
  std::string_view summary;
  Wire wire(bytes);
  while (const auto field = wire.Next()) {
    if (field->number == 1) {
      const auto seconds = std::bit_cast<double>(field->value);
      event.wall_time = std::isfinite(seconds) ? seconds : 0;
    }
    if (field->number == 2) event.step = static_cast<int64_t>(field->value);
    if (field->number == 5) summary = field->bytes;
  }
  Wire values(summary);
  while (const auto field = values.Next()) {
    if (field->number == 1) AddScalar(field->bytes, event, to);
  }
}

}  // namespace

EventRecords ReadEventRecords(std::string_view bytes) {
  EventRecords read;
  while (bytes.size() - read.used >= kHeadBytes) {
    const std::string_view head = bytes.substr(read.used);
    const auto length = Get<uint64_t>(head, 0);
    if (MaskedCrc32c(head.substr(0, 8)) != Get<uint32_t>(head, 8) || length > kRecordMost) {
      read.damage = "the length of a record has a wrong checksum";
      return read;
    }
    const uint64_t record = kHeadBytes + length + kTailBytes;
    if (length > limits::kMetricRecordBytes) {
      read.used += record;
      if (read.used >= bytes.size()) return read;
      continue;
    }
    if (head.size() < record) return read;
    const std::string_view event = head.substr(kHeadBytes, length);
    if (MaskedCrc32c(event) != Get<uint32_t>(head, kHeadBytes + length)) {
      read.damage = "a record has a wrong checksum";
      return read;
    }
    AddEvent(event, read.scalars);
    read.used += record;
  }
  return read;
}

}  // namespace dt::program
