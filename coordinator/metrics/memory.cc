// memory.cc: saves and loads the model's counts of records that a start from a snapshot does not
// replay.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/metrics/metrics_model.h"

namespace dt {
namespace {

v1::MetricsMemory::Histogram Saved(const prometheus::Histogram& histogram) {
  const prometheus::ClientMetric::Histogram collected = histogram.Collect().histogram;
  v1::MetricsMemory::Histogram saved;
  saved.set_sum(collected.sample_sum);
  uint64_t below = 0;
  for (const auto& bucket : collected.bucket) {
    saved.add_counts(static_cast<double>(bucket.cumulative_count - below));
    below = bucket.cumulative_count;
  }
  return saved;
}

// Drops a histogram that was saved with other bounds: Prometheus copes with a counter that
// restarts.
void Load(const v1::MetricsMemory::Histogram& saved, prometheus::Histogram& histogram) {
  const std::vector<double> counts(saved.counts().begin(), saved.counts().end());
  if (counts.size() != histogram.Collect().histogram.bucket.size()) return;
  histogram.ObserveMultiple(counts, saved.sum());
}

}  // namespace

v1::MetricsMemory MetricsModel::Save(const State& state, int64_t now_wall_ms) {
  Forget(state, now_wall_ms);
  v1::MetricsMemory memory;
  for (const auto& [id, known] : trials_) {
    v1::MetricsMemory::Trial& saved = *memory.add_trials();
    saved.set_experiment(id.experiment);
    saved.set_trial(id.trial);
    saved.set_val_loss(known.sample.val_loss);
    saved.set_hellaswag_acc(known.sample.hellaswag_acc);
    saved.set_hellaswag_acc_norm(known.sample.hellaswag_acc_norm);
    saved.set_checkpoint_wall_seconds(known.sample.checkpoint_wall_seconds);
    saved.set_checkpoint_bytes(known.sample.checkpoint_bytes);
    saved.set_started_wall_ms(known.started_wall_ms);
    saved.set_ready_wall_ms(known.ready_wall_ms);
  }
  for (const auto& [id, counts] : counts_) {
    v1::MetricsMemory::Experiment& saved = *memory.add_experiments();
    saved.set_experiment(id);
    for (const auto& [name, count] : counts.finished_by_outcome) {
      (*saved.mutable_finished_by_outcome())[name] = count;
    }
    for (const auto& [name, count] : counts.restarts_by_reason) {
      (*saved.mutable_restarts_by_reason())[name] = count;
    }
    for (const auto& [name, seconds] : counts.slot_seconds_by_use) {
      (*saved.mutable_slot_seconds_by_use())[name] = seconds;
    }
  }
  *memory.mutable_queue_wait() = Saved(queue_wait_);
  *memory.mutable_rendezvous() = Saved(rendezvous_);
  *memory.mutable_checkpoint() = Saved(checkpoint_);
  return memory;
}

void MetricsModel::Load(const v1::MetricsMemory& memory) {
  for (const v1::MetricsMemory::Trial& saved : memory.trials()) {
    Known& known = trials_[{saved.experiment(), saved.trial()}];
    known.sample.val_loss = saved.val_loss();
    known.sample.hellaswag_acc = saved.hellaswag_acc();
    known.sample.hellaswag_acc_norm = saved.hellaswag_acc_norm();
    known.sample.checkpoint_wall_seconds = saved.checkpoint_wall_seconds();
    known.sample.checkpoint_bytes = saved.checkpoint_bytes();
    known.started_wall_ms = saved.started_wall_ms();
    known.ready_wall_ms = saved.ready_wall_ms();
  }
  for (const v1::MetricsMemory::Experiment& saved : memory.experiments()) {
    Counts& counts = counts_[saved.experiment()];
    for (const auto& [name, count] : saved.finished_by_outcome()) {
      counts.finished_by_outcome[name] = count;
    }
    for (const auto& [name, count] : saved.restarts_by_reason()) {
      counts.restarts_by_reason[name] = count;
    }
    for (const auto& [name, seconds] : saved.slot_seconds_by_use()) {
      counts.slot_seconds_by_use[name] = seconds;
    }
  }
  dt::Load(memory.queue_wait(), queue_wait_);
  dt::Load(memory.rendezvous(), rendezvous_);
  dt::Load(memory.checkpoint(), checkpoint_);
}

}  // namespace dt
