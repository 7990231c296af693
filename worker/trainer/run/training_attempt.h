// training_attempt.h: the attempt of one rank: its state, its role in the gang, and its work after
// each step.
//
// Ownership: borrows everything that it is given.
// Threads:   the training thread.
// Errors:    every failure becomes the End's cause; LibTorch's exceptions stop in Run.
// Tests:     tests/worker/trainer/, tests/gpu/
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/shares.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/link/conversation.h"
#include "worker/trainer/run/attempt_options.h"
#include "worker/trainer/run/membership.h"
#include "worker/trainer/run/step.h"
#include "worker/trainer/run/step_report.h"
#include "worker/trainer/run/training_state.h"
#include "worker/trainer/trial/time_budget.h"

namespace dt::trainer {

class TrainingAttempt {
 public:
  TrainingAttempt(const frames::Start& start, Device& device, Conversation& conversation,
                  const AttemptOptions& options)
      : start_(start), device_(device), conversation_(conversation), options_(options) {}
  ~TrainingAttempt() { conversation_.AbortWith({}); }

  frames::End Run();

 private:
  absl::Status Go();
  absl::Status Prepare();
  absl::Status Build();
  absl::Status Train();
  absl::Status Loop(Stepper& stepper);
  // On rank 0, or on a survivor that saves in its place.
  void MakeKeeper(int64_t saved_step);
  // Returns whether this rank has the state after `step_`, or its part of a replica, without which
  // its peers' work since the last checkpoint is lost. `failure`: the error of its collective.
  bool Holds(const absl::Status& failure, Stepper& stepper) const;
  // After a failed collective: offers the state, waits, and saves it if so ordered.
  absl::Status OfferState();
  // Saves the state in place of rank 0. `replica`: the ranks that hold it together; null: this one.
  absl::Status SaveAsSurvivor(uint64_t rows_after, std::shared_ptr<Mesh> replica);

  // Returns whether the ranks are equal; otherwise due work waits until they are.
  bool IsWhole() const { return step_ == begun_step_ || members_.sync.After(step_); }
  // Returns whether a multiple of `every` was reached since the ranks were last equal.
  bool HasCome(int64_t every) const {
    return IsWhole() && members_.sync.Since(step_).HasMultipleOf(every);
  }
  // Returns whether to compare parameters: every train.hash_every steps, or if a save may be due.
  bool ComparesParameters() const {
    const int64_t hash_every = state_.spec.train.hash_every;
    if (members_.mesh->group(Axis::kWorld) == nullptr || hash_every == 0) return false;
    return HasCome(hash_every) || HasCome(state_.spec.checkpoint.every_steps) || EvaluationDue();
  }
  // Returns whether the state may be saved after `step`, known to all ranks in advance. For saves
  // by time or because of a stop, rank 0 agrees with the others on a step (SaveTogether).
  bool MaySave(int64_t step) const {
    const int64_t save_every = state_.spec.checkpoint.every_steps;
    return step == target_steps() || (save_every > 0 && step % save_every == 0) || AtRung(step) ||
           (state_.spec.checkpoint.keep_best > 0 && EvaluationDue(step));
  }
  // Does what is due after a step.
  absl::Status EvaluateAndSave(Stepper& stepper);
  // Saves if rank 0 cannot save alone: tells all ranks to save, or to save and leave. If a save
  // must be noted before its step, saves after the next step.
  absl::Status SaveTogether(Stepper& stepper);
  absl::Status Evaluate(Stepper& stepper);
  absl::Status Save();
  // Returns whether any rank has a reason to roll back; same on every rank.
  bool CallsForRollback(Stepper& stepper);
  // Rolls back to this attempt's newest checkpoint, or to its start, and continues with the next
  // step.
  absl::Status RollBack(Stepper& stepper, const std::string& why);
  bool IsRoot() const { return start_.rank == 0; }
  std::vector<Piece> OuterState() const {
    return state_.outer == nullptr ? std::vector<Piece>() : state_.outer->State();
  }
  bool RootHasAll() const {
    return members_.strategy == nullptr || members_.strategy->RootHasAll();
  }
  // Returns whether rank 0 can save after any step without the other ranks.
  bool RootSavesAlone() const {
    return RootHasAll() && (members_.strategy == nullptr || !members_.strategy->SavesAreNoted());
  }
  bool SavesAlone() const { return IsRoot() && RootSavesAlone(); }
  int64_t target_steps() const { return members_.plan.target_steps; }
  // Returns whether a search compares trials at `step`.
  bool AtRung(int64_t step) const {
    const bool of_ladder = std::any_of(
        start_.validate_at.begin(), start_.validate_at.end(),
        [&](uint64_t divisor) { return step == ShareOfSteps(target_steps(), divisor); });
    return of_ladder ||
           std::binary_search(shares_.begin(), shares_.end(), static_cast<uint64_t>(step));
  }
  // Returns whether `step_` has a row. A rung has one, since its loss may be compared.
  bool Logged() const { return Logged(step_); }
  bool Logged(int64_t step) const {
    return IsLogged(state_.spec, members_.plan, step) || AtRung(step) || budget_.LooksAt(step);
  }
  // Returns whether `step_` is the last step; same on every rank, from the start of an attempt.
  bool OnLastStep() const { return step_ == target_steps() || (budget_.Reached() && IsWhole()); }
  // Returns whether the specification or a search asks for an evaluation.
  bool EvaluationDue(int64_t step) const {
    const int64_t every = state_.spec.eval.every;
    return (every > 0 && step % every == 0) || AtRung(step);
  }
  bool EvaluationDue() const {
    return OnLastStep() || HasCome(state_.spec.eval.every) || AtRung(step_);
  }

  const frames::Start& start_;
  Device& device_;
  Conversation& conversation_;
  const AttemptOptions options_;

  TrainingState state_;
  Membership members_;  // after the state, which it borrows

  std::optional<checkpoint::CheckpointId> resumed_from_;  // known to rank 0 only
  std::vector<uint64_t> shares_;                          // steps at which a population is compared
  int64_t step_ = 0;                                      // completed steps
  int64_t begun_step_ = 0;                                // step at which this attempt began
  int64_t evaluated_step_ = -1;
  bool owes_evaluation_ = false;  // the previous attempt was stopped within this step's evaluation
  bool noted_ = true;             // the newest step's state may be saved; true right after a resume
  bool asked_save_ = false;       // rank 0 wants to save after the next step
  int32_t rollbacks_ = 0;
  std::optional<double> peak_flops_;  // of this rank's device, if known
  TimeBudget budget_;
  double trained_before_ = 0;             // seconds, of earlier attempts that this one continues
  std::unique_ptr<EarlyLosses> losses_;   // null: no rank could save for the others
  std::deque<frames::Eval> evaluations_;  // the newest ones, on a rank that may save for rank 0
  bool restoring_ = false;                // parameters are being replaced
  bool holds_ = false;                    // a collective failed, and this rank has the state
  std::optional<StepReporter> reporter_;  // set once training began
};

}  // namespace dt::trainer
