#include "coordinator/core/answer/explain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/core/answer/noticed.h"
#include "coordinator/core/keep/held.h"
#include "coordinator/core/keep/pools.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/quotas.h"
#include "coordinator/core/model/error_text.h"
#include "coordinator/core/model/gang_end.h"
#include "coordinator/core/model/names.h"
#include "coordinator/core/model/survivors.h"
#include "coordinator/core/place/reservations.h"
#include "spec/sizes.h"
#include "spec/spec.h"

namespace dt {
namespace {

std::string WholeSeconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))), " s");
}

// Returns the most slots of one host among the hosts that see the storage.
size_t MostSlotsBeside(const LiveState& live, const Constraint& constraint,
                       const std::string& storage_id) {
  std::map<std::string_view, size_t> slots;
  std::set<std::string_view> seeing;
  for (const Worker& worker : live.workers) {
    if (worker.presence != Presence::kConnected || !Meets(constraint, worker.hello)) continue;
    ++slots[worker.hello.host()];
    if (worker.hello.storage_id() == storage_id) seeing.insert(worker.hello.host());
  }
  size_t most = 0;
  for (const std::string_view host : seeing) most = std::max(most, slots[host]);
  return most;
}

std::string StorageBusyText(const LiveState& live, const ParkedTrial& parked, const Shape& shape) {
  const std::string newest =
      absl::StrCat("its newest checkpoint is on storage ", parked.storage_id, ", ");
  const size_t most = MostSlotsBeside(live, shape.constraint, parked.storage_id);
  if (!shape.single_node || most >= static_cast<size_t>(shape.slots)) {
    return absl::StrCat(newest, "and the workers that see it are busy");
  }
  return absl::StrCat(newest, "and no host that sees it has ", shape.slots,
                      " slots: the largest has ", most,
                      "; it waits for one: start more workers there, or give a larger host the "
                      "same --storage");
}

// Returns the end of the newest attempt, and when the next one follows.
std::string BackoffText(const Trial& trial, const std::string& wait) {
  const size_t next = trial.attempts.size() + 1;
  if (trial.attempts.empty()) return absl::StrCat("backs off ", wait, " before attempt ", next);
  const Attempt& last = trial.attempts.back();
  const std::string ended =
      absl::StrCat("attempt ", next - 1,
                   " ended: ", last.message.empty() ? std::string(Name(last.cause)) : last.message);
  if (IsFullDisk(last.message) && last.deciding_rank >= 0) {
    return absl::StrCat("a disk of host ", last.members[last.deciding_rank].host,
                        " is full; free some space there: it tries again in ", wait, "; ", ended);
  }
  return absl::StrCat("backs off ", wait, " before attempt ", next, "; ", ended);
}

std::string WhyParked(const LiveState& live, const ParkedTrial& parked, const Trial& trial,
                      const Shape& shape, absl::Duration now) {
  switch (parked.why) {
    case ParkedTrial::Why::kBackoff:
      return BackoffText(trial, WholeSeconds(parked.until - now));
    case ParkedTrial::Why::kStorageAbsent:
      // A worker has come back since, and is busy: the first that becomes free wakes the trial.
      if (MostSlotsBeside(live, shape.constraint, parked.storage_id) > 0) {
        return StorageBusyText(live, parked, shape);
      }
      return absl::StrCat("its newest checkpoint is on storage ", parked.storage_id,
                          ", which no connected worker sees; waits ",
                          WholeSeconds(parked.until - now),
                          " for one, then goes on from an older checkpoint or from the start");
    case ParkedTrial::Why::kStorageBusy:
      return StorageBusyText(live, parked, shape);
  }
  return {};
}

std::string DescribeRanks(const LiveState& live, const LiveAttempt& attempt) {
  std::string text;
  for (size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    const RankState& state = attempt.ranks[rank];
    if (state.worker == kNoWorker) continue;
    const Worker& worker = live.workers[state.worker];
    if (worker.stream != 0) continue;
    absl::StrAppend(&text, "; worker ", worker.name, " of rank ", rank, " is not connected");
  }
  return text;
}

