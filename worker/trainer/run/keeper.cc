// keeper.cc: when a checkpoint is due, how it is saved, which ones are kept.
#include "worker/trainer/run/keeper.h"

#include <torch/version.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/files.h"
#include "common/shares.h"
#include "common/version.h"
#include "worker/trainer/device/failure.h"
#include "worker/trainer/link/long_work.h"

namespace dt::trainer {
namespace {

// Limit on the wait for a registration. That takes two messages and a commit, some tens of
// milliseconds. Without a coordinator, the end of a trial should not be delayed noticeably.
constexpr std::chrono::milliseconds kRegistrationWait{2000};

// Limit on a failed attempt's wait for its last write before it reports the cause. Most models are
// written by then, so the steps since the previous checkpoint are not lost. The coordinator is not
// affected, since the other ranks notice nothing before.
constexpr std::chrono::milliseconds kLastWriteWait{5000};

checkpoint::Metric MetricOf(const frames::Start& start) {
  checkpoint::Metric metric;
  if (!start.metric.empty()) metric.name = start.metric;
  metric.maximize = start.metric_goal == "maximize";
  return metric;
}

// Returns the value by its name in search.metric.
std::optional<double> ValueOf(const frames::Eval& eval, const std::string& metric) {
  if (metric == "val_loss") return eval.loss;
  if (metric == "loss") return eval.train_loss;
  if (metric == "hellaswag_acc") return eval.hellaswag_acc;
  if (metric == "hellaswag_acc_norm") return eval.hellaswag_acc_norm;
  return std::nullopt;
}

void Complain(const absl::Status& error) {
  std::fprintf(stderr, "%s\n", std::string(error.message()).c_str());
}

}  // namespace

std::map<std::string, std::string> ProvenanceOf(const Device& device) {
  const DeviceFacts facts = device.Facts();
  return {{"program", std::string(kVersion) + " (" + kRevision + ")"},
          {"libtorch", TORCH_VERSION},
          {"device", facts.name},
          {"nccl", facts.nccl_version},
          {"cuda", facts.cuda_version}};
}

CheckpointKeeper::CheckpointKeeper(Parts parts, int64_t step)
    : parts_(std::move(parts)),
      trial_{parts_.start.experiment, parts_.start.trial},
      line_(parts_.start),
      metric_(MetricOf(parts_.start)),
      shares_(
          ShareSteps(parts_.start.share_every, static_cast<uint64_t>(parts_.plan.target_steps))),
      resumed_step_(step),
      saved_step_(step),
      saved_time_(Clock::now()) {
  if (parts_.start.storage.empty()) return;
  removes_ = parts_.removes;
  const absl::StatusOr<std::vector<checkpoint::CheckpointId>> listed =
      checkpoint::ListCheckpoints(parts_.start.storage, trial_);
  if (listed.ok()) {
    for (const checkpoint::CheckpointId& id : *listed) {
      if (id.attempt == parts_.start.attempt) strangers_.push_back(id);
    }
  } else {
    Complain(listed.status());
    removes_ = false;
  }
  const checkpoint::Retention retention = CurrentRetention();
  for (const checkpoint::RankedCheckpoint& ranked : Ranked()) {
    if (!ranked.cost || checkpoint::IsSuperseded(ranked.id, retention)) continue;
    if (!best_saved_cost_ || *ranked.cost < *best_saved_cost_) best_saved_cost_ = ranked.cost;
  }
}

void CheckpointKeeper::ClearUp() {
  if (parts_.start.storage.empty()) return;
  const absl::Status swept =
      checkpoint::SweepLeftovers(parts_.start.storage, trial_, parts_.start.attempt);
  if (!swept.ok()) Complain(swept);
  Retain();
}

void CheckpointKeeper::TakeEvaluation(const frames::Eval& eval) {
  const auto step = static_cast<int64_t>(eval.step);
  validated_step_ = step;
  validated_loss_ = eval.loss;
  validated_metric_ = ValueOf(eval, metric_.name);
  // The attempt resumed within this evaluation: the saved checkpoint lacks its result, so save
  // again.
  if (step == saved_step_ && saved_step_ == resumed_step_) saved_step_ = -1;
}

bool CheckpointKeeper::BestSoFar(int64_t step) const {
  if (validated_step_ != step) return false;
  const std::optional<double> cost = checkpoint::CostOf(validated_metric_, metric_);
  return cost && (!best_saved_cost_ || *cost < *best_saved_cost_);
}

bool CheckpointKeeper::Due(int64_t step) const {
  const CheckpointSpec& spec = parts_.spec.checkpoint;
  if (!Writes(step)) return false;
  if (parts_.sync.Since(step).HasMultipleOf(spec.every_steps)) return true;
  if (spec.keep_best > 0 && BestSoFar(step)) return true;
  if (std::binary_search(shares_.begin(), shares_.end(), static_cast<uint64_t>(step))) return true;
  if (begun_) return false;  // time counts from when the previous one is durable
  const double waited = std::chrono::duration<double>(Clock::now() - saved_time_).count();
  const bool first = !newest_ && spec.first_seconds > 0;
  return spec.every_seconds > 0 && waited >= (first ? spec.first_seconds : spec.every_seconds);
}

checkpoint::Manifest CheckpointKeeper::Describe(int64_t step, BucketLayout layout) const {
  checkpoint::Manifest manifest;
  manifest.step = static_cast<uint64_t>(step);
  manifest.optimizer_steps = static_cast<uint64_t>(parts_.optimizer.Updates());
  manifest.seed = parts_.spec.seed;
  manifest.world_size = parts_.start.world_size;
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
  if (parts_.wire != nullptr && parts_.wire->chosen()) {
    manifest.wire = WordOf(*parts_.wire->chosen());
  }
  if (parts_.trained_seconds) manifest.trained_seconds = parts_.trained_seconds();
  manifest.spec_hash = line_.old_hash();
  manifest.line_hash = line_.hash();
  manifest.warmup_steps = parts_.plan.warmup_steps;
  manifest.train_data = parts_.data.train;
  manifest.val_data = parts_.data.val;
  if (validated_step_ == step) manifest.loss = validated_loss_;
  if (metric_.name != checkpoint::Metric().name) {
    manifest.metric_name = metric_.name;
    if (validated_step_ == step) manifest.metric = validated_metric_;
  }
  manifest.model = ModelFields(parts_.spec.model);
  manifest.provenance = parts_.provenance;
  return manifest;
}

absl::StatusOr<double> CheckpointKeeper::Save(int64_t step, BucketLayout layout) {
  if (!Writes(step)) return 0.0;
  const LongWork saves(parts_.conversation, parts_.start.token, step);
  const Clock::time_point before = Clock::now();
  DT_RETURN_IF_ERROR(Settle());
  const checkpoint::Manifest manifest = Describe(step, std::move(layout));
  begun_ = Begun{step, manifest.loss, BestSoFar(step), before};
  saved_step_ = step;
  if (begun_->best) best_saved_cost_ = checkpoint::CostOf(validated_metric_, metric_);
  DT_RETURN_IF_ERROR(Begin({trial_, parts_.start.attempt, static_cast<uint64_t>(step)}, manifest));
  return std::chrono::duration<double>(Clock::now() - before).count();
}

void CheckpointKeeper::BecomeSurvivor(std::shared_ptr<Mesh> replica) {
  survives_ = true;
  replica_ = std::move(replica);
  const bool written = newest_ && static_cast<int64_t>(newest_->step) == saved_step_;
  if (!written && !background_.busy()) saved_step_ = -1;
}

absl::Status CheckpointKeeper::Begin(const checkpoint::CheckpointId& id,
                                     const checkpoint::Manifest& manifest) {
  const std::string& storage = parts_.start.storage;
  Snapshot state{parts_.parameters, parts_.optimizer.State(), parts_.mesh, {}};
  if (parts_.outer != nullptr) state.outer = parts_.outer->State();
  if (survives_) state.survivor = parts_.start.rank;
  if (replica_ != nullptr) state.mesh = replica_.get();
  const std::atomic<bool> stay{false};
  if (!AreWhole(parts_.parameters)) return Tell(parts_.write(storage, id, state, manifest, stay));
  absl::Status room = OutOfMemoryError("");
  if (parts_.spare_bytes() > BytesOf(state)) {
    room = Guarded([&]() -> absl::Status {
      Snapshot copy = CopyAside(state);
      parts_.device.Synchronize();
      background_.Begin([write = parts_.write, storage, id, manifest,
                         copy = std::move(copy)](const std::atomic<bool>& leave) {
        return write(storage, id, copy, manifest, leave);
      });
      return absl::OkStatus();
    });
  }
  if (room.code() != kOutOfMemoryError) return room;
  if (!said_no_room_) {
    said_no_room_ = true;
    std::fprintf(stderr,
                 "checkpoints: there is no memory for a copy of the state, so training waits while "
                 "each is written\n");
  }
  return Tell(parts_.write(storage, id, state, manifest, stay));
}

absl::Status CheckpointKeeper::Tell(const absl::StatusOr<checkpoint::SavedCheckpoint>& saved) {
  const Begun begun = *std::exchange(begun_, std::nullopt);
  if (!saved.ok()) return saved.status();
  std::erase(strangers_, saved->id);

  frames::CheckpointDone done;
  done.token = parts_.start.token;
  done.step = saved->id.step;
  done.path = saved->id.Path();
  done.manifest_hash = saved->manifest_hash;
  done.bytes = saved->bytes;
  done.loss = begun.loss;
  done.best = begun.best;
  newest_ = frames::Resume{done.step, done.path, done.manifest_hash};
  saved_time_ = Clock::now();
  done.seconds = std::chrono::duration<double>(saved_time_ - begun.at).count();
  std::fprintf(stderr, "step %lld  checkpoint %s, %.1f MiB in %.2f s\n",
               static_cast<long long>(begun.step), done.path.c_str(),
               static_cast<double>(done.bytes) / (1 << 20), done.seconds);
  parts_.conversation.Say(done);
  Retain();
  return absl::OkStatus();
}

absl::Status CheckpointKeeper::Settle() {
  if (!background_.busy()) return absl::OkStatus();
  return Tell(background_.Take());
}

void CheckpointKeeper::SettleSoon() {
  if (!background_.Await(kLastWriteWait)) return;
  const absl::Status settled = Settle();
  if (!settled.ok()) Complain(settled);
}

absl::Status CheckpointKeeper::Tend() {
  if (background_.busy() && background_.Await(std::chrono::milliseconds(0))) {
    DT_RETURN_IF_ERROR(Settle());
  }
  if (parts_.conversation.RegisteredStep() != registered_step_) Retain();
  return absl::OkStatus();
}

absl::Status CheckpointKeeper::Finish() {
  const LongWork writes(parts_.conversation, parts_.start.token, std::max<int64_t>(0, saved_step_));
  DT_RETURN_IF_ERROR(Settle());
  if (!newest_) return absl::OkStatus();  // nothing was written
  parts_.conversation.AwaitRegistered(static_cast<uint64_t>(saved_step_), kRegistrationWait);
  return Tend();
}

checkpoint::Retention CheckpointKeeper::CurrentRetention() const {
  checkpoint::Retention retention;
  retention.attempt = parts_.start.attempt;
  retention.resumed_step = static_cast<uint64_t>(resumed_step_);
  retention.registered = parts_.resumed_from;
  if (registered_step_) {
    retention.registered = checkpoint::CheckpointId{trial_, retention.attempt, *registered_step_};
  }
  retention.keep_latest = static_cast<int32_t>(parts_.spec.checkpoint.keep_latest);
  retention.keep_best = static_cast<int32_t>(parts_.spec.checkpoint.keep_best);
  retention.kept_steps = shares_;
  return retention;
}

std::vector<checkpoint::RankedCheckpoint> CheckpointKeeper::Ranked() const {
  std::vector<checkpoint::RankedCheckpoint> ranked =
      checkpoint::RankCheckpoints(parts_.start.storage, trial_, line_.AsLineage(), metric_);
  std::erase_if(ranked, [&](const checkpoint::RankedCheckpoint& checkpoint) {
    return checkpoint.id.attempt > parts_.start.attempt ||
           std::count(strangers_.begin(), strangers_.end(), checkpoint.id) > 0;
  });
  return ranked;
}

void CheckpointKeeper::Retain() {
  const frames::Start& start = parts_.start;
  registered_step_ = parts_.conversation.RegisteredStep();
  if (!removes_) return;
  for (const checkpoint::CheckpointId& old :
       checkpoint::ChooseToRemove(Ranked(), CurrentRetention())) {
    const absl::StatusOr<std::string> left = checkpoint::TakeNameAway(start.storage, old);
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
