// early_ends.cc: see early_ends.h.
#include "coordinator/core/run/early_ends.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "coordinator/core/keep/held.h"
#include "coordinator/core/model/error_text.h"
#include "spec/program.h"

namespace dt {
namespace {

bool HasEvaluation(const Trial& trial, uint32_t attempt) {
  return std::any_of(trial.evaluations.begin(), trial.evaluations.end(),
                     [attempt](const KnownEvaluation& each) { return each.attempt == attempt; });
}

bool ShareAWorker(const Attempt& a, const Attempt& b) {
  return std::any_of(a.members.begin(), a.members.end(), [&b](const GangMember& mine) {
    return std::any_of(b.members.begin(), b.members.end(),
                       [&mine](const GangMember& other) { return other.worker == mine.worker; });
  });
}

// Counts connected workers that may take the trial, except `without`.
size_t OthersFor(const State& state, TrialId id, const std::set<std::string>& without) {
  const Shape shape =
      ShapeOf(GetExperiment(state.durable, id.experiment), GetTrial(state.durable, id));
  size_t others = 0;
  for (const Worker& worker : state.live.workers) {
    const bool may = !worker.name.empty() && worker.presence == Presence::kConnected &&
                     !worker.draining && !IsHeld(state, worker.name) &&
                     Meets(shape.constraint, worker.hello);
    others += may && !without.contains(worker.name) ? 1 : 0;
  }
  return others;
}

void AddWorkers(const Attempt& attempt, std::set<std::string>& workers) {
  for (const GangMember& member : attempt.members) workers.insert(member.worker);
}

// Returns earlier attempts that ended early in the same way, newest first, back to one that did
// not. Skips lost and stopped attempts between them.
std::vector<const Attempt*> AlikeBefore(const Trial& trial, size_t before,
                                        const std::string& error) {
  std::vector<const Attempt*> alike;
  for (size_t number = before; number > 0; --number) {
    const Attempt& attempt = trial.attempts[number - 1];
    const bool lost = ConsequenceOf(attempt.cause) == Consequence::kRetriesLoss;
    if (lost || attempt.AskedToStop()) continue;
    if (!attempt.early || ErrorOf(attempt.message) != error) break;
    alike.push_back(&attempt);
  }
  return alike;
}

}  // namespace

bool IsEarly(const Turn& turn, const LiveAttempt& attempt, const RankEnd& end) {
  // A client reports that its trial failed, so nothing has to be guessed.
  if (IsClientTrial(attempt.spec.command())) return false;
  if (!spec::IsProgram(attempt.spec) || end.cause != v1::CAUSE_TRAINER_CRASH || end.rank < 0) {
    return false;
  }
  const DurableState& durable = turn.state.durable;
  const Attempt& recorded = *FindAttempt(durable, attempt.id);
  const bool told = attempt.latest.has_value() || attempt.progress > 0 || recorded.progressed ||
                    std::max(attempt.step, end.step) > recorded.resumed_step ||
                    HasEvaluation(GetTrial(durable, attempt.id.trial), attempt.id.attempt);
  // After a restart of the coordinator the duration is unknown.
  const bool soon = turn.now.steady - attempt.started <= limits::kEarlyEnd;
  return soon && !told && !recorded.AskedToStop() && !attempt.saving &&
         !EndedFromOutside(end.message) && !IsFullDisk(end.message);
}

std::optional<std::string> EndsAlike(const State& state, const LiveAttempt& attempt,
                                     const RankEnd& end) {
  const Trial& trial = GetTrial(state.durable, attempt.id.trial);
  const auto alike = AlikeBefore(trial, attempt.id.attempt - 1, ErrorOf(end.message));
  if (alike.empty()) return std::nullopt;
  const Attempt& now = *FindAttempt(state.durable, attempt.id);
  const bool elsewhere = !ShareAWorker(now, *alike.front());
  std::set<std::string> tried;
  AddWorkers(now, tried);
  for (const Attempt* before : alike) AddWorkers(*before, tried);
  const bool others = OthersFor(state, attempt.id.trial, tried) > 0;
  if (!elsewhere && others && alike.size() < 2) return std::nullopt;
  return absl::StrCat("it ended so ", alike.size() + 1,
                      " times within seconds, before any report, and is not tried again");
}

Decision AwayFromCrash(const State& state, TrialId id, const SlotPool& pool,
                       const std::string& storage_id, Decision decision) {
  if (IsTicket(id) || decision.verdict != Verdict::kPlaced || decision.gang.size() != 1) {
    return decision;
  }
  const Trial& trial = GetTrial(state.durable, id);
  if (trial.attempts.empty()) return decision;
  const Attempt& last = trial.attempts.back();
  const bool failed = last.cause == v1::CAUSE_TRAINER_CRASH || last.cause == v1::CAUSE_WORKER_FAULT;
  if (!failed || last.progressed) return decision;
  std::set<std::string> workers;
  std::set<std::string> hosts;
  for (const GangMember& member : last.members) {
    workers.insert(member.worker);
    hosts.insert(member.host);
  }
  // The smallest value is the farthest away.
  const auto nearness = [&](const Slot& slot) {
    return std::tuple(workers.contains(slot.name), hosts.contains(slot.host), slot.name);
  };
  const Slot* best = &pool.GetSlot(decision.gang.front());
  if (!hosts.contains(best->host)) return decision;
  for (const WorkerIndex index : pool.Free()) {
    const Slot& slot = pool.GetSlot(index);
    if (!storage_id.empty() && slot.storage_id != storage_id) continue;
    if (nearness(slot) < nearness(*best)) best = &slot;
  }
  if (best->worker == decision.gang.front()) return decision;
  decision.gang.front() = best->worker;
  absl::StrAppend(&decision.reason, ", away from where attempt ", trial.attempts.size(),
                  " crashed");
  return decision;
}

std::optional<std::string> AllFailAlike(const Turn& turn, TrialId id) {
  const Experiment& experiment = GetExperiment(turn.state.durable, id.experiment);
  const Attempt& last = experiment.trials[id.trial - 1].attempts.back();
  if (!last.early || experiment.newest_progress > 0 || experiment.finished > 0) return std::nullopt;
  if (experiment.failed > limits::kErrorsCompared) return std::nullopt;  // they differ
  const std::string error = ErrorOf(last.message);
  size_t alike = 0;
  std::set<std::string> workers;
  for (uint32_t number = 1; number <= experiment.trials.size(); ++number) {
    const Trial& trial = experiment.trials[number - 1];
    if (!trial.evaluations.empty() || !trial.checkpoints.empty()) return std::nullopt;
    // A trial that has run for longer may succeed.
    const LiveAttempt* live = FindLiveAttempt(turn.state, {id.experiment, number});
    const bool runs = live != nullptr && IsActive(trial.state);
    if (runs && turn.now.steady - live->started > limits::kEarlyEnd) return std::nullopt;
    if (runs && live->latest.has_value()) return std::nullopt;
    if (trial.state != v1::TRIAL_FAILED || trial.attempts.empty()) continue;
    if (!trial.attempts.back().early || ErrorOf(trial.attempts.back().message) != error) continue;
    ++alike;
    for (const Attempt& attempt : trial.attempts) AddWorkers(attempt, workers);
  }
  if (alike < limits::kFailAlike) return std::nullopt;
  if (workers.size() == 1 && OthersFor(turn.state, id, workers) > 0) return std::nullopt;
  return absl::StrCat(alike, " trials failed in the same way within seconds, and none got on: ",
                      last.message, "; the others are not tried");
}

}  // namespace dt
