// long_work.h: marks work between two steps that may take longer than any step: saving, evaluating,
// rolling back. Reports its start and its end, so that the silence in between is not taken for a
// hang.
//
// Threads: the training thread.
// Tests:   tests/worker/trainer/link/meter_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "worker/trainer/link/conversation.h"

namespace dt::trainer {

class LongWork {
 public:
  // Borrows the conversation.
  LongWork(Conversation& conversation, std::string token, int64_t step)
      : conversation_(conversation), token_(std::move(token)), step_(step) {
    Say(true);
  }
  ~LongWork() { Say(false); }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

 private:
  void Say(bool pauses) {
    frames::Progress progress;
    progress.token = token_;
    progress.step = static_cast<uint64_t>(step_);
    progress.pauses = pauses;
    conversation_.Say(progress);
  }

  Conversation& conversation_;
  const std::string token_;
  const int64_t step_;
};

}  // namespace dt::trainer
