// clients.cc: see clients.h.
#include "tests/sim/clients.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/client_limits.h"
#include "common/client_trial.h"
#include "tests/sim/starts.h"
#include "tests/testing/experiments.h"

namespace dt::sim {
namespace {

constexpr absl::Duration kRepeatAfter = absl::Seconds(2);
// Far more than starts and standstills of the coordinator add to a lease.
constexpr absl::Duration kLongSilence = absl::Minutes(20);
// A call counts from its arrival. Its answer may come that much later, after the search's decision
// and a slow commit.
constexpr absl::Duration kSlowAnswer = absl::Seconds(6);
constexpr size_t kOldRequests = 8;
// The last step of a trial, in studies that compare trials at rungs.
constexpr int kStudySteps = 9;

using Metrics = google::protobuf::RepeatedPtrField<v1::Metric>;

std::string TextOf(const Metrics& metrics) {
  std::string text;
  for (const v1::Metric& metric : metrics) {
    absl::StrAppendFormat(&text, "%s=%.17g ", metric.name(), metric.value());
  }
  return text;
}

std::string TextOf(const v1::Evaluation& evaluation) {
  return absl::StrFormat("val_loss=%.17g ", evaluation.loss()) + TextOf(evaluation.metrics());
}

v1::Cause CauseOfEnd(v1::TellTrialRequest::End end) {
  if (end == v1::TellTrialRequest::FINISHED) return v1::CAUSE_FINISHED;
  if (end == v1::TellTrialRequest::FAILED) return v1::CAUSE_TRAINER_CRASH;
  return end == v1::TellTrialRequest::PRUNED ? v1::CAUSE_STOPPED_EARLY : v1::CAUSE_PREEMPTED;
}

absl::Duration Lasting(double lease) {
  return lease == 0 ? limits::kClientLease : absl::Seconds(lease);
}

template <typename Fact>
AttemptId AttemptIn(const Fact& fact) {
  return {{fact.experiment(), fact.trial()}, fact.attempt()};
}

}  // namespace

v1::ExperimentSpec StudyOf(Dice& dice) {
  v1::ExperimentSpec spec = OneTrial();
  spec.clear_explicit_paths();
  for (const char* path : {"command", "seed", "retries.max", "retries.backoff"}) {
    spec.add_explicit_paths(path);
  }
  v1::Spec& base = *spec.mutable_base();
  base.add_command(std::string(kClientTrialWord));
  base.mutable_retries()->set_max(dice.Between(0, 3));
  base.mutable_retries()->set_backoff_seconds(dice.Chance(0.5) ? 0 : 0.5);
  v1::Parameter& rate = *spec.add_parameters();
  rate.set_path("rate");
  rate.mutable_range()->set_min(0);
  rate.mutable_range()->set_max(1);
  v1::Search& search = *spec.mutable_search();
  search.set_method(dice.Chance(0.3) ? "asha" : dice.Chance(0.6) ? "bayes" : "random");
  search.set_max_trials(dice.Between(1, 12));
  if (dice.Chance(0.3)) search.set_max_concurrent(dice.Between(1, 3));
  if (dice.Chance(0.25)) search.set_goal("maximize");
  if (search.method() == "asha") {
    base.set_steps(kStudySteps);
    spec.add_explicit_paths("steps");
    search.set_sampler(dice.Chance(0.5) ? "bayes" : "random");
    search.mutable_asha()->set_eta(dice.Between(2, 3));
    search.mutable_asha()->set_rungs(dice.Between(1, 2));
    search.mutable_asha()->set_brackets(1);
  } else if (dice.Chance(0.3)) {
    search.add_constraints("latency_ms <= 20");
  } else if (dice.Chance(0.3)) {
    base.mutable_stop()->mutable_median()->set_after(dice.Between(1, 2));
  }
  return spec;
}

Clients::Clients(Scheduler& scheduler, const Options& options, const Faults& faults,
                 Coordinator& coordinator, Checker& checker)
    : scheduler_(scheduler),
      options_(options),
      faults_(faults),
      coordinator_(coordinator),
      checker_(checker),
      dice_(options.seed ^ 0xC11E47) {}

void Clients::Begin() {
  for (int i = 0; i < options_.clients; ++i) {
    Client& client = clients_.emplace_back();
    client.index = static_cast<uint64_t>(i) + 1;
    Rename(client);
    Later(client, dice_.Between(absl::ZeroDuration(), absl::Seconds(2)));
  }
}

// Makes it another process, which remembers nothing.
void Clients::Rename(Client& client) {
  constexpr double kLeases[] = {0, 5, 20, 90, 200};
  client.asker = client.asker == 0 ? client.index << 32 : client.asker + 1;
  client.lease = kLeases[dice_.Pick(std::size(kLeases))];
  leases_[client.asker] = client.lease;
  client.study = 0;
  client.attempt = {};
}

void Clients::Later(Client& client, absl::Duration delay) {
  scheduler_.After(delay, [this, &client, turn = client.turn] {
    if (client.turn == turn) Act(client);
  });
}

// Runs its trial for a while, now and then for most of its lease.
void Clients::Pause(Client& client) {
  const absl::Duration most =
      Faulty(1) ? 0.8 * Lasting(client.lease) : absl::Seconds(faults_.clients > 0 ? 3 : 1);
  Later(client, dice_.Between(absl::Milliseconds(10), most));
}

void Clients::Act(Client& client) {
  if (Faulty(1)) return Die(client);
  if (Faulty(1)) SendOld(client);
  if (Faulty(0.5)) SendAnothers(client);
  if (client.attempt.attempt == 0) return Ask(client);
  if (client.reports_left > 0) return Report(client);
  Tell(client);
}

// Comes back before or after the end of its lease: as another process, or with its number and
// with or without its memory.
void Clients::Die(Client& client) {
  ++client.turn;
  const absl::Duration silence = dice_.Between(absl::Milliseconds(100), 2 * Lasting(client.lease));
  if (dice_.Chance(0.5)) {
    Rename(client);
  } else if (dice_.Chance(0.5)) {
    client.attempt = {};
  }
  Later(client, silence);
}

template <typename Request>
void Clients::Send(Client& client, const Request& request, const Answered& then) {
  const uint64_t turn = ++client.turn;
  const bool lost = Faulty(1);
  if (Faulty(1)) coordinator_.Call(request, [this, request](const Reply& r) { Check(request, r); });
  coordinator_.Call(request, [this, &client, request, turn, lost, then](const Reply& reply) {
    Check(request, reply);
    if (lost || client.turn != turn) return;
    ++client.turn;
    then(reply);
  });
  scheduler_.After(kRepeatAfter, [this, &client, request, turn, then] {
    if (client.turn == turn) Send(client, request, then);
  });
}

template <typename Request>
Request Clients::RequestOf(const Client& client) const {
  Request request;
  request.set_experiment(client.attempt.trial.experiment);
  request.set_asker(client.asker);
  request.set_attempt_token(client.token);
  return request;
}

void Clients::AddValues(ExperimentId study, Metrics& metrics) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kOdd[] = {kNotANumber, kInfinity, -kInfinity};
  const bool both = watching_.contains(study) || dice_.Chance(0.2);
  for (const char* name : {"val_loss", "latency_ms"}) {
    if (metrics.size() == 1 && !both) return;
    v1::Metric& metric = *metrics.Add();
    metric.set_name(name);
    metric.set_value(Faulty(2) ? kOdd[dice_.Pick(std::size(kOdd))] : 0.125 * dice_.Between(1, 200));
  }
}

