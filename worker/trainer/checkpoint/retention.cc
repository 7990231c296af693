// retention.cc: finding a trial's checkpoints, choosing which stay, removing the others.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <tuple>

#include "common/files.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/checkpoint/folders.h"

namespace dt::trainer {
namespace {

namespace fs = std::filesystem;

// Names in a folder; none when it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code code;
  fs::directory_iterator entry(folder, code);
  for (const fs::directory_iterator end; !code && entry != end; entry.increment(code)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

bool NewerThan(const CheckpointId& a, const CheckpointId& b) {
  return std::tie(a.step, a.attempt) > std::tie(b.step, b.attempt);
}

}  // namespace

std::vector<CheckpointId> ListCheckpoints(const std::string& storage, const TrialId& trial) {
  std::vector<CheckpointId> found;
  const std::string prefix =
      std::to_string(trial.experiment) + "/" + std::to_string(trial.trial) + "/";
  for (const std::string& attempt : NamesIn(TrialFolder(storage, trial))) {
    for (const std::string& step : NamesIn(TrialFolder(storage, trial) + "/" + attempt)) {
      if (auto id = ParseCheckpointPath(prefix + attempt + "/" + step)) found.push_back(*id);
    }
  }
  std::sort(found.begin(), found.end(), NewerThan);
  return found;
}

std::optional<Checkpoint> FindNewestGood(
    const std::string& storage, const TrialId& trial, uint64_t last_step,
    const std::function<void(const CheckpointId&, const Error&)>& on_damaged) {
  for (const CheckpointId& id : ListCheckpoints(storage, trial)) {
    if (id.step > last_step) continue;
    Result<Checkpoint> checkpoint = OpenCheckpoint(storage, id);
    if (checkpoint.ok()) return *std::move(checkpoint);
    on_damaged(id, checkpoint.error());
  }
  return std::nullopt;
}

std::vector<CheckpointId> ChooseToRemove(std::vector<RankedCheckpoint> checkpoints,
                                         const Retention& retention) {
  std::sort(
      checkpoints.begin(), checkpoints.end(),
      [](const RankedCheckpoint& a, const RankedCheckpoint& b) { return NewerThan(a.id, b.id); });
  const auto latest =
      std::min<size_t>(checkpoints.size(), static_cast<size_t>(std::max(retention.keep_latest, 1)));
  std::vector<RankedCheckpoint> others(checkpoints.begin() + static_cast<std::ptrdiff_t>(latest),
                                       checkpoints.end());
  // The newest also count among the best, so that keeping one of each keeps one where it is both.
  std::vector<RankedCheckpoint> best;
  for (const RankedCheckpoint& checkpoint : checkpoints) {
    if (checkpoint.loss) best.push_back(checkpoint);
  }
  std::stable_sort(
      best.begin(), best.end(),
      [](const RankedCheckpoint& a, const RankedCheckpoint& b) { return *a.loss < *b.loss; });
  best.resize(std::min<size_t>(best.size(), static_cast<size_t>(std::max(retention.keep_best, 0))));
  std::vector<CheckpointId> removed;
  for (const RankedCheckpoint& checkpoint : others) {
    const bool stays = std::any_of(best.begin(), best.end(), [&](const RankedCheckpoint& other) {
      return other.id.step == checkpoint.id.step && other.id.attempt == checkpoint.id.attempt;
    });
    if (!stays) removed.push_back(checkpoint.id);
  }
  return removed;
}

std::vector<RankedCheckpoint> RankCheckpoints(const std::string& storage, const TrialId& trial) {
  std::vector<RankedCheckpoint> ranked;
  for (const CheckpointId& id : ListCheckpoints(storage, trial)) {
    const Result<std::string> text =
        ReadFile(storage + "/" + id.Path() + "/" + kManifestName, kManifestBytesMax);
    if (!text.ok()) continue;
    const Result<Manifest> manifest = ParseManifest(*text);
    if (manifest.ok()) ranked.push_back({id, manifest->loss});
  }
  return ranked;
}

Result<void> RemoveCheckpoint(const std::string& storage, const CheckpointId& id) {
  const std::string folder = AttemptFolder(storage, id.trial, id.attempt);
  const std::string removed = folder + "/" + kRemovedPrefix + std::to_string(id.step);
  DT_TRY(RemoveAll(removed));
  DT_TRY(Rename(storage + "/" + id.Path(), removed));
  return RemoveAll(removed);
}

Result<void> SweepLeftovers(const std::string& storage, const TrialId& trial) {
  for (const std::string& attempt : NamesIn(TrialFolder(storage, trial))) {
    const std::string folder = TrialFolder(storage, trial) + "/" + attempt;
    for (const std::string& name : NamesIn(folder)) {
      if (name.starts_with(kTemporaryPrefix) || name.starts_with(kRemovedPrefix)) {
        DT_TRY(RemoveAll(folder + "/" + name));
      }
    }
  }
  return {};
}

}  // namespace dt::trainer
