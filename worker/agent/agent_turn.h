// agent_turn.h: one AgentStep, only for agent*.cc: agent_orders.cc has orders and stops,
// agent_frames.cc the trainer's frames, agent_trainer.cc its start and death, agent_report.cc items
// and reports.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker/agent/agent_state.h"

namespace dt::agent_internal {

inline std::string Seconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Seconds(duration), " s");
}

// Adds the trainer's last words, if there are any.
inline void AppendWords(const LastWords& words, std::string& message) {
  const std::string text = words.Text();
  if (!text.empty()) absl::StrAppend(&message, "; ", text);
}

// Returns whether the trainer is asked to save before it stops.
inline bool Saves(StopReason reason) {
  return reason == StopReason::kGrace || reason == StopReason::kGangSaves ||
         reason == StopReason::kDraining;
}

// Returns whether a trainer is started before an attempt needs one. A program's runner has nothing
// to warm up, and a dttrain beside it would take memory of the GPU.
inline bool StartsAhead(const AgentState& state) {
  return state.options.trainer_start == TrainerStart::kAlwaysWarm && !state.draining &&
         state.newest_kind == TrainerKind::kOwn && state.options.hello.no_trainer().empty() &&
         state.start_failures < limits::kTrainerStartTries;
}

// An AgentStep: the state, the actions, and the time, which does not change within it.
class AgentTurn {
 public:
  AgentTurn(AgentState& state, Instant now) : s_(state), now_(now) {}

  void Take(AgentEvent& event) {
    std::visit([this](auto& what) { Take(what); }, event);
  }
  // Takes the actions that follow from the state, whatever the event was.
  void Reconcile();
  Actions Done() { return std::move(actions_); }

 private:
  void Take(StreamConnected& event);
  void Take(const StreamLost&);
  void Take(const OrdersReceived& event);
  void Take(const ReportWritten& event);
  void Take(const FrameReceived& event);
  void Take(const TrainerMisbehaved& event);
  void Take(const TrainerStartFailed& event);
  void Take(const TrainerExited& event);
  void Take(LogLines& event);
  void Take(CheckpointsGone& event);
  void Take(CodeReady& event);
  void Take(const CodeFailed& event);
  void Take(const TrainerReplaced&) { s_.trainer.replaced = true; }
  void Take(PeersChecked& event);
  void Take(const TimePassed&) {}
  void Take(const Terminate&);

  void TakeFrame(const frames::Hello& frame);
  void TakeFrame(const frames::Idle&);
  void TakeFrame(const frames::Prepared& frame);
  void TakeFrame(const frames::Resolved& frame);
  void TakeFrame(const frames::StoreUp& frame);
  void TakeFrame(const frames::Running& frame);
  void TakeFrame(const frames::StepDone& frame);
  void TakeFrame(const frames::Progress& frame);
  void TakeFrame(const frames::Eval& frame);
  void TakeFrame(const frames::CheckpointDone& frame);
  void TakeFrame(const frames::CheckpointRemoved& frame);
  void TakeFrame(const frames::Holds& frame);
  void TakeFrame(const frames::End& frame);
  // Returns the attempt to which a frame with this token belongs, or null for frames of earlier
  // attempts.
  LocalAttempt* Current(const std::string& token);

  void ForgetJournal();
  void ForgetPending();
  void TakeQuestions(const v1::Orders& orders);
  void TellRegistered(const std::vector<v1::Item>& durable);
  void FollowOrders();
  void StopHeld(StopReason reason);
  void SaveNow(const LocalAttempt& attempt, StopReason reason);
  void LeaveNow(std::string_view failing);
  void EndHeld(v1::Cause cause, std::string_view message, int exit_status = 0);
  void ReleaseHeld();
  // REQUIRES: Saves(attempt.stop).
  std::string WhySaved(const LocalAttempt& attempt) const;
  void EndOnDeath(const TrainerExited& event, const Trainer& dead);
  void NoteStartFailure(std::string message);
  bool HasEnded(const AttemptToken& token) const;
  void RememberEnded(const AttemptToken& token);

  void KeepDeadlines();
  bool TakesBack(const Trainer& dead);
  void DriveTrainer();
  void DriveIdle(bool waiting);
  void SendStart();
  void SendLater();
  bool Suits(const LocalAttempt& attempt) const;
  void LeaveTrainer();
  void Kill(std::string reason);

  v1::Item ItemFor(const AttemptToken& token) const;
  void PushItem(v1::Item item);
  void FlushRows();
  void AddToLog(const LogOwner& owner, const LogLines& event);
  void FlushLog();
  void Report();
  void FillHello(v1::WorkerReport& report);
  void FillAttempts(v1::WorkerReport& report) const;
  void GoWhenDrained();

  AgentState& s_;
  const Instant now_;
  Actions actions_;
};

}  // namespace dt::agent_internal
