// world.cc: users, faults, and the end of a run.
#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/core/step.h"
#include "tests/sim/decisions.h"
#include "tests/sim/search_checker.h"
#include "tests/testing/experiments.h"

namespace dt::sim {
namespace {

constexpr absl::Duration kFaultPeriod = absl::Milliseconds(200);
// A stuck gang is given up after limits::kHangFloor; some trials get stuck several times.
constexpr absl::Duration kPatience = absl::Hours(3);

// Counts the attempts that gave back borrowed slots. One that finishes first is followed by none.
size_t ReturnsOf(const Experiment& experiment) {
  size_t returns = 0;
  for (const Trial& trial : experiment.trials) {
    for (const Attempt& attempt : trial.attempts) {
      const bool asked = attempt.stop_why == v1::StopRequested::RETURNED;
      returns += asked && attempt.cause == v1::CAUSE_PREEMPTED ? 1 : 0;
    }
  }
  return returns;
}

void Count(const DurableState& durable, Outcome& outcome) {
  for (const auto& [id, experiment] : durable.experiments) {
    outcome.finished += experiment.finished;
    outcome.ended_otherwise += experiment.failed + experiment.cancelled;
    outcome.attempts += experiment.attempts;
    for (const Trial& trial : experiment.trials) outcome.taken_over += trial.mutations.size();
    outcome.returned += ReturnsOf(experiment);
  }
  outcome.marked = durable.marks.size();
}

// A user's change that affects neither a gate nor the number of trials.
void EditOne(Dice& dice, v1::ChangeRequest& request) {
  switch (dice.Pick(7)) {
    case 0:
      return request.set_name(absl::StrCat("name-", dice.Pick(3)));
    case 1:
      return request.set_note(dice.Chance(0.5) ? "a note" : "");
    case 2:
      request.mutable_labels()->add_set()->set_key(absl::StrCat("key-", dice.Pick(3)));
      request.mutable_labels()->add_removed("key-0");
      return;
    case 3:
      return request.set_archived(dice.Chance(0.7));
    case 4:
      return request.set_max_steps(dice.Between(1, 60));
    case 5:
      return request.set_priority(dice.Between(-3, 3));
    default:
      return request.set_max_gpus_total(static_cast<uint32_t>(dice.Pick(6)));
  }
}

}  // namespace

World::World(const Options& options)
    : options_(options),
      faults_(options.faults),
      scheduler_(options.wall_seed),
      dice_(options.seed),
      quota_dice_(~options.seed),
      network_dice_(options.seed ^ 0x5DEECE66D),
      checker_(options.faults.lies > 0 ? Workers::kLie : Workers::kHonest),
      fleet_(scheduler_, dice_, options_, faults_, network_, checker_),
      trainers_(
          scheduler_, dice_, faults_, network_,
          [this](int worker, AgentEvent event) { fleet_.Feed(worker, std::move(event)); },
          [this](const std::string& what) { checker_.Complain(what); }),
      coordinator_(scheduler_, dice_, options_, checker_, trainers_,
                   {.send_orders =
                        [this](StreamId stream, const v1::Orders& orders) {
                          fleet_.DeliverOrders(stream, orders);
                        },
                    .end_stream = [this](StreamId stream) { fleet_.TakeStreamEnd(stream); },
                    .died = [this] { fleet_.LoseCoordinator(); },
                    .committed = [this](const v1::Record& record) { clients_.Take(record); }}),
      clients_(scheduler_, options_, faults_, coordinator_, checker_) {
  network_.slots_per_host = options.slots_per_host;
}

Outcome World::Run() {
  fleet_.Begin(coordinator_, trainers_);
  PlanSubmits();
  InjectFaults();
  WatchOrphans();
  Every(absl::Seconds(3), [this] {
    if (healed_) return OpenGates();
    if (!options_.meddle) return;
    Meddle();
    if (dice_.Chance(0.2)) MarkOne();
    if (options_.scheduling > 0 && quota_dice_.Chance(options_.quotas)) SetQuota();
  });
  scheduler_.After(options_.safety, [this] { Heal(); });
  const absl::Duration limit = scheduler_.Now().steady + options_.safety + kPatience;
  while (checker_.violation().empty() && scheduler_.Now().steady < limit) {
    if (healed_ && AllEnded() && coordinator_.AllSent()) break;
    if (!scheduler_.RunNext()) break;
  }
  Outcome outcome;
  if (coordinator_.up() && checker_.violation().empty()) {
    coordinator_.CheckReplay();
    checker_.AtTheEnd(coordinator_.state(), trainers_);
    clients_.AtTheEnd(coordinator_.state().durable);
    const std::vector<v1::Record> journal = coordinator_.Journal();
    checker_.Complain(SearchViolation(journal));
    outcome.decisions = DecisionsOf(journal);
    Count(coordinator_.state().durable, outcome);
  }
  if (!AllEnded()) checker_.Complain("2: not everything has ended long after the last fault");
  outcome.violation = checker_.violation();
  outcome.history = coordinator_.history();
  outcome.batches = coordinator_.batches();
  outcome.simulated = scheduler_.Now().steady - absl::Seconds(1000);
  outcome.rows = checker_.rows_stored();
  outcome.shares_compared = checker_.shares_compared();
  outcome.clients = clients_.counts();
  return outcome;
}

// Sends the submission, and repeats it until there is an answer.
void World::Submit(size_t index) {
  if (planned_[index].experiment != 0) return;
  coordinator_.Call(planned_[index].request,
                    [this, index](const Reply& reply) { TakeSubmitted(index, reply); });
  scheduler_.After(absl::Seconds(2), [this, index] { Submit(index); });
}

void World::TakeSubmitted(size_t index, const Reply& reply) {
  if (checker_.Deleted(planned_[index].experiment)) return;  // sent twice, answered after its end
  if (!reply.status.ok()) {
    checker_.Complain(absl::StrCat("a submission was refused: ", reply.status.ToString()));
    return;
  }
  const auto& response = static_cast<const v1::SubmitResponse&>(*reply.response);
  ExperimentId& known = planned_[index].experiment;
  if (known != 0 && known != response.experiment()) {
    checker_.Complain(
        absl::StrCat("4: one request id gave experiments ", known, " and ", response.experiment()));
  }
  known = response.experiment();
  checker_.NoteAcknowledged(known, response.trials());
  if (IsClientTrial(planned_[index].request.spec().base().command())) clients_.AddStudy(known);
}

// A user cancels, retries, repeats a submission, changes an experiment, or asks.
void World::Meddle() {
  PlannedSubmit& planned = planned_[dice_.Pick(planned_.size())];
  if (planned.experiment == 0 || checker_.Deleted(planned.experiment)) return;
  const size_t index = static_cast<size_t>(&planned - planned_.data());
  // If cancels must be prompt, there are more of them to check.
  const bool cancels = options_.prompt && dice_.Chance(0.3);
  switch (cancels ? 0 : dice_.Pick(12)) {
    case 0: {
      v1::CancelRequest request;
      request.set_experiment(planned.experiment);
      request.set_trial(static_cast<uint32_t>(dice_.Pick(3)));
      coordinator_.Call(request, [](const Reply&) {});
      return;
    }
    case 1: {
      v1::RetryRequest request;
      request.set_experiment(planned.experiment);
      request.set_failed(true);
      request.set_cancelled(dice_.Chance(0.5));
      coordinator_.Call(request, [](const Reply&) {});
      return;
    }
    case 2:
      DeleteWhenEnded(planned.experiment);
      return;
    case 3:
      coordinator_.Call(planned.request,
                        [this, index](const Reply& reply) { TakeSubmitted(index, reply); });
      return;
    case 4:
    case 5:
    case 6:
      return ChangeOne(planned.experiment);
    default: {
      v1::ExplainTrialRequest request;
      request.set_experiment(planned.experiment);
      request.set_trial(1);
      coordinator_.Call(request, [this, id = planned.experiment](const Reply& reply) {
        if (reply.status.ok() || checker_.Deleted(id)) return;
        const Experiment* experiment = FindExperiment(coordinator_.state().durable, id);
        if (experiment != nullptr && Proposes(*experiment)) return;  // it may have a trial now
        checker_.Complain(
            absl::StrCat("an acknowledged trial cannot be explained: ", reply.status.ToString()));
      });
    }
  }
}

// Drains a worker for a while.
void World::MarkOne() {
  if (!coordinator_.up() || coordinator_.lost()) return;
  const std::string worker =
      absl::StrCat("host", dice_.Pick(static_cast<size_t>(options_.hosts)), "/",
                   dice_.Pick(static_cast<size_t>(options_.slots_per_host)));
  Mark(worker, dice_.Chance(0.8));
  scheduler_.After(dice_.Between(absl::Seconds(1), absl::Seconds(20)),
                   [this, worker] { Mark(worker, false); });
}

void World::Mark(const std::string& worker, bool drain) {
  v1::MarkWorkerRequest request;
  request.set_worker(worker);
  request.set_drain(drain);
  request.set_who("ann");
  coordinator_.Call(request, [](const Reply&) {});
}

// An admin bounds or unbounds a user's slots.
void World::SetQuota() {
  if (!coordinator_.up() || coordinator_.lost()) return;
  v1::SetQuotaRequest request;
  request.set_user(quota_dice_.Chance(0.5) ? "ann" : "bob");
  request.set_slots(static_cast<uint32_t>(quota_dice_.Between(1, 3)));
  request.set_removed(quota_dice_.Chance(0.3));
  coordinator_.Call(request, [](const Reply&) {});
}

// Refused, without any effect, once the experiment has ended.
void World::ChangeOne(ExperimentId experiment) {
  v1::ChangeRequest request;
  request.set_experiment(experiment);
  request.set_who("ann");
  switch (dice_.Pick(9)) {
    case 6:
    case 7:
    case 8:
      EditOne(dice_, request);
      break;
    case 0:
      request.mutable_resume();
      break;
    case 1:
      request.set_max_concurrent(static_cast<uint32_t>(dice_.Pick(4)));
      break;
    case 2:
      request.set_max_trials(static_cast<uint32_t>(dice_.Between(1, 20)));
      break;
    default:
      request.mutable_pause()->set_let_run(dice_.Chance(0.3));
  }
  coordinator_.Call(request, [](const Reply&) {});
  if (!request.has_pause()) return;
  scheduler_.After(dice_.Between(absl::Seconds(1), absl::Seconds(20)), [this, experiment] {
    v1::ChangeRequest resume;
    resume.set_experiment(experiment);
    resume.mutable_resume();
    coordinator_.Call(resume, [](const Reply&) {});
  });
}

// Ends the users' interference: whatever is still paused goes on, so that everything can end.
void World::OpenGates() {
  if (!coordinator_.up()) return;
  for (const auto& [worker, mark] : coordinator_.state().durable.marks) {
    // Ends a quarantine too: waiting for its rest would take most of the simulated time.
    if (mark.drained || options_.meddle) Mark(worker, false);
  }
  for (const auto& [key, quota] : coordinator_.state().durable.quotas) {
    v1::SetQuotaRequest request;
    request.set_user(key.user);
    request.set_removed(true);
    coordinator_.Call(request, [](const Reply&) {});
  }
  for (const PlannedSubmit& planned : planned_) {
    const Experiment* experiment = FindExperiment(coordinator_.state().durable, planned.experiment);
    if (experiment == nullptr || !experiment->paused) continue;
    v1::ChangeRequest request;
    request.set_experiment(planned.experiment);
    request.mutable_resume();
    coordinator_.Call(request, [](const Reply&) {});
  }
}

// Refused, without any effect, while one of its trials has not ended.
void World::DeleteWhenEnded(ExperimentId experiment) {
  v1::DeleteRequest request;
  request.set_experiment(experiment);
  coordinator_.Call(request, [](const Reply&) {});
}

void World::Every(absl::Duration period, std::function<void()> what) {
  scheduler_.After(period, [this, period, what = std::move(what)] {
    what();
    Every(period, what);
  });
}

void World::InjectFaults() {
  Every(kFaultPeriod, [this] {
    const double share = absl::FDivDuration(kFaultPeriod, absl::Seconds(1));
    if (dice_.Chance(faults_.stream_breaks * share)) fleet_.BreakOneStream();
    if (dice_.Chance(faults_.clogs * share)) fleet_.ClogOneStream();
    if (dice_.Chance(faults_.worker_crashes * share)) fleet_.CrashOneWorker();
    if (dice_.Chance(faults_.old_streams * share)) fleet_.ReplayAnOldStream();
    if (dice_.Chance(faults_.drains * share)) fleet_.DrainOneWorker();
    if (dice_.Chance(faults_.trainer_crashes * share)) trainers_.CrashOne();
    if (dice_.Chance(faults_.coordinator_kills * share)) coordinator_.Kill();
    if (dice_.Chance(faults_.lost_journals * share)) coordinator_.LoseJournal();
    FailBetweenHosts(share);
  });
}

void World::FailBetweenHosts(double share) {
  Dice& dice = network_dice_;
  const auto host = [&] { return dice.Between(0, options_.hosts - 1); };
  if (dice.Chance(faults_.pair_cuts * share) && options_.hosts > 1) {
    const int one = host();
    const int other = (one + dice.Between(1, options_.hosts - 1)) % options_.hosts;
    const auto pair = std::minmax(one, other);
    network_.cut.insert(pair);
    scheduler_.After(dice.Between(absl::Seconds(1), absl::Seconds(60)),
                     [this, pair = std::pair<int, int>(pair)] { network_.cut.erase(pair); });
  }
  if (dice.Chance(faults_.one_way_cuts * share)) {
    fleet_.CutOneWay(host(), dice.Chance(0.5), dice.Between(absl::Seconds(1), absl::Seconds(25)));
  }
  if (dice.Chance(faults_.suspensions * share)) {
    network_.still_until[host()] =
        scheduler_.Now().steady + dice.Between(absl::Seconds(1), absl::Seconds(30));
  }
  if (dice.Chance(faults_.slow_commits * share)) {
    coordinator_.SlowCommits(dice.Between(absl::Seconds(1), absl::Seconds(30)));
  }
}

void World::Heal() {
  healed_ = true;
  faults_ = Faults{};
  options_.faults = Faults{};
  options_.canary = Canary::kNone;
  network_.cut.clear();
  coordinator_.SlowCommits(absl::ZeroDuration());
  fleet_.Heal();
}

bool World::AllEnded() const {
  if (!coordinator_.up()) return false;
  for (const PlannedSubmit& planned : planned_) {
    if (planned.experiment == 0) return false;
    if (checker_.Deleted(planned.experiment)) continue;
    const Experiment* experiment = FindExperiment(coordinator_.state().durable, planned.experiment);
    if (experiment == nullptr || !experiment->AllEnded()) return false;
  }
  return trainers_.Working().empty();
}

// 4: no worker works for long on an attempt that is over. If it hears nothing from the coordinator,
// the bound is the worker's grace and the time it gives a trainer to save.
void World::CheckOrphans() {
  if (!coordinator_.up()) return;
  const absl::Duration now = scheduler_.Now().steady;
  const absl::Duration bound =
      std::min(options_.torn_down_within, options_.disconnect_grace + limits::kCheckpointStopGrace +
                                              limits::kLease + absl::Seconds(20));
  std::map<std::pair<int, std::string>, absl::Duration> still;
  for (const auto& [worker, token] : trainers_.Working()) {
    const auto& tokens = coordinator_.state().durable.tokens;
    const auto found = tokens.find(*AttemptToken::FromHex(token));
    if (found != tokens.end()) {
      const Attempt* attempt = FindAttempt(coordinator_.state().durable, found->second);
      if (attempt->state != AttemptState::kEnded) continue;
    }
    const auto known = orphans_.find({worker, token});
    const absl::Duration since = known == orphans_.end() ? now : known->second;
    still[{worker, token}] = since;
    if (now - since > bound) {
      checker_.Complain(absl::StrCat("1: worker ", worker, " still works on ", token, " ",
                                     absl::FormatDuration(now - since), " after its end"));
    }
  }
  orphans_ = std::move(still);
}

// If nothing else fails, the processes end within two seconds of the acceptance of the cancel.
void World::CheckCancels() {
  if (!coordinator_.up()) return;
  const DurableState& durable = coordinator_.state().durable;
  const absl::Duration now = scheduler_.Now().steady;
  std::map<TrialId, absl::Duration> still;
  for (const auto& [worker, token] : trainers_.Working()) {
    const auto found = durable.tokens.find(*AttemptToken::FromHex(token));
    if (found == durable.tokens.end()) continue;
    const TrialId id = found->second.trial;
    const v1::TrialState state = GetTrial(durable, id).state;
    if (state != v1::TRIAL_STOPPING && state != v1::TRIAL_CANCELLED) continue;
    const auto known = dying_.find(id);
    still[id] = known == dying_.end() ? now : known->second;
    if (now - still[id] > absl::Seconds(2)) {
      checker_.Complain(absl::StrCat("trial ", ToString(id), " still trains 2 s after its cancel"));
    }
  }
  dying_ = std::move(still);
}

void World::WatchOrphans() {
  Every(absl::Seconds(1), [this] { CheckOrphans(); });
  if (options_.prompt) Every(absl::Milliseconds(50), [this] { CheckCancels(); });
}

}  // namespace dt::sim
