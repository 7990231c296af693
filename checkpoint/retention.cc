// retention.cc: finds a trial's checkpoints, chooses which to keep, removes the others.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/folders.h"
#include "common/files.h"
#include "common/status.h"

namespace dt::checkpoint {
namespace {

namespace fs = std::filesystem;

// Returns the names in a folder; none if there is no such folder. A folder that cannot be read is
// an error: if it counted as empty, a trial would restart and its checkpoints would be removed.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code code;
  fs::directory_iterator entry(folder, code);
  if (code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory) {
    return names;
  }
  for (const fs::directory_iterator end; !code && entry != end; entry.increment(code)) {
    names.push_back(entry->path().filename().string());
  }
  if (code) {
    return IoError("cannot read folder '" + folder + "': " + code.message());
  }
  return names;
}

// Returns the number of a folder "a<attempt>".
std::optional<uint32_t> AttemptOf(const std::string& name) {
  const auto id = ParseCheckpointPath("0/0/" + name + "/step-0");
  return id ? std::optional(id->attempt) : std::nullopt;
}

}  // namespace

Lineage::Lineage(std::string spec_hash)
    : owns_([hash = std::move(spec_hash)](const Manifest& manifest) {
        return manifest.spec_hash == hash;
      }) {}

std::optional<double> CostOf(std::optional<double> value, const Metric& metric) {
  if (!value || std::isnan(*value)) return std::nullopt;
  return metric.maximize ? -*value : *value;
}

std::optional<double> CostOf(const Manifest& manifest, const Metric& metric) {
  const bool named = manifest.metric_name == metric.name;
  if (!named && metric.name != "val_loss") return std::nullopt;
  return CostOf(named ? manifest.metric : manifest.loss, metric);
}

absl::StatusOr<std::vector<CheckpointId>> ListCheckpoints(const std::string& storage,
                                                          const TrialId& trial) {
  std::vector<CheckpointId> found;
  const std::string prefix =
      std::to_string(trial.experiment) + "/" + std::to_string(trial.trial) + "/";
  DT_ASSIGN_OR_RETURN(const std::vector<std::string> attempts,
                      NamesIn(TrialFolder(storage, trial)));
  for (const std::string& attempt : attempts) {
    DT_ASSIGN_OR_RETURN(const std::vector<std::string> steps,
                        NamesIn(TrialFolder(storage, trial) + "/" + attempt));
    for (const std::string& step : steps) {
      if (auto id = ParseCheckpointPath(absl::StrCat(prefix, attempt, "/", step)))
        found.push_back(*id);
    }
  }
  std::sort(found.begin(), found.end(), [](const CheckpointId& a, const CheckpointId& b) {
    return std::tie(a.step, a.attempt) > std::tie(b.step, b.attempt);
  });
  return found;
}

absl::StatusOr<std::optional<Checkpoint>> FindNewestGood(
    const std::string& storage, const TrialId& trial, const Lineage& lineage,
    const std::function<bool(const CheckpointId&)>& eligible,
    const std::function<void(const CheckpointId&, const absl::Status&)>& on_damaged) {
  DT_ASSIGN_OR_RETURN(const std::vector<CheckpointId> listed, ListCheckpoints(storage, trial));
  for (const CheckpointId& id : listed) {
    if (!eligible(id)) continue;
    absl::StatusOr<Checkpoint> checkpoint = OpenCheckpoint(storage, id);
    if (checkpoint.ok() && lineage.Owns(checkpoint->manifest)) {
      return std::optional<Checkpoint>(*std::move(checkpoint));
    }
    if (!checkpoint.ok() && checkpoint.status().code() == kIoError) return checkpoint.status();
    on_damaged(
        id, checkpoint.ok() ? DamagedError("another specification wrote it") : checkpoint.status());
  }
  return std::optional<Checkpoint>();
}

absl::StatusOr<std::optional<Checkpoint>> FindInPlaceOf(
    const CheckpointId& named, const std::string& storage, const TrialId& own, uint32_t attempt,
    const Lineage& lineage,
    const std::function<void(const CheckpointId&, const absl::Status&)>& on_damaged) {
  const bool taken = !(named.trial == own);
  const auto before = [&](const CheckpointId& other) {
    return !(other == named) && other.step <= named.step;
  };
  const auto of_own = [&](const CheckpointId& other) {
    if (other.attempt >= attempt) return false;
    return before(other) || (!taken && other.attempt == named.attempt && !(other == named));
  };
  if (taken) {
    DT_ASSIGN_OR_RETURN(std::optional<Checkpoint> found,
                        FindNewestGood(storage, named.trial, lineage, before, on_damaged));
    if (found) return found;
  }
  return FindNewestGood(storage, own, lineage, of_own, on_damaged);
}

absl::StatusOr<std::optional<Checkpoint>> FindToResume(
    const std::string& path, const std::string& manifest_hash, const std::string& storage,
    const TrialId& own, uint32_t attempt, const Lineage& lineage,
    const std::function<void(const CheckpointId&, const absl::Status&)>& on_damaged) {
  const std::optional<CheckpointId> id = ParseCheckpointPath(path);
  if (!id) return ConfigError("'" + path + "' is not the path of a checkpoint");
  absl::StatusOr<Checkpoint> named = OpenCheckpoint(storage, *id, manifest_hash);
  if (named.ok()) return std::optional<Checkpoint>(*std::move(named));
  if (named.status().code() == kIoError) return named.status();
  on_damaged(*id, named.status());
  return FindInPlaceOf(*id, storage, own, attempt, lineage, on_damaged);
}

