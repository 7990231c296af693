#include "coordinator/core/explain.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "coordinator/core/marking.h"
#include "coordinator/core/schedule.h"

namespace dt {
namespace {

std::string WholeSeconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))), " s");
}

std::string WhyParked(const ParkedTrial& parked, const Trial& trial, absl::Duration now) {
  switch (parked.why) {
    case ParkedTrial::Why::kBackoff:
      return absl::StrCat("backs off ", WholeSeconds(parked.until - now), " before attempt ",
                          trial.attempts.size() + 1);
    case ParkedTrial::Why::kStorageAbsent:
      return absl::StrCat("its newest checkpoint is on storage ", parked.storage_id,
                          ", which no connected worker sees; waits ",
                          WholeSeconds(parked.until - now),
                          " for one, then goes on from an older checkpoint or from the start");
    case ParkedTrial::Why::kStorageBusy:
      return absl::StrCat("its newest checkpoint is on storage ", parked.storage_id,
                          ", and the workers that see it are busy");
  }
  return {};
}

std::string DescribeRanks(const LiveState& live, const LiveAttempt& attempt) {
  std::string text;
  for (size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    const RankState& state = attempt.ranks[rank];
    if (state.worker == kNoWorker) continue;
    const Worker& worker = live.workers[state.worker];
    if (worker.stream != 0) continue;
    absl::StrAppend(&text, "; worker ", worker.name, " of rank ", rank, " is not connected");
  }
  return text;
}

std::string ExplainActive(const State& state, const Trial& trial, const LiveAttempt& live,
                          absl::Duration now) {
  std::string text = absl::StrCat("attempt ", trial.attempts.size(), ": ");
  if (trial.state == v1::TRIAL_STOPPING) {
    absl::StrAppend(&text, "being cancelled; ", live.holders,
                    live.holders == 1 ? " worker has" : " workers have", " not left it yet");
  } else if (live.Is<Settling>()) {
    absl::StrAppend(&text, "a collective failed; waiting for the rank that caused it");
  } else if (const auto* training = std::get_if<Training>(&live.phase)) {
    const RankState& root = live.ranks[0];
    const bool evaluates = root.evaluation_parts > 0;
    absl::StrAppend(&text, evaluates ? "evaluating" : "training", ", at step ", live.step);
    if (trial.target_steps > 0) absl::StrAppend(&text, " of ", trial.target_steps);
    if (evaluates) {
      absl::StrAppend(&text, ", ", root.evaluated_parts, " of ", root.evaluation_parts,
                      " parts of rank 0's share done");
    }
    absl::StrAppend(&text, "; last progress ", WholeSeconds(now - training->last_progress), " ago");
  } else if (live.Is<Connecting>()) {
    absl::StrAppend(&text, "all ranks are prepared and connect to each other");
  } else {
    size_t prepared = 0;
    for (const RankState& rank : live.ranks) prepared += rank.prepared ? 1 : 0;
    absl::StrAppend(&text, "preparing data and model: ", prepared, " of ", live.ranks.size(),
                    " ranks are ready");
  }
  const Attempt& recorded = trial.attempts.back();
  if (recorded.AskedToStop()) absl::StrAppend(&text, "; saving: ", recorded.stop_reason);
  return absl::StrCat(text, DescribeRanks(state.live, live));
}

}  // namespace

std::string PausedText(const Experiment& experiment) {
  return absl::StrCat("experiment is paused by ", experiment.paused_by);
}

std::string WhyWaiting(const State& state, TrialId id, absl::Duration now) {
  const Experiment& experiment = GetExperiment(state.durable, id.experiment);
  const Trial& trial = GetTrial(state.durable, id);
  if (experiment.paused) return PausedText(experiment);
  const auto parked = state.live.parked.find(id);
  if (parked != state.live.parked.end()) return WhyParked(parked->second, trial, now);
  const DemandClass demand = DemandOf(experiment, trial);
  Decision decision = Place(PoolOf(state.live, demand.device), {demand, {}});
  decision.reason += HeldText(state, demand.device);
  if (decision.verdict == Verdict::kNeverFits) return decision.reason;
  if (GateOf(experiment) == Gate::kClosed) {
    return absl::StrCat("experiment runs ", experiment.active, " of at most ",
                        experiment.spec.search().max_concurrent(),
                        " trials at once (search.max_concurrent)");
  }
  const std::optional<TrialId> head = HeadOf(state.live, demand.device);
  if (head.has_value() && *head != id) {
    return absl::StrCat(decision.reason, "; its place in the queue is behind ",
                        IsTicket(*head)
                            ? absl::StrCat("the next trial of experiment ", head->experiment)
                            : absl::StrCat("trial ", ToString(*head)));
  }
  return absl::StrCat(decision.reason, "; it is next");
}

std::string ExplainSentences(const State& state, TrialId id, absl::Duration now) {
  const Trial& trial = GetTrial(state.durable, id);
  if (trial.state == v1::TRIAL_PENDING) {
    return absl::StrCat("waits: ", WhyWaiting(state, id, now));
  }
  const LiveAttempt* live = FindLiveAttempt(state, id);
  if (IsActive(trial.state) && live != nullptr) return ExplainActive(state, trial, *live, now);
  const std::string attempts = absl::StrCat("after ", trial.attempts.size(),
                                            trial.attempts.size() == 1 ? " attempt" : " attempts");
  if (trial.cause == v1::CAUSE_STOPPED_EARLY) {
    return absl::StrCat("ended early ", attempts, ": ", trial.message);
  }
  if (trial.state == v1::TRIAL_FINISHED) return absl::StrCat("finished ", attempts);
  if (trial.state == v1::TRIAL_CANCELLED) {
    return absl::StrCat("cancelled ", attempts, ": ", trial.message);
  }
  return absl::StrCat("failed ", attempts, ": ", View(Name(trial.cause)),
                      trial.message.empty() ? "" : ": ", trial.message);
}

}  // namespace dt
