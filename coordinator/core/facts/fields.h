// fields.h: the fields of durable state, one row each. Save, load (snapshot.cc) and hash (hash.cc)
// follow from the rows.
//
// Role:      Fields(visit, value) shows every member of a durable struct to a visitor, with its
//            field in snapshot.proto. rows.h lists the kinds of rows. The order of the rows is the
//            order of the hash; a snapshot is in the order of its field numbers.
// Invariant: every member has one row; otherwise it does not compile.
// Tests:     tests/coordinator/core/snapshot_test.cc
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/ids.h"
#include "coordinator/core/facts/rows.h"
#include "coordinator/core/model/durable.h"

namespace dt {

namespace search {  // where the compiler looks for the Fields of its types

template <typename Visit>
constexpr void Fields(Visit& visit, Of<TrialProgress> auto& validated) {
  visit(DT_FIELD(validated, step));
  visit(DT_FIELD(validated, validations));
  visit(DT_FIELD(validated, best));
  visit(DT_FIELD(validated, mean));
  visit(DT_FIELD(validated, without_better));
}

}  // namespace search

template <typename Visit>
constexpr void Fields(Visit& visit, Of<TrialId> auto& id) {
  visit(DT_FIELD(id, experiment));
  visit(DT_FIELD(id, trial));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<AttemptId> auto& id) {
  visit.Flat(id.trial);
  visit(DT_FIELD(id, attempt));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<GangMember> auto& member) {
  visit(DT_FIELD(member, worker));
  visit(DT_FIELD(member, instance));
  visit(DT_FIELD(member, host));
  visit(DT_FIELD(member, device_name));
  visit(DT_FIELD(member, local_rank));
  visit(DT_FIELD(member, lease_ms));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<Attempt> auto& attempt) {
  visit(DT_FIELD(attempt, token));
  visit(DT_FIELD(attempt, state));
  visit(DT_FIELD(attempt, cause));
  visit(DT_FIELD(attempt, deciding_rank));
  visit(DT_FIELD(attempt, members));
  visit(DT_FIELD(attempt, resume));
  visit(DT_FIELD(attempt, resumed_step));
  visit(DT_FIELD(attempt, last_step));
  visit(DT_FIELD(attempt, reason));
  visit(DT_FIELD(attempt, message));
  visit(DT_FIELD(attempt, hint));
  visit(DT_FIELD(attempt, started_wall_ms));
  visit(DT_FIELD(attempt, running_wall_ms));
  visit(DT_FIELD(attempt, ended_wall_ms));
  visit(DT_FIELD(attempt, trained_ms));
  visit(DT_FIELD(attempt, ran));
  visit(DT_FIELD(attempt, progressed));
  visit(DT_FIELD(attempt, uncharged));
  visit(DT_FIELD(attempt, early));
  visit(DT_FIELD(attempt, ordinal));
  visit(DT_FIELD(attempt, stop_why));
  visit(DT_FIELD(attempt, stop_reason));
  visit.Flat(attempt.stop_for, [](auto& rows, auto& id) {
    rows(DT_SAVED(stop_for_experiment), id.experiment);
    rows(DT_SAVED(stop_for_trial), id.trial);
  });
  visit(DT_FIELD(attempt, stop_slots));
  visit.AfterLoad(attempt,
                  [](auto& loaded) { loaded.trained_ms = TrainedMs(loaded, loaded.trained_ms); });
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<KnownCheckpoint> auto& known) {
  visit(DT_FIELD(known, attempt));
  visit(DT_FIELD(known, ref));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<KnownEvaluation> auto& known) {
  visit(DT_FIELD(known, attempt));
  visit(DT_FIELD(known, step));
  visit(DT_FIELD(known, loss));
  visit(DT_FIELD(known, metric));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<KnownRung> auto& known) {
  visit(DT_FIELD(known, rung));
  visit(DT_FIELD(known, step));
  visit(DT_FIELD(known, cost));
  visit(DT_FIELD(known, goes_on));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<KnownMutation> auto& known) {
  visit(DT_FIELD(known, attempt));
  visit(DT_FIELD(known, from_trial));
  visit(DT_FIELD(known, step));
  visit.Flat(known.taken, [](auto& rows, auto& taken) {  // its attempt is always 0
    rows(DT_SAVED(checkpoint), taken.ref);
  });
  visit(DT_FIELD(known, expanded_before));
  visit(DT_FIELD(known, reason));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<Tries> auto& tries) {
  visit(DT_FIELD(tries, crashes));
  visit(DT_FIELD(tries, losses));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<Trial> auto& trial) {
  visit(DT_FIELD(trial, state));
  visit(DT_FIELD(trial, cause));
  visit.Flat(trial.tries);
  visit(DT_FIELD(trial, target_steps));
  visit(DT_FIELD(trial, retry_after_ms));
  visit(DT_FIELD(trial, ended_wall_ms));
  visit(DT_FIELD(trial, expanded));
  visit(DT_FIELD(trial, chosen));
  visit(DT_FIELD(trial, prepared));
  visit.Unhashed(DT_FIELD(trial, last_loss));  // follows from last_row
  visit(DT_FIELD(trial, last_row));
  visit(DT_FIELD(trial, message));
  visit(DT_FIELD(trial, pace));
  visit(DT_FIELD(trial, attempts));
  visit(DT_FIELD(trial, checkpoints));
  visit(DT_FIELD(trial, evaluations));
  visit(DT_FIELD(trial, rungs));
  visit(DT_FIELD(trial, mutations));
  visit.HashedIfSet(DT_FIELD(trial, watched));
  // Without a value in the snapshot (an older version), both keep their defaults and count anew.
  visit(DT_FIELD(trial, validated));
  visit.Within(DT_SAVED(validated), trial.means, [](auto& rows, auto& means) {
    rows.Columns(means, DT_SAVED(mean_steps), &MeanAt::step, DT_SAVED(means), &MeanAt::mean);
  });
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<Edit> auto& edit) {
  visit(DT_FIELD(edit, wall_ms));
  visit(DT_FIELD(edit, who));
  visit(DT_FIELD(edit, what));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<Experiment> auto& experiment) {
  visit(DT_FIELD(experiment, id));
  visit(DT_FIELD(experiment, request_id));
  visit(DT_FIELD(experiment, request_digest));
  visit(DT_FIELD(experiment, spec));
  visit.Index(experiment.watches);
  visit(DT_FIELD(experiment, file_name));
  visit(DT_FIELD(experiment, file_text));
  visit(DT_FIELD(experiment, submitted_wall_ms));
  visit(DT_FIELD(experiment, ended_wall_ms));
  visit(DT_FIELD(experiment, cancel_requested));
  visit(DT_FIELD(experiment, planned));
  visit(DT_FIELD(experiment, search_ended));
  visit(DT_FIELD(experiment, paused));
  visit(DT_FIELD(experiment, paused_by));
  visit.HashedIfSet(DT_FIELD(experiment, paused_why));
  visit.HashedIfSet(DT_FIELD(experiment, environment_lock));
  visit(DT_FIELD(experiment, edits));
  visit(DT_FIELD(experiment, submitted_by));
  visit(DT_FIELD(experiment, note));
  visit(DT_FIELD(experiment, level));
  visit(DT_FIELD(experiment, archived));
  visit(DT_FIELD(experiment, search_end));
  visit(DT_FIELD(experiment, resolved));
  visit(DT_FIELD(experiment, resolved_paths));
  visit(DT_FIELD(experiment, pending));
  visit(DT_FIELD(experiment, active));
  visit(DT_FIELD(experiment, finished));
  visit(DT_FIELD(experiment, failed));
  visit(DT_FIELD(experiment, cancelled));
  visit(DT_FIELD(experiment, oom));
  visit(DT_FIELD(experiment, stopped_early));
  visit(DT_FIELD(experiment, attempts));
  visit(DT_FIELD(experiment, newest_progress));
  visit(DT_FIELD(experiment, trials));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<WorkerMark> auto& mark) {
  visit(DT_FIELD(mark, drained));
  visit(DT_FIELD(mark, reason));
  visit(DT_FIELD(mark, who));
  visit(DT_FIELD(mark, since_wall_ms));
  visit(DT_FIELD(mark, quarantined));
  visit(DT_FIELD(mark, quarantine_reason));
  visit(DT_FIELD(mark, quarantines));
  visit(DT_FIELD(mark, quarantined_wall_ms));
  visit(DT_FIELD(mark, returned));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<CrashStreak> auto& streak) {
  // An older version saved no `begun`; its attempts have no ordinal either.
  visit.Columns(streak.ends, DT_SAVED(attempts), &CountedEnd::id, DT_SAVED(begun),
                &CountedEnd::begun);
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<KnownFigure> auto& known) {
  visit(DT_FIELD(known, figure));
  visit.Flat(known.by);
  visit(DT_FIELD(known, wall_ms));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<QuotaKey> auto& key) {
  visit(DT_FIELD(key, user));
  visit(DT_FIELD(key, label));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<Quota> auto& quota) {
  visit(DT_FIELD(quota, slots));
  visit(DT_FIELD(quota, who));
  visit(DT_FIELD(quota, since_wall_ms));
}

template <typename Visit>
constexpr void Fields(Visit& visit, Of<DurableState> auto& state) {
  visit(DT_FIELD(state, journal_id));
  visit(DT_FIELD(state, next_experiment));
  visit.Parts(DT_FIELD(state, experiments));
  const auto of_worker = [](auto& rows, auto& worker, auto& value) {
    rows(DT_SAVED(worker), worker);
    rows.Flat(value);
  };
  visit.Map(DT_FIELD(state, marks), of_worker);
  visit.Map(DT_FIELD(state, streaks), of_worker);
  visit.Map(DT_FIELD(state, figures), [](auto& rows, auto& key, auto& known) {
    rows(DT_FIELD(key, device_name));
    rows.Flat(known);
    rows.AfterLoad(key,
                   [&known](auto& loaded) { loaded = KeyOf(loaded.device_name, known.figure); });
  });
  visit.Map(DT_FIELD(state, quotas), [](auto& rows, auto& key, auto& quota) {
    rows.Flat(key);
    rows.Flat(quota);
  });
  visit(DT_FIELD(state, next_notice));
  visit.Messages(DT_FIELD(state, notices),
                 [](const v1::Notice& notice) { return notice.number(); });
  visit.Index(state.request_ids);
  visit.Index(state.tokens);
  visit.Index(state.notices_of);
  visit.AfterLoad(state, [](auto& loaded) {
    // 0: saved by a version without notices.
    loaded.next_notice = std::max<uint64_t>(1, loaded.next_notice);
  });
}

}  // namespace dt
