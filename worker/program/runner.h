// runner.h: dtprogram under its agent: one attempt after another, over descriptor 3.
//
// Role:    the poll loop: frames, signals, the attempt and time.
// Errors:  when the agent is gone or speaks nonsense, everything below this process is killed and
//          it ends: a runner without an agent is an orphan.
// Tests:   tests/worker/program/program_test.cc
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/unique_fd.h"
#include "worker/program/attempt.h"

namespace dt::program {

// Blocks the signals that Run waits for, SIGTERM among them: who stops an attempt says so on the
// link. Call before any thread starts.
void BlockRunnerSignals();

class Runner {
 public:
  // Takes over `link`.
  Runner(int link, Host host);
  // Returns the exit status once the agent says exit. Where the agent is gone it does not return.
  int Run();

 private:
  void Say(const frames::FromTrainer& frame);
  void Wait();
  void ReadLink();
  void TakeFrame(const frames::ToTrainer& frame);
  [[noreturn]] void Abandon(const std::string& why);

  const UniqueFd link_;
  const Host host_;
  const SystemClock clock_;
  UniqueFd signals_;
  std::string unread_;
  std::deque<frames::ToTrainer> frames_;
  std::optional<Attempt> attempt_;
  std::string token_;  // of attempt_
  bool exits_ = false;
};

}  // namespace dt::program