std::string WhyClosed(const State& state, const Experiment& experiment, int32_t wanted) {
  const int32_t most = experiment.spec.search().max_concurrent();
  if (most > 0 && experiment.active >= static_cast<uint32_t>(most)) {
    return absl::StrCat("experiment runs ", experiment.active, " of at most ", most,
                        " trials at once (search.max_concurrent)");
  }
  if (std::string quota = QuotaText(state, experiment, wanted); !quota.empty()) return quota;
  const uint32_t held = SlotsHeld(state.live, experiment.id);
  return absl::StrCat("experiment holds ", held, " of at most ",
                      experiment.spec.base().resources().max_gpus_total(),
                      held == 1 ? " slot" : " slots", " (resources.max_gpus_total)");
}

std::string WhatIsReserved(const State& state, const Reservation& own, absl::Duration now) {
  const size_t kept = own.slots.connected();
  if (own.IsHold()) {
    return absl::StrCat("goes on with ", ShapeText(own.shape), "; ", kept,
                        " of them are held for it, for another ",
                        WholeSeconds(own.held_until - now));
  }
  std::string text = absl::StrCat("needs ", ShapeText(own.shape), "; has reserved ", kept);
  if (!own.host.empty()) absl::StrAppend(&text, " on ", own.host);
  size_t lent = 0;
  for (const WorkerIndex worker : own.slots.Members()) {
    lent += state.live.workers[worker].attempt != nullptr ? 1 : 0;
  }
  if (lent > 0) absl::StrAppend(&text, ", ", lent, " of them lent");
  absl::StrAppend(&text, "; it is next");
  const absl::Duration ready = ReadyAt(state, own, now);
  if (kept >= static_cast<size_t>(own.shape.slots) || ready == absl::InfiniteDuration())
    return text;
  return absl::StrCat(text, ", and expects the rest in ",
                      spec::DurationText(absl::ToDoubleSeconds(absl::Ceil(
                          std::max(ready - now, absl::ZeroDuration()), absl::Seconds(1)))));
}

// Returns the trial that is tried first among all lines of the device; nullopt if none could fit.
std::optional<Line::FirstTrial> FirstOf(const State& state, DeviceKind device) {
  std::optional<Line::FirstTrial> first;
  for (const auto& [shape, line] : state.live.lines) {
    if (shape.constraint.device != device) continue;
    if (PlaceIn(state.live, {shape, {}}).verdict == Verdict::kNeverFits) continue;
    const std::optional<Line::FirstTrial> head = line.First();
    if (head.has_value() && (!first.has_value() || *head < *first)) first = head;
  }
  return first;
}

// Returns why the trial goes on although a larger priority waits for slots.
std::string ProtectedText(const State& state, const Trial& trial, const LiveAttempt& attempt,
                          absl::Duration now) {
  if (attempt.protected_until <= now || trial.attempts.back().AskedToStop()) return {};
  const Experiment& experiment = GetExperiment(state.durable, attempt.id.trial.experiment);
  const std::optional<Line::FirstTrial> first =
      FirstOf(state, ShapeOf(experiment, trial).constraint.device);
  if (!first.has_value() || first->precedence.priority <= PriorityOf(experiment)) return {};
  return absl::StrCat("; ", TrialText(first->trial), ", of priority ", first->precedence.priority,
                      ", waits for slots, and may not ask it to make room before ",
                      WholeSeconds(attempt.protected_until - now), " have passed");
}

// Returns a note if exchanges of every layer go between hosts; the reason of its start explains it.
std::string TornText(const Attempt& attempt, const Shape& shape) {
  std::vector<std::string_view> hosts;
  for (const GangMember& member : attempt.members) hosts.push_back(member.host);
  const auto together = static_cast<size_t>(shape.together);
  const size_t torn = CountTorn(hosts, together);
  if (torn == 0) return {};
  return absl::StrCat("; ", torn, " of ", hosts.size() / together,
                      " groups of ranks that share layers (parallel.tensor ", together,
                      torn == 1 ? ") is" : ") are", " on several hosts");
}

