// checker.cc: the invariants as code.
#include "tests/sim/checker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "common/view.h"
#include "coordinator/core/facts/hash.h"
#include "tests/testing/queue_check.h"

namespace dt::sim {
void Checker::CheckLeases(const State& state) {
  std::map<std::string, TrialId> holder;
  for (const auto& [number, experiment] : state.durable.experiments) {
    for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
      const Trial& trial = experiment.trials[i - 1];
      if (!IsActive(trial.state)) continue;
      const TrialId id{number, i};
      const Attempt& attempt = trial.attempts.back();
      const Shape shape = ShapeOf(experiment, trial);
      const auto size = static_cast<int32_t>(attempt.members.size());
      if (size < shape.least() || size > shape.most()) {
        Complain(absl::StrCat("1: trial ", ToString(id), " has a gang of ", size, " and asked for ",
                              ShapeText(shape)));
      }
      for (const GangMember& member : attempt.members) {
        const auto [place, inserted] = holder.emplace(member.worker, id);
        if (!inserted) {
          Complain(absl::StrCat("1: worker ", member.worker, " is leased to ", ToString(id),
                                " and to ", ToString(place->second)));
        }
      }
    }
  }
  for (const Worker& worker : state.live.workers) {
    if (worker.name.empty()) continue;
    const DeviceKind device = DeviceKindOf(worker.hello.device());
    const bool free = PoolOf(state.live, device).IsFree(worker.index);
    const bool silent = worker.stream == 0 && device != DeviceKind::kClient;
    if (free && (worker.attempt != nullptr || silent)) {
      Complain(absl::StrCat("1: worker ", worker.name, " is free and is not"));
    }
  }
}

void Checker::CheckSteps(const State& state) {
  for (const auto& [token, attempt] : state.live.attempts) {
    const Trial* trial = FindTrial(state.durable, attempt->id.trial);
    if (trial == nullptr || trial->target_steps == 0) continue;
    uint64_t most = attempt->step;
    for (const KnownEvaluation& evaluation : trial->evaluations) {
      most = std::max(most, evaluation.step);
    }
    if (most > trial->target_steps) {
      Complain(absl::StrCat("11: attempt ", ToString(attempt->id), " is at step ", most, " of ",
                            trial->target_steps));
    }
  }
}

void Checker::CheckBounds(const State& state) {
  size_t trials = 0;
  for (const auto& [number, experiment] : state.durable.experiments) {
    trials += experiment.trials.size();
  }
  const size_t workers = state.live.workers.size();
  // Each worker has a lease and perhaps a timer to leave, each trial an attempt and a parking
  // place. Then there are old acknowledgements, a look at the lines, and rests.
  if (state.live.timers.size() >
      2 * workers + state.live.attempts.size() + trials + 2 + state.live.resting.size()) {
    Complain(absl::StrCat("8: ", state.live.timers.size(), " timers for ", workers, " workers and ",
                          trials, " trials"));
  }
  if (state.live.attempts.size() > workers + trials) {
    Complain(absl::StrCat("8: ", state.live.attempts.size(), " live attempts"));
  }
  if (!state.live.orders_due.empty()) Complain("8: orders are due after a step");
}

// 12: a recorded request to stop reaches its gang, whichever process recorded it.
void Checker::CheckSaving(const State& state) {
  for (const auto& [token, attempt] : state.live.attempts) {
    const Attempt* recorded = FindAttempt(state.durable, attempt->id);
    if (recorded == nullptr || !attempt->Open()) continue;
    if (recorded->AskedToStop() && !attempt->saving) {
      Complain(absl::StrCat("12: attempt ", ToString(attempt->id),
                            " was asked to stop, and its gang is not told"));
    }
  }
}

