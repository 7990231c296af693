// planning.cc: compares the needs of a draft's trials with the fleet, the queue and the history.
#include "coordinator/core/answer/plan/planning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/arithmetic.h"
#include "common/limits.h"
#include "coordinator/core/answer/explain.h"
#include "coordinator/core/answer/noticed.h"
#include "coordinator/core/answer/plan/plan_strategies.h"
#include "plan/cost.h"
#include "plan/finish.h"
#include "spec/program.h"
#include "spec/search.h"
#include "spec/sizes.h"

namespace dt {
namespace {

EligibleSlots FleetOf(const State& state, const Constraint& constraint) {
  EligibleSlots fleet;
  fleet.nobody_has = NobodyHas(state.live, constraint);
  std::map<std::string, int> names;
  // CPU slots share the memory of their host, also with unsuitable slots.
  std::map<std::string, uint64_t> sharing, of_host;
  for (const Worker& worker : state.live.workers) {
    if (worker.presence != Presence::kConnected) continue;
    if (DeviceKindOf(worker.hello.device()) == constraint.device) ++sharing[worker.hello.host()];
    if (!TakesWork(state, worker, constraint)) continue;
    fleet.of_host = std::max(fleet.of_host, ++of_host[worker.hello.host()]);
  }
  for (const Worker& worker : state.live.workers) {
    if (!TakesWork(state, worker, constraint)) continue;
    ++names[worker.hello.device_name()];
    uint64_t memory = worker.hello.memory_bytes();
    if (constraint.device == DeviceKind::kCpu) memory /= sharing[worker.hello.host()];
    const uint64_t limit = worker.hello.memory_limit_bytes();
    if (limit > 0 && (memory == 0 || limit < memory)) memory = limit;
    if (memory > 0 && (fleet.least_memory == 0 || memory < fleet.least_memory)) {
      fleet.least_memory = memory;
    }
    ++fleet.slots;
    if (worker.attempt == nullptr) ++fleet.free;
  }
  int most = 0;
  for (const auto& [name, count] : names) {
    if (count > most) fleet.device_name = name;
    most = std::max(most, count);
  }
  return fleet;
}

std::string GiB(double bytes) { return absl::StrFormat("%.1f GiB", bytes / (1 << 30)); }

// Returns how many of the fleet's slots one trial can have.
int32_t SlotsFor(const Shape& shape, const EligibleSlots& fleet) {
  return static_cast<int32_t>(shape.single_node ? fleet.of_host : fleet.slots);
}

// Returns the specification with the slots on which the trial would start, if `there` slots were
// idle.
v1::Spec AsStarted(const v1::Spec& spec, int32_t there) {
  v1::Spec started = spec;
  v1::Resources& resources = *started.mutable_resources();
  const std::optional<spec::GangSizes> sizes = spec::SizesOf(spec);
  if (resources.gpus() <= there || !sizes.has_value() || sizes->least > there) return started;
  resources.set_gpus(sizes->Below(there + 1));
  return started;
}

// Adds the allowed sizes of elastic trials, a sentence for each distinct one.
void AddSizes(const PlanDraft& draft, v1::PlanResponse& response) {
  std::set<std::string> said;
  for (const PlannedKind& kind : draft.kinds) {
    const std::optional<spec::GangSizes> sizes = spec::SizesOf(kind.spec);
    if (!sizes.has_value() || said.size() == limits::kPlannedKinds) continue;
    const std::string text = spec::SizesText(*sizes);
    if (!said.insert(text).second) continue;
    response.add_notes(absl::StrCat("trial ", kind.first, " may have ", text,
                                    " slots, and starts on ", kind.spec.resources().gpus(),
                                    " where they are free"));
  }
}

void FillFit(const Shape& shape, const v1::Spec& spec, const EligibleSlots& fleet,
             v1::PlannedTrials& planned) {
  const int32_t there = SlotsFor(shape, fleet);
  if (planned.slots() > there) {
    planned.set_lacks(absl::StrCat("needs ", ShapeText(AtSize(shape, planned.slots())), "; ",
                                   there == 0 ? "none" : absl::StrCat(there),
                                   there > 1 ? " are there" : " is there", fleet.nobody_has));
  }
  planned.set_device_bytes(fleet.least_memory);
  if (const std::optional<Memory> memory = MemoryOf(spec)) {
    planned.set_memory_bytes(BoundedInteger<uint64_t>(memory->bytes));
    if (fleet.least_memory > 0 && memory->least > static_cast<double>(fleet.least_memory) &&
        planned.lacks().empty()) {
      planned.set_lacks(absl::StrCat("takes about ", GiB(memory->least), " of a slot's ",
                                     GiB(static_cast<double>(fleet.least_memory))));
    }
  }
  planned.set_fits(planned.lacks().empty());
}

// Returns the mean share of its steps that a trial trains under asha, if all are alike: one of eta
// goes on at each rung.
double ShareTrained(const v1::ExperimentSpec& spec) {
  if (spec.search().method() != "asha") return 1;
  const auto eta = static_cast<double>(spec.search().asha().eta());
  const int rungs = spec.search().asha().rungs();
  double share = std::pow(eta, -rungs);  // all train to the first rung
  for (int rung = 1; rung <= rungs; ++rung) {
    const double here = std::pow(eta, -(rungs + 1 - rung));
    share += std::pow(eta, -rung) * (here * eta - here);
  }
  return share;
}

QueueAhead FillQueue(const FleetQueue& queue, v1::PlanResponse& response) {
  int32_t slots = std::numeric_limits<int32_t>::max();
  for (const v1::PlannedTrials& planned : response.configurations()) {
    slots = std::min(slots, planned.slots());
  }
  if (response.configurations().empty()) slots = 1;
  QueueAhead ahead = QueueAheadOf(queue, slots);
  response.set_waiting_before(BoundedInteger<uint32_t>(static_cast<double>(ahead.waiting)));
  for (const std::string& note : ahead.notes) response.add_notes(note);
  return ahead;
}

absl::Status PlanOutOfTime() {
  return absl::DeadlineExceededError(
      "reckoning the plan takes longer than the call may wait; give it more time, or fewer kinds "
      "of "
      "trials");
}

// Returns whether its memory depends on a vocabulary that is only in the data.
bool IsUnread(const v1::Spec& spec) {
  return !spec::IsProgram(spec) && spec.model().n_layer() > 0 && spec.model().vocab_pad() <= 0;
}

void FillFinish(const PlanDraft& draft, const QueueAhead& ahead, v1::PlanResponse& response) {
  const double share = ShareTrained(draft.spec);
  double drawn = 0;
  for (const PlannedKind& kind : draft.kinds) drawn += kind.trials;
  const double times = drawn > 0 ? draft.trials / drawn : 0;  // trials per drawn one
  std::vector<plan::Batch> mine;
  double slot_seconds = 0;
  for (int i = 0; i < response.configurations_size(); ++i) {
    const v1::PlannedTrials& planned = response.configurations(i);
    if (planned.seconds() < 0) slot_seconds = -1;
    if (slot_seconds < 0) break;
    // train.max_time bounds the time of a trial, whatever its steps.
    const double most = draft.kinds[i].spec.train().max_time_seconds();
    const double seconds = planned.seconds() * (most > 0 && planned.seconds() >= most ? 1 : share);
    slot_seconds += seconds * planned.slots() * planned.trials() * times;
    mine.push_back(
        {static_cast<uint64_t>(std::llround(planned.trials() * times)), planned.slots(), seconds});
  }
  if (mine.empty()) slot_seconds = -1;
  response.set_slot_seconds(slot_seconds);
  response.set_finish_seconds(-1);
  if (slot_seconds < 0) return;
  const auto at_once = static_cast<uint64_t>(draft.spec.search().max_concurrent());
  const std::optional<double> finish =
      plan::FinishSeconds(ahead.free_at, ahead.before, mine, at_once);
  response.set_finish_seconds(finish.value_or(-1));
  if (!finish.has_value()) {
    response.add_notes("when it is done is not reckoned: too many trials wait and are planned");
    return;
  }
  if (!ahead.known) {
    response.add_notes(
        "it may take longer: how long the trials that run or wait now will take is not known yet");
  }
}

}  // namespace

PlanAsk AskOf(const PlanDraft& draft) {
  PlanAsk ask;
  ask.facts = std::make_shared<PlanFacts>();
  ask.priority = draft.spec.base().resources().priority();
  if (draft.kinds.empty()) {
    Experiment experiment;
    experiment.spec = draft.spec;
    ask.first = ShapeOf(experiment);
  } else {
    ask.first = draft.kinds.front().shape;
  }
  ask.constraints.insert(ask.first.constraint);
  for (const PlannedKind& kind : draft.kinds) ask.constraints.insert(kind.shape.constraint);
  return ask;
}

absl::StatusOr<v1::PlanResponse> Query(const State& state, const PlanAsk& ask, absl::Duration now) {
  if (ask.constraints.size() > limits::kConstraints) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "its trials ask for ", ask.constraints.size(), " kinds of worker; the limit is ",
        limits::kConstraints, "; ask for the same accelerator and labels"));
  }
  PlanFacts& facts = *ask.facts;
  for (const Constraint& constraint : ask.constraints) {
    facts.fleets.emplace(constraint, FleetOf(state, constraint));
  }
  const EligibleSlots& fleet = facts.fleets.at(ask.first.constraint);
  facts.past = PastPaceOf(state, fleet.device_name);
  facts.network =
      NetworkFigures(state.durable, fleet.device_name, static_cast<int64_t>(fleet.of_host));
  facts.queue =
      FleetQueueOf(state, {ask.first.constraint, ask.priority, ask.first.single_node}, now);
  return v1::PlanResponse();
}

