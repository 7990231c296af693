// runner.h: dtprogram under its agent: one attempt after another, over descriptor 3.
//
// Role:    the poll loop: frames, signals, the attempt and time. Nothing of an attempt is left for
//          the next: its processes are ended, and its objects go with it.
// Errors:  if the agent is gone or violates the protocol, kills everything below this process and
//          exits: a runner without an agent is an orphan.
// Tests:   tests/worker/program/runner_test.cc, program_test.cc
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/unique_fd.h"
#include "worker/program/attempt.h"
#include "worker/program/inherited.h"

namespace dt::program {

// Blocks the signals that Run waits for, SIGTERM among them: an attempt is stopped over the link.
// Call before any thread starts.
void BlockRunnerSignals();

class Runner {
 public:
  // Takes ownership of `link`.
  Runner(int link, Host host);
  // Returns the exit status once the agent sends exit, or, instead of an `idle`, if an attempt left
  // something of itself that the next one would get. If the agent is gone, it does not return.
  int Run();

 private:
  void Say(const frames::FromTrainer& frame);
  void Wait();
  void ReadLink();
  void TakeFrame(const frames::ToTrainer& frame);
  void EndAttempt();
  std::string WhyNoFurther() const;
  [[noreturn]] void Abandon(const std::string& why);

  const UniqueFd link_;
  const Host host_;
  const SystemClock clock_;
  const Inherited inherited_;  // before the first attempt
  UniqueFd signals_;
  std::string unread_;
  std::deque<frames::ToTrainer> frames_;
  std::optional<ProgramAttempt> attempt_;
  std::string token_;  // of attempt_
  bool exits_ = false;
};

}  // namespace dt::program
