#include "tests/sim/starts.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/client_trial.h"
#include "coordinator/core/keep/held.h"
#include "coordinator/core/model/resolved.h"
#include "spec/sizes.h"
#include "tests/testing/queue_check.h"

namespace dt::sim {

size_t Held(const Experiment& experiment) {
  size_t slots = 0;
  for (const Trial& trial : experiment.trials) {
    if (IsActive(trial.state)) slots += trial.attempts.back().members.size();
  }
  return slots;
}

std::vector<int32_t> SizesOf(const Experiment& experiment, const Trial& trial) {
  return spec::ReachableSizes(ResolvedOf(experiment, trial).value_or(v1::Spec()));
}

bool HasLabels(const State& state, const std::string& worker, const v1::Resources& wanted) {
  const auto& has = FindWorker(state.live, worker)->hello.labels();
  return std::all_of(wanted.labels().begin(), wanted.labels().end(),
                     [&has](const v1::Label& label) {
                       return std::any_of(has.begin(), has.end(), [&label](const v1::Label& each) {
                         return each.key() == label.key() && each.value() == label.value();
                       });
                     });
}

bool RunsInClients(const Experiment& experiment) {
  return IsClientTrial(experiment.spec.base().command());
}

Starts::Starts(const State& state, const Effects& effects) : state_(state) {
  for (const v1::Record& record : effects.records) {
    if (!record.has_attempt_started()) continue;
    const Fact& fact = record.attempt_started();
    if (RunsInClients(GetExperiment(state.durable, fact.experiment()))) continue;
    starts_.push_back(&fact);
    const Trial& trial = GetTrial(state.durable, {fact.experiment(), fact.trial()});
    const auto before = static_cast<size_t>(fact.attempt()) - 1;
    resizes_ = resizes_ || !IsActive(trial.state) ||
               (before > 0 && trial.attempts[before - 1].stop_slots > 0);
  }
}

Starts::Moment Starts::MomentOf(const Fact& fact) const {
  Moment moment;
  const auto from = std::find(starts_.begin(), starts_.end(), &fact);
  moment.later.assign(from, starts_.end());
  bool alone = true;  // only such starts have happened since
  for (const Fact* each : moment.later) {
    const auto slots = static_cast<size_t>(each->members_size());
    Before& before = moment.experiments[each->experiment()];
    before.held += slots;
    ++before.active;
    // The slots that a gang had reserved or lent were free for no other trial.
    alone = alone && (each == &fact || (slots == 1 && !each->lent()));
    if (!alone) continue;
    for (const v1::Member& member : each->members()) moment.free.push_back(member.worker());
  }
  for (auto& [id, before] : moment.experiments) {
    const Experiment& experiment = GetExperiment(state_.durable, id);
    before = {Held(experiment) - before.held, experiment.active - before.active};
  }
  return moment;
}

Starts::Before Starts::BeforeOf(const Moment& moment, const Experiment& experiment) const {
  const auto found = moment.experiments.find(experiment.id);
  return found != moment.experiments.end() ? found->second
                                           : Before{Held(experiment), experiment.active};
}

bool Starts::MightStart(const Moment& moment, const Experiment& experiment, int32_t slots) const {
  const auto most = static_cast<size_t>(experiment.spec.search().max_concurrent());
  const auto total = static_cast<size_t>(experiment.spec.base().resources().max_gpus_total());
  const Before before = BeforeOf(moment, experiment);
  return !experiment.paused && (most == 0 || before.active < most) &&
         (total == 0 || before.held + static_cast<size_t>(slots) <= total) &&
         QuotasAllow(state_.durable, experiment, slots, [&](const Experiment& each) {
           return static_cast<int32_t>(BeforeOf(moment, each).held);
         });
}

bool Starts::WouldFit(const Moment& moment, const Experiment& experiment, int32_t slots) const {
  const v1::Resources& wanted = experiment.spec.base().resources();
  if (wanted.single_node() && slots > 1) return false;  // the free slots may be on several hosts
  const auto there =
      std::count_if(moment.free.begin(), moment.free.end(),
                    [&](const std::string& worker) { return HasLabels(state_, worker, wanted); });
  return slots <= there && MightStart(moment, experiment, slots);
}

// Returns whether a trial without a checkpoint would have fitted.
bool Starts::TrialWouldFit(const Moment& moment, const Experiment& experiment,
                           const Trial& trial) const {
  if (!trial.checkpoints.empty()) return false;
  const std::vector<int32_t> sizes = SizesOf(experiment, trial);
  // An elastic trial may wait briefly for slots of its last gang, or for all of its next size.
  const size_t begun = IsActive(trial.state) ? 1 : 0;  // a start of this Step
  if (trial.attempts.size() > begun && sizes.size() > 1) return false;
  if (HeadIsResized(state_, ShapeOf(experiment, trial))) return false;  // trials behind it wait too
  return WouldFit(moment, experiment, sizes.front());
}

bool Starts::TicketWouldFit(const Moment& moment, const Experiment& experiment) const {
  if (!experiment.MoreMayCome()) return false;
  const Shape shape = ShapeOf(experiment);
  return !HeadIsResized(state_, shape) && WouldFit(moment, experiment, shape.least());
}

// In one experiment, trials that have run before go first, then smaller numbers. A trial that is
// bound to a checkpoint's storage or was resized may have to wait.
std::string Starts::Sibling(const Moment& moment, const Fact& fact) const {
  const Experiment& experiment = GetExperiment(state_.durable, fact.experiment());
  const auto mine = std::tuple(fact.attempt() == 1, fact.trial());
  for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
    const Trial& trial = experiment.trials[i - 1];
    const TrialId id{experiment.id, i};
    if (trial.state != v1::TRIAL_PENDING || state_.live.parked.contains(id)) continue;
    if (!trial.checkpoints.empty() || SizesOf(experiment, trial).size() > 1) continue;
    if (std::tuple(trial.attempts.empty(), i) < mine) return ToString(id);
  }
  for (const Fact* each : moment.later) {
    if (each->experiment() != fact.experiment() || each->lent()) continue;
    const Trial& trial = experiment.trials[each->trial() - 1];
    if (!trial.checkpoints.empty() || SizesOf(experiment, trial).size() > 1) continue;
    if (std::tuple(each->attempt() == 1, each->trial()) < mine) {
      return absl::StrCat(ToString(TrialId{experiment.id, each->trial()}),
                          ", which comes after it");
    }
  }
  return "";
}