// 12: a paused experiment starts nothing, and a requested stop costs nothing.
void Checker::CheckEdits(const v1::Record& record) {
  if (record.has_experiment_changed()) {
    const v1::ExperimentChanged& fact = record.experiment_changed();
    if (fact.has_pause()) paused_.insert(fact.experiment());
    if (fact.has_resume()) paused_.erase(fact.experiment());
  } else if (record.has_stop_requested()) {
    const v1::StopRequested& fact = record.stop_requested();
    asked_.insert({{fact.experiment(), fact.trial()}, fact.attempt()});
  } else if (record.has_attempt_started()) {
    const v1::AttemptStarted& fact = record.attempt_started();
    if (!paused_.contains(fact.experiment())) return;
    Complain(absl::StrCat("12: experiment ", fact.experiment(), " is paused and starts trial ",
                          fact.trial()));
  } else if (record.has_attempt_ended()) {
    const v1::AttemptEnded& fact = record.attempt_ended();
    const AttemptId id{{fact.experiment(), fact.trial()}, fact.attempt()};
    const Consequence consequence = ConsequenceOf(fact.cause());
    // A client that says that its trial failed means it for good.
    if (studies_.contains(fact.experiment()) && fact.cause() == v1::CAUSE_TRAINER_CRASH) return;
    const bool asked = asked_.contains(id) || fact.cause() == v1::CAUSE_PREEMPTED;
    const bool another =
        consequence == Consequence::kRetriesCrash || consequence == Consequence::kRetriesLoss;
    if (!asked || !another || fact.attempt() >= limits::kAttemptsPerTrial) return;
    const bool free = fact.uncharged() && fact.retry_after_ms() >= 0;
    if (free && (fact.retry_after_ms() == 0 || !asked_.contains(id))) return;
    Complain(absl::StrCat("12: attempt ", ToString(id), " was asked to stop, and its end as ",
                          View(Name(fact.cause())), " is charged"));
  }
}

void Checker::AfterStep(const State& state, const Effects& effects, absl::Duration now) {
  Complain(schedule_.AfterStep(state, effects, now));
  Complain(fairness_.AfterStep(state, effects));
  Complain(detection_.AfterStep(state, effects, now));
  if (workers_ == Workers::kHonest) Complain(rescue_.AfterStep(state, effects, now));
  CheckSaving(state);
  CheckLeases(state);
  CheckBounds(state);
  CheckSteps(state);
  Complain(MisplacedIn(state));
  // An honest worker repeats items under their old numbers, which is no contradiction.
  if (workers_ == Workers::kHonest && state.live.doubted > 0) {
    Complain(absl::StrCat("6: an honest worker is not believed: ",
                          absl::StrJoin(effects.log_lines, "; ")));
  }
  std::set<ReplyId> replies;
  for (const Reply& reply : effects.replies) {
    if (!replies.insert(reply.id).second) Complain("4: a call was answered twice");
  }
}

void Checker::CheckRecord(const v1::Record& record) {
  const auto of = [this](const auto& fact) -> Seen& {
    return seen_[{fact.experiment(), fact.trial()}];
  };
  const auto live = [this](const Seen& seen, const char* what) {
    if (IsTerminal(seen.state)) {
      Complain(absl::StrCat("3: ", what, " for a trial that is ", View(Name(seen.state))));
    }
  };
  if (record.has_attempt_started()) {
    Seen& seen = of(record.attempt_started());
    live(seen, "an attempt");
    if (record.attempt_started().attempt() != seen.attempts + 1) {
      Complain(absl::StrCat("3: attempt ", record.attempt_started().attempt(), " follows attempt ",
                            seen.attempts));
    }
    seen.attempts = record.attempt_started().attempt();
    started_.insert(record.attempt_started().token());
  } else if (record.has_attempt_running()) {
    live(of(record.attempt_running()), "running");
    if (record.attempt_running().attempt() != of(record.attempt_running()).attempts) {
      Complain("11: an attempt that is not the newest runs");
    }
  } else if (record.has_attempt_ended()) {
    live(of(record.attempt_ended()), "an end");
  } else if (record.has_evaluation()) {
    live(of(record.evaluation()), "an evaluation");
    if (record.evaluation().attempt() != of(record.evaluation()).attempts) {
      Complain("11: an attempt that is not the newest registers an evaluation");
    }
    const v1::EvaluationRecorded& fact = record.evaluation();
    const AttemptId attempt{{fact.experiment(), fact.trial()}, fact.attempt()};
    // A client may report twice at a step, with other values (clients.h).
    const bool again = !evaluated_[attempt].insert(fact.evaluation().step()).second;
    if (again && !studies_.contains(fact.experiment())) {
      Complain(absl::StrCat("6: the evaluation of step ", fact.evaluation().step(), " of ",
                            ToString(attempt), " counts twice"));
    }
  } else if (record.has_checkpoint()) {
    live(of(record.checkpoint()), "a checkpoint");
    if (record.checkpoint().attempt() != of(record.checkpoint()).attempts) {
      Complain("11: an attempt that is not the newest registers a checkpoint");
    }
  } else if (record.has_trial_ended()) {
    Seen& seen = of(record.trial_ended());
    live(seen, "a second end");
    seen.state = record.trial_ended().state();
  } else if (record.has_trial_retried()) {
    Seen& seen = of(record.trial_retried());
    if (!IsTerminal(seen.state)) Complain("3: a trial is retried that has not ended");
    seen.state = v1::TRIAL_PENDING;
  } else if (record.has_experiment_submitted()) {
    const v1::ExperimentSubmitted& fact = record.experiment_submitted();
    if (IsClientTrial(fact.spec().base().command())) studies_.insert(fact.experiment());
  } else if (record.has_experiment_deleted()) {
    deleted_.insert(record.experiment_deleted().experiment());
  }
}

