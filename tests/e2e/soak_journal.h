// soak_journal.h: a soak's counts, made from the records of its journal alone: nothing comes from a
// coordinator's state.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/store/sqlite_store.h"

namespace dt {

// Number of changes, by experiment (0: a worker was marked) and kind.
using SoakEdits = std::map<std::pair<uint64_t, std::string>, int>;

struct SoakJournal {
  SoakEdits edits;         // edits with a user's name
  SoakEdits trials_again;  // trials that users retried, under "retry"
  std::map<std::pair<uint64_t, uint32_t>, v1::TrialEnded> ends;  // of trials that stayed ended
  std::map<uint64_t, uint32_t> trials;                           // number of trials, by experiment
};

inline std::string SoakEditOf(const v1::ExperimentChanged& fact) {
  switch (fact.change_case()) {
    case v1::ExperimentChanged::kPause:
      return "pause";
    case v1::ExperimentChanged::kResume:
      return "resume";
    case v1::ExperimentChanged::kMaxConcurrent:
      return "max_concurrent";
    case v1::ExperimentChanged::kMaxTrials:
      return "max_trials";
    case v1::ExperimentChanged::kMaxGpusTotal:
      return "max_gpus_total";
    case v1::ExperimentChanged::kPriority:
      return "priority";
    case v1::ExperimentChanged::kMaxSteps:
      return "max_steps";
    case v1::ExperimentChanged::kName:
      return "rename";
    case v1::ExperimentChanged::kNote:
      return "note";
    case v1::ExperimentChanged::kLabels:
      return "label";
    case v1::ExperimentChanged::kArchived:
      return "archive";
    case v1::ExperimentChanged::CHANGE_NOT_SET:
      break;
  }
  return "nothing";
}

// Returns the kind of the edit that a line of an experiment's history describes.
inline std::string SoakEditOf(const std::string& line) {
  for (const auto& [start, kind] : std::initializer_list<std::pair<const char*, const char*>>{
           {"paused", "pause"},
           {"resumed", "resume"},
           {"max_concurrent", "max_concurrent"},
           {"max_trials", "max_trials"},
           {"max_gpus_total", "max_gpus_total"},
           {"priority", "priority"},
           {"max_steps", "max_steps"},
           {"cancelled trial", "cancel a trial"},
           {"cancelled", "cancel"},
           {"retried", "retry"},
           {"name", "rename"},
           {"note", "note"},
           {"labels", "label"},
           {"archived", "archive"}}) {
    if (line.starts_with(start)) return kind;
  }
  return line;
}

inline void Count(const v1::Record& record, SoakJournal& journal) {
  if (record.has_experiment_submitted()) {
    const v1::ExperimentSubmitted& fact = record.experiment_submitted();
    journal.trials[fact.experiment()] += static_cast<uint32_t>(fact.trials_size());
  } else if (record.has_trials_added()) {
    const v1::TrialsAdded& fact = record.trials_added();
    journal.trials[fact.experiment()] += static_cast<uint32_t>(fact.trials_size());
  } else if (record.has_trial_ended()) {
    const v1::TrialEnded& fact = record.trial_ended();
    journal.ends[{fact.experiment(), fact.trial()}] = fact;
  } else if (record.has_trial_retried()) {
    const v1::TrialRetried& fact = record.trial_retried();
    journal.ends.erase({fact.experiment(), fact.trial()});
    if (!fact.who().empty()) ++journal.trials_again[{fact.experiment(), "retry"}];
  } else if (record.has_experiment_changed()) {
    const v1::ExperimentChanged& fact = record.experiment_changed();
    ++journal.edits[{fact.experiment(), SoakEditOf(fact)}];
  } else if (record.has_cancel_requested() && !record.cancel_requested().who().empty()) {
    const v1::CancelRequested& fact = record.cancel_requested();
    ++journal.edits[{fact.experiment(), fact.trial() == 0 ? "cancel" : "cancel a trial"}];
  } else if (record.has_worker_marked() && !record.worker_marked().who().empty()) {
    const bool drained = record.worker_marked().mark() == v1::WorkerMarked::DRAINED;
    ++journal.edits[{0, drained ? "drain" : "undrain"}];
  }
}

// Reads the journal of a coordinator that has stopped.
inline absl::StatusOr<SoakJournal> ReadSoakJournal(const std::string& state_folder) {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(state_folder, "soak");
  if (!store.ok()) return store.status();
  SoakJournal journal;
  JournalPlace place;
  absl::Status read = (*store)->Replay(place, [&](const v1::Record& record) {
    Count(record, journal);
    return absl::OkStatus();
  });
  if (read.ok()) read = (*store)->Close();
  if (!read.ok()) return read;
  return journal;
}

}  // namespace dt
