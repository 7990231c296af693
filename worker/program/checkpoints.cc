// checkpoints.cc: see checkpoints.h.
#include "worker/program/checkpoints.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/shares.h"
#include "common/version.h"

namespace dt::program {
namespace {

namespace fs = std::filesystem;
using checkpoint::Checkpoint;
using checkpoint::CheckpointId;

checkpoint::Manifest ManifestOf(const frames::Start& start, const ProgramSpec& spec) {
  checkpoint::Manifest manifest;
  manifest.seed = spec.seed;
  manifest.world_size = start.world_size;
  manifest.spec_hash = HashOf(start, spec);
  manifest.provenance = {{"program_version", kVersion}, {"program_revision", kRevision}};
  return manifest;
}

checkpoint::Metric MetricOf(const frames::Start& start) {
  checkpoint::Metric metric;
  if (!start.metric.empty()) metric.name = start.metric;
  metric.maximize = start.metric_goal == "maximize";
  return metric;
}

std::string AttemptFolder(const frames::Start& start) {
  return absl::StrCat(start.storage, "/", start.experiment, "/", start.trial, "/a", start.attempt);
}

}  // namespace

absl::StatusOr<std::optional<checkpoint::Checkpoint>> ChooseResume(
    const frames::Start& start, const ProgramSpec& spec,
    const std::function<void(const std::string&)>& complain) {
  if (!start.resume) return std::optional<checkpoint::Checkpoint>();
  return checkpoint::FindToResume(
      start.resume->path, start.resume->manifest_hash, start.storage,
      {start.experiment, start.trial}, start.attempt, HashOf(start, spec),
      [&complain](const CheckpointId& skipped, const absl::Status& error) {
        complain(absl::StrCat("checkpoint ", skipped.Path(), " is skipped: ", error.message()));
      });
}

Checkpoints::Checkpoints(const frames::Start& start, const ProgramSpec& spec,
                         std::optional<checkpoint::CheckpointId> resumed_from)
    : start_(start),
      trial_{start.experiment, start.trial},
      spec_hash_(HashOf(start, spec)),
      metric_(MetricOf(start)),
      manifest_(ManifestOf(start, spec)) {
  retention_.attempt = start.attempt;
  retention_.resumed_step = resumed_from ? resumed_from->step : 0;
  retention_.registered = resumed_from;
  retention_.keep_latest = spec.keep_latest;
  retention_.keep_best = spec.keep_best;
  retention_.kept_steps = ShareSteps(start.share_every, spec.steps);
  if (start.storage.empty()) return;
  const auto listed = checkpoint::ListCheckpoints(start.storage, trial_);
  removes_ = listed.ok();
  if (!listed.ok()) return;
  for (const checkpoint::CheckpointId& id : *listed) {
    if (id.attempt == start.attempt) strangers_.push_back(id);
  }
  for (const checkpoint::RankedCheckpoint& ranked : Ranked()) {
    if (!ranked.cost || checkpoint::IsSuperseded(ranked.id, retention_)) continue;
    best_cost_ = std::min(best_cost_.value_or(*ranked.cost), *ranked.cost);
  }
}

Checkpoints::~Checkpoints() {
  leave_ = true;
  if (job_.valid()) job_.wait();
}

absl::StatusOr<std::string> Checkpoints::MakeFolder() const {
  if (start_.storage.empty()) return std::string();
  const std::string folder = AttemptFolder(start_);
  DT_RETURN_IF_ERROR(MakeFolders(folder));
  return folder;
}

Checkpoints::Outgoing Checkpoints::ClearUp() {
  Outgoing out;
  if (start_.storage.empty()) return out;
  const absl::Status swept = checkpoint::SweepLeftovers(start_.storage, trial_, start_.attempt);
  if (!swept.ok()) out.complaints.emplace_back(swept.message());
  Retain(out);
  return out;
}

absl::StatusOr<std::string> Checkpoints::Inside(const std::string& folder) const {
  std::error_code code;
  const fs::path home = fs::weakly_canonical(AttemptFolder(start_), code);
  const fs::path path = fs::weakly_canonical(home / folder, code);
  const fs::path within = path.lexically_relative(home);
  if (code || within.empty() || *within.begin() == ".." || *within.begin() == ".") {
    return DataError("it does not lie in DTRAIN_CHECKPOINT_DIR");
  }
  if (fs::status(path, code).type() != fs::file_type::directory) {
    return DataError("it is not a folder; save into a folder of DTRAIN_CHECKPOINT_DIR");
  }
  return path.string();
}

Checkpoints::Outgoing Checkpoints::Begin(const SavedFolder& saved) {
  DT_CHECK(!busy());
  Outgoing out;
  absl::StatusOr<std::string> folder =
      start_.storage.empty() ? DataError("this worker has no storage") : Inside(saved.folder);
  if (!folder.ok()) {
    out.complaints.push_back(
        absl::StrCat("checkpoint '", saved.folder, "' is left out: ", folder.status().message()));
    return out;
  }
  saving_ = saved;
  began_ = SystemClock().Now().steady;
  checkpoint::Manifest manifest = manifest_;
  manifest.loss = saved.loss;
  if (metric_.name != checkpoint::Metric().name) {
    manifest.metric_name = metric_.name;
    manifest.metric = saved.metric;
  }
  job_ = std::async(
      std::launch::async, [this, folder = *std::move(folder), manifest = std::move(manifest)] {
        auto adopted = checkpoint::AdoptCheckpoint(
            start_.storage, {trial_, start_.attempt, saving_.step}, folder, manifest, leave_);
        wake_.Signal();
        return adopted;
      });
  return out;
}

Checkpoints::Outgoing Checkpoints::Take() {
  Outgoing out;
  const bool woken = wake_.Clear();
  if (!busy() || !woken) return out;
  // The thread wakes this one once, just before its result is there. So this waits for a moment.
  const absl::StatusOr<checkpoint::SavedCheckpoint> saved = job_.get();
  if (!saved.ok()) {
    out.complaints.push_back(
        absl::StrCat("checkpoint '", saving_.folder, "' is left out: ", saved.status().message()));
    return out;
  }
  std::erase(strangers_, saved->id);
  newest_ = saved->id.step;
  frames::CheckpointDone done;
  done.token = start_.token;
  done.step = saved->id.step;
  done.path = saved->id.Path();
  done.manifest_hash = saved->manifest_hash;
  done.bytes = saved->bytes;
  done.seconds = absl::ToDoubleSeconds(SystemClock().Now().steady - began_);
  done.loss = saving_.loss;
  const bool named = metric_.name != checkpoint::Metric().name;
  const std::optional<double> cost =
      checkpoint::CostOf(named ? saving_.metric : saving_.loss, metric_);
  done.best = cost && (!best_cost_ || *cost < *best_cost_);
  if (done.best) best_cost_ = cost;
  out.frames.push_back(std::move(done));
  Retain(out);
  return out;
}

Checkpoints::Outgoing Checkpoints::NoteRegistered(uint64_t step) {
  Outgoing out;
  registered_step_ = std::max(registered_step_.value_or(0), step);
  retention_.registered = checkpoint::CheckpointId{trial_, start_.attempt, *registered_step_};
  Retain(out);
  return out;
}

std::vector<checkpoint::RankedCheckpoint> Checkpoints::Ranked() const {
  std::vector<checkpoint::RankedCheckpoint> ranked =
      checkpoint::RankCheckpoints(start_.storage, trial_, spec_hash_, metric_);
  std::erase_if(ranked, [this](const checkpoint::RankedCheckpoint& checkpoint) {
    return checkpoint.id.attempt > start_.attempt ||
           std::count(strangers_.begin(), strangers_.end(), checkpoint.id) > 0;
  });
  return ranked;
}

void Checkpoints::Retain(Outgoing& out) {
  if (!removes_ || start_.storage.empty()) return;
  for (const checkpoint::CheckpointId& old : checkpoint::ChooseToRemove(Ranked(), retention_)) {
    const absl::StatusOr<std::string> left = checkpoint::TakeNameAway(start_.storage, old);
    if (!left.ok()) {
      out.complaints.emplace_back(left.status().message());
      continue;
    }
    out.frames.push_back(frames::CheckpointRemoved{start_.token, old.step, old.Path()});
    const absl::Status removed = RemoveAll(*left);
    if (!removed.ok()) out.complaints.emplace_back(removed.message());
  }
}

}  // namespace dt::program
