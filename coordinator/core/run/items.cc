// items.cc: takes the items of a worker, each once and in order.
//
// Fences: an item counts for the attempt whose token it carries, from the worker and instance to
// which the attempt was given. Rows and results count only for the newest attempt of a trial, which
// may have ended.
//
// An item that passes the fences is compared with what is known (model/plausibility.h). One that
// cannot be true is left out and counted. Where the attempt cannot go on without it, the attempt
// ends as a crash of its trainer.
#include "coordinator/core/run/items.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/text.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/model/plausibility.h"
#include "coordinator/core/model/silence.h"
#include "coordinator/core/model/survivors.h"
#include "coordinator/core/place/preemption.h"
#include "coordinator/core/run/attempts.h"
#include "coordinator/core/run/population.h"
#include "coordinator/core/run/rescue.h"
#include "coordinator/core/run/searching.h"
#include "coordinator/core/run/status.h"
#include "spec/collectives.h"
#include "spec/program.h"

namespace dt {
namespace {

// Sender of an item, as a member of the attempt that the item names.
struct Sender {
  Worker& worker;
  AttemptId id;
  const Trial* trial = nullptr;
  const Attempt* recorded = nullptr;
  LiveAttempt* live = nullptr;  // if the worker's orders name it
  int32_t rank = 0;
  Last last = Last::kNo;
  bool rescues = false;  // it was ordered to save the state of its gang

  // Returns whether its rows and checkpoint count.
  bool Reports() const { return rank == 0 || rescues; }

