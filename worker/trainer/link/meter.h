// meter.h: between the parts of an evaluation: tells how far it is, and when it is to be left.
//
// Role:    a validation batch, a batch of HellaSwag, a token of the samples: each is a part of a
//          rank's share. An evaluation makes no step, so without a sign it would be taken for hung.
// Threads: the training thread.
// Errors:  CancelledError when the attempt is to stop.
// Tests:   tests/worker/trainer/link/meter_test.cc, tests/worker/trainer/run/tasks_test.cc
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "worker/trainer/link/conversation.h"

namespace dt::trainer {

class EvalMeter {
 public:
  // Counts one rank's attempt and step. Borrows the conversation.
  using Clock = std::chrono::steady_clock;
  // `saves_alone`: as of LeavesNow; who does not, measures to the end before it saves.
  EvalMeter(Conversation& conversation, std::string token, int64_t step, bool saves_alone,
            Clock::time_point begun = Clock::now());
  // Says that this rank is in no evaluation any more, if it ever said that it was.
  ~EvalMeter();
  EvalMeter(const EvalMeter&) = delete;
  EvalMeter& operator=(const EvalMeter&) = delete;

  // All that this rank has still to do. Call it before the first is done.
  void Expect(int64_t parts) { parts_ = parts; }
  // One part is done.
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
