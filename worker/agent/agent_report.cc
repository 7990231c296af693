// agent_report.cc: contents and time of the reports to the coordinator.
#include <utility>

#include "common/text.h"
#include "worker/agent/agent_turn.h"

namespace dt::agent_internal {
namespace {

// Unsent items of this size do not wait for the heartbeat.
constexpr size_t kEagerBytes = limits::kReportItemsBytes / 4;

v1::AttemptStatus::Phase PhaseOf(const LocalAttempt& attempt) {
  if (attempt.stop != StopReason::kNone) return v1::AttemptStatus::STOPPING;
  switch (attempt.stage) {
    case AttemptStage::kWaiting:
    case AttemptStage::kPreparing:
      return v1::AttemptStatus::PREPARING;
    case AttemptStage::kReady:
      return v1::AttemptStatus::READY;
    case AttemptStage::kTraining:
      return v1::AttemptStatus::TRAINING;
    case AttemptStage::kEnded:
      return v1::AttemptStatus::STOPPING;
  }
  return v1::AttemptStatus::PHASE_UNSPECIFIED;
}

v1::WorkerReport::TrainerState TrainerStateOf(TrainerPhase phase) {
  switch (phase) {
    case TrainerPhase::kNone:
      return v1::WorkerReport::TRAINER_NONE;
    case TrainerPhase::kStarting:
      return v1::WorkerReport::TRAINER_STARTING;
    case TrainerPhase::kIdle:
      return v1::WorkerReport::TRAINER_IDLE;
    case TrainerPhase::kBusy:
    case TrainerPhase::kLeaving:
    case TrainerPhase::kKilled:
      return v1::WorkerReport::TRAINER_BUSY;
  }
  return v1::WorkerReport::TRAINER_STATE_UNSPECIFIED;
}

}  // namespace

v1::Item AgentTurn::ItemFor(const AttemptToken& token) const {
  v1::Item item;
  item.set_attempt_token(token.ToBytes());
  item.set_rescue(s_.attempt && s_.attempt->token == token && s_.attempt->rescue_sent);
  return item;
}

// Rows made before `item` are reported before it.
void AgentTurn::PushItem(v1::Item item) {
  FlushRows();
  s_.buffer.Push(std::move(item));
}

void AgentTurn::FlushRows() {
  if (s_.pending_rows.empty()) return;
  v1::StepRows rows;
  for (v1::StepRow& row : s_.pending_rows) rows.add_rows()->Swap(&row);
  s_.pending_rows.clear();
  v1::Item item = ItemFor(s_.pending_token);
  v1::RowChunk& chunk = *item.mutable_rows();
  chunk.set_first_step(rows.rows(0).step());
  chunk.set_last_step(rows.rows(rows.rows_size() - 1).step());
  chunk.set_count(static_cast<uint32_t>(rows.rows_size()));
  chunk.set_rows(rows.SerializeAsString());
  s_.buffer.Push(std::move(item));
}

// Dropped lines are counted after the text of their chunk, so that readers see where they were.
void AgentTurn::AddToLog(const LogOwner& owner, const LogLines& event) {
  if (owner.token != s_.pending_log_owner.token) FlushLog();
  s_.pending_log_owner = owner;
  if (event.dropped > 0) {
    s_.pending_log_dropped += event.dropped;
    FlushLog();
  }
  for (const std::string& line : event.lines) {
    const std::string clean = CleanText(line, limits::kLogLineBytes);
    if (s_.pending_log.size() + clean.size() >= limits::kLogChunkBytes) FlushLog();
    s_.pending_log += clean;
    s_.pending_log += '\n';
  }
}

void AgentTurn::FlushLog() {
  if (s_.pending_log.empty() && s_.pending_log_dropped == 0) return;
  v1::Item item = ItemFor(s_.pending_log_owner.token);
  v1::LogChunk& log = *item.mutable_log();
  log.set_rank(s_.pending_log_owner.rank);
  log.set_wall_time_ms(now_.wall_ms);
  log.set_text(std::exchange(s_.pending_log, {}));
  log.set_dropped_lines(std::exchange(s_.pending_log_dropped, 0));
  s_.buffer.Push(std::move(item));
}

void AgentTurn::FillHello(v1::WorkerReport& report) {
  v1::Hello& hello = *report.mutable_hello();
  hello = s_.options.hello;
  // The driver has it; the agent links no CUDA.
  if (hello.memory_bytes() == 0) hello.set_memory_bytes(s_.trainer.hello.memory_bytes);
  hello.set_session(s_.session);
  *hello.mutable_ended_instances() = {s_.ended_instances.begin(), s_.ended_instances.end()};
  s_.hello_sent = true;
}

void AgentTurn::FillAttempts(v1::WorkerReport& report) const {
  if (s_.attempt) {
    const LocalAttempt& attempt = *s_.attempt;
    v1::AttemptStatus& status = *report.add_attempts();
    status.set_attempt_token(attempt.token.ToBytes());
    status.set_phase(PhaseOf(attempt));
    status.set_store_address(attempt.store_address);
    status.set_step(attempt.step);
    status.set_evaluated_parts(attempt.evaluated_parts);
    status.set_evaluation_parts(attempt.evaluation_parts);
    status.set_progress(attempt.progress);
    if (attempt.assigned.rank() == 0) status.set_hint(attempt.hint);
    status.set_pauses(attempt.pauses);
    status.set_longest_pause_ms(
        static_cast<uint64_t>(absl::ToInt64Milliseconds(attempt.longest_pause)));
    status.set_makes_environment(attempt.makes_environment);
    if (attempt.latest) *status.mutable_latest() = *attempt.latest;
    if (attempt.holds && attempt.stage != AttemptStage::kEnded) {
      status.set_holds(true);
      status.set_holds_step(attempt.holds->step);
      status.set_holds_hash(attempt.holds->hash);
      status.set_saves(attempt.rescue_sent);
      status.set_meet_at(attempt.holds->meet_at);
    }
    status.set_rank(attempt.assigned.rank());
    if (attempt.prepared) *status.mutable_prepared() = *attempt.prepared;
  }
  // Report that an ordered attempt is not held because it is over: absence alone could mean that
  // the orders have not arrived.
  if (!s_.desired || (s_.attempt && s_.attempt->token == s_.desired->token)) return;
  const v1::Assigned& order = s_.desired->assigned;
  if (order.abandon() || order.kill() || HasEnded(s_.desired->token)) {
    v1::AttemptStatus& status = *report.add_attempts();
    status.set_attempt_token(order.attempt_token());
    status.set_phase(v1::AttemptStatus::GONE);
    status.set_rank(order.rank());
  }
}

void AgentTurn::Report() {
  if (!s_.connected || s_.report_in_flight) return;
  const bool due = now_.steady >= s_.next_report || s_.report_urgent;
  if (!due && !(s_.buffer.HasUnsent() && s_.buffer.Bytes() >= kEagerBytes)) return;
  FlushRows();
  FlushLog();
  SendReport action;
  v1::WorkerReport& report = action.report;
  if (!s_.hello_sent) FillHello(report);
  s_.buffer.TakeUnsent(report);
  FillAttempts(report);
  report.set_journal_id(s_.journal_id);
  report.set_trainer(TrainerStateOf(s_.trainer.phase));
  report.set_draining(s_.draining);
  report.set_first_sequence(s_.buffer.FirstSequence());
  if (s_.ping != 0) {
    report.set_pong(std::exchange(s_.ping, 0));
    report.set_pong_held_us(
        static_cast<uint64_t>(absl::ToInt64Microseconds(now_.steady - s_.pinged_at)));
  }
  if (s_.checked) *report.mutable_checked() = *std::exchange(s_.checked, std::nullopt);
  s_.drained_told = s_.draining && !s_.attempt && s_.trainer.phase == TrainerPhase::kNone;
  s_.report_in_flight = true;
  // Items that did not fit follow as soon as this report is written.
  s_.report_urgent = s_.buffer.HasUnsent();
  s_.next_report = now_.steady + limits::kHeartbeat;
  actions_.push_back(std::move(action));
}

void AgentTurn::GoWhenDrained() {
  if (!s_.draining || s_.attempt || s_.trainer.phase != TrainerPhase::kNone) return;
  if (s_.drain_until == absl::InfiniteDuration()) {
    s_.drain_until = now_.steady + limits::kDrainAcknowledgeWait;
  }
  const bool told =
      s_.buffer.Empty() && (!s_.connected || (s_.drained_told && !s_.report_in_flight));
  if (told || now_.steady >= s_.drain_until) actions_.push_back(ExitProcess{});
}

}  // namespace dt::agent_internal
