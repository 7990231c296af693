#include "coordinator/core/facts/hash.h"

#include <bit>
#include <cstdint>

#include "common/check.h"
#include "common/sha256.h"

namespace dt {
namespace {

class Digest {
 public:
  Digest& Add(uint64_t value) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
    hash_.Update(bytes, sizeof(bytes));
    return *this;
  }
  // Adds the length too, so that neighbouring texts cannot be confused.
  Digest& Add(std::string_view text) {
    Add(text.size());
    hash_.Update(text);
    return *this;
  }
  Digest& Add(double value) { return Add(std::bit_cast<uint64_t>(value)); }
  std::string TakeHex() { return hash_.FinishHex(); }

 private:
  Sha256 hash_;
};

void AddId(Digest& digest, const AttemptId& id) {
  digest.Add(id.trial.experiment).Add(uint64_t{id.trial.trial}).Add(uint64_t{id.attempt});
}

void AddAttempt(Digest& digest, const Attempt& attempt) {
  digest.Add(attempt.token.ToBytes());
  digest.Add(static_cast<uint64_t>(attempt.state)).Add(static_cast<uint64_t>(attempt.cause));
  digest.Add(static_cast<uint64_t>(attempt.deciding_rank)).Add(attempt.members.size());
  for (const GangMember& member : attempt.members) {
    digest.Add(member.worker).Add(member.instance).Add(member.host).Add(member.device_name);
    digest.Add(static_cast<uint64_t>(member.local_rank));
  }
  digest.Add(attempt.resume.has_value() ? attempt.resume->SerializeAsString() : std::string());
  digest.Add(attempt.resumed_step).Add(attempt.last_step);
  digest.Add(attempt.reason).Add(attempt.message).Add(attempt.hint);
  digest.Add(static_cast<uint64_t>(attempt.started_wall_ms));
  digest.Add(static_cast<uint64_t>(attempt.running_wall_ms));
  digest.Add(static_cast<uint64_t>(attempt.ended_wall_ms));
  digest.Add(static_cast<uint64_t>(attempt.trained_ms));
  digest.Add(static_cast<uint64_t>(attempt.ran)).Add(static_cast<uint64_t>(attempt.progressed));
  digest.Add(static_cast<uint64_t>(attempt.uncharged));
  digest.Add(static_cast<uint64_t>(attempt.early)).Add(uint64_t{attempt.ordinal});
  digest.Add(static_cast<uint64_t>(attempt.stop_why)).Add(attempt.stop_reason);
  digest.Add(attempt.stop_for.experiment).Add(uint64_t{attempt.stop_for.trial});
  digest.Add(uint64_t{attempt.stop_slots});
}

void AddTrial(Digest& digest, const Trial& trial) {
  digest.Add(static_cast<uint64_t>(trial.state)).Add(static_cast<uint64_t>(trial.cause));
  digest.Add(uint64_t{trial.tries.crashes})
      .Add(uint64_t{trial.tries.losses})
      .Add(trial.target_steps);
  digest.Add(static_cast<uint64_t>(trial.retry_after_ms));
  digest.Add(static_cast<uint64_t>(trial.ended_wall_ms));
  digest.Add(trial.expanded)
      .Add(trial.chosen)
      .Add(trial.prepared)
      .Add(trial.last_row)
      .Add(trial.message);
  digest.Add(trial.pace.SerializeAsString());
  digest.Add(trial.attempts.size());
  for (const Attempt& attempt : trial.attempts) AddAttempt(digest, attempt);
  digest.Add(trial.checkpoints.size());
  for (const KnownCheckpoint& checkpoint : trial.checkpoints) {
    digest.Add(uint64_t{checkpoint.attempt}).Add(checkpoint.ref.SerializeAsString());
  }
  digest.Add(trial.evaluations.size());
  for (const KnownEvaluation& evaluation : trial.evaluations) {
    digest.Add(uint64_t{evaluation.attempt}).Add(evaluation.step).Add(evaluation.loss);
    digest.Add(evaluation.metric);
  }
  digest.Add(trial.rungs.size());
  for (const KnownRung& rung : trial.rungs) {
    digest.Add(uint64_t{rung.rung}).Add(rung.step).Add(rung.cost);
    digest.Add(static_cast<uint64_t>(rung.goes_on));
  }
  digest.Add(trial.mutations.size());
  for (const KnownMutation& mutation : trial.mutations) {
    digest.Add(uint64_t{mutation.attempt}).Add(uint64_t{mutation.from_trial}).Add(mutation.step);
    digest.Add(mutation.taken.ref.SerializeAsString()).Add(mutation.expanded_before);
    digest.Add(mutation.reason);
  }
  const search::TrialProgress& validated = trial.validated;
  digest.Add(validated.step).Add(validated.validations).Add(validated.best).Add(validated.mean);
  digest.Add(static_cast<uint64_t>(validated.without_better)).Add(trial.means.size());
  for (const MeanAt& mean : trial.means) digest.Add(mean.step).Add(mean.mean);
}

void AddExperiment(Digest& digest, const Experiment& experiment) {
  digest.Add(experiment.id).Add(experiment.request_id).Add(experiment.request_digest);
  digest.Add(experiment.spec.SerializeAsString());
  digest.Add(experiment.file_name).Add(experiment.file_text);
  digest.Add(static_cast<uint64_t>(experiment.submitted_wall_ms));
  digest.Add(static_cast<uint64_t>(experiment.ended_wall_ms));
  digest.Add(static_cast<uint64_t>(experiment.cancel_requested));
  digest.Add(uint64_t{experiment.planned}).Add(static_cast<uint64_t>(experiment.search_ended));
  digest.Add(static_cast<uint64_t>(experiment.paused)).Add(experiment.paused_by);
  if (!experiment.paused_why.empty()) digest.Add(experiment.paused_why);
  digest.Add(experiment.edits.size());
  for (const Edit& edit : experiment.edits) {
    digest.Add(static_cast<uint64_t>(edit.wall_ms)).Add(edit.who).Add(edit.what);
  }
  digest.Add(experiment.submitted_by).Add(experiment.note).Add(uint64_t{experiment.level});
  digest.Add(static_cast<uint64_t>(experiment.archived));
  digest.Add(experiment.search_end).Add(experiment.resolved.SerializeAsString());
  digest.Add(experiment.resolved_paths.size());
  for (const std::string& path : experiment.resolved_paths) digest.Add(path);
  for (uint32_t count :
       {experiment.pending, experiment.active, experiment.finished, experiment.failed,
        experiment.cancelled, experiment.oom, experiment.stopped_early, experiment.attempts,
        experiment.newest_progress}) {
    digest.Add(uint64_t{count});
  }
  digest.Add(experiment.trials.size());
  for (const Trial& trial : experiment.trials) AddTrial(digest, trial);
}

void AddMarks(Digest& digest, const DurableState& state) {
  digest.Add(state.marks.size());
  for (const auto& [worker, mark] : state.marks) {
    digest.Add(worker).Add(static_cast<uint64_t>(mark.drained)).Add(mark.reason).Add(mark.who);
    digest.Add(static_cast<uint64_t>(mark.since_wall_ms));
    digest.Add(static_cast<uint64_t>(mark.quarantined)).Add(mark.quarantine_reason);
    digest.Add(uint64_t{mark.quarantines}).Add(static_cast<uint64_t>(mark.quarantined_wall_ms));
    digest.Add(mark.returned.size());
    for (const AttemptId& id : mark.returned) AddId(digest, id);
  }
  digest.Add(state.streaks.size());
  for (const auto& [worker, streak] : state.streaks) {
    digest.Add(worker).Add(streak.ends.size());
    for (const CountedEnd& end : streak.ends) {
      AddId(digest, end.id);
      digest.Add(uint64_t{end.begun});
    }
  }
}

void AddFigures(Digest& digest, const DurableState& state) {
  digest.Add(state.figures.size());
  for (const auto& [key, known] : state.figures) {
    digest.Add(key.device_name).Add(known.figure.SerializeAsString());
    digest.Add(known.by.experiment).Add(uint64_t{known.by.trial});
    digest.Add(static_cast<uint64_t>(known.wall_ms));
  }
}

void AddQuotas(Digest& digest, const DurableState& state) {
  digest.Add(state.quotas.size());
  for (const auto& [key, quota] : state.quotas) {
    digest.Add(key.user).Add(key.label).Add(uint64_t{quota.slots}).Add(quota.who);
    digest.Add(static_cast<uint64_t>(quota.since_wall_ms));
  }
}

}  // namespace

std::string HashOf(const DurableState& state) {
  Digest digest;
  digest.Add(state.journal_id).Add(state.next_experiment).Add(state.experiments.size());
  for (const auto& [id, experiment] : state.experiments) AddExperiment(digest, experiment);
  AddMarks(digest, state);
  AddFigures(digest, state);
  AddQuotas(digest, state);
  digest.Add(state.next_notice).Add(state.notices.size());
  for (const auto& [number, notice] : state.notices) digest.Add(notice.SerializeAsString());
  return digest.TakeHex();
}

AttemptToken MakeToken(const std::array<uint64_t, 2>& entropy, const AttemptId& id) {
  Digest digest;
  digest.Add(entropy[0]).Add(entropy[1]);
  digest.Add(id.trial.experiment).Add(uint64_t{id.trial.trial}).Add(uint64_t{id.attempt});
  const auto token = AttemptToken::FromHex(digest.TakeHex().substr(0, 32));
  DT_CHECK(token.ok());
  return *token;
}

}  // namespace dt
