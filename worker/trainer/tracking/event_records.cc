// event_records.cc: protobuf's wire format by hand, for the few messages that are needed.
#include "worker/trainer/tracking/event_records.h"

#include <bit>
#include <string_view>

#include "common/crc32c.h"

namespace dt::trainer {
namespace {

// ---- protobuf ----
enum class WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <typename T>
void AppendLittleEndian(std::string& out, T value) {
  for (size_t byte = 0; byte < sizeof value; ++byte) {
    out += static_cast<char>(value >> (8 * byte) & 0xFF);
  }
}
void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void AppendKey(std::string& out, int field, WireType wire) {
  AppendVarint(out, static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire));
}
std::string Integer(int field, int64_t value) {
  std::string out;
  AppendKey(out, field, WireType::kVarint);
  AppendVarint(out, static_cast<uint64_t>(value));
  return out;
}
std::string Double(int field, double value) {
  std::string out;
  AppendKey(out, field, WireType::kFixed64);
  AppendLittleEndian(out, std::bit_cast<uint64_t>(value));
  return out;
}
std::string Float(int field, float value) {
  std::string out;
  AppendKey(out, field, WireType::kFixed32);
  AppendLittleEndian(out, std::bit_cast<uint32_t>(value));
  return out;
}
// Encodes a string or an embedded message.
std::string Bytes(int field, std::string_view value) {
  std::string out;
  AppendKey(out, field, WireType::kBytes);
  AppendVarint(out, value.size());
  out += value;
  return out;
}

// ---- records ----
std::string Record(std::string_view payload) {
  std::string length;
  AppendLittleEndian(length, static_cast<uint64_t>(payload.size()));
  std::string out = length;
  AppendLittleEndian(out, MaskedCrc32c(length));
  out += payload;
  AppendLittleEndian(out, MaskedCrc32c(payload));
  return out;
}

// Event: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log.
std::string Event(double wall_seconds, int64_t step, std::string_view what) {
  std::string event = Double(1, wall_seconds);
  if (step != 0) event += Integer(2, step);
  return Record(event.append(what));
}

// Encodes a value for the HPARAMS plugin: Summary.Value 1 tag, 8 tensor, 9 metadata. `data` is an
// encoded HParamsPluginData.
std::string PluginRecord(double wall_seconds, const std::string& tag, const std::string& data) {
  // TensorProto 1 dtype (DT_FLOAT), 2 shape ([0]), as the plugin's own writer does.
  const std::string tensor = Integer(1, 1) + Bytes(2, Bytes(2, ""));
  const std::string plugin = Bytes(1, "hparams") + Bytes(2, data);
  const std::string value = Bytes(1, tag) + Bytes(8, tensor) + Bytes(9, Bytes(1, plugin));
  return Event(wall_seconds, 0, Bytes(5, Bytes(1, value)));
}

// google.protobuf.Value: 2 number_value, 3 string_value, 4 bool_value.
std::string SettingValue(const Setting& setting) {
  if (const auto* number = std::get_if<double>(&setting)) return Double(2, *number);
  if (const auto* flag = std::get_if<bool>(&setting)) return Integer(4, *flag ? 1 : 0);
  return Bytes(3, std::get<std::string>(setting));
}

}  // namespace

std::string VersionRecord(double wall_seconds) {
  return Event(wall_seconds, 0, Bytes(3, "brain.Event:2"));
}

std::string RestartRecord(double wall_seconds, int64_t step) {
  constexpr int kStart = 1;  // SessionLog 1 status
  return Event(wall_seconds, step, Bytes(7, Integer(1, kStart)));
}

std::string ScalarsRecord(double wall_seconds, int64_t step, const Scalars& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    // Summary 1 value; Value 1 tag, 2 simple_value.
    summary += Bytes(1, Bytes(1, tag) + Float(2, static_cast<float>(value)));
  }
  return Event(wall_seconds, step, Bytes(5, summary));
}

std::string SettingsRecord(double wall_seconds, const std::string& group,
                           const std::vector<std::pair<std::string, Setting>>& settings) {
  // SessionStartInfo: 1 hparams (a map: entries of 1 key, 2 value), 4 group_name, 5
  // start_time_secs.
  std::string start;
  for (const auto& [name, setting] : settings) {
    start += Bytes(1, Bytes(1, name) + Bytes(2, SettingValue(setting)));
  }
  start += Bytes(4, group) + Double(5, wall_seconds);
  return PluginRecord(wall_seconds, "_hparams_/session_start_info", Bytes(3, start));
}

std::string EndRecord(double wall_seconds, EndStatus status) {
  // SessionEndInfo: 1 status, 2 end_time_secs.
  const std::string end = Integer(1, static_cast<int64_t>(status)) + Double(2, wall_seconds);
  return PluginRecord(wall_seconds, "_hparams_/session_end_info", Bytes(4, end));
}

}  // namespace dt::trainer
