// keeper.h: when rank 0 writes checkpoints, and which of them stay.
//
// Role:      rank 0 alone decides and writes; the others wait for it in their next collective.
// Errors:    those of the checkpoint room. What cannot be removed is said on stderr, no more.
// Invariant: the newest registered checkpoint, from which a resume would begin, goes only after a
//            later one is registered. At most keep_latest + keep_best + 1 stay.
// Tests:     tests/worker/trainer/run/attempt_test.cc, tests/worker/trainer/run/retention_test.cc
#pragma once

#include <chrono>
#include <optional>

#include "worker/trainer/link/conversation.h"
#include "worker/trainer/precision/loss_scale.h"
#include "worker/trainer/run/snapshot.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

class CheckpointKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  struct Parts {
    const frames::Start& start;
    const TrialSpec& spec;
    const StepPlan& plan;
    Conversation& conversation;
    const std::vector<Piece>& parameters;
    const AdamW& optimizer;
    const LossScale* loss_scale = nullptr;
    const NoiseScale* noise_scale = nullptr;
    std::map<std::string, std::string> provenance;
    std::optional<CheckpointId> resumed_from;
  };
  // `step`: where the attempt begins; what is there needs no second checkpoint.
  CheckpointKeeper(Parts parts, int64_t step);
  // Removes what killed attempts left and what this one supersedes. Once it said that it runs.
  void ClearUp();

  void OnValidated(int64_t step, double loss);
  // After `step`: whether one is due by steps, by time, or for a validation loss that is the best
  // so far.
  bool Due(int64_t step) const;
  // Writes, reports, and removes what need not stay. `layout`: the strategy's. Returns the seconds
  // it took; 0 when the step is saved already or there is no storage.
  absl::StatusOr<double> Save(int64_t step, BucketLayout layout);
  // The newest that this attempt wrote.
  const std::optional<frames::Resume>& newest() const { return newest_; }
  // Between steps: removes what need not stay since another checkpoint was registered.
  void Tend();
  // After the last step: waits a moment for its registration, so that what it replaces can go.
  void Finish();

 private:
  bool BestSoFar(int64_t step) const;
  Retention CurrentRetention() const;
  // Of this attempt and of those it goes on from.
  std::vector<RankedCheckpoint> Ranked() const;
  void Retain();

  const Parts parts_;
  const TrialId trial_;
  const std::string spec_hash_;
  const int64_t resumed_step_;
  std::optional<uint64_t> registered_step_;  // of this attempt, when last looked at
  // In this attempt's folder before it began: of another coordinator's trial of the same number.
  std::vector<CheckpointId> strangers_;
  bool removes_ = true;  // false: strangers could not be told, so nothing is removed
  std::optional<frames::Resume> newest_;
  int64_t saved_step_;
  Clock::time_point saved_time_;
  int64_t validated_step_ = -1;
  double validated_loss_ = 0;
  std::optional<double> best_saved_loss_;
};

}  // namespace dt::trainer
