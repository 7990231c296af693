// checkpoint_id.h: the name of a checkpoint, and its path within the storage folder.
//
// Tests: tests/checkpoint/checkpoint_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt::checkpoint {

struct TrialId {
  uint64_t experiment = 0;
  uint32_t trial = 0;
  bool operator==(const TrialId&) const = default;
};
struct CheckpointId {
  TrialId trial;
  uint32_t attempt = 0;
  uint64_t step = 0;

  bool operator==(const CheckpointId&) const = default;
  // Relative to the storage folder: "12/3/a1/step-500".
  std::string Path() const;
};
// Returns the id that a relative path names, or nothing unless it has exactly that form: paths come
// over the wire and must not lead elsewhere.
std::optional<CheckpointId> ParseCheckpointPath(std::string_view path);

}  // namespace dt::checkpoint
