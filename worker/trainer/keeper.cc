// keeper.cc: due, save, retain.
#include "worker/trainer/keeper.h"

#include <cstdio>

namespace dt::trainer {
namespace {

constexpr double kBestCheckpointCostShare = 0.1;

TrialId TrialOf(const frames::Start& start) { return {start.experiment, start.trial}; }

}  // namespace

CheckpointKeeper::CheckpointKeeper(Parts parts, int64_t step)
    : parts_(std::move(parts)), saved_step_(step), saved_time_(Clock::now()) {
  if (parts_.start.storage.empty()) return;
  const TrialId trial = TrialOf(parts_.start);
  const Result<void> swept = SweepLeftovers(parts_.start.storage, trial);
  if (!swept.ok()) std::fprintf(stderr, "%s\n", swept.error().message.c_str());
  for (const RankedCheckpoint& ranked : RankCheckpoints(parts_.start.storage, trial)) {
    if (ranked.loss && (!best_saved_loss_ || *ranked.loss < *best_saved_loss_)) {
      best_saved_loss_ = ranked.loss;
    }
  }
}

void CheckpointKeeper::OnValidated(int64_t step, double loss) {
  validated_step_ = step;
  validated_loss_ = loss;
}

bool CheckpointKeeper::BestSoFar(int64_t step) const {
  return validated_step_ == step && (!best_saved_loss_ || validated_loss_ < *best_saved_loss_);
}

bool CheckpointKeeper::Due(int64_t step) const {
  const CheckpointSpec& spec = parts_.spec.checkpoint;
  if (step == saved_step_ || parts_.start.storage.empty()) return false;
  if (spec.every_steps > 0 && step % spec.every_steps == 0) return true;
  const double waited = std::chrono::duration<double>(Clock::now() - saved_time_).count();
  if (spec.every_seconds > 0 && waited >= spec.every_seconds) return true;
  return spec.keep_best > 0 && BestSoFar(step) &&
         seconds_to_save_ <= waited * kBestCheckpointCostShare;
}

Result<double> CheckpointKeeper::Save(int64_t step) {
  const frames::Start& start = parts_.start;
  if (step == saved_step_ || start.storage.empty()) return 0.0;
  const Clock::time_point before = Clock::now();
  Manifest manifest;
  manifest.step = static_cast<uint64_t>(step);
  manifest.seed = parts_.spec.seed;
  manifest.world_size = start.world_size;
  manifest.threads = at::get_num_threads();
  manifest.next_sample = static_cast<uint64_t>(step * parts_.plan.batch.global_batch);
  if (parts_.parallel != nullptr) manifest.buckets = parts_.parallel->Layout();
  manifest.spec_hash = SpecHash(start.spec);
  if (validated_step_ == step) manifest.loss = validated_loss_;
  manifest.provenance = parts_.provenance;
  const CheckpointId id{TrialOf(start), start.attempt, static_cast<uint64_t>(step)};
  DT_TRY_ASSIGN(const SavedCheckpoint saved,
                SaveSnapshot(start.storage, id, parts_.model, parts_.optimizer, manifest));

  frames::CheckpointDone done;
  done.token = start.token;
  done.step = saved.id.step;
  done.path = saved.id.Path();
  done.manifest_hash = saved.manifest_hash;
  done.bytes = saved.bytes;
  done.loss = manifest.loss;
  done.best = BestSoFar(step);
  saved_step_ = step;
  saved_time_ = Clock::now();
  seconds_to_save_ = std::chrono::duration<double>(saved_time_ - before).count();
  done.seconds = seconds_to_save_;
  if (done.best) best_saved_loss_ = validated_loss_;
  std::fprintf(stderr, "step %lld  checkpoint %s, %.1f MB in %.2f s\n",
               static_cast<long long>(step), done.path.c_str(),
               static_cast<double>(done.bytes) / 1e6, done.seconds);
  parts_.conversation.Say(done);

  const Retention retention{static_cast<int32_t>(parts_.spec.checkpoint.keep_latest),
                            static_cast<int32_t>(parts_.spec.checkpoint.keep_best)};
  for (const CheckpointId& old :
       ChooseToRemove(RankCheckpoints(start.storage, TrialOf(start)), retention)) {
    DT_TRY(RemoveCheckpoint(start.storage, old));
    parts_.conversation.Say(frames::CheckpointRemoved{start.token, old.step, old.Path()});
  }
  return std::chrono::duration<double>(Clock::now() - before).count();
}

}  // namespace dt::trainer