void Clients::CheckSilence() {
  for (const auto& [trial, id] : open_) {
    const Given& given = given_.at(id);
    const absl::Duration silence = scheduler_.Now().steady - given.heard;
    if (silence <= given.lease + options_.safety + kLongSilence) continue;
    checker_.Complain(absl::StrCat("16: attempt ", ToString(id), " goes on, and its client is not ",
                                   "heard since ", absl::FormatDuration(silence)));
  }
}

void Clients::Ask(Client& client) {
  CheckSilence();
  if (studies_.empty()) return Later(client, absl::Seconds(1));
  if (!studies_.contains(client.study)) {
    auto study = studies_.begin();
    std::advance(study, dice_.Pick(studies_.size()));
    client.study = *study;
  }
  v1::AskTrialRequest request;
  request.set_experiment(client.study);
  request.set_asker(client.asker);
  request.set_lease_seconds(client.lease);
  Send(client, request, [this, &client](const Reply& reply) { TakeTrial(client, reply); });
}

void Clients::TakeTrial(Client& client, const Reply& reply) {
  client.step = 0;
  client.reports_left = static_cast<int>(dice_.Pick(5));
  const ExperimentId study = std::exchange(client.study, 0);
  if (!reply.status.ok()) return Later(client, absl::Seconds(1));
  const auto& answer = static_cast<const v1::AskTrialResponse&>(*reply.response);
  if (answer.trial() == 0) return Later(client, absl::Seconds(2));
  client.study = study;
  client.attempt = {{study, answer.trial()}, answer.attempt()};
  client.token = answer.attempt_token();
  Pause(client);
}

