// lifecycle.h: the legal moves of trials and attempts, as data.
//
// Role:      pure. Apply refuses each move that the tables do not list. Step asks before it makes a
//            record, so that a worker's wrong report cannot cause an illegal one.
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

// Returns the state after the move; nullopt if the move is illegal.
std::optional<v1::TrialState> Next(v1::TrialState from, TrialMove move);
std::optional<AttemptState> Next(AttemptState from, AttemptMove move);

std::string_view Name(v1::TrialState state);  // "pending"
std::string_view Name(AttemptState state);
std::string_view Name(TrialMove move);
std::string_view Name(AttemptMove move);
std::string_view Name(v1::Cause cause);  // "worker_lost"
std::string_view Name(v1::ExperimentState state);

// Returns whether it is finished, failed or cancelled: only a user's retry leads out.
bool IsTerminal(v1::TrialState state);
// Returns whether it has a gang that may still hold slots.
bool IsActive(v1::TrialState state);

// Consequence of an attempt's end for its trial.
enum class Consequence {
  kFinishes,
  kCancels,
  kFails,
  kRetriesCrash,  // retried, on the budget of crashes
  kRetriesLoss,   // retried, on the budget of losses
};
// Returns the consequence. REQUIRES: cause != CAUSE_UNSPECIFIED.
Consequence ConsequenceOf(v1::Cause cause);

}  // namespace dt
