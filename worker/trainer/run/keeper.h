// keeper.h: when rank 0 writes checkpoints, and which of them stay.
//
// Role:      rank 0 alone decides and writes. The state is copied aside; while a thread hashes and
//            writes the copy, training goes on. One that falls due meanwhile waits for it, so that
//            there is one copy at most; where there is no room for a copy training waits.
// Threads:   the training thread.
// Errors:    those of the checkpoint room, from whichever call learns of them. What cannot be
//            removed is said on stderr, no more.
// Invariant: a checkpoint is told of once it is durable. The newest registered one, from which a
//            resume would begin, goes only after a later one is registered. At most keep_latest +
//            keep_best + 1 stay, and those of the steps at which a population is compared.
// Tests:     tests/worker/trainer/run/keeper_test.cc, tests/worker/trainer/run/attempt_test.cc,
//            tests/worker/trainer/run/retention_test.cc
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker/trainer/link/conversation.h"
#include "worker/trainer/optim/outer_sgd.h"
#include "worker/trainer/precision/loss_scale.h"
#include "worker/trainer/run/background_save.h"
#include "worker/trainer/run/snapshot.h"
#include "worker/trainer/run/training_line.h"
#include "worker/trainer/trial/spec.h"
#include "worker/trainer/trial/sync_steps.h"
#include "worker/trainer/trial/wire_choice.h"

namespace dt::trainer {

// What trains here: program, LibTorch, device.
std::map<std::string, std::string> ProvenanceOf(const Device& device);

class CheckpointKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  using Write = std::function<absl::StatusOr<checkpoint::SavedCheckpoint>(
      const std::string& storage, const checkpoint::CheckpointId& id, const Snapshot& snapshot,
      checkpoint::Manifest manifest, const std::atomic<bool>& leave)>;
  struct Parts {
    const frames::Start& start;
    const TrialSpec& spec;
    const StepPlan& plan;
    Device& device;
    Conversation& conversation;
    const std::vector<Piece>& parameters;
    const AdamW& optimizer;
    const LossScale* loss_scale = nullptr;
    const NoiseScale* noise_scale = nullptr;
    std::map<std::string, std::string> provenance;
    std::optional<checkpoint::CheckpointId> resumed_from;
    std::function<double()> trained_seconds;  // none: training has no limit in time
    // Tests hold up the one and empty the other.
    Write write = SaveSnapshot;
    std::function<uint64_t()> spare_bytes = SpareHostBytes;
    Mesh* mesh = nullptr;  // where parameters are spread over ranks
    const OuterSgd* outer = nullptr;
    SyncSteps sync;
    const WireChoice* wire = nullptr;  // what gradients travel in, where training chose it
    DataMarks data;
  };
  // `step`: where the attempt begins; what is there needs no second checkpoint.
  CheckpointKeeper(Parts parts, int64_t step);
  // Removes what killed attempts left and what this one supersedes. Once it said that it runs.
  void ClearUp();

  // What the newest step was found to be worth.
  void TakeEvaluation(const frames::Eval& eval);
  // After `step`, behind which the ranks are equal: whether one is due by steps, by time, for a
  // metric that is the best so far, or where a population is compared.
  bool Due(int64_t step) const;
  // Whether Save would write.
  bool Writes(int64_t step) const { return step != saved_step_ && !parts_.start.storage.empty(); }
  // Begins to write the state as it is now; of what is spread, for which all ranks have to be
  // there, it ends as well. `layout`: the strategy's. Returns the seconds for which training stood
  // still; 0 when the step is saved already or there is no storage.
  absl::StatusOr<double> Save(int64_t step, BucketLayout layout);
  // Waits until what was begun is durable and told of.
  absl::Status Settle();
  // The same for a failed attempt, which has told its last step: for a moment at most.
  void SettleSoon();
  // The newest that this attempt wrote. REQUIRES: settled.
  const std::optional<frames::Resume>& newest() const { return newest_; }
  // Between steps: tells of what has become durable, and removes what need not stay since another
  // checkpoint was registered.
  absl::Status Tend();
  // After the last step: settles, and waits a moment for the registration, so that what it replaces
  // can go.
  absl::Status Finish();

 private:
  // Begun and not yet told of.
  struct Begun {
    int64_t step = 0;
    std::optional<double> loss;
    bool best = false;
    Clock::time_point at;
  };
  bool BestSoFar(int64_t step) const;
  checkpoint::Manifest Describe(int64_t step, BucketLayout layout) const;
  absl::Status Begin(const checkpoint::CheckpointId& id, const checkpoint::Manifest& manifest);
  // Reports how a save that was begun ended.
  absl::Status Tell(const absl::StatusOr<checkpoint::SavedCheckpoint>& saved);
  checkpoint::Retention CurrentRetention() const;
  // The checkpoints of this attempt and of those it goes on from.
  std::vector<checkpoint::RankedCheckpoint> Ranked() const;
  void Retain();

  const Parts parts_;
  const checkpoint::TrialId trial_;
  const TrainingLine line_;
  const checkpoint::Metric metric_;
  const std::vector<uint64_t> shares_;  // steps at which a population is compared
  const int64_t resumed_step_;
  std::optional<uint64_t> registered_step_;  // of this attempt, when last looked at
  // In this attempt's folder before it began: of another coordinator's trial of the same number.
  std::vector<checkpoint::CheckpointId> strangers_;
  bool removes_ = true;  // false: strangers could not be told, so nothing is removed
  std::optional<frames::Resume> newest_;
  int64_t saved_step_;
  Clock::time_point saved_time_;
  int64_t validated_step_ = -1;
  std::optional<double> validated_loss_, validated_metric_;  // at that step
  std::optional<double> best_saved_cost_;
  bool said_no_room_ = false;
  std::optional<Begun> begun_;
  BackgroundSave background_;  // last: what it runs ends first
};

}  // namespace dt::trainer
