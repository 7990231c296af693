// event_records.h: encodes TensorBoard events as bytes. A record is length, masked CRC-32C,
// payload, masked CRC-32C. Payloads are messages of tensorboard/compat/proto/event.proto, written
// field by field: the trainer does not link protobuf, because LibTorch contains symbols of another
// version.
//
// Role:   pure.
// Source: TensorBoard's record_writer.py and plugins/hparams/plugin_data.proto
// Tests:  tests/worker/trainer/tracking/tracking_test.cc, against bytes written by TensorBoard
//         itself
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dt::trainer {

using Scalars = std::vector<std::pair<std::string, double>>;  // tag, value
using Setting = std::variant<double, bool, std::string>;

// Returns the first record of every file.
std::string VersionRecord(double wall_seconds);
// Returns a record that voids all events at `step` and later; the restarted run writes them again.
std::string RestartRecord(double wall_seconds, int64_t step);
std::string ScalarsRecord(double wall_seconds, int64_t step, const Scalars& scalars);

// Returns the start record for the table on the HPARAMS page, with the settings. EndRecord adds how
// the trial ended.
std::string SettingsRecord(double wall_seconds, const std::string& group,
                           const std::vector<std::pair<std::string, Setting>>& settings);
enum class EndStatus { kSuccess = 1, kFailure = 2 };
std::string EndRecord(double wall_seconds, EndStatus status);

}  // namespace dt::trainer
