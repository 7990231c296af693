// step_report.h: reports the steps of an attempt: rows of metrics, progress between them, and log
// lines.
//
// Role:      this rank's clock: it measures training time, and other time to subtract.
// Ownership: borrows everything; the attempt owns it.
// Threads:   the training thread.
// Errors:    those of Stepper::Measure; LibTorch's exceptions pass through.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/worker/trainer/run/max_time_test.cc
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
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
    std::optional<double> peak_flops;     // of this rank's device, if known
    double trained_before = 0;            // seconds, of earlier attempts that this one continues
    const EarlyLosses* losses = nullptr;  // null: known only from the gathered measures
  };
  // Starts the clock of training.
  explicit StepReporter(const Parts& parts);

  // Reports a step, on every rank. `logged`: the step has a row, for which all ranks gather. If a
  // peer dies meanwhile, the row has this rank's measures alone, and the loss of all.
  absl::Status Report(int64_t step, bool logged, Stepper& stepper);
  // Returns the newest rows, in ascending order, on a rank other than 0 that could save the state
  // of its gang; nobody else may have them.
  std::vector<frames::StepDone> KeptRows() const { return {kept_.begin(), kept_.end()}; }
  // Returns whether these are all rows after the step.
  bool KeepsAllSince(uint64_t step) const;
  // Subtract time that was not training since the step.
  void LeaveOutEvaluation(double seconds);
  void LeaveOutCheckpoint(double seconds);
  // Returns the seconds of training, over all attempts.
  double TrainedSeconds() const;
  // Returns the mean of the rows' losses since the last call.
  std::optional<double> TakeMeanLoss() { return std::exchange(losses_, {}).Value(); }

 private:
  absl::StatusOr<std::vector<RankMeasures>> MeasuresOfAll(RankMeasures& mine) const;
  void SayOrKeep(frames::StepDone row);
  nlohmann::json Row(int64_t step, const std::vector<RankMeasures>& ranks, Clock::time_point now,
                     const Stepper& stepper);
  // Used if ranks train independently: sets the waits to each step's share since the previous row.
  static void SpreadWaits(RankMeasures& mine);
  // Adds columns that follow from others; some are not always known.
  void AddDerived(const std::vector<RankMeasures>& ranks, nlohmann::json& row);

  const Parts p_;
  const Clock::time_point began_;
  bool first_step_told_ = false;
  int64_t reported_nonfinite_ = 0;
  SinceLastRow since_;
  MeanOf losses_;
  std::deque<frames::StepDone> kept_;
  Clock::time_point row_time_, step_time_, progress_time_, log_time_;
};

}  // namespace dt::trainer
