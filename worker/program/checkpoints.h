// checkpoints.h: a program's checkpoints: chooses the one to resume from, turns its folders into
// checkpoints, and decides which are kept.
//
// Role:      only for rank 0, like dttrain's keeper. Retention is the same (retention.cc); the
//            search's metric decides the best. A folder is hashed on a thread of its own, so that a
//            stop is noticed meanwhile.
// Threads:   one; Begin starts another, which touches only what it was given.
// Errors:    a failed removal is only mentioned in the trial's log.
// Invariant: the checkpoint that a resume would begin from stays until a later one is registered.
// Tests:     tests/worker/program/program_test.cc
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "common/wake.h"
#include "worker/frames/frames.h"
#include "worker/program/environment.h"
#include "worker/program/reports.h"

namespace dt::program {

// Returns the checkpoint that the orders name, or, if it is damaged or gone, the newest good one
// before it; nothing: from the start. Passes each bad one to `complain`.
absl::StatusOr<std::optional<checkpoint::Checkpoint>> ChooseResume(
    const frames::Start& start, const ProgramSpec& spec,
    const std::function<void(const std::string&)>& complain);

class Checkpoints {
 public:
  struct Outgoing {
    std::vector<frames::FromTrainer> frames;
    std::vector<std::string> complaints;
  };
  Checkpoints(const frames::Start& start, const ProgramSpec& spec,
              std::optional<checkpoint::CheckpointId> resumed_from);
  // Asks the thread to leave, and waits for it.
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // Makes and returns the attempt's folder. "": there is no storage.
  absl::StatusOr<std::string> MakeFolder() const;
  // Removes the remains of killed attempts, and checkpoints that this attempt supersedes.
  Outgoing ClearUp();
  // REQUIRES: !busy().
  Outgoing Begin(const SavedFolder& saved);
  bool busy() const { return job_.valid(); }
  // Readable when Take has something.
  int wake_fd() const { return wake_.fd(); }
  Outgoing Take();
  Outgoing NoteRegistered(uint64_t step);
  // Returns whether the newest checkpoint waits for the coordinator's acknowledgement.
  bool AwaitsWord() const { return newest_ && registered_step_ != newest_; }
  // Asks the thread to end soon: unfinished folders are given back.
  void Leave() { leave_ = true; }

 private:
  absl::StatusOr<std::string> Inside(const std::string& folder) const;
  // Returns the checkpoints of this attempt and of those that it continues.
  std::vector<checkpoint::RankedCheckpoint> Ranked() const;
  void Retain(Outgoing& out);

  const frames::Start start_;
  const checkpoint::TrialId trial_;
  const std::string spec_hash_;
  const checkpoint::Metric metric_;
  const checkpoint::Manifest manifest_;  // common to all of its checkpoints
  checkpoint::Retention retention_;
  // Checkpoints in this attempt's folder from before it began: of another coordinator's trial of
  // the same number.
  std::vector<checkpoint::CheckpointId> strangers_;
  bool removes_ = true;
  std::optional<uint64_t> newest_, registered_step_;
  std::optional<double> best_cost_;  // of the kept ones
  SavedFolder saving_;
  absl::Duration began_;
  Wake wake_;
  std::atomic<bool> leave_{false};
  std::future<absl::StatusOr<checkpoint::SavedCheckpoint>> job_;  // last: it is destroyed before
                                                                  // what it uses
};

}  // namespace dt::program