absl::StatusOr<v1::PlanResponse> PlanOf(const PlanDraft& draft, const PlanAsk& ask,
                                        const MayGoOn& may_go_on) {
  const PlanFacts& facts = *ask.facts;
  const EligibleSlots& fleet = facts.fleets.at(ask.first.constraint);
  v1::PlanResponse response;
  response.set_trials(draft.trials);
  response.set_device(std::string(Name(ask.first.constraint.device)));
  response.set_slots_connected(fleet.slots);
  response.set_slots_free(fleet.free);
  for (const PlannedKind& kind : draft.kinds) {
    if (response.configurations_size() == limits::kPlannedKinds) break;
    if (!GoesOn(may_go_on)) return PlanOutOfTime();
    v1::PlannedTrials& planned = *response.add_configurations();
    planned.set_first(kind.first);
    planned.set_trials(kind.trials);
    for (const v1::Assignment& one : kind.assignments) *planned.add_assignments() = one;
    // Trials need other workers than their experiment only if that is swept.
    const EligibleSlots& own = facts.fleets.at(kind.shape.constraint);
    const v1::Spec started = AsStarted(kind.spec, SlotsFor(kind.shape, own));
    planned.set_slots(std::max(1, started.resources().gpus()));
    FillFit(kind.shape, started, own, planned);
    const Estimate estimate = EstimateOf(facts.past, started, fleet.device_name);
    FillStrategies(started, facts.past, facts.network, static_cast<double>(own.least_memory),
                   estimate, planned);
    planned.set_seconds(estimate.seconds);
    planned.set_estimated_from(estimate.from);
    planned.set_target_steps(estimate.steps);
  }
  if (draft.drawn) {
    response.add_notes(
        absl::StrCat("bayes chooses its values as results come; ", draft.kinds.size(),
                     draft.kinds.size() == 1 ? " draw stands" : " draws stand", " for them here"));
  }
  const bool unread = std::any_of(draft.kinds.begin(), draft.kinds.end(),
                                  [](const auto& kind) { return IsUnread(kind.spec); });
  if (unread) {
    response.add_notes(
        "the vocabulary is known once the data are read; memory is reckoned with GPT-2's");
  }
  AddSizes(draft, response);
  FillFinish(draft, FillQueue(facts.queue, response), response);
  if (ShareTrained(draft.spec) < 1) {
    response.add_notes(absl::StrFormat(
        "asha ends most trials early: reckoned with %.0f %% of their steps on average",
        100 * ShareTrained(draft.spec)));
  }
  response.add_notes(NoticedNote(draft.spec.base()));
  return response;
}

}  // namespace dt