void Clients::Report(Client& client) {
  auto request = RequestOf<v1::ReportTrialRequest>(client);
  if (dice_.Chance(0.8)) {  // otherwise it only renews its lease
    request.set_step(client.step += static_cast<uint64_t>(dice_.Between(1, 2)));
    AddValues(client.study, *request.mutable_metrics());
    if (const auto given = given_.find(client.attempt); given != given_.end()) {
      given->second.sent.insert({request.step(), TextOf(request.metrics())});
    }
  }
  client.old.emplace_back(request);
  Send(client, request, [this, &client](const Reply& reply) {
    --client.reports_left;
    // A client that forgot its step reports one that has passed.
    const bool goes_on =
        reply.status.ok() && !static_cast<const v1::ReportTrialResponse&>(*reply.response).stop();
    if (!goes_on) client.reports_left = 0;
    Pause(client);
  });
}

void Clients::Tell(Client& client) {
  auto request = RequestOf<v1::TellTrialRequest>(client);
  const int kind = dice_.Between(1, 10);
  request.set_end(kind == 1   ? v1::TellTrialRequest::FAILED
                  : kind == 2 ? v1::TellTrialRequest::PRUNED
                  : kind == 3 ? v1::TellTrialRequest::GIVEN_BACK
                              : v1::TellTrialRequest::FINISHED);
  if (kind > 1 && kind != 3 && dice_.Chance(0.9))
    AddValues(client.study, *request.mutable_metrics());
  if (const auto given = given_.find(client.attempt); given != given_.end()) {
    given->second.told.insert(CauseOfEnd(request.end()));
    given->second.results.insert(TextOf(request.metrics()));
  }
  client.old.emplace_back(request);
  Send(client, request, [this, &client](const Reply&) {
    client.attempt = {};
    if (dice_.Chance(0.5)) Rename(client);
    Pause(client);
  });
}

// Sends a former request again, which may be of a trial that it had before.
void Clients::SendOld(Client& client) {
  while (client.old.size() > kOldRequests) client.old.pop_front();
  if (client.old.empty()) return;
  std::visit(
      [this](const auto& request) {
        coordinator_.Call(request, [this, request](const Reply& reply) { Check(request, reply); });
      },
      client.old[dice_.Pick(client.old.size())]);
}

// Reports on the trial of another client, or tells its end.
void Clients::SendAnothers(const Client& client) {
  if (open_.empty()) return;
  auto open = open_.begin();
  std::advance(open, dice_.Pick(open_.size()));
  const Given& given = given_.at(open->second);
  if (given.asker == client.asker) return;
  const auto refused = [this, study = open->first.experiment](const Reply& reply) {
    if (reply.status.code() == absl::StatusCode::kNotFound || !studies_.contains(study)) return;
    checker_.Complain(
        absl::StrCat("11: a client names the trial of another one, and the answer is ",
                     reply.status.ToString()));
  };
  Client thief = client;
  thief.attempt = open->second;
  thief.token = given.token;
  auto report = RequestOf<v1::ReportTrialRequest>(thief);
  report.set_step(kStudySteps - 1);
  AddValues(thief.study, *report.mutable_metrics());
  coordinator_.Call(report, refused);
  auto tell = RequestOf<v1::TellTrialRequest>(thief);
  tell.set_end(v1::TellTrialRequest::FINISHED);
  coordinator_.Call(tell, refused);
}

