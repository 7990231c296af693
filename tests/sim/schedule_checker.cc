// schedule_checker.cc: starts and stops, recounted.
#include "tests/sim/schedule_checker.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "coordinator/core/model/resolved.h"
#include "spec/sizes.h"
#include "tests/sim/starts.h"
#include "tests/testing/queue_check.h"

namespace dt::sim {
namespace {

// Compares the gang's workers with the experiment's requirements, which trials of a run do not
// sweep.
std::string Mismatch(const State& state, const Experiment& experiment,
                     const v1::AttemptStarted& fact) {
  const v1::Resources& wanted = experiment.spec.base().resources();
  std::set<std::string> hosts;
  for (const v1::Member& member : fact.members()) {
    hosts.insert(member.host());
    if (!HasLabels(state, member.worker(), wanted)) {
      return absl::StrCat("worker ", member.worker(), " lacks a label");
    }
  }
  if (wanted.single_node() && hosts.size() > 1) return "it wants one host and has several";
  const auto total = static_cast<size_t>(wanted.max_gpus_total());
  if (total > 0 && Held(experiment) > total) {
    return absl::StrCat("its experiment holds ", Held(experiment), " slots of at most ", total);
  }
  if (!QuotasAllow(state.durable, experiment, 0)) return "its experiment is beyond a quota";
  const auto most = static_cast<uint32_t>(experiment.spec.search().max_concurrent());
  if (most > 0 && experiment.active > most) return "its experiment runs more than max_concurrent";
  return "";
}

// Returns whether one of its trials, or its ticket, may start on one slot.
bool MayStartOnOne(const State& state, const Experiment& experiment) {
  if (!MayStart(state.durable, experiment, 1)) return false;
  if (experiment.MoreMayCome() && ShapeOf(experiment).least() == 1) return true;
  for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
    const Trial& trial = experiment.trials[i - 1];
    const bool waits =
        trial.state == v1::TRIAL_PENDING && !state.live.parked.contains(TrialId{experiment.id, i});
    if (waits && ShapeOf(experiment, trial).least() == 1) return true;
  }
  return false;
}

// Returns whether others must make room for this gang: not while there is any reservation, or if
// the first freed slot goes to a trial that wants just one.
bool MustHaveReserved(const State& state, TrialId holder) {
  const Experiment* experiment = FindExperiment(state.durable, holder.experiment);
  if (experiment == nullptr) return false;
  for (const Reservation& reservation : state.live.reservations) {
    if (!reservation.IsHold()) return false;
  }
  const bool ticket = IsTicket(holder);
  if (ticket && !experiment->MoreMayCome()) return false;
  if (!ticket && GetTrial(state.durable, holder).state != v1::TRIAL_PENDING) return false;
  if (state.live.parked.contains(holder)) return false;
  const Shape shape =
      ticket ? ShapeOf(*experiment) : ShapeOf(*experiment, GetTrial(state.durable, holder));
  if (shape.least() <= 1 || !MayStart(state.durable, *experiment, shape.least())) return false;
  for (const auto& [number, other] : state.durable.experiments) {
    const bool before = PriorityOf(other) >= PriorityOf(*experiment);
    if (before && MayStartOnOne(state, other)) return false;
  }
  return true;
}

}  // namespace

