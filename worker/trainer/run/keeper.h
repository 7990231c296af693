// keeper.h: decides when rank 0 writes checkpoints, and which of them stay.
//
// Role:      only rank 0 decides and writes. It copies the state; a thread hashes and writes the
//            copy while training continues. A checkpoint that falls due meanwhile waits, so there
//            is at most one copy. If there is no memory for a copy, training waits for the write.
// Threads:   the training thread.
// Errors:    those of checkpoint/, from whichever call learns of them. A failed removal is only
//            printed to stderr.
// Invariant: a checkpoint is reported once it is durable. The newest registered one, from which a
//            resume would start, is removed only after a later one is registered. At most
//            keep_latest + keep_best + 1 stay, and those of the steps at which a population is
//            compared.
// Tests:     tests/worker/trainer/run/keeper_test.cc, tests/worker/trainer/run/attempt_test.cc,
//            tests/worker/trainer/run/retention_test.cc
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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

// Returns the software and device that train here: program, LibTorch, device, NCCL, CUDA.
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
    std::function<double()> trained_seconds;  // empty: no time limit
    // Tests delay `write` and make `spare_bytes` return 0.
    Write write = SaveSnapshot;
    std::function<uint64_t()> spare_bytes = SpareHostBytes;
    Mesh* mesh = nullptr;  // set if parameters are distributed over ranks
    const OuterSgd* outer = nullptr;
    SyncSteps sync;
    const WireChoice* wire = nullptr;  // type of sent gradients, if training chose it
    DataMarks data;
    bool removes = true;  // false: rank 0 decides what stays, and this one saves in its place
  };
  // `step`: where the attempt begins; its state is saved already.
  CheckpointKeeper(Parts parts, int64_t step);
  // Removes the remains of killed attempts and the checkpoints that this attempt supersedes. Call
  // it after the attempt has reported that it runs.
  void ClearUp();

  // Records the evaluation of the newest step.
  void TakeEvaluation(const frames::Eval& eval);
  // Returns whether a checkpoint is due after `step`, at which the ranks are equal: by steps, by
  // time, because of the best metric so far, or since a population is compared there.
  bool Due(int64_t step) const;
  // Returns whether Save would write.
  bool Writes(int64_t step) const { return step != saved_step_ && !parts_.start.storage.empty(); }
  // Starts to write the current state; if it is distributed over ranks, which must all take part,
  // also completes the write. `layout`: the strategy's. Returns the seconds for which training was
  // blocked; 0 if the step is saved already or there is no storage.
  absl::StatusOr<double> Save(int64_t step, BucketLayout layout);
  // Makes later saves those of a survivor of a broken gang, beside which another may save.
  // `replica`: the ranks that hold the state together; null: this one alone. A save that the lost
  // peer made fail is made again.
  void BecomeSurvivor(std::shared_ptr<Mesh> replica);
  // Blocks until the started checkpoint is durable and reported.
  absl::Status Settle();
  // Does the same for a failed attempt, but waits only for a short time.
  void SettleSoon();
  // Returns the newest checkpoint that this attempt wrote. REQUIRES: Settle was called.
  const std::optional<frames::Resume>& newest() const { return newest_; }
  // Called between steps: reports a checkpoint that became durable, and removes those that are not
  // needed since another one was registered.
  absl::Status Tend();
  // Called after the last step: settles, and waits shortly for the registration, so that the
  // checkpoints it replaces can be removed.
  absl::Status Finish();

 private:
  // Checkpoint that was started and not yet reported.
  struct Begun {
    int64_t step = 0;
    std::optional<double> loss;
    bool best = false;
    Clock::time_point at;
  };
  bool BestSoFar(int64_t step) const;
  checkpoint::Manifest Describe(int64_t step, BucketLayout layout) const;
  absl::Status Begin(const checkpoint::CheckpointId& id, const checkpoint::Manifest& manifest);
  // Reports the end of a started save.
  absl::Status Tell(const absl::StatusOr<checkpoint::SavedCheckpoint>& saved);
  checkpoint::Retention CurrentRetention() const;
  // Returns the checkpoints of this attempt and of those from which it continues.
  std::vector<checkpoint::RankedCheckpoint> Ranked() const;
  void Retain();

  const Parts parts_;
  const checkpoint::TrialId trial_;
  const TrainingLine line_;
  const checkpoint::Metric metric_;
  const std::vector<uint64_t> shares_;  // steps at which a population is compared
  const int64_t resumed_step_;
  std::optional<uint64_t> registered_step_;  // of this attempt, as of the last look
  // Checkpoints in this attempt's folder before it began, from another coordinator's trial with the
  // same number.
  std::vector<checkpoint::CheckpointId> strangers_;
  bool removes_ = true;  // false: strangers_ could not be listed, so nothing is removed
  std::optional<frames::Resume> newest_;
  int64_t saved_step_;
  Clock::time_point saved_time_;
  int64_t validated_step_ = -1;
  std::optional<double> validated_loss_, validated_metric_;  // at that step
  std::optional<double> best_saved_cost_;
  bool said_no_room_ = false;
  bool survives_ = false;
  std::shared_ptr<Mesh> replica_;
  std::optional<Begun> begun_;
  BackgroundSave background_;  // declared last: its thread ends first
};

}  // namespace dt::trainer
