// agent_frames.cc: the frames of the trainer.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "common/environment_limits.h"
#include "common/text.h"
#include "common/trainer_limits.h"
#include "worker/agent/agent_turn.h"
#include "worker/agent/convert.h"
#include "worker/agent/known_errors.h"

namespace dt::agent_internal {
namespace {

// The driver, CUDA and people write a GPU's UUID with and without "GPU-".
std::string BareUuid(std::string_view uuid) {
  std::string bare = absl::AsciiStrToLower(CleanText(uuid, limits::kNameBytes));
  if (bare.rfind("gpu-", 0) == 0) bare.erase(0, 4);
  return bare;
}

}  // namespace

void AgentTurn::Take(const FrameReceived& event) {
  std::visit([this](const auto& frame) { TakeFrame(frame); }, event.frame);
}

LocalAttempt* AgentTurn::Current(const std::string& token) {
  if (!s_.attempt || s_.attempt->stage == AttemptStage::kWaiting) return nullptr;
  if (s_.attempt->stage == AttemptStage::kEnded) return nullptr;
  if (s_.attempt->stop == StopReason::kForget) return nullptr;
  return s_.attempt->token.ToHex() == token ? &*s_.attempt : nullptr;
}

void AgentTurn::TakeFrame(const frames::Hello& frame) {
  s_.trainer.hello = frame;
  const std::string mine = BareUuid(s_.options.hello.gpu_uuid());
  const std::string opened = BareUuid(frame.gpu_uuid);
  // For a MIG instance some drivers report to CUDA the UUID of the GPU that it is a part of.
  const bool instance = mine.rfind("mig-", 0) == 0;
  if (instance || mine.empty() || opened.empty() || mine == opened) return;
  Kill(absl::StrCat("was killed: it opened GPU ", opened, ", and this worker's is ", mine,
                    "; does resources.env or a wrapper of --trainer set CUDA_VISIBLE_DEVICES?"));
}

void AgentTurn::TakeFrame(const frames::Idle&) {
  if (s_.attempt && s_.attempt->stage != AttemptStage::kWaiting) {
    if (s_.attempt->stage != AttemptStage::kEnded) {
      EndHeld(v1::CAUSE_TRAINER_CRASH, "the trainer left the attempt without saying how it ended");
    }
    ReleaseHeld();
  }
  if (s_.trainer.phase == TrainerPhase::kStarting || s_.trainer.phase == TrainerPhase::kBusy) {
    s_.trainer.phase = TrainerPhase::kIdle;
    s_.trainer.was_ready = true;
    s_.trainer.kill_at = absl::InfiniteDuration();
  }
}

void AgentTurn::TakeFrame(const frames::Prepared& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt) return;
  attempt->prepared = ToMessage(frame, s_.trainer.hello, s_.options.hello.host());
  if (attempt->stage == AttemptStage::kPreparing) attempt->stage = AttemptStage::kReady;
  if (attempt->assigned.rank() == 0) {
    v1::Item item = ItemFor(attempt->token);
    *item.mutable_prepared() = *attempt->prepared;
    PushItem(std::move(item));
  }
  s_.report_urgent = true;
}

void AgentTurn::TakeFrame(const frames::Resolved& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt || frame.lock.size() > limits::kEnvironmentLockBytes) return;
  v1::Item item = ItemFor(attempt->token);
  item.mutable_environment()->set_lock(frame.lock);
  item.mutable_environment()->set_packages(frame.packages);
  PushItem(std::move(item));
  s_.report_urgent = true;
}

void AgentTurn::TakeFrame(const frames::StoreUp& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt) return;
  attempt->store_address = CleanText(frame.address, limits::kNameBytes);
  s_.report_urgent = true;
}

void AgentTurn::TakeFrame(const frames::Running& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt) return;
  attempt->stage = AttemptStage::kTraining;
  attempt->step = std::max(attempt->step, frame.resumed_step);
  if (attempt->assigned.rank() == 0) {
    v1::Item item = ItemFor(attempt->token);
    item.mutable_running()->set_resumed_step(frame.resumed_step);
    PushItem(std::move(item));
  }
  s_.report_urgent = true;
}

