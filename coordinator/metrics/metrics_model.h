// metrics_model.h: the data behind /metrics, folded from committed records, and handed out as
// immutable scrapes.
//
// Role:      counters and histograms follow committed records and chunks; gauges are read from
//            State when a scrape is taken. A trial's series end ten minutes after the trial.
// Threads:   the core thread alone; any thread may read scrapes.
// Units:     seconds and bytes; wall clock, for display.
// Bounds:    at most --metrics-max-trials trials in a scrape: the best and the newest.
// Tests:     tests/coordinator/http/metrics_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/state.h"
#include "dtrain/v1/snapshot.pb.h"
#include "prometheus/histogram.h"

namespace dt {

using LabelPairs = std::vector<std::pair<std::string, std::string>>;

// Counters and labels of one trial.
struct TrialSample {
  TrialId id;
  // Labels of trial_info. Shared by the model and the scrapes; never changed after creation.
  std::shared_ptr<const LabelPairs> info;
  double pipeline_bubble = 0;  // by the formula; 0: no pipeline
  v1::StepRow totals;
  bool has_row = false;
  v1::StepRow newest;
  double val_loss = kNotANumber;
  double hellaswag_acc = kNotANumber;
  double hellaswag_acc_norm = kNotANumber;
  uint64_t step = 0;
  uint64_t target_steps = 0;
  uint32_t attempt = 0;
  uint32_t world_size = 0;
  double checkpoint_wall_seconds = 0;  // 0: none
  double checkpoint_bytes = 0;
};

struct ExperimentSample {
  ExperimentId id = 0;
  std::map<std::string, uint64_t> trials_by_state;
  double progress_ratio = 0;
  double eta_wall_seconds = kNotANumber;
  double best_value = kNotANumber;
  uint32_t best_trial = 0;
  std::map<std::string, uint64_t> finished_by_outcome;
  std::map<std::string, uint64_t> restarts_by_reason;
  std::map<std::string, double> slot_seconds_by_use;
  uint32_t planned_trials = 0;
  uint32_t stopped_early = 0;
  bool paused = false;
  double ended_wall_seconds = 0;  // 0: not ended
  std::map<std::string, uint64_t> waiting_by_reason;
  std::map<uint32_t, ExperimentProgress::OfRung> rungs;  // empty if the search has no rungs
  // Whether a trial's value has reached search.target; nullopt: no target was set.
  std::optional<bool> target_reached;
};

struct MetricsScrape {
  std::vector<ExperimentSample> experiments;
  std::vector<TrialSample> trials;
  uint64_t omitted_trials = 0;
  std::map<std::string, uint64_t> experiments_by_state;
  std::map<std::string, uint64_t> workers_by_state;
  std::map<std::pair<std::string, std::string>, uint64_t> slots;  // (device, state)
  uint64_t worker_losses = 0;
  double oldest_heartbeat_wall_seconds = kNotANumber;  // of workers that are not lost
  uint64_t dropped_rows = 0;
  uint64_t doubted = 0;  // reports by workers that cannot be true
  uint64_t notices_delivered = 0;
  uint64_t notices_failed = 0;
  uint64_t notices_dropped = 0;
  uint64_t notices_waiting = 0;
  using Histogram = prometheus::ClientMetric::Histogram;
  Histogram queue_wait, rendezvous, cycle, fsync, checkpoint;
};

class MetricsModel {
 public:
  explicit MetricsModel(size_t max_trials) : max_trials_(max_trials) {}

  // REQUIRES: `record` is already applied to `state`.
  void CountRecord(const State& state, const v1::Record& record);
  // Counts effects before their commit; they are shown only after it (loop.cc).
  void CountTurn(const State& state, const Effects& effects);
  void ObserveCycle(absl::Duration took) { cycle_.Observe(absl::ToDoubleSeconds(took)); }
  void ObserveCommit(absl::Duration took) { fsync_.Observe(absl::ToDoubleSeconds(took)); }

  std::shared_ptr<const MetricsScrape> TakeScrape(const State& state, Instant now);

  // Returns the counts for a start that does not replay these records. First drops the trials that
  // are no longer shown.
  v1::MetricsMemory Save(const State& state, int64_t now_wall_ms);
  // REQUIRES: nothing was counted yet.
  void Load(const v1::MetricsMemory& memory);

 private:
  struct Known {
    TrialSample sample;
    int64_t started_wall_ms = 0;
    int64_t ready_wall_ms = 0;  // when it could be placed again; 0: at its submission
  };
  struct Counts {
    std::map<std::string, uint64_t> finished_by_outcome;
    std::map<std::string, uint64_t> restarts_by_reason;
    std::map<std::string, double> slot_seconds_by_use = {{"productive", 0}, {"restart", 0}};
  };

  void CountAttemptStarted(const State& state, const v1::Record& record);
  void CountAttemptEnded(const State& state, const v1::Record& record);
  void CountTrialEnded(const v1::TrialEnded& ended);
  void CountChunk(const ChunkToStore& chunk);
  void Forget(const State& state, int64_t now_wall_ms);
  void CountWorkers(const State& state, Instant now, MetricsScrape& scrape);
  void SampleExperiments(const State& state, Instant now, MetricsScrape& scrape);
  void SampleTrials(const State& state, MetricsScrape& scrape);
  void Refresh(const State& state, Known& known);

  const size_t max_trials_;
  absl::btree_map<TrialId, Known> trials_;  // trials with an attempt, until ten minutes after their
                                            // end
  absl::btree_map<ExperimentId, Counts> counts_;

  // Upper bounds, in seconds.
  static inline const prometheus::Histogram::BucketBoundaries kBounds = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 30, 120, 600};
  prometheus::Histogram queue_wait_{kBounds}, rendezvous_{kBounds}, cycle_{kBounds},
      fsync_{kBounds}, checkpoint_{kBounds};
};

}  // namespace dt
