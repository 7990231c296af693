// schedule_checker.cc: starts and stops, recounted.
#include "tests/sim/schedule_checker.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "tests/testing/queue_check.h"

namespace dt::sim {
namespace {

size_t Held(const Experiment& experiment) {
  size_t slots = 0;
  for (const Trial& trial : experiment.trials) {
    if (IsActive(trial.state)) slots += trial.attempts.back().members.size();
  }
  return slots;
}

// Whether the gang's workers are what the experiment asks for. Trials of a run do not sweep that.
std::string Mismatch(const State& state, const Experiment& experiment,
                     const v1::AttemptStarted& fact) {
  const v1::Resources& wanted = experiment.spec.base().resources();
  std::set<std::string> hosts;
  for (const v1::Member& member : fact.members()) {
    hosts.insert(member.host());
    const Worker& worker = *FindWorker(state.live, member.worker());
    for (const v1::Label& label : wanted.labels()) {
      const auto& has = worker.hello.labels();
      const bool met = std::any_of(has.begin(), has.end(), [&](const v1::Label& each) {
        return each.key() == label.key() && each.value() == label.value();
      });
      if (!met) return absl::StrCat("worker ", worker.name, " lacks label ", label.key());
    }
  }
  if (wanted.single_node() && hosts.size() > 1) return "it wants one host and has several";
  const auto total = static_cast<size_t>(wanted.max_gpus_total());
  if (total > 0 && Held(experiment) > total) {
    return absl::StrCat("its experiment holds ", Held(experiment), " slots of at most ", total);
  }
  const auto most = static_cast<uint32_t>(experiment.spec.search().max_concurrent());
  if (most > 0 && experiment.active > most) return "its experiment runs more than max_concurrent";
  return "";
}

// A waiting trial without a checkpoint to mind that the gang's slots would have done for.
bool WouldFit(const State& state, const Experiment& experiment, const Trial& trial,
              const v1::AttemptStarted& fact) {
  const v1::Resources& wanted = experiment.spec.base().resources();
  if (wanted.gpus() > fact.members_size() || !trial.checkpoints.empty()) return false;
  if (!MayStart(experiment, wanted.gpus())) return false;
  if (wanted.single_node() && wanted.gpus() > 1) return false;  // the slots may be on several
  return wanted.labels().empty() || Mismatch(state, experiment, fact).empty();
}

// Who should have gone first. One slot goes to the first by share; a larger gang may have reserved
// its slots before somebody poorer came, and only priority counts.
std::string Overtaken(const State& state, const v1::AttemptStarted& fact) {
  const Experiment& started = GetExperiment(state.durable, fact.experiment());
  const auto gang = static_cast<size_t>(fact.members_size());
  const auto key = [gang](const Experiment& experiment, size_t held) {
    return std::tuple(-experiment.spec.base().resources().priority(), gang == 1 ? held : 0,
                      gang == 1 ? experiment.id : 0);
  };
  const auto mine = key(started, Held(started) - gang);
  for (const auto& [id, experiment] : state.durable.experiments) {
    if (id == started.id || !(key(experiment, Held(experiment)) < mine)) continue;
    for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
      const Trial& trial = experiment.trials[i - 1];
      const bool waits =
          trial.state == v1::TRIAL_PENDING && !state.live.parked.contains(TrialId{id, i});
      if (waits && WouldFit(state, experiment, trial, fact)) return ToString(TrialId{id, i});
    }
  }
  return "";
}

}  // namespace

std::string ScheduleChecker::CheckStop(const State& state, const v1::StopRequested& fact,
                                       absl::Duration now) {
  const AttemptId id{{fact.experiment(), fact.trial()}, fact.attempt()};
  const Attempt* attempt = FindAttempt(state.durable, id);
  if (fact.why() == v1::StopRequested::RETURNED && !attempt->lent) {
    return absl::StrCat("14: attempt ", ToString(id), " is to return slots that were not lent");
  }
  if (fact.why() != v1::StopRequested::PREEMPTED) return "";
  const int32_t mine = PriorityOf(GetExperiment(state.durable, fact.experiment()));
  const int32_t theirs = PriorityOf(GetExperiment(state.durable, fact.for_experiment()));
  if (mine >= theirs) {
    return absl::StrCat("14: attempt ", ToString(id), " of priority ", mine,
                        " makes room for priority ", theirs);
  }
  const auto since = trains_since_.find(id);
  if (since != trains_since_.end() && now - since->second < limits::kProtectFirst) {
    return absl::StrCat("14: attempt ", ToString(id), " makes room ",
                        absl::FormatDuration(now - since->second), " after it began to train");
  }
  return "";
}

std::string ScheduleChecker::AfterStep(const State& state, const Effects& effects,
                                       absl::Duration now) {
  size_t starts = 0;
  for (const v1::Record& record : effects.records) starts += record.has_attempt_started() ? 1 : 0;
  for (const v1::Record& record : effects.records) {
    if (record.has_stop_requested()) {
      std::string wrong = CheckStop(state, record.stop_requested(), now);
      if (!wrong.empty()) return wrong;
    } else if (record.has_attempt_running()) {
      const v1::AttemptRunning& fact = record.attempt_running();
      trains_since_[{{fact.experiment(), fact.trial()}, fact.attempt()}] = now;
    } else if (record.has_attempt_started()) {
      const v1::AttemptStarted& fact = record.attempt_started();
      const Experiment& experiment = GetExperiment(state.durable, fact.experiment());
      const std::string name = ToString(TrialId{fact.experiment(), fact.trial()});
      if (const std::string wrong = Mismatch(state, experiment, fact); !wrong.empty()) {
        return absl::StrCat("14: trial ", name, " starts, and ", wrong);
      }
      if (starts > 1 || fact.lent()) continue;  // what held between two starts is not seen
      if (const std::string first = Overtaken(state, fact); !first.empty()) {
        return absl::StrCat("14: trial ", name, " starts before ", first);
      }
    }
  }
  return "";
}

}  // namespace dt::sim
