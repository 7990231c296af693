// mutant.h: faults planted in the code, to see that the simulator finds each of them.
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
  kRowsOfOldAttempts,   // rows of an attempt that another has followed are stored
  kRowsBeforeRunning,   // so are those of one that never trained
  kItemsTakenTwice,     // what is sent again is taken again
  kAcksForgotten,       // acknowledgements are not stored
  kAcksAhead,           // an item is acknowledged before it came
  kBusySlotIsFree,      // a slot with an attempt is given to another
  kShortGang,           // a gang begins with one member less
  kLeaseForEver,        // silence never ends a lease
  kHangUnseen,          // an overdue attempt is not ended
  kRetryForgotten,      // a trial that is to go on is not queued again
  kTriesUncounted,      // retries.max bounds nothing
  kRecordDropped,       // an evaluation is applied and not journalled
  kAbandonForgotten,    // members of an ended attempt are not told to leave
  kCancelUnsent,        // nobody tells the gang of a cancel
  kPlacedTwice,         // a placed trial stays in its queue
  kAnyRankFinishes,     // a rank other than 0 finishes the attempt
  kSnapshotWithoutEnd,  // a snapshot leaves out why an attempt ended
  // Searches.
  kRungEnteredTwice,   // an attempt that comes to a rung again is entered again
  kRungLetsOneMoreGo,  // of those that came to a rung one more goes on
  kBoundRoundedUp,     // so do ⌈n/eta⌉ of n, rather than ⌊n/eta⌋
  kBehindGoesOn,       // who fell behind at a rung trains on
  kPatienceTooShort,   // a trial ends one validation early
  kNanIsBest,          // what is not a number is better than anything
  kCostFromLiveState,  // a rung compares the newest training loss
  kMaximizeForgotten,  // less is better, whatever the file says
  kProposesBlindly,    // a proposal does not know of those before it
  kLiarLeftOut,        // a proposal does not take trials that run for bad ones
  kProposedEarly,      // a trial is proposed before it has slots
  kOpenCounted,        // trials without a result count as ended
  kKeyWithoutRedraw,   // a draw that was turned down is drawn again
  kHistoryByArrival,   // a result counts as it arrives, though another attempt has followed
  kTicketKept,         // a search that has ended keeps its place in the queue
  kTakesFromTheWorst,  // a member takes over from the worst
  kKeyWithoutMember,   // all members of a share draw the same
  kTakesNoValues,      // a member takes weights over, and keeps its values
  // What people change.
  kStopCharged,    // a stop that was asked for counts as a retry
  kStopForgotten,  // a start forgets which gangs were asked to save
  kPausedStarts,   // a paused experiment goes on starting trials
  // Workers that are to be left alone.
  kQuarantineByLosses,  // a worker is quarantined for being lost, as for crashes
  kDrainForgotten,      // a start forgets who was drained
  kDrainCharged,        // the stop of a drained worker's trial counts as a retry
  // Who goes next.
  kPriorityForgotten,    // a larger priority does not go first
  kShareForgotten,       // who holds the fewest slots does not go first
  kTicketLast,           // who proposes its next trial goes after those whose trials wait
  kTotalUnbounded,       // an experiment holds more than its max_gpus_total
  kQuotaForgotten,       // experiments hold more than their quota
  kAnyHost,              // a gang that wants one host is spread over several
  kLayersTorn,           // ranks that share layers are placed as any others
  kConstraintForgotten,  // a worker without the label gets the trial
  kHeldSlotsGiven,       // slots that are reserved are given to whoever fits
  kVictimTakesBack,      // or to who made room
  kForForgotten,         // a start forgets for whom gangs make room
  kEqualPreempts,        // an equal priority has others make room
  kUnprotected,          // who has just begun to train may be stopped
  kLentForEver,          // what is lent is never asked back
  kAnySize,              // an elastic gang gets a size that does not divide its batch
  kGrowsPastWaiting,     // an elastic gang grows over slots that another trial waits for
  // The worker's agent.
  kDropsTheNextItem,  // an acknowledgement frees one item more
  kKeepsTraining,     // an attempt that is to be abandoned goes on
  kEndsTwice,         // an attempt that ended here is begun again
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
