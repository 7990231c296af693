#include "coordinator/core/model/silence.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "coordinator/core/model/gang_end.h"
#include "spec/program.h"

namespace dt {
namespace {

// Share of the longest silence that is remembered after another report. At a heartbeat a second,
// half of it is left after a minute.
constexpr double kRemembered = 0.99;
// The longest pause that a report may claim: beyond limits::kHangFloor it changes nothing.
constexpr uint64_t kLongestPauseMs = 24ull * 3600 * 1000;

// Returns whether all ranks step together. They do not if they only average now and then.
bool StepTogether(const v1::Spec& spec) {
  const std::string& strategy = spec.parallel().strategy();
  return !spec::IsProgram(spec) && strategy != "local_sgd" && strategy != "gossip";
}

// Returns the attempt whose steps prove that the worker is alive, or nullptr.
const LiveAttempt* ProofOf(const Worker& worker) {
  if (worker.attempt == nullptr) return nullptr;
  const LiveAttempt& attempt = *worker.attempt;
  const bool trains = attempt.Is<Training>() && !attempt.saving && attempt.ranks.size() > 1;
  return trains && StepTogether(attempt.spec) ? &attempt : nullptr;
}

}  // namespace

void NoteHeard(LiveState& live, Worker& worker, absl::Duration now) {
  worker.longest_silence = std::max(now - worker.last_heard, kRemembered * worker.longest_silence);
  worker.last_heard = now;
  NewestHeard& newest = live.newest_heard;
  if (newest.worker == kNoWorker ||
      live.workers[newest.worker].hello.host() != worker.hello.host()) {
    newest.elsewhere = newest.at;
    newest.worker = worker.index;
  }
  newest.at = now;
}

uint64_t NextPing(Worker& worker, absl::Duration now) {
  if (now - worker.pinged_at < limits::kPingEvery) return 0;
  worker.pinged_at = now;
  worker.ping_open = true;
  return ++worker.ping;
}

void NotePong(Worker& worker, uint64_t pong, absl::Duration held, absl::Duration now) {
  if (pong != worker.ping || !std::exchange(worker.ping_open, false)) return;
  const absl::Duration took = std::max(absl::ZeroDuration(), now - worker.pinged_at - held);
  worker.round_trip = std::max(took, worker.round_trip.value_or(absl::ZeroDuration()) / 2);
}

Signs SignsOf(const Worker& worker) {
  Signs signs;
  if (const LiveAttempt* proof = ProofOf(worker)) {
    signs.longest_step = LongestStep(std::get<Training>(proof->phase));
  }
  signs.lease = worker.lease;
  signs.round_trip = worker.round_trip;
  signs.longest_silence = worker.longest_silence;
  return signs;
}

bool AreOthersHeard(const LiveState& live, const Worker& worker) {
  const NewestHeard& newest = live.newest_heard;
  if (newest.worker == kNoWorker) return false;
  const bool elsewhere = live.workers[newest.worker].hello.host() != worker.hello.host();
  return (elsewhere ? newest.at : newest.elsewhere) + limits::kOthersHeard >= live.event_at;
}

void NoteProgress(LiveAttempt& attempt, uint64_t step, absl::Duration now) {
  if (auto* training = std::get_if<Training>(&attempt.phase)) {
    const absl::Duration gap = now - training->last_progress;
    const bool rises = step > attempt.step;
    // The first step compiles and warms up, so it says nothing of the others.
    const bool first = training->last_step == -absl::InfiniteDuration();
    // The end of a save or an evaluation may come with the steps that follow it.
    const Work work = SignsOf(attempt).work;
    const bool steps = work != Work::kEvaluates && work != Work::kPauses;
    if (rises && first) {
      training->first_step = gap;
    } else if (rises && steps) {
      // Before a standstill the ranks, up to a step apart, report few steps for the time since
      // their last heartbeats. These steps took less than that.
      auto& [newest, second] = training->newest_steps;
      training->longest_step = std::max(training->longest_step, second);
      second = std::exchange(newest, gap / static_cast<double>(step - attempt.step));
    }
    if (rises) training->last_step = now;
    if (!first && steps) training->longest_gap = std::max(training->longest_gap, gap);
    training->last_progress = now;
  }
  attempt.question = {};
  attempt.step = std::max(attempt.step, step);
}

void NoteSave(LiveAttempt& attempt, absl::Duration took) {
  if (auto* training = std::get_if<Training>(&attempt.phase)) {
    training->longest_save = std::max(training->longest_save, took);
  }
}

void NoteLongWork(LiveAttempt& attempt, RankState& rank, const v1::AttemptStatus& status,
                  absl::Duration now) {
  const bool went_on =
      status.evaluation_parts() > 0 && status.evaluated_parts() != rank.evaluated_parts;
  const bool over = rank.evaluation_parts > 0 && status.evaluation_parts() == 0;
  const bool turns = rank.pauses != status.pauses();
  rank.evaluated_parts = status.evaluated_parts();
  rank.evaluation_parts = status.evaluation_parts();
  rank.pauses = status.pauses();
  if (auto* connecting = std::get_if<Connecting>(&attempt.phase)) {
    // No rank goes on before all have joined.
    if (rank.pauses && !connecting->joined) {
      *connecting = {.since = now, .joined = true};
      attempt.question = {};
    }
  }
  auto* training = std::get_if<Training>(&attempt.phase);
  if (training == nullptr) return;
  training->longest_pause =
      std::max(training->longest_pause,
               absl::Milliseconds(std::min<uint64_t>(status.longest_pause_ms(), kLongestPauseMs)));
  if (!went_on && !over && !turns) return;
  if (went_on) {
    training->longest_part = std::max(training->longest_part, now - training->last_progress);
  }
  training->last_progress = now;
  attempt.question = {};
}

std::optional<absl::Duration> AliveByItsGang(const Worker& worker) {
  const LiveAttempt* proof = ProofOf(worker);
  if (proof == nullptr) return std::nullopt;
  return std::min(
      std::get<Training>(proof->phase).last_step + PatienceOf(SignsOf(worker)).standstill,
      worker.last_heard + limits::kGangLease);
}

int32_t RankNotHeard(const LiveState& live, const LiveAttempt& attempt, absl::Duration now) {
  for (size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    if (attempt.ranks[rank].worker == kNoWorker) continue;
    const Worker& worker = live.workers[attempt.ranks[rank].worker];
    if (worker.session == 0) continue;  // not heard since the start of the coordinator
    if (worker.stream == 0 || worker.last_heard + limits::kLease / 2 < now) {
      return static_cast<int32_t>(rank);
    }
  }
  return -1;
}

int32_t RankGoneByEvidence(const LiveState& live, const LiveAttempt& attempt) {
  if (RankWithSymptom(attempt) < 0 || MaySave(attempt)) return -1;
  for (size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    const RankState& state = attempt.ranks[rank];
    if (state.worker == kNoWorker || state.end != v1::CAUSE_UNSPECIFIED || state.gone) continue;
    if (state.holds.has_value()) continue;
    const Worker& worker = live.workers[state.worker];
    if (worker.stream == 0 && worker.session > 0) return static_cast<int32_t>(rank);
  }
  return -1;
}

}  // namespace dt