void Clients::Take(const v1::Record& record) {
  if (record.has_experiment_submitted()) {
    const v1::ExperimentSubmitted& fact = record.experiment_submitted();
    if (!IsClientTrial(fact.spec().base().command())) return;
    if (!fact.spec().search().constraints().empty()) watching_.insert(fact.experiment());
    budgets_[fact.experiment()] = {fact.trials_size(), fact.spec().search().max_trials()};
    return;
  }
  if (record.has_experiment_deleted()) return Forget(record.experiment_deleted().experiment());
  if (record.has_attempt_started()) return TakeStart(record.attempt_started());
  if (record.has_evaluation()) return TakeValues(record.evaluation());
  if (record.has_attempt_ended()) return TakeEnd(record.attempt_ended());
  const v1::ExperimentChanged& change = record.experiment_changed();
  const auto budget = budgets_.find(record.has_trials_added() ? record.trials_added().experiment()
                                                              : change.experiment());
  if (budget == budgets_.end()) return;
  auto& [trials, most] = budget->second;
  trials += static_cast<size_t>(record.trials_added().trials_size());
  if (change.has_max_trials()) most = change.max_trials();
  if (trials <= most) return;
  checker_.Complain(absl::StrCat("8: study ", budget->first, " has ", trials, " trials of ", most));
}

void Clients::TakeStart(const v1::AttemptStarted& fact) {
  if (!budgets_.contains(fact.experiment())) return;
  const AttemptId id = AttemptIn(fact);
  const uint64_t asker = fact.members(0).instance();
  const bool shared = !open_.emplace(id.trial, id).second;
  const bool second = !has_.emplace(std::pair(fact.experiment(), asker), id).second;
  if (shared || second) {
    checker_.Complain(
        absl::StrCat("1: attempt ", ToString(id), " begins while ",
                     shared ? "another client has the trial" : "its client has another trial"));
  }
  Given& given = given_[id];
  given.asker = asker;
  given.token = fact.token();
  given.lease = Lasting(leases_.at(asker));
  given.heard = scheduler_.Now().steady;
  tokens_[fact.token()] = id;
}

void Clients::TakeValues(const v1::EvaluationRecorded& fact) {
  const auto found = given_.find(AttemptIn(fact));
  if (found == given_.end()) return;
  Given& given = found->second;
  const std::pair<uint64_t, std::string> at{fact.evaluation().step(), TextOf(fact.evaluation())};
  if (!given.sent.contains(at) && !given.results.contains(at.second)) {
    checker_.Complain(absl::StrCat("11: attempt ", ToString(found->first), " has values at step ",
                                   at.first, " that its client did not report: ", at.second));
  }
  if (given.stored.insert(at).second) return;
  // A metric that the search does not compare is not kept, so a repeated one counts as new.
  const ExperimentId study = fact.experiment();
  if (fact.evaluation().metrics_size() > 0 && !watching_.contains(study)) return;
  checker_.Complain(absl::StrCat("6: attempt ", ToString(found->first), " has the values of step ",
                                 at.first, " twice: ", at.second));
}

void Clients::TakeEnd(const v1::AttemptEnded& fact) {
  const auto found = given_.find(AttemptIn(fact));
  if (found == given_.end()) return;
  Given& given = found->second;
  given.ended = fact.cause();
  open_.erase(found->first.trial);
  has_.erase({fact.experiment(), given.asker});
  const std::string name = absl::StrCat("attempt ", ToString(found->first));
  const bool by_client = fact.cause() == v1::CAUSE_FINISHED ||
                         fact.cause() == v1::CAUSE_TRAINER_CRASH ||
                         fact.message() == kEndedByClient;
  if (by_client && !given.told.contains(fact.cause())) {
    checker_.Complain(absl::StrCat("11: ", name, " ends, and its client did not end it"));
  }
  if (fact.cause() != v1::CAUSE_WORKER_LOST) return;
  ++counts_.losses;
  const absl::Duration silence = scheduler_.Now().steady - given.heard;
  if (silence + kSlowAnswer >= given.lease) return;
  checker_.Complain(absl::StrCat("16: ", name, " is lost after ", absl::FormatDuration(silence),
                                 "; its client has a lease of ",
                                 absl::FormatDuration(given.lease)));
}

void Clients::Forget(ExperimentId study) {
  studies_.erase(study);
  const auto of_study = [study](const auto& entry) {
    return entry.first.trial.experiment == study;
  };
  std::erase_if(tokens_, [&](const auto& e) { return e.second.trial.experiment == study; });
  std::erase_if(given_, of_study);
}