std::string Starts::OneOf(const Moment& moment, const Experiment& experiment) const {
  if (TicketWouldFit(moment, experiment)) {
    return absl::StrCat("the next one of experiment ", experiment.id);
  }
  for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
    const Trial& trial = experiment.trials[i - 1];
    const TrialId id{experiment.id, i};
    if (trial.state != v1::TRIAL_PENDING || state_.live.parked.contains(id)) continue;
    if (TrialWouldFit(moment, experiment, trial)) return ToString(id);
  }
  for (size_t i = 1; i < moment.later.size(); ++i) {
    const Fact& later = *moment.later[i];
    if (later.experiment() != experiment.id || later.lent()) continue;
    if (TrialWouldFit(moment, experiment, experiment.trials[later.trial() - 1])) {
      return absl::StrCat(ToString(TrialId{experiment.id, later.trial()}),
                          ", which comes after it");
    }
  }
  return "";
}

std::string Starts::Overtaken(const v1::AttemptStarted& fact, bool reserved) const {
  if (resizes_ || fact.lent()) return "";
  const Moment moment = MomentOf(fact);
  if (!reserved) {
    if (std::string sibling = Sibling(moment, fact); !sibling.empty()) return sibling;
  }
  // A client asks for a trial of one experiment.
  if (RunsInClients(GetExperiment(state_.durable, fact.experiment()))) return "";
  const auto key = [&](const Experiment& experiment) {
    const size_t held = BeforeOf(moment, experiment).held;
    return std::tuple(-PriorityOf(experiment), reserved ? 0 : held, reserved ? 0 : experiment.id);
  };
  const auto mine = key(GetExperiment(state_.durable, fact.experiment()));
  for (const auto& [id, experiment] : state_.durable.experiments) {
    if (id == fact.experiment() || RunsInClients(experiment)) continue;
    if (!(key(experiment) < mine)) continue;
    if (std::string first = OneOf(moment, experiment); !first.empty()) return first;
  }
  return "";
}

std::map<std::string, std::vector<const Worker*>> Starts::FreeByHost(
    const Fact& fact, const std::set<std::string>& reserved) const {
  std::set<std::string> names;
  const Moment moment = MomentOf(fact);
  names.insert(moment.free.begin(), moment.free.end());
  for (const Worker& worker : state_.live.workers) {
    if (worker.index == kNoWorker || worker.presence != Presence::kConnected) continue;
    if (worker.attempt != nullptr || !worker.foreign.empty() || worker.draining) continue;
    if (!IsHeld(state_, worker.name)) names.insert(worker.name);
  }
  for (const Reservation& reservation : state_.live.reservations) {
    for (const WorkerIndex worker : reservation.slots.Members()) {
      names.erase(state_.live.workers[worker].name);
    }
  }
  for (const std::string& name : reserved) names.erase(name);
  const Experiment& experiment = GetExperiment(state_.durable, fact.experiment());
  std::map<std::string, std::vector<const Worker*>> free;
  for (const std::string& name : names) {
    if (!HasLabels(state_, name, experiment.spec.base().resources())) continue;
    const Worker& worker = *FindWorker(state_.live, name);
    free[worker.hello.host()].push_back(&worker);
  }
  return free;
}

bool Starts::TearsForNothing(const Fact& fact, const std::set<std::string>& reserved) const {
  const Experiment& experiment = GetExperiment(state_.durable, fact.experiment());
  const int together = experiment.spec.base().parallel().tensor();
  if (together <= 1 || fact.lent()) return false;  // a loan uses slots of one reservation only
  bool torn = false;
  for (int rank = 0; rank < fact.members_size(); ++rank) {
    const v1::Member& first = fact.members(rank - rank % together);
    torn = torn || fact.members(rank).host() != first.host();
  }
  if (!torn) return false;
  int groups = 0;
  bool seen = !fact.has_resume();
  for (const auto& [host, workers] : FreeByHost(fact, reserved)) {
    const int here = static_cast<int>(workers.size()) / together;
    groups += here;
    seen =
        seen || (here > 0 && std::any_of(workers.begin(), workers.end(), [&](const Worker* each) {
                   return each->hello.storage_id() == fact.resume().storage_id();
                 }));
  }
  return seen && groups * together >= fact.members_size();
}

}  // namespace dt::sim
