#include "tests/cli/commands/fixture.h"

#include <limits>

namespace dt::cli {

void CommandTest::AddExperiment(uint64_t id, uint32_t trials) {
  control_.Edit([&](FakeControl::World& world) {
    FakeControl::Experiment& one = world.experiments[id];
    v1::ExperimentSummary& summary = *one.found.mutable_summary();
    summary.set_experiment(id);
    summary.set_name("quickstart");
    summary.set_state(v1::EXPERIMENT_QUEUED);
    summary.set_trials(trials);
    summary.set_pending(trials);
    summary.set_metric("val_loss");
    summary.set_goal("minimize");
    summary.set_eta_seconds(-1);
    summary.set_submitted_wall_ms(1700000000000);
    one.found.set_file_name("grid.yaml");
    one.found.set_file_text("version: 1\nname: quickstart\n");
    one.found.mutable_spec()->set_name("quickstart");
    one.found.mutable_spec()->add_parameters()->set_path("train.batch_size");
    for (uint32_t i = 1; i <= trials; ++i) {
      v1::TrialSummary& trial = one.trials.emplace_back();
      trial.set_experiment(id);
      trial.set_trial(i);
      trial.set_state(v1::TRIAL_PENDING);
      trial.set_waiting("both slots are taken");
      trial.set_val_loss(std::numeric_limits<double>::quiet_NaN());
      trial.set_best_val_loss(std::numeric_limits<double>::quiet_NaN());
      trial.set_metric_value(std::numeric_limits<double>::quiet_NaN());
      trial.set_eta_seconds(-1);
      trial.set_world_size(2);
      v1::Assignment& assignment = *trial.add_assignments();
      assignment.set_path("train.batch_size");
      assignment.mutable_value()->set_integer(8 * i);
    }
  });
}

void CommandTest::FinishAll(FakeControl::World& world, uint64_t experiment) {
  FakeControl::Experiment& one = world.experiments.at(experiment);
  for (v1::TrialSummary& trial : one.trials) {
    trial.set_state(v1::TRIAL_FINISHED);
    trial.set_cause(v1::CAUSE_FINISHED);
    trial.set_step(200);
    trial.set_target_steps(200);
    trial.set_val_loss(2.0 + trial.trial());
    trial.set_best_val_loss(2.0 + trial.trial());
    trial.set_best_val_step(160);
    trial.set_metric_value(2.0 + trial.trial());
  }
  v1::ExperimentSummary& summary = *one.found.mutable_summary();
  summary.set_state(v1::EXPERIMENT_FINISHED);
  summary.set_pending(0);
  summary.set_finished(summary.trials());
  summary.set_progress_ratio(1);
  summary.set_best_trial(1);
  summary.set_best_value(3.0);
  summary.set_ended_wall_ms(summary.submitted_wall_ms() + 90000);
}

}  // namespace dt::cli
