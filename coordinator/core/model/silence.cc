#include "coordinator/core/model/silence.h"

#include <algorithm>

#include "common/limits.h"
#include "coordinator/core/model/gang_end.h"
#include "spec/program.h"

namespace dt {
namespace {

// Returns whether all ranks step together. They do not if they only average now and then.
bool StepTogether(const v1::Spec& spec) {
  const std::string& strategy = spec.parallel().strategy();
  return !spec::IsProgram(spec) && strategy != "local_sgd" && strategy != "gossip";
}

}  // namespace

void NoteProgress(LiveAttempt& attempt, uint64_t step, absl::Duration now) {
  if (auto* training = std::get_if<Training>(&attempt.phase)) {
    const absl::Duration gap = now - training->last_progress;
    if (step > attempt.step) {
      const absl::Duration each = gap / static_cast<double>(step - attempt.step);
      training->longest_step = std::max(training->longest_step, each);
      training->last_step = now;
    }
    training->longest_gap = std::max(training->longest_gap, gap);
    training->last_progress = now;
  }
  attempt.step = std::max(attempt.step, step);
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
  auto* training = std::get_if<Training>(&attempt.phase);
  if ((went_on || over || turns) && training != nullptr) training->last_progress = now;
}

std::optional<absl::Duration> AliveByItsGang(const Worker& worker) {
  if (worker.attempt == nullptr) return std::nullopt;
  const LiveAttempt& attempt = *worker.attempt;
  const auto* training = std::get_if<Training>(&attempt.phase);
  if (training == nullptr || attempt.saving || attempt.ranks.size() < 2) return std::nullopt;
  if (!StepTogether(attempt.spec)) return std::nullopt;
  return std::min(training->last_step + limits::kLease, worker.last_heard + limits::kGangLease);
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
  if (RankWithEnd(attempt, v1::CAUSE_COLLECTIVE) < 0 || MaySave(attempt)) return -1;
  for (size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    const RankState& state = attempt.ranks[rank];
    if (state.worker == kNoWorker || state.end != v1::CAUSE_UNSPECIFIED || state.gone) continue;
    const Worker& worker = live.workers[state.worker];
    if (worker.stream == 0 && worker.session > 0) return static_cast<int32_t>(rank);
  }
  return -1;
}

}  // namespace dt
