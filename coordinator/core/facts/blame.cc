// blame.cc: see blame.h.
#include "coordinator/core/facts/blame.h"

#include <algorithm>
#include <cstddef>

#include "common/limits.h"
#include "coordinator/core/model/error_text.h"

namespace dt {
namespace {

bool Has(const Attempt& attempt, const std::string& worker) {
  return std::any_of(attempt.members.begin(), attempt.members.end(),
                     [&worker](const GangMember& member) { return member.worker == worker; });
}

bool IsOn(const Attempt& attempt, const std::string& host) {
  return std::any_of(attempt.members.begin(), attempt.members.end(),
                     [&host](const GangMember& member) { return member.host == host; });
}

bool GotOn(const Attempt& attempt) {
  return attempt.progressed || (attempt.state == AttemptState::kEnded &&
                                ConsequenceOf(attempt.cause) == Consequence::kFinishes);
}

bool Crashed(const Attempt& attempt) {
  return attempt.state == AttemptState::kEnded && attempt.cause == v1::CAUSE_TRAINER_CRASH &&
         !attempt.progressed && !attempt.AskedToStop();
}

// Returns whether the experiment has used only this host: then it cannot tell faults of slots from
// faults of the host.
bool SawOneHost(const Experiment& experiment, const std::string& host) {
  for (const Trial& trial : experiment.trials) {
    for (const Attempt& attempt : trial.attempts) {
      for (const GangMember& member : attempt.members) {
        if (member.host != host) return false;
      }
    }
  }
  return true;
}

struct Accused {
  const DurableState& state;
  const Experiment& experiment;
  const std::string& worker;
  AttemptId id;
  const Attempt& end;
};

const std::string& HostOf(const Accused& accused) {
  const auto& members = accused.end.members;
  const auto own = std::find_if(members.begin(), members.end(), [&](const GangMember& member) {
    return member.worker == accused.worker;
  });
  return own == members.end() ? accused.worker : own->host;
}

// Returns whether the worker of the crash has made progress since, which ended its streak: then
// that worker is not to blame.
bool IsCleared(const DurableState& state, const AttemptId& id, const Attempt& crashed) {
  if (crashed.deciding_rank < 0) return false;
  const std::string& worker = crashed.members[static_cast<size_t>(crashed.deciding_rank)].worker;
  const auto mark = state.marks.find(worker);
  if (mark != state.marks.end() && mark->second.quarantined) return false;
  const auto streak = state.streaks.find(worker);
  return streak == state.streaks.end() ||
         std::none_of(streak->second.ends.begin(), streak->second.ends.end(),
                      [&id](const CountedEnd& end) { return end.id == id; });
}

bool WentOnElsewhere(const Accused& accused) {
  const std::vector<Attempt>& attempts =
      accused.experiment.trials[accused.id.trial.trial - 1].attempts;
  return std::any_of(
      attempts.begin() + accused.id.attempt, attempts.end(),
      [&](const Attempt& later) { return GotOn(later) && !Has(later, accused.worker); });
}

// Returns whether a crash elsewhere refutes the accusation. Slots of one host share its faults: so
// a crash on the same host refutes nothing if other hosts are known.
bool IsRefuted(const Accused& accused) {
  const std::string& host = HostOf(accused);
  const bool one_host = SawOneHost(accused.experiment, host);
  const std::string error = ErrorOf(accused.end.message);
  const ExperimentId experiment = accused.id.trial.experiment;
  size_t compared = 0;
  for (uint32_t trial = 1; trial <= accused.experiment.trials.size(); ++trial) {
    const std::vector<Attempt>& attempts = accused.experiment.trials[trial - 1].attempts;
    for (uint32_t number = 1; number <= attempts.size(); ++number) {
      const Attempt& other = attempts[number - 1];
      if (!Crashed(other) || Has(other, accused.worker)) continue;
      if (!one_host && IsOn(other, host)) continue;
      if (trial == accused.id.trial.trial) return true;
      const AttemptId id{{experiment, trial}, number};
      if (!IsCleared(accused.state, id, other)) continue;
      if (++compared > limits::kErrorsCompared) return false;
      if (ErrorOf(other.message) == error) return true;
    }
  }
  return false;
}

// Returns whether the experiment has met the same fault on another worker: an index of packages
// that no worker reaches is the experiment's. Slots of one host share its faults, as in IsRefuted.
bool IsMetElsewhere(const Accused& accused) {
  const std::string& host = HostOf(accused);
  const bool one_host = SawOneHost(accused.experiment, host);
  const std::string error = ErrorOf(accused.end.message);
  size_t compared = 0;
  for (const Trial& trial : accused.experiment.trials) {
    for (const Attempt& other : trial.attempts) {
      if (other.cause != v1::CAUSE_WORKER_FAULT || Has(other, accused.worker)) continue;
      if (!one_host && IsOn(other, host)) continue;
      if (++compared > limits::kErrorsCompared) return false;
      if (ErrorOf(other.message) == error) return true;
    }
  }
  return false;
}

bool IsProved(const Accused& accused, uint32_t begun) {
  // The worker reports the fault itself.
  if (accused.end.cause == v1::CAUSE_WORKER_FAULT) return !IsMetElsewhere(accused);
  const bool proved = WentOnElsewhere(accused) || (accused.end.members.size() == 1 &&
                                                   accused.experiment.newest_progress > begun);
  return proved && !IsRefuted(accused);
}

}  // namespace

std::vector<AttemptId> Proved(const DurableState& state, const std::string& worker,
                              const std::vector<CountedEnd>& ends) {
  std::vector<AttemptId> proved;
  for (const CountedEnd& each : ends) {
    const Attempt* end = FindAttempt(state, each.id);
    if (end == nullptr || each.begun == kForgiven) continue;
    const Accused accused{state, GetExperiment(state, each.id.trial.experiment), worker, each.id,
                          *end};
    if (IsProved(accused, each.begun)) proved.push_back(each.id);
  }
  return proved;
}

std::vector<AttemptId> NotRefuted(const DurableState& state, const std::string& worker,
                                  const std::vector<AttemptId>& ends) {
  std::vector<AttemptId> proved;
  for (const AttemptId& id : ends) {
    const Attempt* end = FindAttempt(state, id);
    // Nothing refutes an end of a deleted experiment any more.
    if (end == nullptr) {
      proved.push_back(id);
      continue;
    }
    const Accused accused{state, GetExperiment(state, id.trial.experiment), worker, id, *end};
    const bool fault = end->cause == v1::CAUSE_WORKER_FAULT;
    if (!(fault ? IsMetElsewhere(accused) : IsRefuted(accused))) proved.push_back(id);
  }
  return proved;
}

bool Suffice(const std::vector<AttemptId>& ends, PriorQuarantine before) {
  if (before == PriorQuarantine::kQuarantined) return !ends.empty();
  return ends.size() >= static_cast<size_t>(limits::kQuarantineEnds) &&
         std::any_of(ends.begin(), ends.end(),
                     [&ends](const AttemptId& id) { return id.trial != ends.front().trial; });
}

}  // namespace dt