void AgentTurn::TakeFrame(const frames::StepDone& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt) return;
  v1::StepRow row = RowFromJson(frame.row);
  const uint64_t before = attempt->latest ? attempt->latest->step() : 0;
  if (attempt->latest && row.step() <= before) {
    // The coordinator would refuse the row, and everything after it.
    Kill(absl::StrCat("was killed: its step ", row.step(), " followed step ", before));
    return;
  }
  attempt->step = std::max(attempt->step, row.step());
  attempt->latest = row;
  s_.pending_rows.push_back(std::move(row));
  if (s_.pending_rows.size() >= limits::kRowsPerChunk) FlushRows();
}

void AgentTurn::TakeFrame(const frames::Progress& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt) return;
  attempt->step = std::max(attempt->step, frame.step);
  attempt->evaluation_parts = frame.evaluation_parts;
  attempt->evaluated_parts = std::min(frame.evaluated_parts, frame.evaluation_parts);
  if (frame.pauses && !attempt->pauses) attempt->pauses_since = now_.steady;
  if (!frame.pauses && attempt->pauses && attempt->stage == AttemptStage::kTraining) {
    attempt->longest_pause = std::max(attempt->longest_pause, now_.steady - attempt->pauses_since);
  }
  attempt->pauses = frame.pauses;
  attempt->makes_environment = frame.makes_environment;
  if (frame.share) attempt->progress = std::clamp(*frame.share, 0.0, 1.0);
  if (frame.hint) attempt->hint = CleanText(*frame.hint, limits::kHintBytes);
}

void AgentTurn::TakeFrame(const frames::Eval& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt) return;
  v1::Item item = ItemFor(attempt->token);
  *item.mutable_evaluation() = ToMessage(frame);
  PushItem(std::move(item));
}

void AgentTurn::TakeFrame(const frames::CheckpointDone& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt) return;
  v1::Item item = ItemFor(attempt->token);
  *item.mutable_checkpoint() = ToMessage(frame, s_.options.hello.storage_id());
  PushItem(std::move(item));
  s_.report_urgent = true;  // a resume from it must not depend on this worker's next second
}

void AgentTurn::TakeFrame(const frames::CheckpointRemoved& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt) return;
  v1::Item item = ItemFor(attempt->token);
  v1::CheckpointRef& removed = *item.mutable_checkpoint_removed();
  removed.set_step(frame.step);
  removed.set_path(CleanText(frame.path, limits::kTextBytes));
  removed.set_storage_id(s_.options.hello.storage_id());
  PushItem(std::move(item));
}

void AgentTurn::TakeFrame(const frames::Holds& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt) return;
  attempt->step = std::max(attempt->step, frame.step);
  attempt->holds = frame;
  s_.report_urgent = true;
}

std::string AgentTurn::WhySaved(const LocalAttempt& attempt) const {
  if (attempt.stop == StopReason::kDraining) return "the worker was told to shut down";
  if (attempt.stop == StopReason::kGangSaves) return "its gang was told to save";
  return absl::StrCat("no coordinator for ", Seconds(s_.options.disconnect_grace));
}

void AgentTurn::TakeFrame(const frames::End& frame) {
  LocalAttempt* attempt = Current(frame.token);
  if (!attempt) return;
  attempt->step = std::max(attempt->step, frame.step);
  v1::Cause cause = CauseFromWord(frame.cause);
  std::string message = frame.message;
  attempt->hint = CleanText(frame.hint, limits::kHintBytes);
  attempt->of_experiment = frame.of_experiment;
  if (Saves(attempt->stop) && cause == v1::CAUSE_CANCELLED) {
    cause = v1::CAUSE_PREEMPTED;
    message = absl::StrCat(WhySaved(*attempt), "; the trainer saved and stopped");
  }
  if (cause == v1::CAUSE_TRAINER_CRASH && s_.trainer.kind == TrainerKind::kProgram) {
    AppendWords(s_.last_words, message);
    if (SaysDeviceMemoryIsFull(s_.last_words.Evidence())) cause = v1::CAUSE_OOM;
  }
  EndHeld(cause, message);
  if (s_.trainer.phase == TrainerPhase::kBusy) {
    s_.trainer.kill_at = now_.steady + limits::kTrainerIdleGrace;
    s_.trainer.kill_reason = absl::StrCat("was not idle ", Seconds(limits::kTrainerIdleGrace),
                                          " after its attempt's end");
  }
}

}  // namespace dt::agent_internal
