// meter.h: reports the progress of an evaluation, and tells it when to stop.
//
// Role:    a part is a validation batch, a HellaSwag batch, or a token of the samples; each rank
//          has a share of parts. An evaluation makes no steps, so without reports it would look
//          hung.
// Threads: the training thread.
// Errors:  CancelledError if the attempt is to stop; CollectiveError if a peer is gone, without
//          which the evaluation has no result.
// Tests:   tests/worker/trainer/link/meter_test.cc, tests/worker/trainer/run/tasks_test.cc
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "worker/trainer/link/conversation.h"

namespace dt::trainer {

class EvalMeter {
 public:
  // Meters one rank of an attempt at one step. Borrows the conversation.
  using Clock = std::chrono::steady_clock;
  // `saves_alone`: see LeavesNow. A rank that does not leave now completes the evaluation before it
  // saves.
  EvalMeter(Conversation& conversation, std::string token, int64_t step, bool saves_alone,
            Clock::time_point begun = Clock::now());
  // Reports that this rank's evaluation is over, if any progress was reported.
  ~EvalMeter();
  EvalMeter(const EvalMeter&) = delete;
  EvalMeter& operator=(const EvalMeter&) = delete;

  // Sets the number of parts that this rank has to do. Call it before the first Done.
  void Expect(int64_t parts) { parts_ = parts; }
  // Counts one completed part.
  absl::Status Done(Clock::time_point now = Clock::now());

 private:
  void Say(uint64_t done, uint64_t parts);

  Conversation& conversation_;
  const std::string token_;
  const int64_t step_;
  const bool saves_alone_;
  int64_t parts_ = 0, done_ = 0;
  Clock::time_point said_;
  bool ever_said_ = false;
};

}  // namespace dt::trainer
