// folders.h: the names within a trial's folder, for this room's files.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/checkpoint_id.h"
#include "common/status.h"

namespace dt::checkpoint {

// Prefixes of a checkpoint being written, and of one being removed. Neither looks like "step-<n>".
inline constexpr char kTemporaryPrefix[] = ".tmp-step-";
inline constexpr char kRemovedPrefix[] = ".removed-step-";

inline std::string TrialFolder(const std::string& storage, const TrialId& trial) {
  return storage + "/" + std::to_string(trial.experiment) + "/" + std::to_string(trial.trial);
}
inline std::string AttemptFolder(const std::string& storage, const TrialId& trial,
                                 uint32_t attempt) {
  return TrialFolder(storage, trial) + "/a" + std::to_string(attempt);
}

// Makes every folder from the storage down and syncs their entries, also of existing folders: their
// maker may have been killed before its sync.
absl::Status MakeDurableFolders(const std::string& storage, const CheckpointId& id);
// Puts the finished folder in place of an existing one, if any.
absl::Status Install(const std::string& temporary, const std::string& target);
// Puts the finished folder where no other one is. Returns false if there is one, and changes
// nothing.
absl::StatusOr<bool> InstallIfAbsent(const std::string& temporary, const std::string& target);

}  // namespace dt::checkpoint