void Checker::AfterCommit(const State& state, const std::vector<Effects>& batch,
                          const Storages& storages) {
  for (const Effects& effects : batch) {
    // Before the records: an event's rows for an attempt come before it starts another attempt.
    for (const ChunkToStore& chunk : effects.chunks) {
      if (chunk.attempt.attempt != seen_[chunk.attempt.trial].attempts) {
        Complain("11: an attempt that is not the newest has rows stored");
      }
      const Trial* trial = FindTrial(state.durable, chunk.attempt.trial);
      if (trial != nullptr && !trial->attempts[chunk.attempt.attempt - 1].ran) {
        Complain("11: rows of an attempt that never ran");
      }
      v1::StepRows rows;
      if (!rows.ParseFromString(chunk.rows)) Complain("6: rows that cannot be read");
      for (const v1::StepRow& row : rows.rows()) {
        ++rows_stored_;
        if (!rows_[chunk.attempt].insert(row.step()).second) {
          Complain(absl::StrCat("6: step ", row.step(), " of ", ToString(chunk.attempt),
                                " is stored twice"));
        }
      }
    }
    for (const v1::Record& record : effects.records) {
      CheckRecord(record);
      CheckEdits(record);
      Complain(drains_.Take(record));
      if (!record.has_checkpoint()) continue;
      const v1::CheckpointRef& ref = record.checkpoint().checkpoint();
      const auto storage = storages.find(ref.storage_id());
      if (storage == storages.end() || !storage->second.contains(ref.path())) {
        Complain(absl::StrCat("10: the registry names ", ref.path(), ", which does not exist"));
      }
    }
  }
}

void Checker::CheckOrders(const Worker& worker, const v1::Orders& orders, MemoryStore& store) {
  if (orders.has_attempt() && !orders.attempt().abandon() && !orders.attempt().kill() &&
      !started_.contains(orders.attempt().attempt_token())) {
    Complain(absl::StrCat("4: worker ", worker.name, " is told of an attempt whose start is not ",
                          "durable"));
  }
  if (orders.acked_sequence() == 0) return;
  uint64_t durable = 0;
  const auto acks = store.ReadAcks();
  for (const AckToStore& ack : *acks) {
    if (ack.worker == worker.name && ack.instance == worker.instance) durable = ack.sequence;
  }
  if (orders.acked_sequence() > durable) {
    Complain(absl::StrCat("4: worker ", worker.name, " is told that item ", orders.acked_sequence(),
                          " is durable; the store has ", durable));
  }
}

