// checkpoints.h: a program's checkpoints: which one it goes on from, how its folders become
// checkpoints, and which of them stay.
//
// Role:      rank 0's, as dttrain's keeper is; the choice of what stays is the same (retention.cc),
//            the best being by the metric that the search goes by.
//            A folder is hashed on a thread of its own, so that a stop is heard meanwhile.
// Threads:   one; Begin starts another, which touches only what it was given.
// Errors:    what cannot be removed is said in the trial's log, no more.
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
#include "common/unique_fd.h"
#include "worker/frames/frames.h"
#include "worker/program/environment.h"
#include "worker/program/reports.h"

namespace dt::program {

// The checkpoint that the orders name, or where that is damaged or gone the newest good one that
// precedes it; nothing: from the start. Each that fails is said by `complain`.
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
  // Tells the thread to leave, and waits for it.
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // The attempt's folder, made. "": there is no storage.
  absl::StatusOr<std::string> MakeFolder() const;
  // Removes what killed attempts left and what this one supersedes.
  Outgoing ClearUp();
  // REQUIRES: !busy().
  Outgoing Begin(const SavedFolder& saved);
  bool busy() const { return job_.valid(); }
  // Readable when Take has something.
  int wake_fd() const { return wake_.get(); }
  Outgoing Take();
  Outgoing NoteRegistered(uint64_t step);
  // Whether the newest checkpoint waits for the coordinator's word.
  bool AwaitsWord() const { return newest_ && registered_step_ != newest_; }
  // The thread is to end soon: what it has not finished is given back.
  void Leave() { leave_ = true; }

 private:
  absl::StatusOr<std::string> Inside(const std::string& folder) const;
  // The checkpoints of this attempt and of those it goes on from.
  std::vector<checkpoint::RankedCheckpoint> Ranked() const;
  void Retain(Outgoing& out);

  const frames::Start start_;
  const checkpoint::TrialId trial_;
  const std::string spec_hash_;
  const checkpoint::Metric metric_;
  const checkpoint::Manifest manifest_;  // what all of them have
  checkpoint::Retention retention_;
  // In this attempt's folder before it began: of another coordinator's trial of the same number.
  std::vector<checkpoint::CheckpointId> strangers_;
  bool removes_ = true;
  std::optional<uint64_t> newest_, registered_step_;
  std::optional<double> best_cost_;  // of those that stay
  SavedFolder saving_;
  absl::Duration began_;
  UniqueFd wake_;
  std::atomic<bool> leave_{false};
  std::future<absl::StatusOr<checkpoint::SavedCheckpoint>> job_;  // last: what it uses outlives it
};

}  // namespace dt::program
