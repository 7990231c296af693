// lifecycle.cc: the tables of legal moves.
#include "coordinator/core/model/lifecycle.h"

#include <array>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "common/check.h"

namespace dt {
namespace {

struct TrialRule {
  v1::TrialState from;
  TrialMove move;
  v1::TrialState to;
};

constexpr auto kTrialRules = std::to_array<TrialRule>({
    {v1::TRIAL_PENDING, TrialMove::kAttemptStarts, v1::TRIAL_STARTING},
    {v1::TRIAL_PENDING, TrialMove::kCancelRequested, v1::TRIAL_PENDING},  // its end follows
    {v1::TRIAL_PENDING, TrialMove::kEndsCancelled, v1::TRIAL_CANCELLED},
    {v1::TRIAL_PENDING, TrialMove::kEndsFinished, v1::TRIAL_FINISHED},  // it ran, and ends early

    {v1::TRIAL_STARTING, TrialMove::kAttemptRuns, v1::TRIAL_RUNNING},
    {v1::TRIAL_STARTING, TrialMove::kAttemptEndsAndAnotherFollows, v1::TRIAL_PENDING},
    {v1::TRIAL_STARTING, TrialMove::kAttemptEndsForGood, v1::TRIAL_STARTING},
    {v1::TRIAL_STARTING, TrialMove::kCancelRequested, v1::TRIAL_STOPPING},
    {v1::TRIAL_STARTING, TrialMove::kEndsFinished, v1::TRIAL_FINISHED},
    {v1::TRIAL_STARTING, TrialMove::kEndsFailed, v1::TRIAL_FAILED},

    {v1::TRIAL_RUNNING, TrialMove::kAttemptEndsAndAnotherFollows, v1::TRIAL_PENDING},
    {v1::TRIAL_RUNNING, TrialMove::kAttemptEndsForGood, v1::TRIAL_RUNNING},
    {v1::TRIAL_RUNNING, TrialMove::kCancelRequested, v1::TRIAL_STOPPING},
    {v1::TRIAL_RUNNING, TrialMove::kEndsFinished, v1::TRIAL_FINISHED},
    {v1::TRIAL_RUNNING, TrialMove::kEndsFailed, v1::TRIAL_FAILED},

    // An accepted cancel wins over any later report.
    {v1::TRIAL_STOPPING, TrialMove::kAttemptRuns, v1::TRIAL_STOPPING},
    {v1::TRIAL_STOPPING, TrialMove::kAttemptEndsForGood, v1::TRIAL_STOPPING},
    {v1::TRIAL_STOPPING, TrialMove::kCancelRequested, v1::TRIAL_STOPPING},
    {v1::TRIAL_STOPPING, TrialMove::kEndsCancelled, v1::TRIAL_CANCELLED},

    {v1::TRIAL_FAILED, TrialMove::kRetriedByPerson, v1::TRIAL_PENDING},
    {v1::TRIAL_CANCELLED, TrialMove::kRetriedByPerson, v1::TRIAL_PENDING},
});

struct AttemptRule {
  AttemptState from;
  AttemptMove move;
  AttemptState to;
};

constexpr auto kAttemptRules = std::to_array<AttemptRule>({
    {AttemptState::kAssigned, AttemptMove::kPrepares, AttemptState::kPrepared},
    {AttemptState::kAssigned, AttemptMove::kEnds, AttemptState::kEnded},
    {AttemptState::kPrepared, AttemptMove::kRuns, AttemptState::kRunning},
    {AttemptState::kPrepared, AttemptMove::kEnds, AttemptState::kEnded},
    {AttemptState::kRunning, AttemptMove::kReportsResult, AttemptState::kRunning},
    {AttemptState::kRunning, AttemptMove::kEnds, AttemptState::kEnded},
    // A checkpoint of rank 0 just before a peer died still counts until the next attempt starts.
    {AttemptState::kEnded, AttemptMove::kReportsResult, AttemptState::kEnded},
});

// Returns "worker_lost" for CAUSE_WORKER_LOST.
template <typename Enum>
std::string_view WordOf(Enum value, std::string_view prefix) {
  static const auto* words = [prefix] {
    auto* made = new std::map<int, std::string>();
    const auto* type = google::protobuf::GetEnumDescriptor<Enum>();
    for (int i = 0; i < type->value_count(); ++i) {
      const auto* known = type->value(i);
      if (known->number() == 0) continue;
      (*made)[known->number()] = absl::AsciiStrToLower(known->name().substr(prefix.size()));
    }
    return made;
  }();
  const auto found = words->find(value);
  return found == words->end() ? "unspecified" : std::string_view(found->second);
}

}  // namespace

std::optional<v1::TrialState> Next(v1::TrialState from, TrialMove move) {
  for (const TrialRule& rule : kTrialRules) {
    if (rule.from == from && rule.move == move) return rule.to;
  }
  return std::nullopt;
}

std::optional<AttemptState> Next(AttemptState from, AttemptMove move) {
  for (const AttemptRule& rule : kAttemptRules) {
    if (rule.from == from && rule.move == move) return rule.to;
  }
  return std::nullopt;
}

std::string_view Name(v1::TrialState state) { return WordOf(state, "TRIAL_"); }
std::string_view Name(v1::Cause cause) { return WordOf(cause, "CAUSE_"); }
std::string_view Name(v1::ExperimentState state) { return WordOf(state, "EXPERIMENT_"); }

std::string_view Name(AttemptState state) {
  switch (state) {
    case AttemptState::kAssigned:
      return "assigned";
    case AttemptState::kPrepared:
      return "prepared";
    case AttemptState::kRunning:
      return "running";
    case AttemptState::kEnded:
      return "ended";
  }
  return "unspecified";
}

std::string_view Name(TrialMove move) {
  switch (move) {
    case TrialMove::kAttemptStarts:
      return "attempt starts";
    case TrialMove::kAttemptRuns:
      return "attempt runs";
    case TrialMove::kAttemptEndsAndAnotherFollows:
      return "attempt ends and another follows";
    case TrialMove::kAttemptEndsForGood:
      return "attempt ends for good";
    case TrialMove::kCancelRequested:
      return "cancel requested";
    case TrialMove::kEndsFinished:
      return "ends finished";
    case TrialMove::kEndsFailed:
      return "ends failed";
    case TrialMove::kEndsCancelled:
      return "ends cancelled";
    case TrialMove::kRetriedByPerson:
      return "retried by a person";
  }
  return "unspecified";
}

std::string_view Name(AttemptMove move) {
  switch (move) {
    case AttemptMove::kPrepares:
      return "prepares";
    case AttemptMove::kRuns:
      return "runs";
    case AttemptMove::kReportsResult:
      return "reports a result";
    case AttemptMove::kEnds:
      return "ends";
  }
  return "unspecified";
}

bool IsTerminal(v1::TrialState state) {
  return state == v1::TRIAL_FINISHED || state == v1::TRIAL_FAILED || state == v1::TRIAL_CANCELLED;
}

bool IsActive(v1::TrialState state) {
  return state == v1::TRIAL_STARTING || state == v1::TRIAL_RUNNING || state == v1::TRIAL_STOPPING;
}

Consequence ConsequenceOf(v1::Cause cause) {
  switch (cause) {
    case v1::CAUSE_FINISHED:
    case v1::CAUSE_STOPPED_EARLY:
      return Consequence::kFinishes;
    case v1::CAUSE_CANCELLED:
      return Consequence::kCancels;
    case v1::CAUSE_WORKER_LOST:
    case v1::CAUSE_PREEMPTED:
    case v1::CAUSE_WORKER_FAULT:
    case v1::CAUSE_NETWORK:
      return Consequence::kRetriesLoss;
    case v1::CAUSE_TRAINER_CRASH:
    case v1::CAUSE_COLLECTIVE:
    case v1::CAUSE_HANG:
      return Consequence::kRetriesCrash;
    case v1::CAUSE_OOM:
    case v1::CAUSE_NONFINITE:
    case v1::CAUSE_CONFIG:
    case v1::CAUSE_DATA:
      return Consequence::kFails;
    case v1::CAUSE_UNSPECIFIED:
    case v1::Cause_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::Cause_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  DT_CHECK(cause != v1::CAUSE_UNSPECIFIED);
  return Consequence::kFails;
}

}  // namespace dt
