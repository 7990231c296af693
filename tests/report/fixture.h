// fixture.h: experiments for the tests of reports.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "report/analysis/collect.h"
#include "tests/testing/metric_page.h"

namespace dt::report {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline Experiment NewExperiment(uint64_t id, const std::string& name) {
  Experiment experiment;
  v1::ExperimentSummary& summary = *experiment.found.mutable_summary();
  summary.set_experiment(id);
  summary.set_name(name);
  summary.set_state(v1::EXPERIMENT_FINISHED);
  summary.set_metric("val_loss");
  summary.set_goal("minimize");
  summary.set_submitted_wall_ms(1700000000000);
  summary.set_ended_wall_ms(1700000090000);
  experiment.found.mutable_spec()->set_name(name);
  return experiment;
}

inline void Assign(v1::TrialSummary& trial, const std::string& path, int64_t value) {
  v1::Assignment& assignment = *trial.add_assignments();
  assignment.set_path(path);
  assignment.mutable_value()->set_integer(value);
}

// Adds a finished trial of 1,000 tokens/s on data of 5,000 tokens, with this loss.
inline Trial& AddTrial(Experiment& experiment, double val_loss) {
  Trial& trial = experiment.trials.emplace_back();
  v1::TrialSummary& summary = trial.summary;
  summary.set_experiment(experiment.found.summary().experiment());
  summary.set_trial(static_cast<uint32_t>(experiment.trials.size()));
  summary.set_state(v1::TRIAL_FINISHED);
  summary.set_cause(v1::CAUSE_FINISHED);
  summary.set_step(50);
  summary.set_target_steps(50);
  summary.set_val_loss(val_loss);
  summary.set_best_val_loss(val_loss);
  summary.set_metric_value(val_loss);
  summary.mutable_latest()->set_loss(val_loss - 0.5);
  summary.set_world_size(2);
  summary.set_tokens_per_second(1000);
  summary.set_comm_ratio(0.25);
  summary.set_comm_exposed_ratio(0.125);
  summary.set_train_tokens(5000);
  summary.set_tokens_per_step(200);
  summary.set_started_wall_ms(1700000001000);
  experiment.found.mutable_summary()->set_trials(summary.trial());
  return trial;
}

inline void RunOutOfMemory(Trial& trial) {
  trial.summary.set_state(v1::TRIAL_FAILED);
  trial.summary.set_cause(v1::CAUSE_OOM);
  trial.summary.set_val_loss(kNan);
  trial.summary.set_metric_value(kNan);
  trial.summary.clear_latest();
  trial.summary.set_tokens_per_second(0);
}

// Returns batch_size 8, 16 × seq_len 64, 128, 256; the last trial ran out of memory.
inline Experiment Study(uint64_t id = 12) {
  Experiment experiment = NewExperiment(id, "study");
  for (const int64_t batch : {8, 16}) {
    for (const int64_t length : {64, 128, 256}) {
      Trial& trial = AddTrial(experiment, static_cast<double>(batch) / 8 + length / 64.0);
      Assign(trial.summary, "train.batch_size", batch);
      Assign(trial.summary, "train.seq_len", length);
    }
  }
  RunOutOfMemory(experiment.trials.back());
  return experiment;
}

}  // namespace dt::report
