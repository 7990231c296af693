// status.cc: see status.h.
#include "coordinator/core/run/status.h"

#include <algorithm>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/timers.h"
#include "coordinator/core/model/plausibility.h"
#include "coordinator/core/model/silence.h"
#include "coordinator/core/place/apart.h"
#include "coordinator/core/run/attempts.h"
#include "spec/program.h"

namespace dt {
namespace {

// Weight of the newest row in the smoothed time of a step.
constexpr double kNewestRowWeight = 0.3;

// Checks that ranks train on the same data. They report in any order, so each is compared with all
// others.
void CompareData(Turn& turn, LiveAttempt& attempt, int32_t rank) {
  const RankState& mine = attempt.ranks[rank];
  const auto differs =
      std::find_if(attempt.ranks.begin(), attempt.ranks.end(), [&mine](const RankState& other) {
        return other.prepared && other.data_fingerprint != mine.data_fingerprint;
      });
  if (differs == attempt.ranks.end()) return;
  const auto& members = FindAttempt(turn.durable(), attempt.id)->members;
  const size_t other = differs - attempt.ranks.begin();
  const auto named = [&members](size_t index) {
    return absl::StrCat(members[index].host, " (rank ", index, ", worker ", members[index].worker,
                        ")");
  };
  Settle(turn, attempt,
         {.rank = rank,
          .cause = v1::CAUSE_DATA,
          .message = absl::StrCat("the training data differ between hosts: ", named(other),
                                  " has fingerprint ", differs->data_fingerprint, ", ", named(rank),
                                  " has ", mine.data_fingerprint, "; copy the same files to both"),
          .step = 0});
}

void NotePrepared(Turn& turn, LiveAttempt& attempt, int32_t rank, const v1::Prepared& prepared) {
  RankState& mine = attempt.ranks[rank];
  if (mine.prepared || !attempt.Open()) return;
  mine.prepared = true;
  mine.data_fingerprint = prepared.data_fingerprint();
  const bool all = std::all_of(attempt.ranks.begin(), attempt.ranks.end(),
                               [](const RankState& other) { return other.prepared; });
  // After a restart of the coordinator it may be training already.
  if (all && attempt.Is<Preparing>()) {
    attempt.Enter(Connecting{turn.now.steady});
    ArmAttempt(turn.live(), attempt);
  }
  CompareData(turn, attempt, rank);
}

}  // namespace

void NoteRow(LiveAttempt& attempt, const v1::StepRow& row) {
  if (attempt.latest.has_value() && row.step() <= attempt.latest->step()) return;
  attempt.latest = row;
  if (row.steps() <= 0 || row.seconds() <= 0) return;
  const double each = row.seconds() / row.steps();
  const bool first = !(attempt.seconds_per_step > 0);
  if (auto* training = std::get_if<Training>(&attempt.phase); training != nullptr && !first) {
    training->longest_row = std::max(training->longest_row, absl::Seconds(each));
  }
  attempt.seconds_per_step =
      first ? each
            : attempt.seconds_per_step + kNewestRowWeight * (each - attempt.seconds_per_step);
}

void TakeStatus(Turn& turn, Worker& worker, v1::AttemptStatus& status) {
  LiveAttempt& attempt = *worker.attempt;
  RankState& rank = attempt.ranks[worker.rank];
  rank.seen = true;
  // A worker that was lost while its gang is rescued may come back with its trainer.
  if (attempt.rescue.has_value()) rank.gone = false;
  if (worker.rank == 0) attempt.absent_since = absl::InfiniteDuration();
  if (attempt.Is<Leaving>()) return;
  const Trial& trial = GetTrial(turn.durable(), attempt.id.trial);
  const Claimant claimant{attempt.id, trial, *FindAttempt(turn.durable(), attempt.id),
                          worker.hello.storage_id()};
  if (const std::string doubt = DoubtAbout(claimant, status); !doubt.empty()) {
    return NoteDoubt(turn, worker, attempt.id, doubt);
  }
  // Until it has prepared, its possible steps are unknown.
  const bool prepared =
      trial.target_steps > 0 || (spec::IsProgram(attempt.spec) && attempt.Is<Training>());
  if (worker.rank == 0) {
    if (status.store_address() != attempt.store_address) {
      attempt.store_address = status.store_address();
      MarkMembersDue(turn.live(), attempt);
    }
    if (status.has_latest() && prepared) NoteRow(attempt, status.latest());
  }
  if (prepared && status.step() > attempt.step)
    NoteProgress(attempt, status.step(), turn.now.steady);
  if (worker.rank == 0 && status.progress() >= 0) {  // not NaN
    attempt.progress = std::min(status.progress(), 1.0);
  }
  if (worker.rank == 0) attempt.hint = CleanText(status.hint(), limits::kHintBytes);
  if (status.makes_environment()) attempt.NoteEnvironment(turn.now.steady);
  rank.tells_pauses = worker.hello.level() >= kTellsPausesLevel;
  NoteLongWork(attempt, rank, status, turn.now.steady);
  if (status.holds()) NoteHolds(turn, attempt, rank, status);
  if (attempt.Is<Leaving>()) return;
  NoteTogether(turn.live(), attempt, *FindAttempt(turn.durable(), attempt.id), turn.now.steady);
  // By its steps its time limit may be shorter than before.
  if (worker.rank == 0 && attempt.Is<Training>()) ArmAttempt(turn.live(), attempt);
  // Last: unequal data end the attempt.
  if (status.has_prepared()) NotePrepared(turn, attempt, worker.rank, status.prepared());
}

}  // namespace dt
