// plan_queue.cc: goes through the slots, and then the experiments.
#include "coordinator/core/answer/plan/plan_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/core/answer/time_left.h"
#include "coordinator/core/keep/held.h"
#include "coordinator/core/keep/progress.h"
#include "spec/table/field.h"

namespace dt {
namespace {

constexpr size_t kTrialsNamed = 8;
// Assumed seconds from the request to save until the slot is free, if nobody has measured it: a
// checkpoint and a start take seconds.
constexpr double kSaveSeconds = 10;

Holder HolderOf(const State& state, const LiveAttempt& attempt, int32_t priority,
                absl::Duration now) {
  Holder holder;
  holder.id = attempt.id.trial;
  holder.order = StopOrderOf(state, attempt);
  holder.leaving = attempt.AboutToLeave();
  const int32_t theirs = PriorityOf(GetExperiment(state.durable, holder.id.experiment));
  holder.yields = theirs < priority && !holder.leaving;
  holder.ends = holder.leaving ? 0 : EtaSeconds(state, holder.id);
  const double in_peace = absl::ToDoubleSeconds(attempt.protected_until - now);
  holder.leaves = std::max(0.0, in_peace) + kSaveSeconds;
  return holder;
}

double FreeAt(const Holder& holder) {
  if (!holder.yields) return std::max(0.0, holder.ends);
  return holder.ends < 0 ? holder.leaves : std::min(holder.ends, holder.leaves);
}

std::map<std::string, Site> SitesFor(const State& state, const Wanted& wanted, absl::Duration now,
                                     QueueAhead& ahead) {
  std::map<std::string, Site> sites;
  for (const Worker& worker : state.live.workers) {
    if (!TakesWork(state, worker, wanted.constraint)) continue;
    Site& site = sites[wanted.single_node ? worker.hello.host() : std::string()];
    if (worker.attempt == nullptr) {
      ++site.idle;
      ahead.free_at.push_back(0);
      continue;
    }
    const auto [found, added] = site.holders.try_emplace(worker.attempt->token);
    Holder& holder = found->second;
    if (added) holder = HolderOf(state, *worker.attempt, wanted.priority, now);
    ++holder.slots;
    ahead.free_at.push_back(FreeAt(holder));
    if (!holder.yields && holder.ends < 0) ahead.known = false;
  }
  return sites;
}

// Returns the first of `all` that free `wanted` slots together, or none if they cannot.
std::vector<Holder> Enough(size_t ready, size_t wanted, const std::vector<Holder>& all) {
  std::vector<Holder> chosen;
  for (const Holder& holder : all) {
    if (ready >= wanted) break;
    ready += holder.slots;
    chosen.push_back(holder);
  }
  if (ready < wanted) return {};
  return chosen;
}

std::vector<Holder> YieldingAt(const Site& site) {
  std::vector<Holder> all;
  for (const auto& [token, holder] : site.holders) {
    if (holder.yields) all.push_back(holder);
  }
  std::sort(all.begin(), all.end(),
            [](const Holder& a, const Holder& b) { return a.order < b.order; });
  return all;
}

std::vector<Holder> EndingAt(const Site& site) {
  std::vector<Holder> all;
  for (const auto& [token, holder] : site.holders) {
    if (!holder.leaving) all.push_back(holder);
  }
  const auto end = [](const Holder& holder) {
    return holder.ends < 0 ? std::numeric_limits<double>::infinity() : holder.ends;
  };
  std::sort(all.begin(), all.end(), [&end](const Holder& a, const Holder& b) {
    return std::pair(end(a), a.id) < std::pair(end(b), b.id);
  });
  return all;
}

// Returns "trial 7/1", or "trials 7/1, 7/2 and 3 more".
std::string Named(const std::vector<Holder>& holders) {
  std::string text = holders.size() == 1 ? "trial " : "trials ";
  for (size_t i = 0; i < holders.size() && i < kTrialsNamed; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", ToString(holders[i].id));
  }
  if (holders.size() > kTrialsNamed) {
    absl::StrAppend(&text, " and ", holders.size() - kTrialsNamed, " more");
  }
  return text;
}

std::string RoomNote(const std::vector<Holder>& holders) {
  double latest = 0;
  for (const Holder& holder : holders) latest = std::max(latest, holder.leaves - kSaveSeconds);
  return absl::StrCat(
      Named(holders), ", of a lower priority, would make room",
      latest > 0 ? absl::StrCat(", and may be asked to in ", spec::DurationText(std::ceil(latest)))
                 : "");
}

std::string BusyNote(size_t wanted, size_t idle, const std::vector<Holder>& holders) {
  double latest = 0;
  for (const Holder& holder : holders) {
    latest = holder.ends < 0 || latest < 0 ? -1 : std::max(latest, holder.ends);
  }
  const bool one = holders.size() == 1;
  return absl::StrCat(
      idle == 0 ? "no slot is free"
                : absl::StrCat(idle, idle == 1 ? " slot is" : " slots are", " free"),
      wanted > 1 ? absl::StrCat(" of the ", wanted, " that a trial needs") : "", ": it waits for ",
      Named(holders), " to end",
      latest < 0 ? "; when is not known yet"
                 : absl::StrCat(", expected in ", spec::DurationText(std::ceil(latest))),
      one || latest < 0 ? "" : " for the last of them");
}

// Adds the holders of slots for which the first trial waits.
void AddWait(int32_t slots, const std::map<std::string, Site>& sites, QueueAhead& ahead) {
  const auto needed = static_cast<size_t>(std::max(1, slots));
  std::vector<Holder> yielding, ending;
  size_t idle = 0;
  const auto take_fewer = [](std::vector<Holder> found, std::vector<Holder>& best) {
    if (found.empty() || (!best.empty() && best.size() <= found.size())) return false;
    best = std::move(found);
    return true;
  };
  for (const auto& [host, site] : sites) {
    size_t ready = site.idle;
    for (const auto& [token, holder] : site.holders) ready += holder.leaving ? holder.slots : 0;
    if (ready >= needed) return;
    take_fewer(Enough(ready, needed, YieldingAt(site)), yielding);
    if (take_fewer(Enough(ready, needed, EndingAt(site)), ending)) idle = site.idle;
  }
  if (!yielding.empty()) {
    ahead.notes.push_back(RoomNote(yielding));
  } else if (!ending.empty()) {
    ahead.notes.push_back(BusyNote(needed, idle, ending));
  }
}

// Returns how many of its trials may train at once, running ones included; 0: any number.
uint64_t AtOnce(const Experiment& experiment, int32_t slots) {
  const int32_t most = experiment.spec.search().max_concurrent();
  const int32_t total = experiment.spec.base().resources().max_gpus_total() / std::max(1, slots);
  if (most == 0 || total == 0) return static_cast<uint64_t>(std::max(most, total));
  return static_cast<uint64_t>(std::min(most, total));
}

// Adds existing and future trials of the same or a higher priority.
void AddBefore(const State& state, const Wanted& wanted, QueueAhead& ahead) {
  std::vector<const Worker*> workers;
  for (const Worker& worker : state.live.workers) {
    if (TakesWork(state, worker, wanted.constraint)) workers.push_back(&worker);
  }
  const auto compete = [&workers](const Constraint& theirs) {
    return std::any_of(workers.begin(), workers.end(),
                       [&](const Worker* worker) { return Meets(theirs, worker->hello); });
  };
  for (const auto& [id, experiment] : state.durable.experiments) {
    if (experiment.AllEnded() || experiment.paused || experiment.cancel_requested) continue;
    if (PriorityOf(experiment) < wanted.priority) continue;
    uint64_t trials = experiment.pending;
    if (experiment.MoreMayCome()) trials += experiment.planned - experiment.trials.size();
    const Shape shape = ShapeOfNext(experiment);
    if (trials == 0 || !compete(shape.constraint)) continue;
    ahead.waiting += trials;
    const std::optional<double> seconds = MeanSecondsOf(state.live, id);
    ahead.known = ahead.known && seconds.has_value();
    // They hold so many slots until all of them are done.
    const uint64_t at_once = AtOnce(experiment, shape.slots);
    const uint64_t side_by_side = at_once == 0 ? trials : std::min(trials, at_once);
    ahead.before.push_back(
        {side_by_side, shape.slots,
         seconds.value_or(0) * static_cast<double>(trials) / static_cast<double>(side_by_side)});
  }
  if (ahead.waiting == 0) return;
  ahead.notes.push_back(absl::StrCat(ahead.waiting,
                                     ahead.waiting == 1 ? " trial waits" : " trials wait",
                                     " already, of the same or a higher priority"));
}

}  // namespace

bool TakesWork(const State& state, const Worker& worker, const Constraint& constraint) {
  return worker.presence == Presence::kConnected && !worker.draining &&
         Meets(constraint, worker.hello) && !IsHeld(state, worker.name);
}

FleetQueue FleetQueueOf(const State& state, const Wanted& wanted, absl::Duration now) {
  FleetQueue queue;
  queue.sites = SitesFor(state, wanted, now, queue.ahead);
  AddBefore(state, wanted, queue.ahead);
  return queue;
}

QueueAhead QueueAheadOf(const FleetQueue& queue, int32_t slots) {
  QueueAhead ahead = queue.ahead;
  AddWait(slots, queue.sites, ahead);
  return ahead;
}

}  // namespace dt
