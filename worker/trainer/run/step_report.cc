// step_report.cc: makes rows from measures.
#include "worker/trainer/run/step_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "worker/trainer/device/failure.h"
#include "worker/trainer/trial/flops.h"
#include "worker/trainer/trial/seconds_between.h"

namespace dt::trainer {
namespace {

using Clock = StepReporter::Clock;

Clock::duration DurationOf(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}
int64_t WallTimeMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Minimum interval between lines of `dtctl logs`; the metrics have every step.
constexpr double kLogSeconds = 5;
// Rows that a rank keeps for the case that rank 0 is lost with its worker: of some seconds, since
// both report each second and write each second.
constexpr int64_t kKeptMs = 10000;
constexpr size_t kKeptRowsMost = 2048;

}  // namespace

StepReporter::StepReporter(const Parts& parts)
    : p_(parts),
      began_(Clock::now()),
      row_time_(began_),
      step_time_(began_),
      progress_time_(began_) {}

double StepReporter::TrainedSeconds() const {
  return p_.trained_before + SecondsBetween(began_, Clock::now());
}

void StepReporter::LeaveOutEvaluation(double seconds) {
  since_.eval_seconds += seconds;
  step_time_ += DurationOf(seconds);
}

void StepReporter::LeaveOutCheckpoint(double seconds) {
  since_.checkpoint_seconds += seconds;
  step_time_ += DurationOf(seconds);
}

absl::Status StepReporter::Report(int64_t step, bool logged, Stepper& stepper) {
  since_.steps += 1;
  since_.tokens += static_cast<double>(p_.plan.tokens_per_step);
  RankMeasures mine;
  if (logged) {
    DT_ASSIGN_OR_RETURN(mine.step, stepper.Measure());
  }
  const Clock::time_point now = Clock::now();
  mine.step_seconds = SecondsBetween(step_time_, now);
  step_time_ = now;
  // Kernels are selected and buffers allocated in the first step, so it takes longer than the
  // others.
  if (!std::exchange(first_step_told_, true)) {
    std::fprintf(stderr, "first step %.2f s\n", mine.step_seconds);
  }
  if (!p_.mesh.IsRoot() && SecondsBetween(progress_time_, now) >= 1) {
    progress_time_ = now;
    p_.conversation.Say(frames::Progress{p_.start.token, static_cast<uint64_t>(step)});
  }
  if (!logged) return absl::OkStatus();
  if (p_.strategy.StepsAlone()) SpreadWaits(mine);
  mine.memory_peak_bytes = static_cast<double>(p_.device.PeakBytes());
  const TensorBytes tensors = p_.device.Tensors();
  mine.tensor_held_bytes = static_cast<double>(tensors.held);
  mine.tensor_peak_bytes = static_cast<double>(tensors.peak);
  mine.trained_seconds = TrainedSeconds();
  const absl::StatusOr<std::vector<RankMeasures>> ranks = MeasuresOfAll(mine);
  if (ranks.ok()) {
    p_.budget.Take(step, ranks->at(0).trained_seconds);
    if (!p_.mesh.IsRoot() && p_.losses == nullptr) return absl::OkStatus();
    SayOrKeep({p_.start.token, Row(step, *ranks, now, stepper)});
  } else if (mine.step.loss && std::isfinite(*mine.step.loss)) {
    mine.step.local_squared = 0;
    SayOrKeep({p_.start.token, Row(step, {mine}, now, stepper)});
  }
  since_ = {};
  return ranks.status();
}

// Sets mine.step.loss to the mean over all ranks, if known, where the gathering fails.
absl::StatusOr<std::vector<RankMeasures>> StepReporter::MeasuresOfAll(RankMeasures& mine) const {
  auto ranks = Guarded(
      [&]() -> absl::StatusOr<std::vector<RankMeasures>> { return Gathered(p_.mesh, mine); });
  if (ranks.ok()) return ranks;
  mine.step.loss.reset();
  if (p_.losses != nullptr && ranks.status().code() == kCollectiveError) {
    mine.step.loss = p_.losses->Mean();
  }
  return ranks;
}

void StepReporter::SayOrKeep(frames::StepDone row) {
  if (p_.mesh.IsRoot()) return p_.conversation.Say(row);
  kept_.push_back(std::move(row));
  const auto oldest = kept_.back().row.value("wall_time_ms", int64_t{0}) - kKeptMs;
  while (kept_.size() > kKeptRowsMost ||
         (kept_.size() > 2 && kept_.front().row.value("wall_time_ms", int64_t{0}) < oldest)) {
    kept_.pop_front();
  }
}

bool StepReporter::KeepsAllSince(uint64_t step) const {
  for (const frames::StepDone& kept : kept_) {
    const auto last = kept.row.value("step", uint64_t{0});
    const auto steps = static_cast<uint64_t>(kept.row.value("steps", 1.0));
    if (last > step) return last <= step + steps;
  }
  return true;
}

// Spreads the waits over steps. A row stands for all steps since the previous one, few of which end
// in a sync, so each step gets its share of the waits, as it does of the bytes sent.
void StepReporter::SpreadWaits(RankMeasures& mine) {
  double waited = 0;
  for (const Traffic& each : mine.step.comm.traffic) waited += each.exposed_seconds;
  mine.step_seconds += waited - std::exchange(mine.step.phases.comm_exposed, waited);
}

nlohmann::json StepReporter::Row(int64_t step, const std::vector<RankMeasures>& ranks,
                                 Clock::time_point now, const Stepper& stepper) {
  // If ranks train independently, each skips its own steps.
  int64_t nonfinite = 0;
  for (const RankMeasures& rank : ranks) nonfinite = std::max(nonfinite, rank.step.nonfinite_steps);
  since_.nonfinite_steps = static_cast<double>(nonfinite - reported_nonfinite_);
  reported_nonfinite_ = nonfinite;
  if (since_.nonfinite_steps > 0 && p_.mesh.IsRoot()) {
    std::fprintf(stderr, "step %lld  gradient or loss not finite, step skipped; %lld so far\n",
                 static_cast<long long>(step), static_cast<long long>(nonfinite));
  }
  since_.seconds = SecondsBetween(row_time_, now);
  row_time_ = now;
  nlohmann::json row = MakeRow(p_.mesh, step, stepper.learning_rate(), ranks, since_, WallTimeMs());
  AddDerived(ranks, row);
  const double loss = row["loss"].get<double>();
  losses_.Add(loss);
  const bool last = step == p_.plan.target_steps || p_.budget.Reached();
  if (p_.mesh.IsRoot() && (last || SecondsBetween(log_time_, now) >= kLogSeconds)) {
    log_time_ = now;
    std::fprintf(stderr, "step %lld/%lld  loss %.4f  lr %.2e  %.0f tokens/s\n",
                 static_cast<long long>(step), static_cast<long long>(p_.plan.target_steps), loss,
                 stepper.learning_rate(), since_.tokens / std::max(since_.TrainingSeconds(), 1e-9));
  }
  return row;
}

void StepReporter::AddDerived(const std::vector<RankMeasures>& ranks, nlohmann::json& row) {
  row["flops"] = since_.tokens * FlopsPerToken(p_.spec.model, p_.spec.train.seq_len);
  if (p_.peak_flops) row["peak_flops"] = *p_.peak_flops * static_cast<double>(ranks.size());

  double local_squared = 0;
  for (const RankMeasures& rank : ranks) local_squared += rank.step.local_squared;
  local_squared /= static_cast<double>(ranks.size());
  if (local_squared > 0) {
    const auto whole = static_cast<double>(p_.plan.tokens_per_step);
    const BatchPlan& batch = p_.plan.batch;
    double shares = batch.world_size;
    if (p_.strategy.MeasuresMicroStep()) shares *= static_cast<double>(batch.micro_steps());
    // The expected squared norm grows with the mean of 1 / share.
    if (!batch.shares.empty()) {
      shares = 0;
      for (const int64_t share : batch.shares) {
        shares += static_cast<double>(batch.micro_steps()) / static_cast<double>(share);
      }
    }
    const double norm = ranks[0].step.grad_norm;
    p_.noise_scale.Add(whole / shares, local_squared, whole, norm * norm);
  }
  if (const std::optional<double> noise = p_.noise_scale.Value())
    row["noise_scale_tokens"] = *noise;
}

}  // namespace dt::trainer
