#include "coordinator/core/facts/drain_facts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "spec/program.h"

namespace dt {
namespace {

// Returns whether the end counts against the worker: a fault that it reports itself, or a crash
// that nobody asked for. A loss, a lack of memory or a wrong configuration does not count.
bool CountsAgainst(const Attempt& attempt) {
  if (attempt.cause == v1::CAUSE_WORKER_FAULT) return attempt.deciding_rank >= 0;
  const bool lost = attempt.cause == v1::CAUSE_WORKER_LOST && Mutated(Mutant::kQuarantineByLosses);
  return (attempt.cause == v1::CAUSE_TRAINER_CRASH || lost) && !attempt.progressed &&
         !attempt.uncharged && attempt.deciding_rank >= 0;
}

// Takes the end off the budget of its trial.
void ReturnCharge(DurableState& state, const AttemptId& id) {
  auto* trial = const_cast<Trial*>(FindTrial(state, id.trial));
  if (trial == nullptr || id.attempt == 0 || id.attempt > trial->attempts.size()) return;
  Attempt& attempt = trial->attempts[id.attempt - 1];
  if (attempt.uncharged) return;
  attempt.uncharged = true;
  // Progress since then has reset the counters already.
  const bool counted = std::none_of(trial->attempts.begin() + id.attempt - 1, trial->attempts.end(),
                                    [](const Attempt& each) { return each.progressed; });
  if (counted && trial->tries.crashes > 0) --trial->tries.crashes;
}

void Quarantine(DurableState& state, const v1::WorkerMarked& fact, int64_t wall_ms,
                WorkerMark& mark) {
  mark.quarantined = true;
  mark.quarantine_reason = fact.reason();
  ++mark.quarantines;
  mark.quarantined_wall_ms = wall_ms;
  mark.returned.clear();
  for (const v1::AttemptNumber& number : fact.returned()) {
    mark.returned.push_back(IdOf(number));
    ReturnCharge(state, IdOf(number));
  }
  state.streaks.erase(fact.worker());
}

void Release(DurableState& state, const v1::WorkerMarked& fact, WorkerMark& mark) {
  state.streaks.erase(fact.worker());
  // A user who lets it work again does not prove that it works.
  const bool by_person = !fact.who().empty();
  if (by_person && !mark.returned.empty() && state.streaks.size() < limits::kMarks) {
    std::vector<CountedEnd>& ends = state.streaks[fact.worker()].ends;
    for (const AttemptId& id : mark.returned) ends.push_back({id, kForgiven});
  }
  mark.quarantined = false;
  mark.quarantine_reason.clear();
  mark.quarantines = 0;
  mark.quarantined_wall_ms = 0;
  mark.returned.clear();
}

}  // namespace

absl::Status ApplyWorkerMarked(DurableState& state, const v1::WorkerMarked& fact, int64_t wall_ms) {
  const auto refused = [&fact](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: a mark of worker '", fact.worker(), "': ", why));
  };
  const WorkerMark* known = FindMark(state, fact.worker());
  if (fact.worker().empty()) return refused("it has no name");
  if (known == nullptr && state.marks.size() >= limits::kMarks) {
    return refused(absl::StrCat("there are ", limits::kMarks, " already, which is the limit"));
  }
  WorkerMark& mark = state.marks[fact.worker()];
  switch (fact.mark()) {
    case v1::WorkerMarked::DRAINED:
      mark.drained = true;
      mark.reason = fact.reason();
      mark.who = fact.who();
      mark.since_wall_ms = wall_ms;
      break;
    case v1::WorkerMarked::UNDRAINED:
      mark.drained = false;
      mark.reason.clear();
      mark.who.clear();
      mark.since_wall_ms = 0;
      break;
    case v1::WorkerMarked::QUARANTINED:
      Quarantine(state, fact, wall_ms, mark);
      break;
    case v1::WorkerMarked::RELEASED:
      Release(state, fact, mark);
      break;
    case v1::WorkerMarked::MARK_UNSPECIFIED:
    case v1::WorkerMarked_Mark_WorkerMarked_Mark_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::WorkerMarked_Mark_WorkerMarked_Mark_INT_MAX_SENTINEL_DO_NOT_USE_:
      return refused("this version does not know which; a newer dtcoord wrote it");
  }
  if (!mark.drained && !mark.quarantined) state.marks.erase(fact.worker());
  return absl::OkStatus();
}

void CountForWorkers(DurableState& state, const AttemptId& id, const Attempt& attempt) {
  Experiment& experiment = state.experiments.at(id.trial.experiment);
  if (ConsequenceOf(attempt.cause) == Consequence::kFinishes) {
    return CountProgress(state, experiment, attempt);
  }
  if (!CountsAgainst(attempt) || IsClientTrial(experiment.spec.base().command())) return;
  const std::string& worker = attempt.members[static_cast<size_t>(attempt.deciding_rank)].worker;
  // Names come and go: if the table is full, one streak is dropped.
  if (!state.streaks.contains(worker) && state.streaks.size() >= limits::kMarks) {
    state.streaks.erase(state.streaks.begin());
  }
  std::vector<CountedEnd>& ends = state.streaks[worker].ends;
  ends.push_back({id, experiment.attempts});
  if (ends.size() > limits::kAttemptsPerTrial) ends.erase(ends.begin());
}

void CountProgress(DurableState& state, Experiment& experiment, const Attempt& attempt) {
  experiment.newest_progress = std::max(experiment.newest_progress, attempt.ordinal);
  if (state.streaks.empty()) return;
  for (const GangMember& member : attempt.members) state.streaks.erase(member.worker);
  // A crash of dtrain's own trainer is seldom the file's fault: progress of other trials proves
  // enough. Programs fail for some values only, and must prove that they start well elsewhere.
  if (spec::IsProgram(experiment.spec.base())) return;
  for (auto& [worker, streak] : state.streaks) {
    for (CountedEnd& end : streak.ends) {
      const bool ours = end.id.trial.experiment == experiment.id;
      if (ours && end.begun != kForgiven) end.begun = 0;
    }
  }
}

void ForgetStreaks(DurableState& state, ExperimentId id) {
  for (auto streak = state.streaks.begin(); streak != state.streaks.end();) {
    std::vector<CountedEnd>& ends = streak->second.ends;
    std::erase_if(ends, [id](const CountedEnd& end) { return end.id.trial.experiment == id; });
    streak = ends.empty() ? state.streaks.erase(streak) : std::next(streak);
  }
}

const WorkerMark* FindMark(const DurableState& state, const std::string& worker) {
  const auto found = state.marks.find(worker);
  return found == state.marks.end() ? nullptr : &found->second;
}

absl::Duration RestOf(const WorkerMark& mark) {
  absl::Duration rest = limits::kQuarantineFirst;
  for (uint32_t n = 1; n < mark.quarantines && rest < limits::kQuarantineMost; ++n) rest *= 2;
  return std::min(rest, limits::kQuarantineMost);
}

std::string MarkText(const WorkerMark& mark) {
  std::string text;
  if (mark.drained) {
    text = absl::StrCat("drained by ", mark.who, mark.reason.empty() ? "" : ": ", mark.reason);
  }
  if (mark.quarantined) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "quarantined: ", mark.quarantine_reason);
  }
  return text;
}

}  // namespace dt