  bool Newest() const { return id.attempt == trial->attempts.size(); }
};

// Returns false if the token names no attempt, or one that this instance never had.
bool FindSender(Turn& turn, const std::string& token_bytes, Sender& sender) {
  const Worker& worker = sender.worker;
  const AttemptToken token = *AttemptToken::FromBytes(token_bytes);
  const auto found = turn.durable().tokens.find(token);
  if (found == turn.durable().tokens.end()) return false;
  sender.id = found->second;
  sender.trial = FindTrial(turn.durable(), sender.id.trial);
  sender.recorded = FindAttempt(turn.durable(), sender.id);
  if (worker.attempt != nullptr && worker.attempt->token == token) {
    sender.live = worker.attempt;
    sender.rank = worker.rank;
    return sender.recorded->members[sender.rank].instance == worker.instance;
  }
  for (size_t rank = 0; rank < sender.recorded->members.size(); ++rank) {
    const GangMember& member = sender.recorded->members[rank];
    if (member.instance != worker.instance || member.worker != worker.name) continue;
    sender.rank = static_cast<int32_t>(rank);
    return true;
  }
  return false;
}

Claimant ClaimantOf(const Turn& turn, const Sender& sender) {
  const auto& told = turn.state.live.told;
  const auto found = told.find(sender.recorded->token);
  const Experiment& experiment = GetExperiment(turn.state.durable, sender.id.trial.experiment);
  return {sender.id,
          *sender.trial,
          *sender.recorded,
          sender.worker.hello.storage_id(),
          found == told.end() ? ReportedSteps{} : found->second,
          spec::IsProgram(experiment.spec.base()),
          sender.live != nullptr && sender.live->spec.train().max_time_seconds() > 0};
}

void LeaveOut(Turn& turn, const Sender& sender, const std::string& doubt) {
  NoteDoubt(turn, sender.worker, sender.id, doubt);
}

// Ends the attempt: it cannot go on after this report.
void EndDoubted(Turn& turn, const Sender& sender, const std::string& doubt) {
  LeaveOut(turn, sender, doubt);
  TakeRankEnd(turn, *sender.live,
              {.rank = sender.rank,
               .cause = v1::CAUSE_TRAINER_CRASH,
               .message = absl::StrCat("the trainer reported what cannot be: ", doubt),
               .step = sender.live->step});
}

// An attempt that ended before its `running` came has no rows here (TakeRows). A resume from its
// checkpoint would leave a gap in them.
bool TakesResults(const Sender& sender) {
  const bool newest = sender.Newest() || Mutated(Mutant::kHistoryByArrival);
  const bool ran = sender.recorded->ran || Mutated(Mutant::kResultsBeforeRunning);
  return newest && ran && !IsTerminal(sender.trial->state) &&
         Next(sender.recorded->state, AttemptMove::kReportsResult).has_value();
}

void TakePrepared(Turn& turn, const Sender& sender, v1::Prepared& prepared) {
  if (sender.rank != 0 || sender.live == nullptr || sender.live->Is<Leaving>()) return;
  if (!Next(sender.recorded->state, AttemptMove::kPrepares).has_value()) return;
  const v1::Spec& spec = sender.live->spec;
  const int64_t steps = spec::IsProgram(spec) ? spec.steps() : spec.train().max_steps();
  const std::string doubt = DoubtAbout(ClaimantOf(turn, sender), prepared, steps);
  if (!doubt.empty()) return EndDoubted(turn, sender, doubt);
  v1::Record record;
  SetId(*record.mutable_attempt_prepared(), sender.id);
  record.mutable_attempt_prepared()->mutable_prepared()->Swap(&prepared);
  Journal(turn, std::move(record));
}

void TakeRunning(Turn& turn, const Sender& sender, const v1::Running& running) {
  if (sender.rank != 0 || sender.live == nullptr) return;
  if (!Next(sender.recorded->state, AttemptMove::kRuns).has_value()) return;
  if (!Next(sender.trial->state, TrialMove::kAttemptRuns).has_value()) return;
  const std::string doubt = DoubtAbout(ClaimantOf(turn, sender), running);
  if (!doubt.empty()) return EndDoubted(turn, sender, doubt);
  v1::Record record;
  SetId(*record.mutable_attempt_running(), sender.id);
  record.mutable_attempt_running()->set_resumed_step(running.resumed_step());
  Journal(turn, std::move(record));
  sender.live->step = running.resumed_step();
  // Settling or cancelling goes on.
  if (!sender.live->Is<Preparing>() && !sender.live->Is<Connecting>()) return;
  sender.live->Enter(Training{.last_progress = turn.now.steady});
  sender.live->training_since = turn.now.steady;
  Protect(turn.state, *sender.live, turn.now.steady);
  ArmAttempt(turn.live(), *sender.live);
}

// Returns whether a rank other than 0 may have been ordered to save the gang's state. It reports
// the rows that are missing before its checkpoint.
bool MayRescue(const Turn& turn, const Sender& sender) {
  const Experiment& experiment = GetExperiment(turn.state.durable, sender.id.trial.experiment);
  return sender.recorded->members.size() > 1 && !spec::IsProgram(experiment.spec.base());
}

// Drops rows that another rank reported before, and corrects the totals. Returns whether any rows
// are left.
bool DropKnown(uint64_t newest, v1::RowChunk& chunk, RowTotals* totals) {
  v1::StepRows rows, left;
  if (chunk.last_step() <= newest || !rows.ParseFromString(chunk.rows())) return false;
  for (v1::StepRow& row : *rows.mutable_rows()) {
    if (row.step() > newest) left.add_rows()->Swap(&row);
  }
  if (left.rows().empty()) return false;
  if (totals != nullptr) {
    totals->sum.Clear();
    for (const v1::StepRow& row : left.rows()) spec::AddRow(row, totals->sum);
  }
  chunk.set_first_step(left.rows(0).step());
  chunk.set_count(static_cast<uint32_t>(left.rows_size()));
  chunk.set_rows(left.SerializeAsString());
  return true;
}

void TakeRows(Turn& turn, const Sender& sender, v1::RowChunk& chunk, RowTotals* totals) {
  if (!sender.Reports()) return;
  if (!sender.Newest() && !Mutated(Mutant::kRowsOfOldAttempts)) return;
  if (!sender.recorded->ran && !Mutated(Mutant::kRowsBeforeRunning)) return;
  const Claimant claimant = ClaimantOf(turn, sender);
  const bool overlaps = chunk.first_step() <= claimant.told.row && MayRescue(turn, sender);
  if (overlaps && !Mutated(Mutant::kRowsOfTwoRanks) &&
      !DropKnown(claimant.told.row, chunk, totals)) {
    return;
  }
  const std::string doubt = DoubtAbout(claimant, chunk);
  if (!doubt.empty()) return LeaveOut(turn, sender, doubt);
  ReportedSteps& told = turn.live().told[sender.recorded->token];
  told.row = chunk.last_step();
  told.first_row = true;
  ChunkToStore& out = turn.effects.chunks.emplace_back();
  out.attempt = sender.id;
  out.first_step = chunk.first_step();
  out.last_step = chunk.last_step();
  out.count = chunk.count();
  out.rows = std::move(*chunk.mutable_rows());
  if (totals != nullptr) out.totals = std::move(*totals);
  if (sender.live == nullptr || sender.live->Is<Leaving>()) return;
  if (totals != nullptr) {
    NoteRow(*sender.live, out.totals.newest);
    Add(PaceOf(out.totals.sum), sender.live->pace);
  }
  NoteProgress(*sender.live, chunk.last_step(), turn.now.steady);
}

void TakeEvaluation(Turn& turn, const Sender& sender, v1::Evaluation& evaluation) {
  if (!sender.Reports() || !TakesResults(sender)) return;
  const Claimant claimant = ClaimantOf(turn, sender);
  const std::vector<KnownEvaluation>& taken = sender.trial->evaluations;
  const bool known = !taken.empty() && taken.back().attempt == sender.id.attempt &&
                     evaluation.step() <= taken.back().step;
  if (sender.rescues && known) return;  // rank 0 reported it before it was lost
  // Until an attempt has prepared, its steps are unknown.
  if (!claimant.program && claimant.trial.target_steps == 0) return;
  const std::string doubt = DoubtAbout(claimant, evaluation);
  if (!doubt.empty()) return LeaveOut(turn, sender, doubt);
  if (sender.live != nullptr) NoteProgress(*sender.live, evaluation.step(), turn.now.steady);
  const Experiment& experiment = GetExperiment(turn.durable(), sender.id.trial.experiment);
  const bool compared = IsCompared(experiment, evaluation);
  v1::Record record;
  SetId(*record.mutable_evaluation(), sender.id);
  record.mutable_evaluation()->mutable_evaluation()->Swap(&evaluation);
  Journal(turn, std::move(record));
  if (compared) JudgeEvaluation(turn, sender.id.trial, sender.last);
}

void TakeCheckpoint(Turn& turn, const Sender& sender, v1::CheckpointRef& checkpoint) {
  if (!sender.Reports()) return;
  if (!TakesResults(sender) || checkpoint.storage_id().empty()) return;
  // Two ranks may have saved the same state, the first for a coordinator that was killed.
  if (sender.rescues && checkpoint.step() <= ResumeStep(*sender.trial, sender.id)) return;
  const std::string doubt = DoubtAbout(ClaimantOf(turn, sender), checkpoint);
  if (!doubt.empty()) return LeaveOut(turn, sender, doubt);
  turn.live().told[sender.recorded->token].checkpoint = checkpoint.step();
  if (sender.live != nullptr) {
    NoteProgress(*sender.live, checkpoint.step(), turn.now.steady);
    NoteSave(*sender.live, absl::Seconds(checkpoint.seconds()));
  }
  v1::Record record;
  SetId(*record.mutable_checkpoint(), sender.id);
  const uint64_t step = checkpoint.step();
  record.mutable_checkpoint()->mutable_checkpoint()->Swap(&checkpoint);
  Journal(turn, std::move(record));
  CompareMember(turn, sender.id.trial, step);
  if (sender.live == nullptr || !sender.live->Open()) return;
  if (IsRescued(*sender.live, sender.rank, step)) EndRescue(turn, *sender.live);
}

// Takes the removal of checkpoint files, of this attempt or an earlier one: no attempt may resume
// from them.
void TakeRemoval(Turn& turn, const Sender& sender, v1::CheckpointRef& removed) {
  const auto& all = sender.trial->checkpoints;
  const auto known = std::find_if(all.begin(), all.end(), [&](const KnownCheckpoint& one) {
    return one.ref.storage_id() == removed.storage_id() && one.ref.path() == removed.path();
  });
  const uint32_t saved_by = known == all.end() ? 0 : known->attempt;
  const std::string doubt = DoubtAboutRemoval(ClaimantOf(turn, sender), removed, saved_by);
  if (!doubt.empty()) return LeaveOut(turn, sender, doubt);
  if (known == all.end()) return;
  v1::Record record;
  v1::CheckpointRemoved& fact = *record.mutable_checkpoint_removed();
  fact.set_experiment(sender.id.trial.experiment);
  fact.set_trial(sender.id.trial.trial);
  fact.set_storage_id(removed.storage_id());
  fact.set_path(removed.path());
  Journal(turn, std::move(record));
}

void TakeEnded(Turn& turn, const Sender& sender, v1::Ended& ended) {
  if (sender.live == nullptr) return;
  // Earlier items were left out too if the attempt had ended already.
  const bool over = sender.recorded->state == AttemptState::kEnded;
  const std::string doubt =
      over ? std::string() : DoubtAbout(ClaimantOf(turn, sender), ended, sender.rank);
  if (!doubt.empty()) return EndDoubted(turn, sender, doubt);
  if (sender.rank == 0) sender.live->hint = CleanText(ended.hint(), limits::kHintBytes);
  const uint64_t target = sender.trial->target_steps;
  const bool endless = target == 0 && spec::IsProgram(sender.live->spec);
  const bool hopeless = ended.of_experiment() && ended.cause() == v1::CAUSE_CONFIG && !over;
  const std::string why = hopeless ? ended.message() : std::string();
  TakeRankEnd(turn, *sender.live,
              {.rank = sender.rank,
               .cause = ended.cause(),
               .message = std::move(*ended.mutable_message()),
               .step = endless ? ended.step() : std::min(ended.step(), target),
               .died = ended.exit_status() != 0});
  if (hopeless) EndHopeless(turn, sender.id.trial, why);
}

// Takes the packages that a worker resolved. The first counts, and all attempts get it.
void TakeEnvironment(Turn& turn, const Sender& sender, v1::ResolvedEnvironment& resolved) {
  if (sender.live == nullptr || sender.live->Is<Leaving>() || resolved.lock().empty()) return;
  const Experiment& experiment = GetExperiment(turn.durable(), sender.id.trial.experiment);
  if (experiment.environment_lock.empty()) {
    v1::Record record;
    v1::EnvironmentResolved& fact = *record.mutable_environment_resolved();
    fact.set_experiment(sender.id.trial.experiment);
    fact.set_worker(sender.worker.name);
    fact.mutable_lock()->swap(*resolved.mutable_lock());
    Journal(turn, std::move(record));
  }
  MarkMembersDue(turn.live(), *sender.live);
}

void TakeLog(Turn& turn, const Sender& sender, v1::LogChunk& log) {
  if (const std::string doubt = DoubtAbout(log); !doubt.empty()) {
    return LeaveOut(turn, sender, doubt);
  }
  LogToStore& out = turn.effects.logs.emplace_back();
  out.attempt = sender.id;
  out.rank = sender.rank;
  out.wall_time_ms = log.wall_time_ms();
  out.text = std::move(*log.mutable_text());
  out.dropped_lines = log.dropped_lines();
}

void TakeItem(Turn& turn, Sender sender, v1::Item& item, RowTotals* totals) {
  if (!FindSender(turn, item.attempt_token(), sender)) return;
  sender.rescues = item.rescue() && MayRescue(turn, sender);
  if (sender.live != nullptr) sender.live->ranks[sender.rank].seen = true;
  switch (item.what_case()) {
    case v1::Item::kPrepared:
      return TakePrepared(turn, sender, *item.mutable_prepared());
    case v1::Item::kRunning:
      return TakeRunning(turn, sender, item.running());
    case v1::Item::kRows:
      return TakeRows(turn, sender, *item.mutable_rows(), totals);
    case v1::Item::kEvaluation:
      return TakeEvaluation(turn, sender, *item.mutable_evaluation());
    case v1::Item::kCheckpoint:
      return TakeCheckpoint(turn, sender, *item.mutable_checkpoint());
    case v1::Item::kCheckpointRemoved:
      return TakeRemoval(turn, sender, *item.mutable_checkpoint_removed());
    case v1::Item::kEnded:
      return TakeEnded(turn, sender, *item.mutable_ended());
    case v1::Item::kEnvironment:
      return TakeEnvironment(turn, sender, *item.mutable_environment());
    case v1::Item::kLog:
      return TakeLog(turn, sender, *item.mutable_log());
    case v1::Item::kDropped:
      turn.live().dropped_rows += item.dropped().count();
      return;
    case v1::Item::WHAT_NOT_SET:
      return;
  }
}

}  // namespace

void TakeItems(Turn& turn, Worker& worker, ReportReceived& received) {
  v1::WorkerReport& report = received.report;
  if (report.items().empty()) return;
  const uint64_t before = worker.acked;
  size_t chunk = 0;
  for (v1::Item& item : *report.mutable_items()) {
    RowTotals* totals = nullptr;
    if (item.what_case() == v1::Item::kRows && chunk < received.row_totals.size()) {
      totals = &received.row_totals[chunk++];
    }
    // Sent again, and taken before.
    if (item.sequence() <= worker.acked && !Mutated(Mutant::kItemsTakenTwice)) continue;
    worker.acked = item.sequence();
    TakeItem(turn, {.worker = worker}, item, totals);
  }
  DT_CHECK(worker.acked >= before);  // an acknowledgement is never taken back
  if (worker.acked > before && !Mutated(Mutant::kAcksForgotten)) {
    turn.effects.acks.push_back({worker.name, worker.instance, worker.acked});
  }
  MarkOrdersDue(turn.live(), worker);
}

void TakeClientItem(Turn& turn, Worker& client, v1::Item& item, Last last) {
  TakeItem(turn, {.worker = client, .last = last}, item, nullptr);
}

}  // namespace dt
