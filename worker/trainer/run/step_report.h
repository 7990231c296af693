// step_report.h: reports the steps of an attempt: rows of what its ranks measured, progress between
// them, lines of the log.
//
// Role:      a rank's clock: it knows how long training took, and what else took time meanwhile.
// Ownership: borrows everything; the attempt owns it.
// Threads:   the training thread.
// Errors:    those of Stepper::Measure; LibTorch's exceptions pass through.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/worker/trainer/run/max_time_test.cc
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "worker/trainer/link/conversation.h"
#include "worker/trainer/parallel/strategy.h"
#include "worker/trainer/run/row.h"
#include "worker/trainer/trial/time_budget.h"

namespace dt::trainer {

class StepReporter {
 public:
  using Clock = std::chrono::steady_clock;
  struct Parts {
    const frames::Start& start;
    const TrialSpec& spec;
    const StepPlan& plan;
    Device& device;
    Conversation& conversation;
    Mesh& mesh;
    const Strategy& strategy;
    NoiseScale& noise_scale;
    TimeBudget& budget;
    std::optional<double> peak_flops;  // of this rank's device, where it is known
    double trained_before = 0;         // seconds, of the attempts that this one goes on from
  };
  // Training begins.
  explicit StepReporter(const Parts& parts);

  // After a step, on every rank. `logged`: it has a row, for which all ranks gather.
  absl::Status Report(int64_t step, bool logged, Stepper& stepper);
  // What took time beside training since the step.
  void LeaveOutEvaluation(double seconds);
  void LeaveOutCheckpoint(double seconds);
  // Seconds of training, of all attempts.
  double TrainedSeconds() const;
  // The mean of the losses of rows since the last call.
  std::optional<double> TakeMeanLoss() { return std::exchange(losses_, {}).Value(); }

 private:
  nlohmann::json Row(int64_t step, const std::vector<RankMeasures>& ranks, Clock::time_point now,
                     const Stepper& stepper);
  // Where ranks step alone: the share of their waits that falls to each step since the row before.
  static void SpreadWaits(RankMeasures& mine);
  // Columns that follow from others, some of which are not always known.
  void AddDerived(const std::vector<RankMeasures>& ranks, nlohmann::json& row);

  const Parts p_;
  const Clock::time_point began_;
  bool first_step_told_ = false;
  int64_t reported_nonfinite_ = 0;
  SinceLastRow since_;
  MeanOf losses_;
  Clock::time_point row_time_, step_time_, progress_time_, log_time_;
};

}  // namespace dt::trainer
