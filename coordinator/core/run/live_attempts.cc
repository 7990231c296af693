#include "coordinator/core/run/live_attempts.h"

#include <memory>
#include <utility>

#include "common/check.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/slots.h"
#include "coordinator/core/run/notifications.h"

namespace dt {

void FreeLeft(LiveState& live) {
  for (const AttemptToken& token : live.left) {
    const auto found = live.attempts.find(token);
    DT_CHECK(found != live.attempts.end() && found->second->holders == 0);
    DT_CHECK(found->second->timer == absl::InfiniteDuration());
    live.attempts.erase(found);
  }
  live.left.clear();
}

LiveAttempt& AddLiveAttempt(State& state, const AttemptId& id, Phase phase,
                            const std::vector<WorkerIndex>& gang) {
  const Attempt& recorded = *FindAttempt(state.durable, id);
  DT_CHECK(gang.size() == recorded.members.size() && recorded.state != AttemptState::kEnded);
  DT_CHECK(IsActive(GetTrial(state.durable, id.trial).state));
  auto made = std::make_unique<LiveAttempt>(id, recorded, phase);
  LiveAttempt& attempt = *made;
  const bool is_new = state.live.attempts.emplace(attempt.token, std::move(made)).second;
  DT_CHECK(is_new);
  for (size_t rank = 0; rank < gang.size(); ++rank) {
    Worker& worker = state.live.workers[gang[rank]];
    DT_CHECK(worker.attempt == nullptr);  // a slot has one attempt
    attempt.ranks[rank].worker = worker.index;
    worker.attempt = &attempt;
    worker.rank = static_cast<int32_t>(rank);
    ++attempt.holders;
    UpdateSlot(state, worker);
    MarkOrdersDue(state.live, worker);
  }
  NoteActive(state, id.trial);
  if (IsWanted(state, GetExperiment(state.durable, id.trial.experiment), v1::Notice::STALLED)) {
    attempt.stall_looked = -absl::InfiniteDuration();
  }
  return attempt;
}

}  // namespace dt
