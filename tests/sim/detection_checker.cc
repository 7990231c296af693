// detection_checker.cc: see detection_checker.h.
#include "tests/sim/detection_checker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace dt::sim {
namespace {

using absl::Seconds;

// A time is over only once a turn sees it, and the events before it come first.
constexpr absl::Duration kSlack = Seconds(3);
constexpr absl::Duration kRounding = absl::Milliseconds(1);

}  // namespace

std::string DetectionChecker::CheckLoss(const State& state, const Worker& worker,
                                        const Known& before, absl::Duration now) const {
  if (before.draining || IsClient(worker)) return {};
  const absl::Duration silent = now - before.last_heard;
  if (silent + kRounding >= Seconds(10)) return {};
  if (before.stream == 0 && before.closed_at + Seconds(1) <= now + kRounding) return {};
  const bool others =
      std::any_of(state.live.workers.begin(), state.live.workers.end(), [&](const Worker& other) {
        return other.hello.host() != worker.hello.host() && !other.name.empty() &&
               other.last_heard + absl::Milliseconds(1500) + kRounding >= now;
      });
  if (silent + kRounding >= Seconds(3) && others) return {};
  return absl::StrCat("17: worker ", worker.name, " is lost after a silence of ",
                      absl::FormatDuration(silent), " without evidence");
}

std::string DetectionChecker::CheckClosed(const Worker& worker, Known& known, absl::Duration now) {
  if (worker.presence != Presence::kSilent) return {};
  const absl::Duration round_trips = 20 * worker.round_trip.value_or(absl::ZeroDuration());
  const absl::Duration limit = std::clamp(round_trips, Seconds(1), Seconds(10));
  if (worker.closed_at + limit + kSlack >= now) return {};
  if (worker.attempt != nullptr && worker.attempt->ranks.size() > 1) {
    const auto* training = std::get_if<Training>(&worker.attempt->phase);
    // Its gang may have made steps without it being heard.
    if (training != nullptr && training->last_step + Seconds(10) + kSlack >= now) {
      known.proven_at = now;
      return {};
    }
  }
  if (known.proven_at + kSlack >= now) return {};  // its gang has just broken, or begins again
  return absl::StrCat("17: the stream of worker ", worker.name, " closed ",
                      absl::FormatDuration(now - worker.closed_at), " ago, and it is not lost");
}

std::string DetectionChecker::CheckHang(const State& state, const LiveAttempt& attempt,
                                        absl::Duration now) {
  const auto* training = std::get_if<Training>(&attempt.phase);
  if (training == nullptr || training->longest_step <= absl::ZeroDuration()) return {};
  for (const RankState& rank : attempt.ranks) {
    if (rank.pauses || !rank.tells_pauses || rank.worker == kNoWorker) return {};
    const Worker& worker = state.live.workers[rank.worker];
    if (worker.stream == 0 || worker.last_heard + Seconds(3) < now) return {};
  }
  const absl::Duration limit =
      std::max({Seconds(10), 20 * training->longest_step, 4 * training->longest_gap});
  if (training->last_progress + limit + limits::kPeersAsked + kSlack >= now) return {};
  return absl::StrCat("17: attempt ", ToString(attempt.id), " made no step for ",
                      absl::FormatDuration(now - training->last_progress), ", and is not ended");
}

std::string DetectionChecker::AfterStep(const State& state, const Effects& effects,
                                        absl::Duration now) {
  for (const v1::Record& record : effects.records) {
    if (!record.has_attempt_ended()) continue;
    const v1::AttemptEnded& fact = record.attempt_ended();
    if (fact.cause() != v1::CAUSE_HANG && fact.cause() != v1::CAUSE_NETWORK) continue;
    const auto paused = paused_since_.find({{fact.experiment(), fact.trial()}, fact.attempt()});
    if (paused == paused_since_.end() || now - paused->second >= Seconds(60)) continue;
    return absl::StrCat("17: a gang that saves was ended as hung after ",
                        absl::FormatDuration(now - paused->second));
  }
  paused_since_.clear();
  for (const auto& [token, attempt] : state.live.attempts) {
    if (std::string late = CheckHang(state, *attempt, now); !late.empty()) return late;
    const auto* training = std::get_if<Training>(&attempt->phase);
    const bool pauses = std::any_of(attempt->ranks.begin(), attempt->ranks.end(),
                                    [](const RankState& rank) { return rank.pauses; });
    if (training != nullptr && pauses) paused_since_[attempt->id] = training->last_progress;
  }
  for (const Worker& worker : state.live.workers) {
    if (worker.name.empty()) continue;
    Known& known = workers_[worker.name];
    if (std::string late = CheckClosed(worker, known, now); !late.empty()) return late;
    if (worker.presence == Presence::kLost && known.presence != Presence::kLost) {
      if (std::string early = CheckLoss(state, worker, known, now); !early.empty()) return early;
    }
    known = {.presence = worker.presence,
             .stream = worker.stream,
             .draining = worker.draining,
             .last_heard = worker.last_heard,
             .closed_at = worker.closed_at,
             .proven_at = known.proven_at};
  }
  return {};
}

}  // namespace dt::sim