std::string ScheduleChecker::CheckStop(const State& state, const v1::StopRequested& fact,
                                       absl::Duration now) {
  const AttemptId id{{fact.experiment(), fact.trial()}, fact.attempt()};
  if (fact.why() == v1::StopRequested::RETURNED && !lent_.contains(id)) {
    return absl::StrCat("14: attempt ", ToString(id), " is to return slots that were not lent");
  }
  if (fact.why() == v1::StopRequested::RESIZED) {
    const std::vector<int32_t> sizes =
        SizesOf(GetExperiment(state.durable, fact.experiment()), GetTrial(state.durable, id.trial));
    if (!std::binary_search(sizes.begin(), sizes.end(), static_cast<int32_t>(fact.slots()))) {
      return absl::StrCat("14: attempt ", ToString(id), " is to go on with ", fact.slots(),
                          " slots; it may have ", spec::SizesText(sizes));
    }
    if (fact.slots() > FindAttempt(state.durable, id)->members.size())
      return CheckGrowth(state, fact, now);
  }
  const bool yields = fact.why() == v1::StopRequested::PREEMPTED ||
                      (fact.why() == v1::StopRequested::RESIZED && fact.for_experiment() != 0);
  if (!yields) return "";
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

// Checks that no trial waits that could start, and that the growth is neither too early nor too
// small.
std::string ScheduleChecker::CheckGrowth(const State& state, const v1::StopRequested& fact,
                                         absl::Duration now) {
  const AttemptId id{{fact.experiment(), fact.trial()}, fact.attempt()};
  const size_t size = FindAttempt(state.durable, id)->members.size();
  const std::string grows =
      absl::StrCat("14: attempt ", ToString(id), " grows from ", size, " to ", fact.slots());
  if (4 * (fact.slots() - size) < size) return absl::StrCat(grows, ", which is hardly more");
  const auto resized = resized_at_.find(id.trial);
  if (resized != resized_at_.end() && now - resized->second < limits::kResizeEvery) {
    return absl::StrCat(grows, " ", absl::FormatDuration(now - resized->second),
                        " after it changed its size");
  }
  const auto since = trains_since_.find(id);
  if (since != trains_since_.end() && now - since->second < limits::kProtectFirst) {
    return absl::StrCat(grows, " ", absl::FormatDuration(now - since->second),
                        " after it began to train");
  }
  for (const auto& [number, experiment] : state.durable.experiments) {
    if (RunsInClients(experiment)) continue;
    for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
      const Trial& trial = experiment.trials[i - 1];
      const TrialId other{number, i};
      if (trial.state != v1::TRIAL_PENDING || state.live.parked.contains(other)) continue;
      const Shape shape = ShapeOf(experiment, trial);
      if (!MayStart(state.durable, experiment, shape.least())) continue;
      const SlotPool& pool = state.live.pools.at(shape.constraint);
      const size_t there = shape.single_node ? pool.connected_on_largest_host() : pool.connected();
      if (static_cast<size_t>(shape.least()) > there) continue;
      return absl::StrCat(grows, ", and trial ", ToString(other), " waits");
    }
  }
  return "";
}

// A reserved slot goes to no other trial while it is reserved, except on loan.
std::string ScheduleChecker::CheckKept(const State& state, const v1::AttemptStarted& fact) {
  if (fact.lent()) return "";
  const TrialId id{fact.experiment(), fact.trial()};
  for (const Reservation& reservation : state.live.reservations) {
    const auto kept = kept_.find(reservation.holder);
    if (kept == kept_.end() || kept->second.host != reservation.host) continue;
    // A ticket becomes a trial with a number.
    const TrialId holder = reservation.holder;
    if (holder == id || (IsTicket(holder) && holder.experiment == id.experiment)) continue;
    // A blocked trial of larger priority has ended a reservation, which was then made anew.
    if (PriorityOf(GetExperiment(state.durable, id.experiment)) >
        PriorityOf(GetExperiment(state.durable, holder.experiment))) {
      continue;
    }
    for (const v1::Member& member : fact.members()) {
      if (!kept->second.free.contains(member.worker())) continue;
      return absl::StrCat("14: trial ", ToString(id), " starts on ", member.worker(),
                          ", which is reserved for ", ToString(reservation.holder));
    }
  }
  return "";
}

std::set<std::string> ScheduleChecker::ReservedForOthers(const v1::AttemptStarted& fact) const {
  std::set<std::string> names;
  for (const auto& [holder, kept] : kept_) {
    const bool own = holder == TrialId{fact.experiment(), fact.trial()} ||
                     holder == TrialId{fact.experiment(), kTicket};
    if (!own) names.insert(kept.free.begin(), kept.free.end());
  }
  return names;
}

std::string ScheduleChecker::CheckStart(const State& state, const v1::AttemptStarted& fact,
                                        absl::Duration now) {
  const TrialId id{fact.experiment(), fact.trial()};
  const Trial& trial = GetTrial(state.durable, id);
  const std::vector<int32_t> sizes = SizesOf(GetExperiment(state.durable, id.experiment), trial);
  if (!std::binary_search(sizes.begin(), sizes.end(), fact.members_size())) {
    return absl::StrCat("14: trial ", ToString(id), " starts on ", fact.members_size(),
                        " slots; it may have ", spec::SizesText(sizes));
  }
  const size_t before = fact.attempt() - 1;
  if (before > 0 &&
      trial.attempts[before - 1].members.size() != static_cast<size_t>(fact.members_size())) {
    resized_at_[id] = now;
  }
  return CheckKept(state, fact);
}

