// folders.h: the names within a trial's folder, for the files of this room.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/checkpoint_id.h"
#include "common/status.h"

namespace dt::checkpoint {

// A checkpoint being written, and one being removed. Neither looks like "step-<n>".
inline constexpr char kTemporaryPrefix[] = ".tmp-step-";
inline constexpr char kRemovedPrefix[] = ".removed-step-";

inline std::string TrialFolder(const std::string& storage, const TrialId& trial) {
  return storage + "/" + std::to_string(trial.experiment) + "/" + std::to_string(trial.trial);
}
inline std::string AttemptFolder(const std::string& storage, const TrialId& trial,
                                 uint32_t attempt) {
  return TrialFolder(storage, trial) + "/a" + std::to_string(attempt);
}

// Makes every folder from the storage down and syncs their entries, of those that were there as
// well: whoever made them may have been killed before.
absl::Status MakeDurableFolders(const std::string& storage, const CheckpointId& id);
// Puts the finished folder in place of whatever stands there.
absl::Status Install(const std::string& temporary, const std::string& target);

}  // namespace dt::checkpoint
