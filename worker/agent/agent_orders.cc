// agent_orders.cc: compares orders with the held attempt, and sets the order of actions within a
// turn.
#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/detection_limits.h"
#include "common/mutant.h"
#include "common/text.h"
#include "common/view.h"
#include "worker/agent/agent_turn.h"

namespace dt::agent_internal {

// ---- the stream ----

void AgentTurn::Take(StreamConnected& event) {
  s_.ended_instances = std::move(event.ended_instances);
  s_.connected = true;
  s_.contact = false;
  ++s_.session;
  s_.hello_sent = false;
  s_.report_in_flight = false;
  s_.report_urgent = true;
  s_.drained_told = false;
  s_.ping = 0;
  // Another life of the coordinator numbers its questions anew.
  s_.check_number = 0;
  s_.checked.reset();
  s_.buffer.Rewind();
}

void AgentTurn::Take(const StreamLost&) {
  if (s_.contact) s_.lost_since = now_.steady;
  s_.contact = false;
  s_.connected = false;
  s_.report_in_flight = false;
}

void AgentTurn::Take(const ReportWritten& event) {
  if (event.session == s_.session) s_.report_in_flight = false;
}

void AgentTurn::Take(const OrdersReceived& event) {
  if (!s_.connected || event.session != s_.session) return;
  const v1::Orders& orders = event.orders;
  s_.contact = true;
  if (orders.journal_id() != 0 && orders.journal_id() != s_.journal_id) {
    if (s_.journal_id != 0) ForgetJournal();
    s_.journal_id = orders.journal_id();
    s_.report_urgent = true;
  }
  const std::vector<v1::Item> durable = s_.buffer.Acknowledge(orders.acked_sequence());
  s_.desired.reset();
  if (orders.has_attempt()) {
    // A text that is not a token names nothing that could be held.
    auto token = AttemptToken::FromBytes(orders.attempt().attempt_token());
    if (token.ok()) s_.desired = DesiredAttempt{*token, orders.attempt()};
  }
  if (s_.attempt && s_.desired && s_.attempt->token == s_.desired->token) {
    s_.attempt->assigned = s_.desired->assigned;
  }
  for (const std::string& token : orders.unknown_tokens()) {
    if (s_.attempt && s_.attempt->token.ToBytes() == token) StopHeld(StopReason::kForget);
  }
  TellRegistered(durable);
  TakeQuestions(orders);
}

// A question is in all orders until its answer has arrived, and is taken once.
void AgentTurn::TakeQuestions(const v1::Orders& orders) {
  if (orders.ping() != 0) {
    s_.ping = orders.ping();
    s_.pinged_at = now_.steady;
  }
  const v1::PeerCheck& check = orders.check();
  if (check.number() == 0 || check.number() == s_.check_number) return;
  if (check.addresses_size() > limits::kPeersPerCheck) return;
  s_.check_number = check.number();
  s_.checked.reset();
  actions_.push_back(
      CheckPeers{check.number(), {check.addresses().begin(), check.addresses().end()}});
}

void AgentTurn::Take(PeersChecked& event) {
  if (event.number != s_.check_number) return;
  v1::PeerCheckResult& result = s_.checked.emplace();
  result.set_number(event.number);
  *result.mutable_unreachable() = {event.unreachable.begin(), event.unreachable.end()};
  s_.report_urgent = true;
}

// Rank 0 keeps the checkpoint that a resume would begin from. If the attempt is no longer ordered,
// the coordinator may have refused a checkpoint that it acknowledged, so the trainer is not
// informed.
void AgentTurn::TellRegistered(const std::vector<v1::Item>& durable) {
  if (!s_.attempt || s_.attempt->stage == AttemptStage::kEnded || !s_.desired ||
      s_.desired->token != s_.attempt->token || s_.desired->assigned.kill() ||
      s_.desired->assigned.abandon()) {
    return;
  }
  std::optional<uint64_t> step;
  for (const v1::Item& item : durable) {
    if (!item.has_checkpoint() || item.attempt_token() != s_.attempt->token.ToBytes()) continue;
    step = std::max(step.value_or(0), item.checkpoint().step());
  }
  if (step) actions_.push_back(SendFrame{frames::Registered{s_.attempt->token.ToHex(), *step}});
}

// The database was replaced: everything that this worker holds or has to report is meaningless to
// it. If the old database comes back, attempts that ended here have ended: they are not started
// again.
void AgentTurn::ForgetJournal() {
  StopHeld(StopReason::kForget);
  s_.buffer.Clear();
  s_.trainer.tenant.clear();
  ForgetPending();
}

void AgentTurn::ForgetPending() {
  s_.writer.reset();
  s_.earlier_writer.reset();
  s_.pending_rows.clear();
  s_.pending_log.clear();
  s_.pending_log_dropped = 0;
}

// ---- orders compared with the held attempt ----

bool AgentTurn::HasEnded(const AttemptToken& token) const {
  return std::find(s_.ended.begin(), s_.ended.end(), token) != s_.ended.end();
}

void AgentTurn::RememberEnded(const AttemptToken& token) {
  if (Mutated(Mutant::kEndsTwice)) return;
  s_.ended.push_back(token);
  if (s_.ended.size() > limits::kRememberedAttempts) s_.ended.pop_front();
}

void AgentTurn::FollowOrders() {
  if (s_.attempt) {
    if (!s_.desired || s_.desired->token != s_.attempt->token) {
      StopHeld(StopReason::kAbandon);
    } else if (s_.desired->assigned.kill()) {
      StopHeld(StopReason::kKill);
    } else if (s_.desired->assigned.abandon()) {
      if (!Mutated(Mutant::kKeepsTraining)) StopHeld(StopReason::kAbandon);
    } else if (s_.desired->assigned.checkpoint_stop()) {
      StopHeld(StopReason::kGangSaves);
    }
    if (s_.draining) StopHeld(StopReason::kDraining);
  }
  if (s_.attempt || !s_.desired || HasEnded(s_.desired->token)) return;
  const v1::Assigned& order = s_.desired->assigned;
  if (order.kill() || order.abandon()) return;
  s_.attempt = LocalAttempt{.token = s_.desired->token, .assigned = order};
  s_.pending_token = s_.desired->token;
  s_.newest_kind = KindOf(order.spec());
  s_.report_urgent = true;
  if (s_.draining) {
    EndHeld(v1::CAUSE_PREEMPTED, "the worker is shutting down and takes no new attempt");
    ReleaseHeld();
    return;
  }
  if (KindOf(order.spec()) == TrainerKind::kProgram && !s_.options.hello.programs()) {
    EndHeld(v1::CAUSE_CONFIG,
            absl::StrCat("worker ", s_.options.hello.worker(),
                         " runs no programs of experiments; its operator allows them with "
                         "dtworker --programs=allow"));
    ReleaseHeld();
    return;
  }
  s_.start_failures = 0;
  s_.next_start = now_.steady;
  if (order.has_code()) {
    s_.attempt->brings_code = true;
    actions_.push_back(FetchCode{s_.attempt->token, order.code()});
  }
  if (order.registered().empty()) return;
  actions_.push_back(LookForCheckpoints{s_.attempt->token,
                                        {order.registered().begin(), order.registered().end()}});
}

// Their removal was reported once, but lost with the worker that reported it.
void AgentTurn::Take(CheckpointsGone& event) {
  if (!s_.attempt || s_.attempt->token != event.token) return;
  for (v1::CheckpointRef& gone : event.gone) {
    v1::Item item = ItemFor(event.token);
    item.mutable_checkpoint_removed()->Swap(&gone);
    PushItem(std::move(item));
  }
}

void AgentTurn::Take(CodeReady& event) {
  const bool wanted =
      s_.attempt && s_.attempt->token == event.token && s_.attempt->stage == AttemptStage::kWaiting;
  if (!wanted) {
    actions_.push_back(DropCode{event.token});
    return;
  }
  s_.attempt->code_folder = std::move(event.folder);
}

// Another worker may succeed, so the failure counts as this worker's.
void AgentTurn::Take(const CodeFailed& event) {
  if (!s_.attempt || s_.attempt->token != event.token ||
      s_.attempt->stage != AttemptStage::kWaiting) {
    return;
  }
  const bool host = event.fault == CodeFault::kHost;
  EndHeld(host ? v1::CAUSE_WORKER_FAULT : v1::CAUSE_WORKER_LOST,
          absl::StrCat(
              "worker ", s_.options.hello.worker(),
              host ? " has no place for the code: " : " did not get the code: ", event.message));
  ReleaseHeld();
}

void AgentTurn::StopHeld(StopReason reason) {
  if (!s_.attempt || reason <= s_.attempt->stop) return;
  LocalAttempt& attempt = *s_.attempt;
  const StopReason before = std::exchange(attempt.stop, reason);
  s_.report_urgent = true;
  if (attempt.stage == AttemptStage::kWaiting) {
    EndHeld(Saves(reason) ? v1::CAUSE_PREEMPTED : v1::CAUSE_CANCELLED, "stopped before it started");
    ReleaseHeld();
    return;
  }
  switch (reason) {
    case StopReason::kNone:
      return;
    case StopReason::kGrace:
    case StopReason::kGangSaves:
    case StopReason::kDraining:
      if (attempt.stage == AttemptStage::kEnded || Saves(before)) return;
      SaveNow(attempt, reason);
      return;
    case StopReason::kAbandon:
      if (attempt.stage == AttemptStage::kEnded) return;
      LeaveNow("did not leave the gang");
      return;
    case StopReason::kKill:
      // A program may have to end processes of its own, and close files.
      if (s_.trainer.kind == TrainerKind::kProgram && attempt.stage != AttemptStage::kEnded) {
        if (before != StopReason::kAbandon) LeaveNow("was cancelled, and did not leave");
      } else {
        Kill("was killed by a cancel");
      }
      return;
    case StopReason::kForget:
      Kill("was killed: the coordinator does not know its attempt");
      return;
  }
}

// Orders the trainer to save and stop. Where this worker alone stops, since it shuts down or has no
// coordinator, nobody allowed it more than kCheckpointStopGrace.
void AgentTurn::SaveNow(const LocalAttempt& attempt, StopReason reason) {
  actions_.push_back(SendFrame{frames::Stop{attempt.token.ToHex(), true}});
  absl::Duration grace = limits::StopGrace(attempt.assigned.spec().timeout().stop_seconds());
  if (reason != StopReason::kGangSaves) grace = std::min(grace, limits::kCheckpointStopGrace);
  s_.trainer.kill_at = std::min(s_.trainer.kill_at, now_.steady + grace);
  s_.trainer.kill_reason = absl::StrCat("did not save and stop within ", Seconds(grace));
}

// Orders the trainer to leave the attempt without saving. A program is asked first, so its runner
// needs longer.
void AgentTurn::LeaveNow(std::string_view failing) {
  const bool program = s_.trainer.kind == TrainerKind::kProgram;
  const bool stacks = program && s_.desired && s_.desired->token == s_.attempt->token &&
                      s_.desired->assigned.hang();
  actions_.push_back(SendFrame{frames::Stop{s_.attempt->token.ToHex(), false, stacks}});
  const absl::Duration grace =
      program ? limits::kProgramLeaveGrace + limits::kTrainerExitGrace +
                    (stacks ? limits::kStacksPatience + limits::kTrainerExitGrace
                            : absl::ZeroDuration())
              : limits::kAbandonGrace;
  s_.trainer.kill_at = std::min(s_.trainer.kill_at, now_.steady + grace);
  s_.trainer.kill_reason = absl::StrCat(View(failing), " within ", Seconds(grace));
}

// Reports the end of the held attempt, after all other reports about it.
void AgentTurn::EndHeld(v1::Cause cause, std::string_view message, int exit_status) {
  LocalAttempt& attempt = *s_.attempt;
  DT_CHECK(attempt.stage != AttemptStage::kEnded);  // an end is reported once
  attempt.stage = AttemptStage::kEnded;
  RememberEnded(attempt.token);
  s_.report_urgent = true;
  if (attempt.stop == StopReason::kForget) {
    ForgetPending();
    return;
  }
  FlushRows();
  FlushLog();
  v1::Item item = ItemFor(attempt.token);
  v1::Ended& ended = *item.mutable_ended();
  ended.set_cause(cause);
  ended.set_message(CleanText(message, limits::kTextBytes));
  ended.set_step(attempt.step);
  ended.set_exit_status(exit_status);
  ended.set_hint(attempt.hint);
  ended.set_of_experiment(attempt.of_experiment && cause == v1::CAUSE_CONFIG);
  s_.buffer.Push(std::move(item));
}

void AgentTurn::ReleaseHeld() {
  DT_CHECK(s_.attempt->stage == AttemptStage::kEnded);  // the end of a held attempt is always
                                                        // reported
  if (s_.attempt->brings_code) actions_.push_back(DropCode{s_.attempt->token});
  s_.attempt.reset();
  s_.report_urgent = true;
}

void AgentTurn::Reconcile() {
  FollowOrders();
  KeepDeadlines();
  DriveTrainer();
  Report();
  GoWhenDrained();
  // A trainer is busy with the held attempt, and an attempt that it was given stays held until the
  // trainer reports or dies.
  const bool given = s_.attempt && s_.attempt->stage != AttemptStage::kWaiting;
  const TrainerPhase phase = s_.trainer.phase;
  DT_CHECK(phase != TrainerPhase::kBusy || given);
  DT_CHECK(!given || phase == TrainerPhase::kBusy || phase == TrainerPhase::kKilled);
}

}  // namespace dt::agent_internal
