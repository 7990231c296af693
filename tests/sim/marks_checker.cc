#include "tests/sim/marks_checker.h"

#include "absl/strings/str_cat.h"

namespace dt::sim {
namespace {

template <typename Fact>
AttemptId IdOf(const Fact& fact) {
  return {{fact.experiment(), fact.trial()}, fact.attempt()};
}

}  // namespace

std::string MarksChecker::Take(const v1::Record& record) {
  if (record.has_attempt_started()) return TakeStart(record.attempt_started());
  if (record.has_worker_marked()) return TakeMark(record.worker_marked());
  if (record.has_attempt_running()) {
    attempts_[IdOf(record.attempt_running())].resumed_step =
        record.attempt_running().resumed_step();
  } else if (record.has_checkpoint()) {
    Known& attempt = attempts_[IdOf(record.checkpoint())];
    const bool further = record.checkpoint().checkpoint().step() > attempt.resumed_step;
    if (further) TakeProgress(attempt);
  } else if (record.has_attempt_ended()) {
    TakeEnd(record.attempt_ended());
  } else if (record.has_experiment_deleted()) {
    for (auto& [worker, streak] : streaks_) {
      std::erase_if(streak.attempts, [&record](const AttemptId& id) {
        return id.trial.experiment == record.experiment_deleted().experiment();
      });
    }
    // An empty one begins anew with the next end.
    std::erase_if(streaks_, [this](const auto& entry) {
      return entry.second.attempts.empty() && !quarantined_.contains(entry.first);
    });
  }
  return "";
}

std::string MarksChecker::TakeStart(const v1::AttemptStarted& fact) {
  Known& attempt = attempts_[IdOf(fact)];
  attempt.resumed_step = fact.resume().step();
  for (const v1::Member& member : fact.members()) {
    attempt.workers.push_back(member.worker());
    std::string against = Against(member.worker());
    if (drained_.contains(member.worker())) against = "is drained";
    if (against.empty()) continue;
    return absl::StrCat("13: worker ", member.worker(), " ", against, ", and gets attempt ",
                        ToString(IdOf(fact)));
  }
  return "";
}

std::string MarksChecker::TakeMark(const v1::WorkerMarked& fact) {
  const std::string& worker = fact.worker();
  if (fact.mark() == v1::WorkerMarked::DRAINED) drained_.insert(worker);
  if (fact.mark() == v1::WorkerMarked::UNDRAINED) drained_.erase(worker);
  if (fact.mark() == v1::WorkerMarked::RELEASED) {
    quarantined_.erase(worker);
    streaks_.erase(worker);
  }
  if (fact.mark() != v1::WorkerMarked::QUARANTINED) return "";
  const bool borne_out = !Against(worker).empty();
  const Streak& streak = streaks_[worker];
  const size_t returned = progress_ > streak.progress_before ? streak.attempts.size() : 0;
  const bool right = static_cast<size_t>(fact.returned_size()) == returned;
  const size_t ends = streak.attempts.size();
  quarantined_.insert(worker);
  streaks_[worker] = {{}, progress_};
  if (borne_out && right) return "";
  return absl::StrCat("13: worker ", worker, " is quarantined (", fact.reason(), ") after ", ends,
                      " crashes in a row, and ", fact.returned_size(), " charges are returned");
}

void MarksChecker::TakeEnd(const v1::AttemptEnded& fact) {
  Known& attempt = attempts_[IdOf(fact)];
  const bool well = fact.cause() == v1::CAUSE_FINISHED || fact.cause() == v1::CAUSE_STOPPED_EARLY;
  if (well) return TakeProgress(attempt);
  const bool counts = fact.cause() == v1::CAUSE_TRAINER_CRASH && fact.rank() >= 0 &&
                      !fact.uncharged() && !attempt.progressed;
  if (!counts) return;
  const bool first = !streaks_.contains(fact.worker());
  Streak& streak = streaks_[fact.worker()];
  if (first) streak.progress_before = progress_;
  streak.attempts.push_back(IdOf(fact));
}

void MarksChecker::TakeProgress(Known& attempt) {
  attempt.progressed = true;
  ++progress_;
  for (const std::string& worker : attempt.workers) streaks_.erase(worker);
}

std::string MarksChecker::Against(const std::string& worker) const {
  const auto found = streaks_.find(worker);
  if (found == streaks_.end() || found->second.attempts.empty()) return "";
  const std::vector<AttemptId>& ends = found->second.attempts;
  const std::string text = absl::StrCat("crashed ", ends.size(), " times in a row");
  if (quarantined_.contains(worker)) return text;
  std::set<TrialId> trials;
  for (const AttemptId& id : ends) trials.insert(id.trial);
  const bool others = progress_ > found->second.progress_before;
  return ends.size() >= 3 && trials.size() >= 2 && others ? text : "";
}

}  // namespace dt::sim
