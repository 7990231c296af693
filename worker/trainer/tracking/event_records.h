// event_records.h: TensorBoard's events as bytes: records (length, masked CRC-32C, payload, masked
// CRC-32C) whose payloads are messages of tensorboard/compat/proto/event.proto, written field by
// field, because the trainer has no protobuf (LibTorch carries another version's symbols).
//
// Role:   pure.
// Source: TensorBoard's record_writer.py and plugins/hparams/plugin_data.proto
// Tests:  tests/worker/trainer/tracking/tracking_test.cc,
//         against bytes that TensorBoard's own writer made
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dt::trainer {

using Scalars = std::vector<std::pair<std::string, double>>;  // tag, value
using Setting = std::variant<double, bool, std::string>;

// The first record of every file.
std::string VersionRecord(double wall_seconds);
// Everything at `step` and after it is void: a restart writes it again.
std::string RestartRecord(double wall_seconds, int64_t step);
std::string ScalarsRecord(double wall_seconds, int64_t step, const Scalars& scalars);

// What makes the table of the HPARAMS page: the settings, and how it ended.
std::string SettingsRecord(double wall_seconds, const std::string& group,
                           const std::vector<std::pair<std::string, Setting>>& settings);
enum class EndStatus { kSuccess = 1, kFailure = 2 };
std::string EndRecord(double wall_seconds, EndStatus status);

}  // namespace dt::trainer
