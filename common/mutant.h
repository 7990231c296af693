// mutant.h: faults planted in the code, to prove that the simulator finds each of them.
//
// Role:    `if (Mutated(Mutant::kX))` is where a fault of that kind would be. Builds with tests
//          define DTRAIN_MUTANTS and choose one at run time; in all others the condition is
//          constantly false.
// Threads: chosen once, before any other thread begins.
// Tests:   tests/sim/mutant_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace dt {

enum class Mutant {
  kNone,
  // The coordinator's core.
  kRowsOfOldAttempts,   // rows of an attempt that has a successor are stored
  kRowsBeforeRunning,   // rows of an attempt that never trained are stored
  kItemsTakenTwice,     // an item that is sent again is taken again
  kAcksForgotten,       // acknowledgements are not stored
  kAcksAhead,           // an item is acknowledged before it arrived
  kBusySlotIsFree,      // a slot with an attempt is given to another
  kShortGang,           // a gang begins with one member less
  kLeaseForEver,        // silence never ends a lease
  kHangUnseen,          // an overdue attempt is not ended
  kRetryForgotten,      // a trial that has to go on is not queued again
  kTriesUncounted,      // retries.max has no effect
  kRecordDropped,       // an evaluation is applied but not journalled
  kAbandonForgotten,    // members of an ended attempt are not told to leave
  kCancelUnsent,        // the gang is not told of a cancel
  kPlacedTwice,         // a placed trial stays in its queue
  kAnyRankFinishes,     // a rank other than 0 finishes the attempt
  kSnapshotWithoutEnd,  // a snapshot omits why an attempt ended
  // Searches.
  kRungEnteredTwice,   // an attempt that reaches a rung again is entered again
  kRungLetsOneMoreGo,  // one more trial than allowed goes on from a rung
  kBoundRoundedUp,     // ⌈n/eta⌉ of n trials go on, rather than ⌊n/eta⌋
  kBehindGoesOn,       // a trial that fell behind at a rung trains on
  kPatienceTooShort,   // a trial ends one validation early
  kNanIsBest,          // NaN is better than any number
  kCostFromLiveState,  // a rung compares the newest training loss
  kMaximizeForgotten,  // less is better, even if the file says maximize
  kProposesBlindly,    // a proposal does not know of earlier proposals
  kLiarLeftOut,        // a proposal does not count running trials as bad ones
  kProposedEarly,      // a trial is proposed before it has slots
  kOpenCounted,        // trials without a result count as ended
  kKeyWithoutRedraw,   // a rejected draw is drawn again with the same key
  kHistoryByArrival,   // a result counts when it arrives, even if a newer attempt exists
  kTicketKept,         // a search that has ended keeps its place in the queue
  kTakesFromTheWorst,  // a member copies from the worst
  kKeyWithoutMember,   // all members of a share draw the same
  kTakesNoValues,      // a member copies weights and keeps its values
  // Changes by people.
  kStopCharged,    // a requested stop counts as a retry
  kStopForgotten,  // a start forgets which gangs were asked to save
  kPausedStarts,   // a paused experiment still starts trials
  // Drained and quarantined workers.
  kQuarantineByLosses,  // losses put a worker into quarantine as crashes do
  kDrainForgotten,      // a start forgets which workers were drained
  kDrainCharged,        // the stop of a drained worker's trial counts as a retry
  // Order of the queue.
  kPriorityForgotten,    // a larger priority does not go first
  kShareForgotten,       // the holder of the fewest slots does not go first
  kTicketLast,           // a search that proposes its next trial goes after those whose trials wait
  kTotalUnbounded,       // an experiment holds more than its max_gpus_total
  kQuotaForgotten,       // experiments hold more than their quota
  kAnyHost,              // a gang that needs one host is spread over several
  kLayersTorn,           // ranks that share layers are placed like any others
  kConstraintForgotten,  // a worker without the label gets the trial
  kHeldSlotsGiven,       // reserved slots are given to any trial that fits
  kVictimTakesBack,      // reserved slots are given back to the trial that made room
  kForForgotten,         // a start forgets for which trial gangs make room
  kEqualPreempts,        // an equal priority preempts
  kUnprotected,          // an attempt that has just begun to train may be preempted
  kLentForEver,          // lent slots are never asked back
  kAnySize,              // an elastic gang gets a size that does not divide its batch
  kGrowsPastWaiting,     // an elastic gang grows over slots that another trial waits for
  // The worker's agent.
  kDropsTheNextItem,  // an acknowledgement frees one item too many
  kKeepsTraining,     // an attempt that must be abandoned goes on
  kEndsTwice,         // an attempt that ended here is started again
};

inline constexpr std::array<std::string_view, 61> kMutantNames = {
    "none",
    "rows-of-old-attempts",
    "rows-before-running",
    "items-taken-twice",
    "acks-forgotten",
    "acks-ahead",
    "busy-slot-is-free",
    "short-gang",
    "lease-for-ever",
    "hang-unseen",
    "retry-forgotten",
    "tries-uncounted",
    "record-dropped",
    "abandon-forgotten",
    "cancel-unsent",
    "placed-twice",
    "any-rank-finishes",
    "snapshot-without-end",
    "rung-entered-twice",
    "rung-lets-one-more-go",
    "bound-rounded-up",
    "behind-goes-on",
    "patience-too-short",
    "nan-is-best",
    "cost-from-live-state",
    "maximize-forgotten",
    "proposes-blindly",
    "liar-left-out",
    "proposed-early",
    "open-counted",
    "key-without-redraw",
    "history-by-arrival",
    "ticket-kept",
    "takes-from-the-worst",
    "key-without-member",
    "takes-no-values",
    "stop-charged",
    "stop-forgotten",
    "paused-starts",
    "quarantine-by-losses",
    "drain-forgotten",
    "drain-charged",
    "priority-forgotten",
    "share-forgotten",
    "ticket-last",
    "total-unbounded",
    "quota-forgotten",
    "any-host",
    "layers-torn",
    "constraint-forgotten",
    "held-slots-given",
    "victim-takes-back",
    "for-forgotten",
    "equal-preempts",
    "unprotected",
    "lent-for-ever",
    "any-size",
    "grows-past-waiting",
    "drops-the-next-item",
    "keeps-training",
    "ends-twice",
};

#ifdef DTRAIN_MUTANTS
inline Mutant planted_mutant = Mutant::kNone;
inline bool Mutated(Mutant which) { return planted_mutant == which; }
#else
constexpr bool Mutated(Mutant) { return false; }
#endif

}  // namespace dt
