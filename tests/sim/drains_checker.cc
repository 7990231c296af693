#include "tests/sim/drains_checker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "coordinator/core/model/error_text.h"

namespace dt::sim {
namespace {

template <typename Fact>
AttemptId IdIn(const Fact& fact) {
  return {{fact.experiment(), fact.trial()}, fact.attempt()};
}

bool Enough(const std::vector<AttemptId>& ends, bool before) {
  std::set<TrialId> trials;
  for (const AttemptId& id : ends) trials.insert(id.trial);
  return before ? !ends.empty() : ends.size() >= 3 && trials.size() >= 2;
}

}  // namespace

std::string DrainsChecker::Take(const v1::Record& record) {
  if (record.has_attempt_started()) return TakeStart(record.attempt_started());
  if (record.has_worker_marked()) return TakeMark(record.worker_marked());
  if (record.has_stop_requested()) {
    attempts_[IdIn(record.stop_requested())].asked = true;
  } else if (record.has_attempt_running()) {
    attempts_[IdIn(record.attempt_running())].resumed_step =
        record.attempt_running().resumed_step();
  } else if (record.has_checkpoint()) {
    const AttemptId id = IdIn(record.checkpoint());
    Known& attempt = attempts_[id];
    const bool further = record.checkpoint().checkpoint().step() > attempt.resumed_step;
    if (further) TakeProgress(id, attempt);
  } else if (record.has_attempt_ended()) {
    TakeEnd(record.attempt_ended());
  } else if (record.has_experiment_deleted()) {
    Forget(record.experiment_deleted().experiment());
  }
  return "";
}

void DrainsChecker::Forget(uint64_t experiment) {
  for (auto& [worker, ends] : streaks_) {
    std::erase_if(ends, [&](const End& end) { return end.id.trial.experiment == experiment; });
  }
  std::erase_if(attempts_,
                [&](const auto& entry) { return entry.first.trial.experiment == experiment; });
}

std::string DrainsChecker::TakeStart(const v1::AttemptStarted& fact) {
  Known& attempt = attempts_[IdIn(fact)];
  attempt.resumed_step = fact.resume().step();
  attempt.ordinal = ++begun_[fact.experiment()];
  for (const v1::Member& member : fact.members()) {
    attempt.host_of[member.worker()] = member.host();
    if (!drained_.contains(member.worker())) continue;
    return absl::StrCat("13: worker ", member.worker(), " is drained, and gets attempt ",
                        ToString(IdIn(fact)));
  }
  return "";
}

std::string DrainsChecker::TakeMark(const v1::WorkerMarked& fact) {
  const std::string& worker = fact.worker();
  if (fact.mark() == v1::WorkerMarked::DRAINED) drained_.insert(worker);
  if (fact.mark() == v1::WorkerMarked::UNDRAINED) drained_.erase(worker);
  if (fact.mark() == v1::WorkerMarked::RELEASED) {
    quarantined_.erase(worker);
    streaks_.erase(worker);
  }
  if (fact.mark() != v1::WorkerMarked::QUARANTINED) return "";
  const std::vector<AttemptId> proved = Proved(worker);
  std::vector<AttemptId> returned;
  for (const v1::AttemptNumber& number : fact.returned()) returned.push_back(IdIn(number));
  const bool borne_out = Enough(proved, quarantined_.contains(worker));
  std::vector<AttemptId> open;
  for (const End& end : streaks_[worker]) {
    if (!IsRefuted(worker, end.id)) open.push_back(end.id);
  }
  quarantined_[worker] = returned;
  streaks_.erase(worker);
  if (borne_out && returned == open) return "";
  return absl::StrCat("13: worker ", worker, " is quarantined (", fact.reason(), ") for ",
                      proved.size(), " crashes that speak against it, and ", returned.size(),
                      " charges are returned");
}

void DrainsChecker::TakeEnd(const v1::AttemptEnded& fact) {
  const AttemptId id = IdIn(fact);
  Known& attempt = attempts_[id];
  attempt.message = fact.message();
  if (fact.cause() == v1::CAUSE_FINISHED || fact.cause() == v1::CAUSE_STOPPED_EARLY) {
    return TakeProgress(id, attempt);
  }
  if (fact.cause() != v1::CAUSE_TRAINER_CRASH || attempt.got_on || attempt.asked) return;
  attempt.crashed = true;
  if (fact.rank() < 0 || fact.uncharged()) return;
  attempt.blamed = fact.worker();
  streaks_[fact.worker()].push_back({id, begun_[fact.experiment()]});
}

void DrainsChecker::TakeProgress(const AttemptId& id, Known& attempt) {
  attempt.got_on = true;
  attempt.crashed = false;
  int& newest = newest_[id.trial.experiment];
  newest = std::max(newest, attempt.ordinal);
  for (const auto& [worker, host] : attempt.host_of) streaks_.erase(worker);
  for (auto& [worker, ends] : streaks_) {
    for (End& end : ends) {
      if (end.id.trial.experiment == id.trial.experiment) end.begun = 0;
    }
  }
}

bool DrainsChecker::WentOn(const std::string& worker, const End& end) const {
  for (const auto& [id, attempt] : attempts_) {
    const bool later = id.trial == end.id.trial && id.attempt > end.id.attempt;
    if (later && attempt.got_on && !attempt.host_of.contains(worker)) return true;
  }
  const auto newest = newest_.find(end.id.trial.experiment);
  const bool alone = attempts_.at(end.id).host_of.size() == 1;
  return alone && newest != newest_.end() && newest->second > end.begun;
}

bool DrainsChecker::IsCleared(const AttemptId& id) const {
  const std::string& blamed = attempts_.at(id).blamed;
  if (blamed.empty() || quarantined_.contains(blamed)) return false;
  const auto streak = streaks_.find(blamed);
  return streak == streaks_.end() || std::none_of(streak->second.begin(), streak->second.end(),
                                                  [&id](const End& end) { return end.id == id; });
}

bool DrainsChecker::IsRefuted(const std::string& worker, const AttemptId& accused) const {
  const Known& end = attempts_.at(accused);
  const std::string& host = end.host_of.at(worker);
  std::set<std::string> hosts;
  for (const auto& [id, attempt] : attempts_) {
    if (id.trial.experiment != accused.trial.experiment) continue;
    for (const auto& [member, where] : attempt.host_of) hosts.insert(where);
  }
  for (const auto& [id, attempt] : attempts_) {
    if (id.trial.experiment != accused.trial.experiment || !attempt.crashed) continue;
    if (attempt.host_of.contains(worker)) continue;
    const bool beside = std::any_of(attempt.host_of.begin(), attempt.host_of.end(),
                                    [&host](const auto& member) { return member.second == host; });
    if (beside && hosts.size() > 1) continue;
    if (id.trial == accused.trial) return true;
    if (IsCleared(id) && ErrorOf(attempt.message) == ErrorOf(end.message)) return true;
  }
  return false;
}

std::vector<AttemptId> DrainsChecker::Proved(const std::string& worker) const {
  std::vector<AttemptId> proved;
  const auto streak = streaks_.find(worker);
  if (streak == streaks_.end()) return proved;
  for (const End& end : streak->second) {
    if (WentOn(worker, end) && !IsRefuted(worker, end.id)) proved.push_back(end.id);
  }
  return proved;
}

}  // namespace dt::sim