std::string ScheduleChecker::TakeRestart(const State& state) {
  trains_since_.clear();
  resized_at_.clear();
  kept_.clear();
  for (const auto& [number, experiment] : state.durable.experiments) {
    for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
      const Trial& trial = experiment.trials[i - 1];
      if (!IsActive(trial.state)) continue;
      const TrialId holder = trial.attempts.back().stop_for;
      if (!MustHaveReserved(state, holder)) continue;
      return absl::StrCat("14: trial ", ToString(TrialId{number, i}), " makes room for ",
                          ToString(holder), ", and after a start nothing is reserved");
    }
  }
  return "";
}

void ScheduleChecker::NoteLoan(const v1::AttemptStarted& fact) {
  const AttemptId id{{fact.experiment(), fact.trial()}, fact.attempt()};
  lent_.erase(id);  // of a batch that was lost with its process
  if (fact.lent()) lent_.insert(id);
}

std::string ScheduleChecker::KeepBooks(const State& state, absl::Duration now) {
  // A borrower saves and leaves. A lost one is noticed within its lease, and a stream that stood
  // still delivers the request late.
  constexpr absl::Duration kSlack = absl::Seconds(20);
  std::map<TrialId, Kept> kept;
  for (const Reservation& reservation : state.live.reservations) {
    Kept& mine = kept[reservation.holder];
    mine.host = reservation.host;
    for (const WorkerIndex worker : reservation.slots.Free()) {
      mine.free.insert(state.live.workers[worker].name);
    }
    if (reservation.IsHold() || reservation.Whole()) continue;
    if (reservation.slots.connected() < static_cast<size_t>(reservation.shape.slots)) continue;
    const auto known = kept_.find(reservation.holder);
    mine.lent_since = now;
    if (known != kept_.end()) mine.lent_since = std::min(now, known->second.lent_since);
    if (now - mine.lent_since > limits::kCheckpointStopGrace + limits::kLease + kSlack) {
      return absl::StrCat("14: trial ", ToString(reservation.holder), " has waited ",
                          absl::FormatDuration(now - mine.lent_since),
                          " for nothing but what it lent");
    }
  }
  kept_ = std::move(kept);
  return "";
}

std::string ScheduleChecker::AfterStep(const State& state, const Effects& effects,
                                       absl::Duration now) {
  const Starts starts(state, effects);
  for (const v1::Record& record : effects.records) {
    if (record.has_stop_requested()) {
      std::string wrong = CheckStop(state, record.stop_requested(), now);
      if (!wrong.empty()) return wrong;
    } else if (record.has_attempt_running()) {
      const v1::AttemptRunning& fact = record.attempt_running();
      trains_since_[{{fact.experiment(), fact.trial()}, fact.attempt()}] = now;
    } else if (record.has_attempt_started()) {
      const v1::AttemptStarted& fact = record.attempt_started();
      NoteLoan(fact);
      const Experiment& experiment = GetExperiment(state.durable, fact.experiment());
      const std::string name = ToString(TrialId{fact.experiment(), fact.trial()});
      if (const std::string wrong = Mismatch(state, experiment, fact); !wrong.empty()) {
        return absl::StrCat("14: trial ", name, " starts, and ", wrong);
      }
      if (std::string wrong = CheckStart(state, fact, now); !wrong.empty()) return wrong;
      const bool reserved = kept_.contains({fact.experiment(), fact.trial()}) ||
                            kept_.contains({fact.experiment(), kTicket});
      if (const std::string first = starts.Overtaken(fact, reserved); !first.empty()) {
        return absl::StrCat("14: trial ", name, " starts before ", first);
      }
      if (starts.TearsForNothing(fact, ReservedForOthers(fact))) {
        return absl::StrCat("14: trial ", name,
                            " starts with ranks that share layers on several hosts, and could have "
                            "had them on one each");
      }
    }
  }
  return KeepBooks(state, now);
}

}  // namespace dt::sim
