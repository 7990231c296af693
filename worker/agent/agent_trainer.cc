// agent_trainer.cc: the trainer's start and its death.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "common/check.h"
#include "common/runner_words.h"
#include "common/spawn.h"
#include "common/trainer_limits.h"
#include "worker/agent/agent_turn.h"
#include "worker/agent/convert.h"

namespace dt::agent_internal {
namespace {

// The trainer gets the attempt's variables at its start. A program gets them from its runner, which
// itself must not have a user's variables.
std::map<std::string, std::string> EnvOf(const v1::Assigned& assigned) {
  std::map<std::string, std::string> env;
  if (KindOf(assigned.spec()) == TrainerKind::kProgram) return env;
  for (const v1::Label& variable : assigned.spec().resources().env()) {
    env[variable.key()] = variable.value();
  }
  return env;
}

// Returns in whose name programs run: the trials of one experiment, user and environment share a
// runner. The next may be of another user, whose program could read the runner's memory.
std::string TenantOf(const v1::Assigned& assigned) {
  return absl::StrCat(assigned.experiment(), "\n", assigned.submitted_by(), "\n",
                      assigned.spec().environment().SerializeAsString(), "\n",
                      assigned.spec().resources().SerializeAsString());
}

}  // namespace

void AgentTurn::Take(const TrainerMisbehaved& event) {
  Kill(absl::StrCat("was killed for an invalid message on its link: ", event.reason));
}

void AgentTurn::Take(const TrainerStartFailed& event) {
  s_.trainer = Trainer{.kind = s_.trainer.kind, .env = s_.trainer.env};
  NoteStartFailure(event.message);
}

void AgentTurn::Take(const TrainerExited& event) {
  const Trainer dead =
      std::exchange(s_.trainer, Trainer{.kind = s_.trainer.kind, .env = s_.trainer.env});
  if (s_.draining) s_.report_urgent = true;
  if (TakesBack(dead)) return;
  if (s_.attempt && s_.attempt->stage != AttemptStage::kWaiting) {
    if (s_.attempt->stage != AttemptStage::kEnded) EndOnDeath(event, dead);
    ReleaseHeld();
    return;
  }
  const bool killed = dead.phase == TrainerPhase::kKilled;
  if (dead.phase == TrainerPhase::kLeaving || (killed && dead.was_ready)) return;
  // A runner that rested: it is no sign that the next would not start.
  if (dead.kind == TrainerKind::kProgram && dead.used) return;
  std::string message = killed ? dead.kill_reason : DescribeExit(event.wait_status);
  // Output of a trainer that has served an attempt belongs to that attempt.
  if (!dead.used) AppendWords(s_.last_words, message);
  NoteStartFailure(std::move(message));
}

// Lets an attempt wait for another runner if the one that rested died before it took the attempt
// up: nothing of its program has run. Returns whether it does.
bool AgentTurn::TakesBack(const Trainer& dead) {
  const bool rested = dead.kind == TrainerKind::kProgram && dead.reused;
  if (!rested || dead.phase != TrainerPhase::kBusy) return false;
  LocalAttempt& attempt = *s_.attempt;
  if (attempt.stage != AttemptStage::kPreparing || attempt.stop != StopReason::kNone) return false;
  attempt.stage = AttemptStage::kWaiting;
  return true;
}

// The trainer died within the attempt, without an `end`.
void AgentTurn::EndOnDeath(const TrainerExited& event, const Trainer& dead) {
  std::string message = absl::StrCat("the trainer ", DescribeExit(event.wait_status));
  v1::Cause cause = v1::CAUSE_TRAINER_CRASH;
  const bool killed_by_us = dead.phase == TrainerPhase::kKilled;
  if (killed_by_us) message = absl::StrCat("the trainer ", dead.kill_reason);
  switch (s_.attempt->stop) {
    case StopReason::kNone:
      if (!killed_by_us && event.oom == OomEvidence::kCgroupKill &&
          WIFSIGNALED(event.wait_status) && WTERMSIG(event.wait_status) == SIGKILL) {
        cause = v1::CAUSE_OOM;
        message = "the kernel killed the trainer: its memory group was full (oom_kill)";
      } else {
        AppendWords(s_.last_words, message);
      }
      break;
    case StopReason::kGrace:
    case StopReason::kGangSaves:
    case StopReason::kDraining:
      cause = v1::CAUSE_PREEMPTED;
      break;
    case StopReason::kAbandon:
    case StopReason::kKill:
    case StopReason::kForget:
      cause = v1::CAUSE_CANCELLED;
      break;
  }
  EndHeld(cause, message, event.wait_status);
}

void AgentTurn::NoteStartFailure(std::string message) {
  ++s_.start_failures;
  absl::Duration pause = limits::kTrainerRestartFirst;
  for (int i = 1; i < s_.start_failures && pause < limits::kTrainerRestartMax; ++i) pause *= 2;
  s_.next_start = now_.steady + std::min(pause, limits::kTrainerRestartMax);
  s_.start_error = std::move(message);
  if (s_.attempt && s_.attempt->stage == AttemptStage::kWaiting &&
      s_.start_failures >= limits::kTrainerStartTries) {
    const bool own = s_.trainer.kind == TrainerKind::kOwn;
    // A variable of the trial may keep a trainer from starting; otherwise it is this host's fault.
    EndHeld(s_.trainer.env.empty() ? v1::CAUSE_WORKER_FAULT : v1::CAUSE_TRAINER_CRASH,
            absl::StrCat(own ? "trainer " : "program runner ",
                         own ? s_.options.trainer_path : s_.options.program_path,
                         " did not start in ", s_.start_failures, " tries (", s_.start_error,
                         "); set ", own ? "--trainer" : "--program-runner", " of worker ",
                         s_.options.hello.worker(), " to a ", own ? "dttrain" : "dtprogram",
                         " that runs on its host"));
    ReleaseHeld();
  }
}

void AgentTurn::Take(LogLines& event) {
  if (!event.before_start) {
    if (!event.dropped_error.empty()) s_.last_words.Take(event.pipe, event.dropped_error);
    for (const std::string& line : event.lines) {
      // dtprogram's own lines are not the program's last words.
      const bool runners = s_.trainer.kind == TrainerKind::kProgram &&
                           event.pipe != LogPipe::kErrors && absl::StartsWith(line, kRunnerPrefix);
      if (!runners) s_.last_words.Take(event.pipe, line);
    }
  }
  // Output of a trainer between two attempts belongs to the one that it served; output before its
  // first attempt belongs to the one for which it was started.
  std::optional<LogOwner> owner = event.before_start ? s_.earlier_writer : s_.writer;
  const bool starts = !s_.trainer.used && s_.attempt && s_.attempt->stage != AttemptStage::kEnded;
  if (!owner && starts) owner = LogOwner{s_.attempt->token, s_.attempt->assigned.rank()};
  if (owner) AddToLog(*owner, event);
}

void AgentTurn::Take(const Terminate&) {
  s_.report_urgent = true;
  if (std::exchange(s_.draining, true)) {
    if (s_.trainer.phase != TrainerPhase::kNone)
      Kill("was killed: the worker was told twice to stop");
    actions_.push_back(ExitProcess{});
  }
}

void AgentTurn::Kill(std::string reason) {
  if (s_.trainer.phase == TrainerPhase::kNone || s_.trainer.phase == TrainerPhase::kKilled) return;
  s_.trainer.phase = TrainerPhase::kKilled;
  s_.trainer.kill_at = s_.trainer.rest_until = absl::InfiniteDuration();
  s_.trainer.kill_reason = std::move(reason);
  actions_.push_back(KillTrainer{});
}

void AgentTurn::KeepDeadlines() {
  if (now_.steady >= s_.trainer.kill_at) Kill(s_.trainer.kill_reason);
  if (!s_.contact && s_.attempt && now_.steady - s_.lost_since >= s_.options.disconnect_grace) {
    StopHeld(StopReason::kGrace);
  }
}

void AgentTurn::DriveTrainer() {
  const bool waiting = s_.attempt && s_.attempt->stage == AttemptStage::kWaiting;
  const bool ahead = StartsAhead(s_);
  switch (s_.trainer.phase) {
    case TrainerPhase::kNone:
      if (!(waiting || ahead) || now_.steady < s_.next_start) return;
      s_.trainer.phase = TrainerPhase::kStarting;
      s_.trainer.kind = waiting ? KindOf(s_.attempt->assigned.spec()) : TrainerKind::kOwn;
      if (waiting) s_.trainer.env = EnvOf(s_.attempt->assigned);
      s_.trainer.kill_at = now_.steady + limits::kTrainerStartTimeout;
      s_.trainer.kill_reason =
          absl::StrCat("was not ready within ", Seconds(limits::kTrainerStartTimeout));
      s_.writer.reset();
      s_.earlier_writer.reset();
      s_.last_words = {};
      actions_.push_back(SpawnTrainer{s_.trainer.env, s_.trainer.kind});
      return;
    case TrainerPhase::kStarting:
      if (s_.draining) LeaveTrainer();
      return;
    case TrainerPhase::kIdle:
      DriveIdle(waiting);
      return;
    case TrainerPhase::kBusy:
      SendLater();
      return;
    case TrainerPhase::kLeaving:
    case TrainerPhase::kKilled:
      return;
  }
}

// Starts the waiting attempt, or lets a trainer leave that has nothing to wait for.
void AgentTurn::DriveIdle(bool waiting) {
  Trainer& trainer = s_.trainer;
  if (waiting && Suits(*s_.attempt)) {
    trainer.rest_until = absl::InfiniteDuration();  // it may wait for the attempt's code
    if (!s_.attempt->brings_code || !s_.attempt->code_folder.empty()) SendStart();
    return;
  }
  if (trainer.kind == TrainerKind::kProgram) {
    trainer.rest_until = std::min(trainer.rest_until, now_.steady + limits::kRunnerRest);
  }
  if (waiting || s_.draining || trainer.replaced || now_.steady >= trainer.rest_until) {
    LeaveTrainer();
  }
}

bool AgentTurn::Suits(const LocalAttempt& attempt) const {
  const Trainer& trainer = s_.trainer;
  if (trainer.kind != KindOf(attempt.assigned.spec())) return false;
  if (trainer.kind == TrainerKind::kOwn) return trainer.env == EnvOf(attempt.assigned);
  return !trainer.replaced && (!trainer.used || trainer.tenant == TenantOf(attempt.assigned));
}

void AgentTurn::LeaveTrainer() {
  s_.trainer.rest_until = absl::InfiniteDuration();
  s_.trainer.phase = TrainerPhase::kLeaving;
  s_.trainer.kill_at = now_.steady + limits::kTrainerExitGrace;
  s_.trainer.kill_reason = absl::StrCat("did not exit within ", Seconds(limits::kTrainerExitGrace));
  actions_.push_back(SendFrame{frames::Exit{}});
}

// Sends those parts of the orders that come after the start.
void AgentTurn::SendLater() {
  if (!s_.attempt) return;
  LocalAttempt& attempt = *s_.attempt;
  const v1::Assigned& order = attempt.assigned;
  if (!attempt.environment_sent && !order.environment().empty()) {
    attempt.environment_sent = true;
    actions_.push_back(SendFrame{frames::Environment{attempt.token.ToHex(), order.environment()}});
  }
  if (!attempt.address_sent && !order.store_address().empty()) {
    attempt.address_sent = true;
    actions_.push_back(SendFrame{frames::Connect{attempt.token.ToHex(), order.store_address()}});
  }
  if (!attempt.peer_lost_sent && order.peer_lost() && !attempt.holds) {
    attempt.peer_lost_sent = true;
    actions_.push_back(SendFrame{frames::PeerLost{attempt.token.ToHex()}});
  }
  if (!attempt.rescue_sent && order.rescue() && attempt.holds) {
    attempt.rescue_sent = true;
    s_.report_urgent = true;
    actions_.push_back(
        SendFrame{frames::Rescue{attempt.token.ToHex(), order.rows_after(), order.meet_at()}});
  }
}

void AgentTurn::SendStart() {
  LocalAttempt& attempt = *s_.attempt;
  DT_CHECK(attempt.stage == AttemptStage::kWaiting && s_.trainer.phase == TrainerPhase::kIdle);
  const v1::Assigned& order = attempt.assigned;
  frames::Start start;
  start.token = attempt.token.ToHex();
  start.experiment = order.experiment();
  start.trial = order.trial();
  start.attempt = order.attempt();
  start.rank = order.rank();
  start.world_size = order.world_size();
  start.local_rank = order.local_rank();
  start.spec = SpecToJson(order.spec());
  start.data_root = s_.options.data_root;
  start.storage = s_.options.storage;
  start.data_address = s_.options.hello.data_address();
  if (order.has_resume()) {
    start.resume = frames::Resume{order.resume().step(), order.resume().path(),
                                  order.resume().manifest_hash()};
  }
  start.store_address = order.store_address();
  start.code_folder = attempt.code_folder;
  for (const uint64_t divisor : order.validate_at()) {
    if (divisor > 0) start.validate_at.push_back(divisor);
  }
  start.share_every = order.share_every();
  start.local_world_size = order.local_world_size();
  start.node_rank = order.node_rank();
  start.nodes = order.nodes();
  start.node_ranks = {order.node_ranks().begin(), order.node_ranks().end()};
  start.local_devices = {order.local_devices().begin(), order.local_devices().end()};
  start.metric = order.metric();
  start.metric_goal = order.metric_goal();
  start.submitted_by = order.submitted_by();
  start.experiment_name = order.experiment_name();
  start.environment = order.environment();
  attempt.environment_sent = !order.environment().empty();
  start.ran_seconds = order.ran_seconds();
  attempt.address_sent = !order.store_address().empty();
  attempt.stage = AttemptStage::kPreparing;
  const LogOwner owner{attempt.token, order.rank()};
  s_.earlier_writer = s_.trainer.used ? s_.writer : owner;
  s_.writer = owner;
  s_.last_words = {};
  s_.trainer.reused = std::exchange(s_.trainer.used, true);
  s_.trainer.tenant = TenantOf(order);
  s_.trainer.phase = TrainerPhase::kBusy;
  actions_.push_back(SendFrame{std::move(start)});
}

}  // namespace dt::agent_internal
