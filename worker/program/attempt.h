// attempt.h: one rank of one attempt, whose trainer is a user's program.
//
// Role:      speaks the trainer's protocol (frames.h) for a program that does not know it: starts
//            the program, reads its reports, keeps its checkpoints, stops it, and leaves none of
//            its processes.
// Ownership: the program and everything below it. This process must adopt orphans (descendants.h).
// Threads:   one, apart from that of Checkpoints.
// Errors:    returns none: an `end` frame reports them.
// Bounds:    limits::kStacksPatience to read stacks and records, kProgramLeaveGrace to leave; the
//            agent bounds the time to save; report.h bounds a line.
// Tests:     tests/worker/program/program_test.cc, with real processes; tests/e2e/program_test.cc
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/control_group.h"
#include "common/unique_fd.h"
#include "worker/frames/frames.h"
#include "worker/program/checkpoints.h"
#include "worker/program/container.h"
#include "worker/program/ending.h"
#include "worker/program/environment.h"
#include "worker/program/environment_maker.h"
#include "worker/program/flight_recorder.h"
#include "worker/program/hang_timer.h"
#include "worker/program/metrics.h"
#include "worker/program/printed.h"
#include "worker/program/reports.h"

namespace dt::program {

// This slot of this host.
struct Host {
  std::string scratch;  // a folder that only this runner uses, made again for each attempt
  bool cuda = false;
  int threads = 1;
  EnvironmentStore environments;
  std::vector<std::string> variables;  // names that it passes on besides those of Permitted
  std::vector<std::string> folders;    // readable in containers

  // Returns the note of this slot's container (noted_container.h).
  std::string container_note() const;
  // Ends and removes the container of the note, if there is one. If that fails, the note stays.
  void EndLeftContainer() const;
  // Returns the variables of tools that make environments of this kind, or run containers.
  Environment ToolVariables(environments::Kind kind) const;
};

class ProgramAttempt {
 public:
  using Say = std::function<void(const frames::FromTrainer&)>;
  ProgramAttempt(frames::Start start, Host host, Say say);

  void Begin(Instant now);
  void TakeEnvironment(const frames::Environment& frame, Instant now);
  void TakeStoreAddress(const frames::Connect& frame, Instant now);
  void Stop(const frames::Stop& frame, Instant now);
  void NoteRegistered(const frames::Registered& frame);
  // Reads, reaps, and ends whatever is due. Call it after each wait.
  void Serve(Instant now);

  // Returns the descriptors to poll, besides SIGCHLD.
  std::vector<pollfd> Descriptors() const;
  absl::Duration NextDeadline() const;  // steady time
  // Returns true once `end` is sent and no process of the attempt is left.
  bool over() const { return stage_ == Stage::kOver; }

 private:
  enum class Stage {
    kMaking,   // its environment
    kWaiting,  // for rank 0's address
    kRunning,  // while the program runs
    kWinding,  // it has ended; its last reports are taken
    kOver
  };

  void BeginEnvironment(Instant now);
  void ServeEnvironment(Instant now);
  void FailEnvironment(const absl::Status& error);
  void GoOn(Instant now);
  absl::StatusOr<Environment> Inherited() const;
  absl::Status ChooseProgram(const LaunchContext& context, SpawnOptions& options);
  absl::Status EnterContainer(const LaunchContext& context, SpawnOptions& options);
  bool EndContainer();
  void LookForProgram(int status);
  Ending EndingNow() const;
  void AskToEnd(bool all);
  absl::Status Prepare();
  absl::Status Launch(Instant now);
  void BeginAsRoot(absl::Duration now);
  absl::StatusOr<UniqueFd> MakeScratch();
  absl::Status ChoosePort();
  void Reap();
  bool ProgramIsDone(absl::Duration now) const;
  void Wind(Instant now);
  bool WindsOn(absl::Duration now);
  void ReadReports(Instant now);
  void TakeLines(Instant now);
  void TakeLine(std::string_view line, Instant now);
  void TakePrinted(Instant now);
  void CatchUp(Instant now);
  absl::Status PrepareMetrics(const std::string& folder, uint64_t resumed);
  void PassLines(const MetricFiles::Taken& taken, Instant now);
  void Pass(const Reports::Outgoing& out);
  void Pass(const Checkpoints::Outgoing& out);
  void SayHint();
  std::string HintNow(Reports::When when) const;
  void LeavePrintedReports();
  void BeginSaving();
  void BeginLeaving(absl::Duration now);
  void LookAtTotal(absl::Duration now);
  void LogStacks(const std::string& why);
  // Returns true after the turn that logged the stacks: the program does not know yet that it has
  // to leave.
  bool LeavesNext() const {
    return stage_ == Stage::kRunning && stop_request_ == StopRequest::kLeave &&
           leave_at_ == absl::InfiniteDuration();
  }
  void LookAtSilence(absl::Duration now);
  void Fail(const absl::Status& error);
  void End(const Ending& ending);
  void Log(const std::string& text);
  bool IsRoot() const { return start_.rank == 0; }

  const frames::Start start_;
  const Host host_;
  const Say say_;
  ProgramSpec spec_;
  std::optional<EnvironmentMaker> maker_;  // holds its environment while the program runs
  bool of_experiment_ = false;             // its failure would be that of each trial
  Stage stage_ = Stage::kWaiting;
  StopRequest stop_request_ = StopRequest::kNone;
  absl::Duration leave_at_ = absl::InfiniteDuration();
  absl::Duration total_at_ = absl::InfiniteDuration();  // when timeout.total passes
  bool out_of_time_ = false;                            // it has passed: the trial has finished
  absl::Duration wind_until_ = absl::InfiniteDuration();
  std::optional<checkpoint::Checkpoint> resume_;
  std::string store_address_;
  uint64_t oom_kills_before_ = 0;

  std::optional<Container> container_;  // of an image, from its launch on
  environments::ContainerEnd container_end_;
  std::optional<Ending> missing_;        // the image lacks the program
  std::unique_ptr<ControlGroup> group_;  // around the program, if the system allows one
  pid_t program_ = -1;
  std::optional<int> wait_status_;  // set once it has ended
  bool all_gone_ = false;           // no process below us is alive
  UniqueFd pipe_;
  std::string unread_;
  bool overlong_ = false;           // the current line is overlong: its rest is dropped
  bool logged_other_rank_ = false;  // the log mentions that another rank than 0 reported
  Printed printed_, errors_;        // its standard output, its standard error
  bool took_printed_ = false;
  bool reads_printed_ = true;         // until the descriptor or the FIFO has numbers
  std::unique_ptr<Metrics> metrics_;  // rank 0's
  std::optional<Reports> reports_;
  std::optional<HangTimer> hang_timer_;  // rank 0's, whose reports alone count
  std::string overdue_;                  // why it counts as hung
  Environment environment_;              // the program's
  FlightFiles flight_;                   // of NCCL's collectives
  std::string hint_;                     // the last one sent
  std::optional<Checkpoints> checkpoints_;
};

}  // namespace dt::program
