// keeper.h: when rank 0 writes checkpoints, and which of them stay.
//
// Role:    rank 0 alone decides and writes; the other ranks wait for it in their next collective.
// Errors:  those of the checkpoint room.
// Tests:   tests/trainer/attempt_test.cc
#pragma once

#include <chrono>
#include <optional>

#include "worker/trainer/conversation.h"
#include "worker/trainer/snapshot.h"
#include "worker/trainer/spec.h"

namespace dt::trainer {

class CheckpointKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  struct Parts {
    const frames::Start& start;
    const TrialSpec& spec;
    const StepPlan& plan;
    Conversation& conversation;
    const Transformer& model;
    const AdamW& optimizer;
    const DataParallel* parallel = nullptr;
    std::map<std::string, std::string> provenance;
  };
  // `step`: where the attempt begins; what is there needs no second checkpoint.
  CheckpointKeeper(Parts parts, int64_t step);

  void OnValidated(int64_t step, double loss);
  // After `step`: whether one is due by steps, by time, or for a validation loss that is the best
  // so far. The last kind waits until writing costs at most a tenth of the time.
  bool Due(int64_t step) const;
  // Writes, reports, and removes what need not stay. Returns the seconds it took; 0 when the step
  // is saved already or there is no storage.
  Result<double> Save(int64_t step);

 private:
  bool BestSoFar(int64_t step) const;

  const Parts parts_;
  int64_t saved_step_;
  Clock::time_point saved_time_;
  double seconds_to_save_ = 0;
  int64_t validated_step_ = -1;
  double validated_loss_ = 0;
  std::optional<double> best_saved_loss_;
};

}  // namespace dt::trainer
