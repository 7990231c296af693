#include "coordinator/core/run/drains.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/text.h"
#include "common/worker_name.h"
#include "coordinator/core/facts/blame.h"
#include "coordinator/core/facts/drain_facts.h"
#include "coordinator/core/keep/held.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/slots.h"
#include "coordinator/core/model/names.h"
#include "coordinator/core/place/elastic.h"

namespace dt {
namespace {

Worker* FindLive(LiveState& live, const std::string& name) {
  const auto found = live.worker_names.find(name);
  return found == live.worker_names.end() ? nullptr : &live.workers[found->second];
}

void FollowMark(State& state, const std::string& name) {
  if (Worker* worker = FindLive(state.live, name)) UpdateSlot(state, *worker);
}

void JournalMark(Turn& turn, v1::WorkerMarked fact) {
  turn.effects.log_lines.push_back(
      absl::StrCat("worker ", fact.worker(), " is ",
                   absl::AsciiStrToLower(v1::WorkerMarked::Mark_Name(fact.mark())), " by ",
                   fact.who().empty() ? "the coordinator" : fact.who(),
                   fact.reason().empty() ? "" : ": ", fact.reason()));
  v1::Record record;
  *record.mutable_worker_marked() = std::move(fact);
  Journal(turn, std::move(record));
}

v1::WorkerMarked MarkOf(const std::string& worker, v1::WorkerMarked::Mark mark,
                        const std::string& who) {
  v1::WorkerMarked fact;
  fact.set_worker(worker);
  fact.set_mark(mark);
  fact.set_who(who);
  return fact;
}

Timer RestTimer(absl::Duration until) {
  return {.at = until, .kind = Timer::Kind::kRest, .worker = kNoWorker, .attempt = {}};
}

void BeginRest(LiveState& live, const std::string& worker, absl::Duration until) {
  live.resting[worker] = until;
  live.timers.insert(RestTimer(until));
}

void CutRestShort(LiveState& live, const std::string& worker) {
  const auto found = live.resting.find(worker);
  if (found == live.resting.end()) return;
  const absl::Duration until = found->second;
  live.resting.erase(found);
  const bool shared = std::any_of(live.resting.begin(), live.resting.end(),
                                  [until](const auto& other) { return other.second == until; });
  if (!shared) live.timers.erase(RestTimer(until));
}

void Release(Turn& turn, const std::string& worker, const std::string& who) {
  JournalMark(turn, MarkOf(worker, v1::WorkerMarked::RELEASED, who));
  CutRestShort(turn.live(), worker);
  FollowMark(turn.state, worker);
}

std::string IdsText(const std::vector<AttemptId>& attempts) {
  constexpr size_t kShown = 5;
  std::string ids;
  for (size_t i = 0; i < std::min(kShown, attempts.size()); ++i) {
    absl::StrAppend(&ids, i == 0 ? "" : ", ", ToString(attempts[i]));
  }
  if (attempts.size() > kShown) ids += ", …";
  return ids;
}

std::string HowToUndo(const std::string& worker) {
  return absl::StrCat("; 'dtctl worker undrain ", worker, "' lets it work again at once");
}

// "3 attempts crashed here (7/1#1, 7/2#1, 7/1#2), and their experiments got on elsewhere".
std::string QuarantineReason(const std::string& worker, const std::vector<AttemptId>& ends,
                             PriorQuarantine before) {
  const std::string undo = HowToUndo(worker);
  if (before == PriorQuarantine::kQuarantined) {
    return absl::StrCat("attempt ", IdsText(ends), " crashed here as well", undo);
  }
  return absl::StrCat(ends.size(), " attempts crashed here (", IdsText(ends),
                      "), and their experiments got on elsewhere", undo);
}

// Returns whether an earlier quarantine gave the trial another try already.
bool WasSpared(const Trial& trial, const std::set<uint32_t>& returned) {
  for (uint32_t number = 1; number <= trial.attempts.size(); ++number) {
    const Attempt& attempt = trial.attempts[number - 1];
    const bool spared = attempt.uncharged && !attempt.AskedToStop() &&
                        ConsequenceOf(attempt.cause) == Consequence::kRetriesCrash;
    if (spared && !returned.contains(number)) return true;
  }
  return false;
}

// Runs a trial that failed by the worker once more, as by a user's retry.
void PutBack(Turn& turn, TrialId id, const std::set<uint32_t>& returned) {
  const Experiment* experiment = FindExperiment(turn.durable(), id.experiment);
  const Trial* trial = FindTrial(turn.durable(), id);
  if (trial == nullptr || experiment->cancel_requested || trial->state != v1::TRIAL_FAILED) return;
  if (!returned.contains(static_cast<uint32_t>(trial->attempts.size()))) return;
  if (WasSpared(*trial, returned)) return;
  v1::Record record;
  record.mutable_trial_retried()->set_experiment(id.experiment);
  record.mutable_trial_retried()->set_trial(id.trial);
  Journal(turn, std::move(record));
  Enqueue(turn.state, id);
}

// Returns whether the fleet can spare the worker. Quarantines take at most a share of the workers
// of a kind within some time, and never the last that can work.
bool MaySpare(const Turn& turn, const std::string& name) {
  const LiveState& live = turn.state.live;
  const Worker* accused = FindWorker(live, name);
  if (accused == nullptr) return true;  // not connected, and so not part of the fleet
  const DeviceKind device = DeviceKindOf(accused->hello.device());
  size_t fleet = 0;
  size_t others = 0;
  size_t recent = 0;
  for (const Worker& worker : live.workers) {
    if (worker.name.empty() || worker.presence == Presence::kLost) continue;
    if (DeviceKindOf(worker.hello.device()) != device) continue;
    ++fleet;
    if (worker.name == name) continue;
    const bool held = IsHeld(turn.state, worker.name);
    others += !held && !worker.draining ? 1 : 0;
    const auto last = live.quarantined.find(worker.name);
    const bool lately = last != live.quarantined.end() &&
                        turn.now.steady - last->second < limits::kQuarantineWindow;
    recent += lately || live.resting.contains(worker.name) ? 1 : 0;
  }
  const size_t most = std::max<size_t>(1, fleet / limits::kQuarantineShare);
  return others > 0 && recent < most;
}

void NoteQuarantine(LiveState& live, const std::string& worker, absl::Duration now) {
  absl::erase_if(live.quarantined, [now](const auto& entry) {
    return now - entry.second >= limits::kQuarantineWindow;
  });
  live.quarantined[worker] = now;
}

void Quarantine(Turn& turn, const std::string& worker, const std::vector<AttemptId>& ends,
                PriorQuarantine before) {
  if (before == PriorQuarantine::kNever && FindMark(turn.durable(), worker) == nullptr &&
      turn.durable().marks.size() >= limits::kMarks) {
    return;
  }
  v1::WorkerMarked fact = MarkOf(worker, v1::WorkerMarked::QUARANTINED, "");
  fact.set_reason(QuarantineReason(worker, ends, before));
  // Once it is known to be broken, no trial pays for it, also of experiments that proved nothing.
  std::vector<AttemptId> all;
  for (const CountedEnd& end : turn.durable().streaks.at(worker).ends) all.push_back(end.id);
  std::map<TrialId, std::set<uint32_t>> returned;
  for (const AttemptId& id : NotRefuted(turn.durable(), worker, all)) {
    const Attempt* attempt = FindAttempt(turn.durable(), id);
    if (attempt == nullptr || attempt->uncharged) continue;
    returned[id.trial].insert(id.attempt);
    *fact.add_returned() = NumberOf(id);
  }
  JournalMark(turn, std::move(fact));
  NoteQuarantine(turn.live(), worker, turn.now.steady);
  CutRestShort(turn.live(), worker);
  for (const auto& [id, numbers] : returned) PutBack(turn, id, numbers);
  BeginRest(turn.live(), worker, turn.now.steady + RestOf(*FindMark(turn.durable(), worker)));
  FollowMark(turn.state, worker);
}

// Returns the attempt that made progress by this record; nullptr: none.
const Attempt* ProgressIn(const DurableState& durable, const v1::Record& record) {
  const auto attempt_of = [&durable](const auto& fact) {
    return FindAttempt(durable, {{fact.experiment(), fact.trial()}, fact.attempt()});
  };
  if (record.has_checkpoint()) {
    const Attempt* attempt = attempt_of(record.checkpoint());
    return attempt != nullptr && attempt->progressed ? attempt : nullptr;
  }
  if (!record.has_attempt_ended()) return nullptr;
  const v1::Cause cause = record.attempt_ended().cause();
  return ConsequenceOf(cause) == Consequence::kFinishes ? attempt_of(record.attempt_ended())
                                                        : nullptr;
}

void ReleaseWhoGotOn(Turn& turn) {
  std::set<std::string> released;
  for (const v1::Record& record : turn.effects.records) {
    const Attempt* attempt = ProgressIn(turn.durable(), record);
    if (attempt == nullptr) continue;
    for (const GangMember& member : attempt->members) {
      const WorkerMark* mark = FindMark(turn.durable(), member.worker);
      if (mark != nullptr && mark->quarantined) released.insert(member.worker);
    }
  }
  for (const std::string& worker : released) Release(turn, worker, "");
}

PriorQuarantine PriorQuarantineOf(const WorkerMark* mark, uint32_t quarantines) {
  return mark != nullptr && mark->quarantined && mark->quarantines > quarantines
             ? PriorQuarantine::kQuarantined
             : PriorQuarantine::kNever;
}

// Releases workers that are not to blame, as their crashes happen elsewhere too.
void ReleaseWhoIsCleared(Turn& turn) {
  std::vector<std::string> cleared;
  for (const auto& [worker, mark] : turn.durable().marks) {
    if (!mark.quarantined || mark.returned.empty()) continue;
    const auto left = NotRefuted(turn.durable(), worker, mark.returned);
    if (left.size() == mark.returned.size()) continue;
    if (!Suffice(left, PriorQuarantineOf(&mark, 1))) cleared.push_back(worker);
  }
  for (const std::string& worker : cleared) {
    turn.effects.log_lines.push_back(
        absl::StrCat("worker ", worker, " is not to blame: what crashed there (",
                     IdsText(FindMark(turn.durable(), worker)->returned), ") fails elsewhere too"));
    Release(turn, worker, "");
  }
}

void QuarantineWhoFails(Turn& turn) {
  const DurableState& durable = turn.durable();
  std::vector<std::string> suspects;
  for (const auto& [worker, streak] : durable.streaks) {
    const bool many = streak.ends.size() >= static_cast<size_t>(limits::kQuarantineEnds);
    if (many || PriorQuarantineOf(FindMark(durable, worker), 0) == PriorQuarantine::kQuarantined) {
      suspects.push_back(worker);
    }
  }
  for (const std::string& worker : suspects) {
    const auto streak = durable.streaks.find(worker);
    if (streak == durable.streaks.end()) continue;
    const PriorQuarantine before = PriorQuarantineOf(FindMark(durable, worker), 0);
    const auto ends = Proved(durable, worker, streak->second.ends);
    if (Suffice(ends, before) && MaySpare(turn, worker)) Quarantine(turn, worker, ends, before);
  }
}

absl::Status CheckMark(const DurableState& durable, const v1::MarkWorkerRequest& request) {
  if (request.worker().empty() || request.worker().size() > limits::kNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("worker has ", request.worker().size(),
                                                   " bytes; a name has 1 to ", limits::kNameBytes,
                                                   " (dtctl get workers lists them)"));
  }
  // A mark that an older version accepted under an odd name can be removed.
  const bool odd =
      FindMark(durable, request.worker()) == nullptr && !IsWorkerName(request.worker());
  if (odd || CleanText(request.worker(), limits::kNameBytes) != request.worker()) {
    return absl::InvalidArgumentError("the worker's name is not plain text; no worker has it");
  }
  const bool is_new = request.drain() && FindMark(durable, request.worker()) == nullptr;
  if (is_new && durable.marks.size() >= limits::kMarks) {
    return absl::ResourceExhaustedError(
        absl::StrCat(durable.marks.size(), " workers are marked, which is the limit; take back ",
                     "drains that are not needed any more (dtctl worker undrain NAME)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::MarkWorkerResponse> MarkWorker(Turn& turn,
                                                  const v1::MarkWorkerRequest& request) {
  if (absl::Status status = CheckMark(turn.durable(), request); !status.ok()) return status;
  const std::string& name = request.worker();
  const std::string who = WhoOf(request.who());
  const WorkerMark* mark = FindMark(turn.durable(), name);
  const bool drained = mark != nullptr && mark->drained;
  const bool quarantined = mark != nullptr && mark->quarantined;
  v1::MarkWorkerResponse response;
  Worker* worker = FindLive(turn.live(), name);
  response.set_known(worker != nullptr);
  if (request.drain() != drained) {
    v1::WorkerMarked fact = MarkOf(
        name, request.drain() ? v1::WorkerMarked::DRAINED : v1::WorkerMarked::UNDRAINED, who);
    fact.set_reason(CleanText(request.reason(), limits::kTextBytes));
    JournalMark(turn, std::move(fact));
    response.set_changed(true);
  }
  if (!request.drain() && quarantined) {
    Release(turn, name, who);
    response.set_changed(true);
  }
  FollowMark(turn.state, name);
  if (!request.drain() || worker == nullptr || worker->attempt == nullptr) return response;
  const std::string why =
      absl::StrCat("worker ", name, " is ", MarkText(*FindMark(turn.durable(), name)));
  if (AskToLeave(turn, *worker->attempt, why)) response.set_stopping(1);
  return response;
}

void TendMarks(Turn& turn) {
  const auto& records = turn.effects.records;
  const bool ended = std::any_of(records.begin(), records.end(), [](const v1::Record& record) {
    return record.has_attempt_ended() || record.has_checkpoint();
  });
  if (!ended) return;
  if (!turn.durable().marks.empty()) {
    ReleaseWhoGotOn(turn);
    ReleaseWhoIsCleared(turn);
  }
  QuarantineWhoFails(turn);
}

void EndRests(Turn& turn) {
  std::vector<std::string> rested;
  for (const auto& [worker, until] : turn.live().resting) {
    if (until <= turn.now.steady) rested.push_back(worker);
  }
  for (const std::string& worker : rested) {
    turn.live().resting.erase(worker);
    FollowMark(turn.state, worker);
  }
}

void BeginRests(State& state, Instant now) {
  if (Mutated(Mutant::kDrainForgotten)) state.durable.marks.clear();
  for (const auto& [worker, mark] : state.durable.marks) {
    if (mark.quarantined) BeginRest(state.live, worker, now.steady + RestOf(mark));
  }
}

}  // namespace dt