std::string ExplainActive(const State& state, const Trial& trial, const LiveAttempt& live,
                          absl::Duration now) {
  std::string text = absl::StrCat("attempt ", trial.attempts.size(), ": ");
  if (trial.state == v1::TRIAL_STOPPING) {
    absl::StrAppend(&text, "being cancelled; ", live.holders,
                    live.holders == 1 ? " worker has" : " workers have", " not left it yet");
  } else if (live.rescue.has_value()) {
    absl::StrAppend(&text, RescueText(live));
  } else if (live.Is<Settling>()) {
    absl::StrAppend(&text, MaySave(live)
                               ? "a rank has stopped; waiting for rank 0, which may still save"
                               : "a collective failed; waiting for the rank that caused it");
  } else if (const auto* training = std::get_if<Training>(&live.phase)) {
    const RankState& root = live.ranks[0];
    const bool evaluates = root.evaluation_parts > 0;
    absl::StrAppend(&text, evaluates ? "evaluating" : "training", ", at step ", live.step);
    if (trial.target_steps > 0) absl::StrAppend(&text, " of ", trial.target_steps);
    if (evaluates) {
      absl::StrAppend(&text, ", ", root.evaluated_parts, " of ", root.evaluation_parts,
                      " parts of rank 0's share done");
    }
    absl::StrAppend(&text, "; last progress ", WholeSeconds(now - training->last_progress), " ago");
  } else if (live.Is<Connecting>()) {
    absl::StrAppend(&text, "all ranks are prepared and connect to each other");
  } else {
    size_t prepared = 0;
    for (const RankState& rank : live.ranks) prepared += rank.prepared ? 1 : 0;
    absl::StrAppend(&text, "preparing data and model: ", prepared, " of ", live.ranks.size(),
                    " ranks are ready");
  }
  const Attempt& recorded = trial.attempts.back();
  const Shape shape = ShapeOf(GetExperiment(state.durable, live.id.trial.experiment), trial);
  if (shape.elastic.has_value()) {
    const size_t slots = recorded.members.size();
    absl::StrAppend(&text, "; has ", slots, slots == 1 ? " slot" : " slots", ", and may have ",
                    spec::SizesText(*shape.elastic));
  }
  text += TornText(recorded, shape);
  if (recorded.AskedToStop()) absl::StrAppend(&text, "; saving: ", recorded.stop_reason);
  if (const Reservation* lender = LenderOf(state.live, live)) {
    absl::StrAppend(&text, "; on slots lent by ", TrialText(lender->holder));
  }
  text += ProtectedText(state, trial, live, now);
  text += DescribeRanks(state.live, live);
  return text + NoticedText(state.live, live);
}

// Returns which trials hold suitable slots, and when the first of them is expected to end; "" if
// none does.
std::string WhoHasSlots(const State& state, const Constraint& constraint, absl::Duration now) {
  constexpr size_t kNamed = 3;
  std::set<TrialId> trials;
  const LiveAttempt* soonest = nullptr;
  absl::Duration end = absl::InfiniteDuration();
  for (const Worker& worker : state.live.workers) {
    if (worker.attempt == nullptr || worker.presence == Presence::kLost) continue;
    if (!Meets(constraint, worker.hello)) continue;
    trials.insert(worker.attempt->id.trial);
    const absl::Duration ends = ExpectedEnd(state, *worker.attempt, now);
    if (soonest != nullptr && ends >= end) continue;
    soonest = worker.attempt;
    end = ends;
  }
  if (soonest == nullptr) return "";
  std::vector<std::string> names;
  for (const TrialId trial : trials) {
    if (names.size() < kNamed) names.push_back(ToString(trial));
  }
  const std::string who = absl::StrCat(
      "; ", absl::StrJoin(names, ", "),
      trials.size() > kNamed ? absl::StrCat(" and ", trials.size() - kNamed, " more") : "",
      trials.size() == 1 ? " has" : " have", " what it needs");
  if (end == absl::InfiniteDuration()) return who + ", and when one ends is not known yet";
  return absl::StrCat(who, ", and ", ToString(soonest->id.trial), " is expected to end first, in ",
                      spec::DurationText(absl::ToDoubleSeconds(absl::Ceil(
                          std::max(end - now, absl::ZeroDuration()), absl::Seconds(1)))));
}

// Returns which trials are tried before this one; for the next trial, the holders of its slots.
std::string WhoIsFirst(const State& state, TrialId id, const Shape& shape, absl::Duration now) {
  const std::optional<Line::FirstTrial> first = FirstOf(state, shape.constraint.device);
  const Line* own = nullptr;
  for (const auto& [theirs, line] : state.live.lines) {
    if (theirs == shape) own = &line;
  }
  if (!first.has_value() || first->trial == id) {
    return absl::StrCat("; it is next", WhoHasSlots(state, shape.constraint, now));
  }
  std::string text = absl::StrCat("; its place in the queue is behind ", TrialText(first->trial));
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  if (first->precedence.priority > PriorityOf(experiment)) {
    absl::StrAppend(&text, ", of priority ", first->precedence.priority);
  }
  size_t before = 0;
  if (own != nullptr) {
    before = own->Before({.priority = PriorityOf(experiment),
                          .held = SlotsHeld(state.live, id.experiment),
                          .experiment = id.experiment});
  }
  if (before > 1) {
    absl::StrAppend(&text, "; ", before, " trials of other experiments stand before it");
  }
  return text;
}

}  // namespace

