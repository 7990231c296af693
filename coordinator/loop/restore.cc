#include "coordinator/loop/restore.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/version.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/facts/hash.h"
#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/run/recover.h"
#include "coordinator/loop/entropy.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

// Applies and commits a record that the start itself adds.
absl::Status Keep(Store& store, const Clock& clock, State& state, MetricsModel& metrics,
                  v1::Record record) {
  record.set_wall_time_ms(clock.Now().wall_ms);
  DT_RETURN_IF_ERROR(Apply(state.durable, record));
  metrics.CountRecord(state, record);
  Batch batch;
  batch.records.push_back(&record);
  return store.Commit(batch);
}

}  // namespace

absl::StatusOr<Folded> FoldJournal(JournalReader& journal, MetricsModel& metrics,
                                   const std::function<void()>& visited) {
  Folded folded;
  for (int64_t below = std::numeric_limits<int64_t>::max();;) {
    DT_ASSIGN_OR_RETURN(StoredSnapshot stored, journal.ReadSnapshot(below));
    if (stored.damaged > 0) {
      spdlog::warn(
          "{} of the journal's snapshots are damaged, so more records are read; nothing "
          "is lost, and a new snapshot takes their place",
          stored.damaged);
    }
    if (stored.place.sequence == 0) break;
    auto loaded = LoadSnapshot(stored.parts);
    if (loaded.ok()) {
      folded.state.durable = std::move(loaded->state);
      folded.place = std::move(stored.place);
      metrics.Load(loaded->metrics);
      break;
    }
    // The records behind this snapshot may be gone, so the fold cannot continue without it.
    if (absl::IsFailedPrecondition(loaded.status())) return loaded.status();
    spdlog::warn("the snapshot after record {} is skipped: {}", stored.place.sequence,
                 std::string(loaded.status().message()));
    below = stored.place.sequence;
  }
  DT_RETURN_IF_ERROR(journal.Replay(folded.place, [&](const v1::Record& record) {
    DT_RETURN_IF_ERROR(Apply(folded.state.durable, record));
    metrics.CountRecord(folded.state, record);
    folded.wall_ms = record.wall_time_ms();
    visited();
    return absl::OkStatus();
  }));
  return folded;
}

absl::StatusOr<State> Restore(Store& store, const Clock& clock, MetricsModel& metrics,
                              const std::function<void()>& visited, const v1::Notify& own_receiver,
                              const GangProtection& protection) {
  DT_ASSIGN_OR_RETURN(Folded folded, FoldJournal(store, metrics, visited));
  State& state = folded.state;
  state.live.own_receiver = own_receiver;
  state.live.protection = protection;
  if (state.durable.journal_id == 0) {
    v1::Record record;
    // Messages use 0 for "none yet".
    record.mutable_journal_created()->set_journal_id(std::max<uint64_t>(1, FreshEntropy()[0]));
    record.mutable_journal_created()->set_program_version(kVersion);
    DT_RETURN_IF_ERROR(Keep(store, clock, state, metrics, std::move(record)));
  }
  if (store.NewestExperiment() >= state.durable.next_experiment) {
    v1::Record record;  // the records of some experiments were lost, and the operator accepted the
                        // loss
    record.mutable_numbers_skipped()->set_next_experiment(store.NewestExperiment() + 1);
    DT_RETURN_IF_ERROR(Keep(store, clock, state, metrics, std::move(record)));
  }
  for (v1::Record& end : EndsCutOff(state.durable)) {
    DT_RETURN_IF_ERROR(Keep(store, clock, state, metrics, std::move(end)));
  }
  DT_RETURN_IF_ERROR(LoadNewestSteps(
      state, [&store](const AttemptId& attempt) { return store.ReadNewestStep(attempt); }));
  DT_ASSIGN_OR_RETURN(const std::vector<AckToStore> acks, store.ReadAcks());
  LoadAcks(state, acks);
  Recover(state, clock.Now());  // leases begin now, however long the replay took
  return std::move(state);
}

absl::StatusOr<StoredSnapshot> MakeSnapshot(JournalReader& journal) {
  MetricsModel metrics(0);  // shows nothing; only counts
  DT_ASSIGN_OR_RETURN(Folded folded, FoldJournal(journal, metrics, [] {}));
  StoredSnapshot snapshot;
  snapshot.place = folded.place;
  snapshot.parts = SaveSnapshot(folded.state.durable, metrics.Save(folded.state, folded.wall_ms));
  for (const std::string& part : snapshot.parts) {
    if (part.size() > limits::kSnapshotPartBytes) {
      return absl::InternalError(absl::StrCat("one experiment takes ", part.size(),
                                              " bytes of the snapshot, and the limit is ",
                                              limits::kSnapshotPartBytes));
    }
  }
  // Records may be dropped once this snapshot exists, so it must restore the same state. The first
  // state is freed before the second is loaded, to hold only one in memory.
  const std::string hash = HashOf(folded.state.durable);
  folded.state = State();
  DT_ASSIGN_OR_RETURN(const LoadedSnapshot loaded, LoadSnapshot(snapshot.parts));
  if (HashOf(loaded.state) != hash) {
    return absl::InternalError("the snapshot does not restore the same state");
  }
  return snapshot;
}

}  // namespace dt