template <typename Request>
Clients::Given* Clients::Named(const Request& request) {
  const auto token = tokens_.find(request.attempt_token());
  if (token == tokens_.end()) return nullptr;
  return &given_.at(token->second);
}

void Clients::Check(const v1::AskTrialRequest& request, const Reply& reply) {
  if (!studies_.contains(request.experiment())) return;
  if (!reply.status.ok()) {
    return checker_.Complain("a client may not ask: " + std::string(reply.status.message()));
  }
  const auto& answer = static_cast<const v1::AskTrialResponse&>(*reply.response);
  if (answer.trial() == 0) {
    const auto has = has_.find({request.experiment(), request.asker()});
    // The client may have got the trial in the same batch, by a later request.
    if (has == has_.end() || given_.at(has->second).heard == scheduler_.Now().steady) return;
    return checker_.Complain("2: a client that has a trial asks again and gets none");
  }
  Given* given = Named(answer);
  if (given == nullptr || given->asker != request.asker()) {
    return checker_.Complain(absl::StrCat("4: trial ", request.experiment(), "/", answer.trial(),
                                          " is given, and no record says so"));
  }
  given->heard = scheduler_.Now().steady;
}

void Clients::Check(const v1::ReportTrialRequest& request, const Reply& reply) {
  Given* given = Named(request);
  if (given == nullptr) return;
  if (!reply.status.ok()) {
    if (reply.status.code() == absl::StatusCode::kInvalidArgument) return;  // steps never fall
    return checker_.Complain("a report is refused: " + reply.status.ToString());
  }
  given->heard = scheduler_.Now().steady;
  if (static_cast<const v1::ReportTrialResponse&>(*reply.response).stop()) {
    given->stopped = true;
    if (given->ended != v1::CAUSE_UNSPECIFIED) return;
    return checker_.Complain("2: a client is asked to stop, and its trial goes on");
  }
  if (request.metrics().empty()) return;
  ++counts_.reports;
  if (given->stored.contains({request.step(), TextOf(request.metrics())})) return;
  // The same value is there beside another metric.
  const auto at = given->stored.lower_bound({request.step(), TextOf(request.metrics())});
  if (at != given->stored.end() && at->first == request.step() &&
      at->second.starts_with(TextOf(request.metrics()))) {
    return;
  }
  checker_.Complain(absl::StrCat("4: a report of step ", request.step(),
                                 " is acknowledged and not stored: ", TextOf(request.metrics())));
}

void Clients::Check(const v1::TellTrialRequest& request, const Reply& reply) {
  Given* given = Named(request);
  if (given == nullptr) return;
  if (!reply.status.ok()) {
    return checker_.Complain("an end is refused: " + reply.status.ToString());
  }
  const auto& answer = static_cast<const v1::TellTrialResponse&>(*reply.response);
  const bool same = given->ended == CauseOfEnd(request.end());
  if (given->ended == v1::CAUSE_UNSPECIFIED || answer.counted() != same) {
    return checker_.Complain(absl::StrCat("4: an end ", answer.counted() ? "counts" : "counts not",
                                          ", and the journal has ", v1::Cause_Name(given->ended)));
  }
  if (!answer.counted()) return;
  if (!std::exchange(given->counted, true)) ++counts_.ends;
  // A rule of the search may have ended it before.
  if (request.metrics().empty() || given->stopped) return;
  const std::string values = TextOf(request.metrics());
  const bool stored =
      std::any_of(given->stored.begin(), given->stored.end(),
                  [&](const auto& each) { return each.second.starts_with(values); });
  if (!stored) checker_.Complain("4: a result counts and is not stored: " + values);
}

void Clients::AtTheEnd(const DurableState& durable) {
  for (const auto& [id, given] : given_) {
    const Trial& trial = GetTrial(durable, id.trial);
    const std::string name = absl::StrCat("attempt ", ToString(id));
    if (given.ended == v1::CAUSE_UNSPECIFIED) checker_.Complain("2: no record ends " + name);
    if (!given.counted || given.ended != v1::CAUSE_FINISHED) continue;
    const bool last = trial.attempts.size() == id.attempt && trial.cause == v1::CAUSE_FINISHED;
    if (trial.state == v1::TRIAL_FINISHED && last) continue;
    checker_.Complain(absl::StrCat("3: ", name, " finished, and its trial is ",
                                   v1::TrialState_Name(trial.state)));
  }
}

}  // namespace dt::sim