std::string HintOf(const State& state, TrialId id) {
  const Trial& trial = GetTrial(state.durable, id);
  const LiveAttempt* live = FindLiveAttempt(state, id);
  if (live != nullptr && !live->Is<Leaving>()) return live->hint;
  return trial.attempts.empty() ? "" : trial.attempts.back().hint;
}

// Returns which connected workers lack only a trainer, and why; "": none.
std::string NoTrainerText(const LiveState& live, const Constraint& constraint) {
  if (!constraint.trainer) return {};
  Constraint without = constraint;
  without.trainer = false;
  const Worker* first = nullptr;
  size_t more = 0;
  for (const Worker& worker : live.workers) {
    if (worker.presence != Presence::kConnected || worker.hello.no_trainer().empty()) continue;
    if (!Meets(without, worker.hello)) continue;
    more += first == nullptr ? 0 : 1;
    if (first == nullptr) first = &worker;
  }
  if (first == nullptr) return {};
  return absl::StrCat("worker ", first->name,
                      more > 0 ? absl::StrCat(" (and ", more, " more)") : "",
                      " has no trainer: ", first->hello.no_trainer());
}

// Returns which connected workers lack only the environment's tool, and why; "": none.
std::string NoEnvironmentText(const LiveState& live, const Constraint& constraint) {
  if (constraint.environment.empty()) return {};
  Constraint without = constraint;
  without.environment.clear();
  const Worker* first = nullptr;
  size_t more = 0;
  for (const Worker& worker : live.workers) {
    if (worker.presence != Presence::kConnected || !Meets(without, worker.hello)) continue;
    if (Meets(constraint, worker.hello)) continue;
    more += first == nullptr ? 0 : 1;
    if (first == nullptr) first = &worker;
  }
  if (first == nullptr) return {};
  return absl::StrCat("worker ", first->name,
                      more > 0 ? absl::StrCat(" (and ", more, " more)") : "",
                      " makes no environment of ", constraint.environment, ": ",
                      WhyNoEnvironment(first->hello, constraint.environment));
}

std::string NobodyHas(const LiveState& live, const Constraint& constraint) {
  const auto met = [&live](const Constraint& part) {
    return std::any_of(live.workers.begin(), live.workers.end(), [&](const Worker& worker) {
      return !worker.name.empty() && worker.presence != Presence::kLost &&
             Meets(part, worker.hello);
    });
  };
  if (!met(AnyOf(constraint.device)) || met(constraint)) return {};
  if (const std::string text = NoTrainerText(live, constraint); !text.empty()) return "; " + text;
  if (const std::string text = NoEnvironmentText(live, constraint); !text.empty()) {
    return "; " + text;
  }
  Constraint of_any_version = constraint;
  of_any_version.level = 0;
  if (met(of_any_version)) {
    return "; workers that would do are of an older version ('dtctl get workers -o wide' shows "
           "which): restart them with that of dtcoord";
  }
  std::vector<Constraint> parts;
  for (const auto& label : constraint.labels) {
    parts.push_back(AnyOf(constraint.device));
    parts.back().labels.push_back(label);
  }
  parts.push_back(AnyOf(constraint.device));
  parts.back().accelerator = constraint.accelerator;
  parts.push_back(AnyOf(constraint.device));
  parts.back().programs = constraint.programs;
  std::vector<std::string> missing;
  for (const Constraint& part : parts) {
    if (!met(part)) missing.push_back(RequirementText(part));
  }
  if (missing.empty()) return "; each of these has a worker, and no worker has all";
  return absl::StrCat("; no connected worker has ", absl::StrJoin(missing, ", nor "));
}