void Checker::CheckReplayed(const DurableState& replayed, const std::string& hash) {
  if (HashOf(replayed) != hash) {
    Complain("5: the replayed journal differs from the state in memory");
  }
  for (const auto& [id, trials] : acknowledged_) {
    const Experiment* experiment = FindExperiment(replayed, id);
    if (Deleted(id) && experiment == nullptr) continue;
    if (experiment == nullptr || experiment->planned < trials) {
      Complain(absl::StrCat("4: experiment ", id, " was acknowledged and is not in the journal"));
    }
  }
  for (const auto& [id, experiment] : replayed.experiments) Complain(MiscountOf(experiment));
}

void Checker::CheckRequeues(const Experiment& experiment) {
  const auto most = static_cast<size_t>(experiment.spec.base().retries().max());
  for (const Trial& trial : experiment.trials) {
    size_t without_progress = 0;
    for (const Attempt& attempt : trial.attempts) {
      if (attempt.progressed) without_progress = 0;
      if (!attempt.progressed && !attempt.uncharged) ++without_progress;
      // Crashes and losses have a budget each; a user's retry renews both, at most twice.
      if (without_progress > 3 * (2 * most + 2)) {
        Complain(absl::StrCat("2: ", without_progress, " attempts without progress"));
      }
    }
  }
}

// 6: a row counts up to the step from which the next attempt resumed. So each attempt resumes only
// from a step up to which all rows are stored.
void Checker::CheckRowsOf(TrialId id, const Trial& trial, uint64_t dropped) {
  std::set<uint64_t> count;
  uint64_t until = trial.target_steps;
  for (auto number = static_cast<uint32_t>(trial.attempts.size()); number > 0; --number) {
    const Attempt& attempt = trial.attempts[number - 1];
    if (!attempt.ran) continue;
    // A member of a population takes over another trial's checkpoint, which may be further.
    if (attempt.resume && !attempt.resume->path().starts_with(ToString(id) + "/")) return;
    // The next attempt may resume from an older checkpoint than this one did.
    if (attempt.resumed_step >= until) continue;
    const std::set<uint64_t>& stored = rows_[{id, number}];
    count.insert(stored.upper_bound(attempt.resumed_step), stored.upper_bound(until));
    until = attempt.resumed_step;
  }
  if (count.size() + dropped >= trial.target_steps) return;
  Complain(absl::StrCat("6: trial ", ToString(id), " finished at step ", trial.target_steps,
                        "; the rows of ", count.size(), " steps are stored"));
}

void Checker::AtTheEnd(const State& state, const Trainers& trainers) {
  for (const auto& [id, experiment] : state.durable.experiments) {
    Complain(MiscountOf(experiment));
    CheckRequeues(experiment);
    for (uint32_t i = 1; i <= experiment.trials.size(); ++i) {
      const Trial& trial = experiment.trials[i - 1];
      if (!IsTerminal(trial.state)) {
        Complain(absl::StrCat("2: trial ", ToString(TrialId{id, i}), " is still ",
                              View(Name(trial.state)), " long after the last fault"));
      }
      if (trial.state != v1::TRIAL_FINISHED || trial.cause != v1::CAUSE_FINISHED) continue;
      // The attempt that finished reported every step it made, and none of them is lost.
      const Attempt& last = trial.attempts.back();
      const auto told = trainers.logged().find(last.token.ToHex());
      const AttemptId attempt{{id, i}, static_cast<uint32_t>(trial.attempts.size())};
      const std::set<uint64_t>& stored = rows_[attempt];
      if (told != trainers.logged().end() && told->second.size() != stored.size()) {
        Complain(absl::StrCat("6: attempt ", ToString(attempt), " told of ", told->second.size(),
                              " rows; ", stored.size(), " are stored"));
      }
      if (!stored.empty() && *stored.rbegin() != trial.target_steps) {
        Complain(absl::StrCat("6: ", ToString(attempt), " finished at step ", trial.target_steps,
                              "; its last row is of step ", *stored.rbegin()));
      }
      if (!studies_.contains(id)) CheckRowsOf({id, i}, trial, state.live.dropped_rows);
    }
  }
}

}  // namespace dt::sim