bool IsSuperseded(const CheckpointId& id, const Retention& retention) {
  return id.attempt < retention.attempt && id.step > retention.resumed_step;
}

std::vector<CheckpointId> ChooseToRemove(std::vector<RankedCheckpoint> checkpoints,
                                         const Retention& retention) {
  std::vector<CheckpointId> removed;
  std::erase_if(checkpoints, [&](const RankedCheckpoint& checkpoint) {
    const bool superseded = IsSuperseded(checkpoint.id, retention);
    if (superseded) removed.push_back(checkpoint.id);
    return superseded || checkpoint.id.attempt > retention.attempt;
  });
  std::sort(checkpoints.begin(), checkpoints.end(),
            [](const RankedCheckpoint& a, const RankedCheckpoint& b) {
              return std::tie(a.id.attempt, a.id.step) > std::tie(b.id.attempt, b.id.step);
            });
  const auto latest =
      std::min<size_t>(checkpoints.size(), static_cast<size_t>(std::max(retention.keep_latest, 1)));
  const std::vector<RankedCheckpoint> others(
      checkpoints.begin() + static_cast<std::ptrdiff_t>(latest), checkpoints.end());
  // The newest can also be among the best, so that keeping one of each keeps a single one that is
  // both.
  std::vector<RankedCheckpoint> best;
  for (const RankedCheckpoint& checkpoint : checkpoints) {
    if (checkpoint.cost) best.push_back(checkpoint);
  }
  // Among equals the first is the trial's best. An accuracy often repeats a value.
  std::sort(best.begin(), best.end(), [](const RankedCheckpoint& a, const RankedCheckpoint& b) {
    return std::tie(*a.cost, a.id.attempt, a.id.step) < std::tie(*b.cost, b.id.attempt, b.id.step);
  });
  best.resize(std::min<size_t>(best.size(), static_cast<size_t>(std::max(retention.keep_best, 0))));
  for (const RankedCheckpoint& checkpoint : others) {
    const bool good = std::any_of(best.begin(), best.end(), [&](const RankedCheckpoint& other) {
      return other.id == checkpoint.id;
    });
    const bool kept = std::count(retention.kept_steps.begin(), retention.kept_steps.end(),
                                 checkpoint.id.step) > 0;
    if (!good && !kept && retention.registered != checkpoint.id) removed.push_back(checkpoint.id);
  }
  return removed;
}

std::vector<RankedCheckpoint> RankCheckpoints(const std::string& storage, const TrialId& trial,
                                              const Lineage& lineage, const Metric& metric) {
  std::vector<RankedCheckpoint> ranked;
  const absl::StatusOr<std::vector<CheckpointId>> listed = ListCheckpoints(storage, trial);
  if (!listed.ok()) return ranked;
  for (const CheckpointId& id : *listed) {
    const absl::StatusOr<std::string> text =
        ReadFile(storage + "/" + id.Path() + "/" + kManifestName, kManifestBytesMax);
    if (!text.ok()) continue;
    const absl::StatusOr<Manifest> manifest = ParseManifest(*text);
    if (manifest.ok() && lineage.Owns(*manifest)) ranked.push_back({id, CostOf(*manifest, metric)});
  }
  return ranked;
}

absl::StatusOr<std::string> TakeNameAway(const std::string& storage, const CheckpointId& id) {
  const std::string folder = AttemptFolder(storage, id.trial, id.attempt);
  const std::string left = folder + "/" + kRemovedPrefix + std::to_string(id.step);
  DT_RETURN_IF_ERROR(RemoveAll(left));
  DT_RETURN_IF_ERROR(Rename(storage + "/" + id.Path(), left));
  return left;
}

absl::Status SweepLeftovers(const std::string& storage, const TrialId& trial, uint32_t attempt) {
  DT_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(TrialFolder(storage, trial)));
  for (const std::string& name : names) {
    const std::optional<uint32_t> owner = AttemptOf(name);
    if (!owner || *owner > attempt) continue;
    const std::string folder = TrialFolder(storage, trial) + "/" + name;
    DT_ASSIGN_OR_RETURN(const std::vector<std::string> entries, NamesIn(folder));
    for (const std::string& entry : entries) {
      if (entry.starts_with(kTemporaryPrefix)) {
        // Rename it away from its writer first: a living writer must not complete a half-removed
        // folder.
        const std::string left =
            folder + "/" + kRemovedPrefix + entry.substr(sizeof(kTemporaryPrefix) - 1);
        DT_RETURN_IF_ERROR(RemoveAll(left));
        DT_RETURN_IF_ERROR(Rename(absl::StrCat(folder, "/", entry), left));
        DT_RETURN_IF_ERROR(RemoveAll(left));
      } else if (entry.starts_with(kRemovedPrefix)) {
        DT_RETURN_IF_ERROR(RemoveAll(absl::StrCat(folder, "/", entry)));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace dt::checkpoint
