// lifecycle_test.cc: every state and every move, legal and illegal, of trials and attempts.
#include "coordinator/core/model/lifecycle.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace dt {
namespace {

using TrialKey = std::pair<v1::TrialState, TrialMove>;
using AttemptKey = std::pair<AttemptState, AttemptMove>;

TEST(LifecycleTest, TrialsMakeTheseMovesAndNoOthers) {
  const std::map<TrialKey, v1::TrialState> legal{
      {{v1::TRIAL_PENDING, TrialMove::kAttemptStarts}, v1::TRIAL_STARTING},
      {{v1::TRIAL_PENDING, TrialMove::kCancelRequested}, v1::TRIAL_PENDING},
      {{v1::TRIAL_PENDING, TrialMove::kEndsCancelled}, v1::TRIAL_CANCELLED},
      {{v1::TRIAL_PENDING, TrialMove::kEndsFinished}, v1::TRIAL_FINISHED},
      {{v1::TRIAL_STARTING, TrialMove::kAttemptRuns}, v1::TRIAL_RUNNING},
      {{v1::TRIAL_STARTING, TrialMove::kAttemptEndsAndAnotherFollows}, v1::TRIAL_PENDING},
      {{v1::TRIAL_STARTING, TrialMove::kAttemptEndsForGood}, v1::TRIAL_STARTING},
      {{v1::TRIAL_STARTING, TrialMove::kCancelRequested}, v1::TRIAL_STOPPING},
      {{v1::TRIAL_STARTING, TrialMove::kEndsFinished}, v1::TRIAL_FINISHED},
      {{v1::TRIAL_STARTING, TrialMove::kEndsFailed}, v1::TRIAL_FAILED},
      {{v1::TRIAL_RUNNING, TrialMove::kAttemptEndsAndAnotherFollows}, v1::TRIAL_PENDING},
      {{v1::TRIAL_RUNNING, TrialMove::kAttemptEndsForGood}, v1::TRIAL_RUNNING},
      {{v1::TRIAL_RUNNING, TrialMove::kCancelRequested}, v1::TRIAL_STOPPING},
      {{v1::TRIAL_RUNNING, TrialMove::kEndsFinished}, v1::TRIAL_FINISHED},
      {{v1::TRIAL_RUNNING, TrialMove::kEndsFailed}, v1::TRIAL_FAILED},
      {{v1::TRIAL_STOPPING, TrialMove::kAttemptRuns}, v1::TRIAL_STOPPING},
      {{v1::TRIAL_STOPPING, TrialMove::kAttemptEndsForGood}, v1::TRIAL_STOPPING},
      {{v1::TRIAL_STOPPING, TrialMove::kCancelRequested}, v1::TRIAL_STOPPING},
      {{v1::TRIAL_STOPPING, TrialMove::kEndsCancelled}, v1::TRIAL_CANCELLED},
      {{v1::TRIAL_FAILED, TrialMove::kRetriedByPerson}, v1::TRIAL_PENDING},
      {{v1::TRIAL_CANCELLED, TrialMove::kRetriedByPerson}, v1::TRIAL_PENDING},
  };
  for (int s = v1::TrialState_MIN; s <= v1::TrialState_MAX; ++s) {
    for (int m = 0; m < kTrialMoves; ++m) {
      const auto state = static_cast<v1::TrialState>(s);
      const auto move = static_cast<TrialMove>(m);
      const auto expected = legal.find({state, move});
      const auto next = Next(state, move);
      EXPECT_EQ(next.has_value(), expected != legal.end()) << Name(state) << ": " << Name(move);
      if (next.has_value() && expected != legal.end()) {
        EXPECT_EQ(*next, expected->second);
      }
    }
  }
}

TEST(LifecycleTest, AttemptsMakeTheseMovesAndNoOthers) {
  const std::map<AttemptKey, AttemptState> legal{
      {{AttemptState::kAssigned, AttemptMove::kPrepares}, AttemptState::kPrepared},
      {{AttemptState::kAssigned, AttemptMove::kEnds}, AttemptState::kEnded},
      {{AttemptState::kPrepared, AttemptMove::kRuns}, AttemptState::kRunning},
      {{AttemptState::kPrepared, AttemptMove::kEnds}, AttemptState::kEnded},
      {{AttemptState::kRunning, AttemptMove::kReportsResult}, AttemptState::kRunning},
      {{AttemptState::kRunning, AttemptMove::kEnds}, AttemptState::kEnded},
      {{AttemptState::kEnded, AttemptMove::kReportsResult}, AttemptState::kEnded},
  };
  for (int s = 0; s < kAttemptStates; ++s) {
    for (int m = 0; m < kAttemptMoves; ++m) {
      const auto state = static_cast<AttemptState>(s);
      const auto move = static_cast<AttemptMove>(m);
      const auto expected = legal.find({state, move});
      const auto next = Next(state, move);
      EXPECT_EQ(next.has_value(), expected != legal.end()) << Name(state) << ": " << Name(move);
      if (next.has_value() && expected != legal.end()) {
        EXPECT_EQ(*next, expected->second);
      }
    }
  }
}

TEST(LifecycleTest, OnlyAUsersRetryLeadsOutOfATerminalState) {
  for (int s = v1::TrialState_MIN; s <= v1::TrialState_MAX; ++s) {
    const auto state = static_cast<v1::TrialState>(s);
    if (!IsTerminal(state)) continue;
    for (int m = 0; m < kTrialMoves; ++m) {
      const auto move = static_cast<TrialMove>(m);
      if (move == TrialMove::kRetriedByPerson) continue;
      EXPECT_FALSE(Next(state, move).has_value()) << Name(state) << ": " << Name(move);
    }
  }
  EXPECT_FALSE(Next(v1::TRIAL_FINISHED, TrialMove::kRetriedByPerson).has_value());
}

TEST(LifecycleTest, EveryCauseHasAConsequence) {
  const std::map<v1::Cause, Consequence> expected{
      {v1::CAUSE_FINISHED, Consequence::kFinishes},
      {v1::CAUSE_CANCELLED, Consequence::kCancels},
      {v1::CAUSE_STOPPED_EARLY, Consequence::kFinishes},
      {v1::CAUSE_WORKER_LOST, Consequence::kRetriesLoss},
      {v1::CAUSE_TRAINER_CRASH, Consequence::kRetriesCrash},
      {v1::CAUSE_COLLECTIVE, Consequence::kRetriesCrash},
      {v1::CAUSE_HANG, Consequence::kRetriesCrash},
      {v1::CAUSE_PREEMPTED, Consequence::kRetriesLoss},
      {v1::CAUSE_OOM, Consequence::kFails},
      {v1::CAUSE_NONFINITE, Consequence::kFails},
      {v1::CAUSE_CONFIG, Consequence::kFails},
      {v1::CAUSE_DATA, Consequence::kFails},
      {v1::CAUSE_WORKER_FAULT, Consequence::kRetriesLoss},
      {v1::CAUSE_NETWORK, Consequence::kRetriesLoss},
  };
  for (int c = v1::CAUSE_FINISHED; c <= v1::Cause_MAX; ++c) {
    const auto cause = static_cast<v1::Cause>(c);
    EXPECT_EQ(ConsequenceOf(cause), expected.at(cause)) << Name(cause);
  }
}

TEST(LifecycleTest, NamesAgreeWithTheProtocol) {
  EXPECT_EQ(Name(v1::CAUSE_WORKER_LOST), "worker_lost");
  EXPECT_EQ(Name(v1::TRIAL_PENDING), "pending");
  EXPECT_EQ(Name(v1::EXPERIMENT_QUEUED), "queued");
  EXPECT_EQ(Name(v1::CAUSE_UNSPECIFIED), "unspecified");
  EXPECT_EQ(Name(static_cast<v1::Cause>(99)), "unspecified") << "of a later version";
}

}  // namespace
}  // namespace dt