std::string WhyNeverFits(const LiveState& live, const Shape& shape, const std::string& reason) {
  if (shape.constraint.device == DeviceKind::kClient) {
    return "it runs in a client, and none has asked for it yet (Python: Study.ask, Study.optimize)";
  }
  std::string untrained = NoTrainerText(live, shape.constraint);
  if (untrained.empty()) untrained = NoEnvironmentText(live, shape.constraint);
  if (untrained.empty()) return absl::StrCat(reason, NobodyHas(live, shape.constraint));
  const bool none = std::none_of(live.workers.begin(), live.workers.end(), [&](const Worker& each) {
    return each.presence == Presence::kConnected && Meets(shape.constraint, each.hello);
  });
  return absl::StrCat(none ? absl::StrCat("needs ", ShapeText(shape)) : reason, "; ", untrained);
}

std::string WhyWaiting(const State& state, TrialId id, absl::Duration now) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const Trial& trial = GetTrial(state.durable, id);
  if (experiment.paused) return PausedText(experiment);
  const auto parked = state.live.parked.find(id);
  const Shape shape = ShapeOf(experiment, trial);
  if (parked != state.live.parked.end()) {
    return WhyParked(state.live, parked->second, trial, shape, now);
  }
  Decision decision = PlaceIn(state.live, {shape, {}});
  decision.reason += HeldText(state, shape.constraint.device);
  if (decision.verdict == Verdict::kNeverFits) {
    return WhyNeverFits(state.live, shape, decision.reason);
  }
  if (GateOf(state, experiment, shape) == Gate::kClosed) {
    return WhyClosed(state, experiment, shape.least());
  }
  if (const Reservation* own = ReservationOf(state.live, id)) {
    return WhatIsReserved(state, *own, now);
  }
  return absl::StrCat(decision.reason, WhoIsFirst(state, id, shape, now));
}

// Explains the state without takeovers.
static std::string ExplainState(const State& state, TrialId id, absl::Duration now) {
  const Trial& trial = GetTrial(state.durable, id);
  if (trial.state == v1::TRIAL_PENDING) {
    return absl::StrCat("waits: ", WhyWaiting(state, id, now));
  }
  const LiveAttempt* live = FindLiveAttempt(state, id);
  if (IsActive(trial.state) && live != nullptr) return ExplainActive(state, trial, *live, now);
  const std::string attempts = absl::StrCat("after ", trial.attempts.size(),
                                            trial.attempts.size() == 1 ? " attempt" : " attempts");
  if (trial.cause == v1::CAUSE_STOPPED_EARLY) {
    return absl::StrCat("ended early ", attempts, ": ", trial.message);
  }
  if (trial.state == v1::TRIAL_FINISHED) {
    return absl::StrCat("finished ", attempts, trial.message.empty() ? "" : ": ", trial.message);
  }
  if (trial.state == v1::TRIAL_CANCELLED) {
    return absl::StrCat("cancelled ", attempts, ": ", trial.message);
  }
  return absl::StrCat("failed ", attempts, ": ", View(Name(trial.cause)),
                      trial.message.empty() ? "" : ": ", trial.message);
}

std::string ExplainSentences(const State& state, TrialId id, absl::Duration now) {
  const Trial& trial = GetTrial(state.durable, id);
  const std::string hint = HintOf(state, id);
  std::string said = absl::StrCat(ExplainState(state, id, now), hint.empty() ? "" : "; ", hint);
  if (trial.mutations.empty()) return said;
  // For a member of a population, adds the origin of its weights.
  const size_t times = trial.mutations.size();
  return absl::StrCat(said, "; it took over ",
                      times == 1 ? "once: " : absl::StrCat(times, " times, at last: "),
                      trial.mutations.back().reason);
}

std::string WhyNothingRuns(const State& state, const Experiment& experiment, absl::Duration now) {
  if (experiment.active > 0 || experiment.AllEnded()) return {};
  if (experiment.paused) return PausedText(experiment);
  for (const Trial& trial : experiment.trials) {
    if (trial.state != v1::TRIAL_PENDING) continue;
    const auto number = static_cast<uint32_t>(&trial - experiment.trials.data()) + 1;
    return WhyWaiting(state, {experiment.id, number}, now);
  }
  // The search proposes its next trial when it has slots.
  const Shape shape = ShapeOf(experiment);
  Decision decision = PlaceIn(state.live, {shape, {}});
  decision.reason += HeldText(state, shape.constraint.device);
  if (decision.verdict != Verdict::kNeverFits) return decision.reason;
  return WhyNeverFits(state.live, shape, decision.reason);
}

}  // namespace dt
