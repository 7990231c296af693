// keeper.cc: due, save, retain.
#include "worker/trainer/run/keeper.h"

#include <algorithm>
#include <cstdio>

#include "common/files.h"

namespace dt::trainer {
namespace {

// A registration takes two messages and a commit, some tens of milliseconds; without a coordinator
// the end of a trial should not wait noticeably.
constexpr std::chrono::milliseconds kRegistrationWait{2000};

void Complain(const absl::Status& error) {
  std::fprintf(stderr, "%s\n", std::string(error.message()).c_str());
}

}  // namespace

CheckpointKeeper::CheckpointKeeper(Parts parts, int64_t step)
    : parts_(std::move(parts)),
      trial_{parts_.start.experiment, parts_.start.trial},
      spec_hash_(SpecHash(parts_.start.spec)),
      resumed_step_(step),
      saved_step_(step),
      saved_time_(Clock::now()) {
  if (parts_.start.storage.empty()) return;
  const absl::StatusOr<std::vector<CheckpointId>> listed =
      ListCheckpoints(parts_.start.storage, trial_);
  if (listed.ok()) {
    for (const CheckpointId& id : *listed) {
      if (id.attempt == parts_.start.attempt) strangers_.push_back(id);
    }
  } else {
    Complain(listed.status());
    removes_ = false;
  }
  const Retention retention = CurrentRetention();
  for (const RankedCheckpoint& ranked : Ranked()) {
    if (!ranked.loss || IsSuperseded(ranked.id, retention)) continue;
    if (!best_saved_loss_ || *ranked.loss < *best_saved_loss_) best_saved_loss_ = ranked.loss;
  }
}

void CheckpointKeeper::ClearUp() {
  if (parts_.start.storage.empty()) return;
  const absl::Status swept = SweepLeftovers(parts_.start.storage, trial_, parts_.start.attempt);
  if (!swept.ok()) Complain(swept);
  Retain();
}

void CheckpointKeeper::OnValidated(int64_t step, double loss) {
  validated_step_ = step;
  validated_loss_ = loss;
  // Resumed within the evaluation: what was saved before does not say how good it is.
  if (step == saved_step_ && saved_step_ == resumed_step_) saved_step_ = -1;
}

bool CheckpointKeeper::BestSoFar(int64_t step) const {
  return validated_step_ == step && (!best_saved_loss_ || validated_loss_ < *best_saved_loss_);
}

bool CheckpointKeeper::Due(int64_t step) const {
  const CheckpointSpec& spec = parts_.spec.checkpoint;
  if (step == saved_step_ || parts_.start.storage.empty()) return false;
  if (spec.every_steps > 0 && step % spec.every_steps == 0) return true;
  if (spec.keep_best > 0 && BestSoFar(step)) return true;
  const double waited = std::chrono::duration<double>(Clock::now() - saved_time_).count();
  return spec.every_seconds > 0 && waited >= spec.every_seconds;
}

absl::StatusOr<double> CheckpointKeeper::Save(int64_t step, BucketLayout layout) {
  const frames::Start& start = parts_.start;
  if (step == saved_step_ || start.storage.empty()) return 0.0;
  const Clock::time_point before = Clock::now();
  Manifest manifest;
  manifest.step = static_cast<uint64_t>(step);
  manifest.optimizer_steps = static_cast<uint64_t>(parts_.optimizer.Updates());
  manifest.seed = parts_.spec.seed;
  manifest.world_size = start.world_size;
  manifest.threads = at::get_num_threads();
  manifest.next_sample = static_cast<uint64_t>(step * parts_.plan.batch.global_batch);
  manifest.buckets = std::move(layout);
  if (parts_.loss_scale != nullptr) {
    const LossScale::State state = parts_.loss_scale->Read();
    manifest.loss_scale = state.scale;
    manifest.loss_scale_steps = static_cast<uint32_t>(state.good_steps);
  }
  if (const NoiseScale::State& noise = parts_.noise_scale->state(); noise.weight > 0) {
    manifest.noise_scale = {noise.weight, noise.signal, noise.noise};
  }
  manifest.spec_hash = spec_hash_;
  if (validated_step_ == step) manifest.loss = validated_loss_;
  manifest.model = ModelFields(parts_.spec.model);
  manifest.provenance = parts_.provenance;
  const CheckpointId id{trial_, start.attempt, static_cast<uint64_t>(step)};
  DT_ASSIGN_OR_RETURN(const SavedCheckpoint saved,
                      SaveSnapshot(start.storage, id,
                                   {parts_.parameters, parts_.optimizer.State()}, manifest));
  std::erase(strangers_, id);

  frames::CheckpointDone done;
  done.token = start.token;
  done.step = saved.id.step;
  done.path = saved.id.Path();
  done.manifest_hash = saved.manifest_hash;
  done.bytes = saved.bytes;
  done.loss = manifest.loss;
  done.best = BestSoFar(step);
  newest_ = frames::Resume{done.step, done.path, done.manifest_hash};
  saved_step_ = step;
  saved_time_ = Clock::now();
  done.seconds = std::chrono::duration<double>(saved_time_ - before).count();
  if (done.best) best_saved_loss_ = validated_loss_;
  std::fprintf(stderr, "step %lld  checkpoint %s, %.1f MiB in %.2f s\n",
               static_cast<long long>(step), done.path.c_str(),
               static_cast<double>(done.bytes) / (1 << 20), done.seconds);
  parts_.conversation.Say(done);

  Retain();
  return std::chrono::duration<double>(Clock::now() - before).count();
}

void CheckpointKeeper::Tend() {
  if (parts_.conversation.RegisteredStep() != registered_step_) Retain();
}

void CheckpointKeeper::Finish() {
  if (!newest_) return;  // nothing was written
  parts_.conversation.AwaitRegistered(static_cast<uint64_t>(saved_step_), kRegistrationWait);
  Tend();
}

Retention CheckpointKeeper::CurrentRetention() const {
  Retention retention;
  retention.attempt = parts_.start.attempt;
  retention.resumed_step = static_cast<uint64_t>(resumed_step_);
  retention.registered = parts_.resumed_from;
  if (registered_step_) {
    retention.registered = CheckpointId{trial_, retention.attempt, *registered_step_};
  }
  retention.keep_latest = static_cast<int32_t>(parts_.spec.checkpoint.keep_latest);
  retention.keep_best = static_cast<int32_t>(parts_.spec.checkpoint.keep_best);
  return retention;
}

std::vector<RankedCheckpoint> CheckpointKeeper::Ranked() const {
  std::vector<RankedCheckpoint> ranked = RankCheckpoints(parts_.start.storage, trial_, spec_hash_);
  std::erase_if(ranked, [&](const RankedCheckpoint& checkpoint) {
    return checkpoint.id.attempt > parts_.start.attempt ||
           std::count(strangers_.begin(), strangers_.end(), checkpoint.id) > 0;
  });
  return ranked;
}

void CheckpointKeeper::Retain() {
  const frames::Start& start = parts_.start;
  registered_step_ = parts_.conversation.RegisteredStep();
  if (!removes_) return;
  for (const CheckpointId& old : ChooseToRemove(Ranked(), CurrentRetention())) {
    const absl::StatusOr<std::string> left = TakeNameAway(start.storage, old);
    if (!left.ok()) {
      Complain(left.status());
      continue;
    }
    parts_.conversation.Say(frames::CheckpointRemoved{start.token, old.step, old.Path()});
    const absl::Status removed = RemoveAll(*left);
    if (!removed.ok()) Complain(removed);
  }
}

}  // namespace dt::trainer
