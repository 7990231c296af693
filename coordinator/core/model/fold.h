// fold.h: gives a record's fact to what follows the journal besides Apply.
//
// Role:      the one list of who reads which kind of record.
// Invariant: a kind without a case, a reader without a handler for a kind that it reads, and a
//            handler for another kind do not compile.
// Tests:     tests/testing/core_fixture.h compares the indices with new ones after every event
#pragma once

#include <concepts>
#include <type_traits>

#include "dtrain/v1/record.pb.h"

namespace dt {

// Readers of records; their values are bits.
enum RecordReader : unsigned {
  kNobody = 0,
  kProgress = 1,  // keep/progress.h
  kSearches = 2,  // keep/search_index.h
  kMetrics = 4,   // coordinator/metrics
};

// Accepts one of several facts, so that a lambda can handle them all.
template <typename Fact, typename... Facts>
concept OneOf = (std::same_as<Fact, Facts> || ...);

// Names the readers of a kind in its case.
template <unsigned kReaders>
struct ReadBy {};

// Calls the handler of a fact if `kReader` is among its readers.
template <RecordReader kReader, unsigned kReaders, typename Fact, typename Handlers>
void Give(ReadBy<kReaders>, const Fact& fact, const Handlers& handlers) {
  constexpr bool kReads = (kReaders & kReader) != 0;
  static_assert(kReads == std::is_invocable_v<const Handlers&, const Fact&>,
                "the handlers of this reader are not those of its cases in fold.h");
  if constexpr (kReads) handlers(fact);
}

// Calls `handlers` (an Overloaded of functions of one fact each) with the record's fact if
// `kReader` reads such facts.
template <RecordReader kReader, typename Handlers>
void Fold(const v1::Record& record, const Handlers& handlers) {
  const auto give = [&](auto readers, const auto& fact) { Give<kReader>(readers, fact, handlers); };
  switch (record.fact_case()) {
    case v1::Record::kJournalCreated:
      return give(ReadBy<kNobody>(), record.journal_created());
    case v1::Record::kExperimentSubmitted:
      return give(ReadBy<kNobody>(), record.experiment_submitted());
    case v1::Record::kAttemptStarted:
      return give(ReadBy<kProgress | kMetrics>(), record.attempt_started());
    case v1::Record::kAttemptPrepared:
      return give(ReadBy<kProgress>(), record.attempt_prepared());
    case v1::Record::kAttemptRunning:
      return give(ReadBy<kProgress | kMetrics>(), record.attempt_running());
    case v1::Record::kAttemptEnded:
      return give(ReadBy<kProgress | kMetrics>(), record.attempt_ended());
    case v1::Record::kEvaluation:
      return give(ReadBy<kProgress | kSearches | kMetrics>(), record.evaluation());
    case v1::Record::kCheckpoint:
      return give(ReadBy<kProgress | kMetrics>(), record.checkpoint());
    case v1::Record::kCheckpointRemoved:
      return give(ReadBy<kProgress>(), record.checkpoint_removed());
    case v1::Record::kCancelRequested:
      return give(ReadBy<kNobody>(), record.cancel_requested());
    case v1::Record::kTrialEnded:
      return give(ReadBy<kProgress | kSearches | kMetrics>(), record.trial_ended());
    case v1::Record::kTrialRetried:
      return give(ReadBy<kProgress | kSearches | kMetrics>(), record.trial_retried());
    case v1::Record::kExperimentDeleted:
      return give(ReadBy<kProgress | kSearches>(), record.experiment_deleted());
    case v1::Record::kTrialsAdded:
      return give(ReadBy<kSearches>(), record.trials_added());
    case v1::Record::kValueSuggested:
      return give(ReadBy<kSearches>(), record.value_suggested());
    case v1::Record::kRungDecided:
      return give(ReadBy<kProgress | kSearches>(), record.rung_decided());
    case v1::Record::kSearchEnded:
      return give(ReadBy<kNobody>(), record.search_ended());
    case v1::Record::kNumbersSkipped:
      return give(ReadBy<kNobody>(), record.numbers_skipped());
    case v1::Record::kStopRequested:
      return give(ReadBy<kNobody>(), record.stop_requested());
    case v1::Record::kExperimentChanged:
      return give(ReadBy<kNobody>(), record.experiment_changed());
    case v1::Record::kWorkerMarked:
      return give(ReadBy<kNobody>(), record.worker_marked());
    case v1::Record::kTrialMutated:
      return give(ReadBy<kProgress>(), record.trial_mutated());
    case v1::Record::kNoticeRaised:
      return give(ReadBy<kNobody>(), record.notice_raised());
    case v1::Record::kNoticeSettled:
      return give(ReadBy<kNobody>(), record.notice_settled());
    case v1::Record::kQuotaSet:
      return give(ReadBy<kNobody>(), record.quota_set());
    case v1::Record::kEnvironmentResolved:
      return give(ReadBy<kNobody>(), record.environment_resolved());
    case v1::Record::FACT_NOT_SET:
      return;
  }
}

}  // namespace dt
