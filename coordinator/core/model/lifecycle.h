// lifecycle.h: the legal moves of trials and attempts, as data.
//
// Role:      pure. Apply refuses every move that the tables do not list; Step asks before it makes
//            a record, so that a worker's odd report cannot make an illegal one.
// Tests:     tests/coordinator/core/lifecycle_test.cc goes through every state × event.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dtrain/v1/model.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

enum class AttemptState : uint8_t {
  kAssigned,  // has a gang
  kPrepared,  // rank 0 has its data and model
  kRunning,   // steps are being made
  kEnded,     // never changes again
};
inline constexpr int kAttemptStates = 4;

enum class TrialMove : uint8_t {
  kAttemptStarts,
  kAttemptRuns,
  kAttemptEndsAndAnotherFollows,
  kAttemptEndsForGood,  // the trial's own end follows in the same commit
  kCancelRequested,
  kEndsFinished,
  kEndsFailed,
  kEndsCancelled,
  kRetriedByPerson,
};
inline constexpr int kTrialMoves = 9;

enum class AttemptMove : uint8_t {
  kPrepares,
  kRuns,
  kReportsResult,  // an evaluation or a checkpoint
  kEnds,
};
inline constexpr int kAttemptMoves = 4;

// The state after the move; nullopt: not a legal move.
std::optional<v1::TrialState> Next(v1::TrialState from, TrialMove move);
std::optional<AttemptState> Next(AttemptState from, AttemptMove move);

std::string_view Name(v1::TrialState state);  // "pending"
std::string_view Name(AttemptState state);
std::string_view Name(TrialMove move);
std::string_view Name(AttemptMove move);
std::string_view Name(v1::Cause cause);  // "worker_lost"
std::string_view Name(v1::ExperimentState state);

// Finished, failed or cancelled: only a person's explicit retry leads out.
bool IsTerminal(v1::TrialState state);
// Has a gang that may still hold slots.
bool IsActive(v1::TrialState state);

// What a cause of an attempt's end means for the trial.
enum class Consequence {
  kFinishes,
  kCancels,
  kFails,
  kRetriesCrash,  // retried, on the budget of crashes
  kRetriesLoss,   // retried, on the budget of losses, which are nobody's fault
};
// REQUIRES: cause != CAUSE_UNSPECIFIED.
Consequence ConsequenceOf(v1::Cause cause);

}  // namespace dt
