// old_journals_test.cc: the journal of every release opens with an unchanged meaning.
//
// tests/coordinator/store/journals has VERSION.db, which record.py made with that version,
// VERSION.mark beside it since 0.2.0, and VERSION.golden with its contents. A change that alters a
// golden text changes the meaning of old journals.
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/view.h"
#include "coordinator/core/facts/snapshot.h"
#include "coordinator/loop/restore.h"
#include "coordinator/store/check.h"
#include "coordinator/store/sql_journal.h"
#include "coordinator/store/sqlite_store.h"
#include "gtest/gtest.h"
#include "spec/spec.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

std::string Described(const Attempt& attempt) {
  std::string text = absl::StrCat("    attempt ", View(Name(attempt.state)));
  if (attempt.state == AttemptState::kEnded) {
    absl::StrAppend(&text, ", ", View(Name(attempt.cause)), " on rank ", attempt.deciding_rank,
                    " at step ", attempt.last_step, ": ", attempt.message);
  }
  absl::StrAppend(&text, "; ", attempt.reason, "; ran ", attempt.ran, " from step ",
                  attempt.resumed_step, ", progressed ", attempt.progressed, ", on");
  for (const GangMember& member : attempt.members) absl::StrAppend(&text, " ", member.worker);
  return text + "\n";
}

std::string Described(const Experiment& experiment, const Trial& trial) {
  std::string text =
      absl::StrCat("  trial ", View(Name(trial.state)), " ", View(Name(trial.cause)), ", crashes ",
                   trial.tries.crashes, ", losses ", trial.tries.losses, ", target ",
                   trial.target_steps, trial.ended_wall_ms > 0 ? ", ended: " : ": ", trial.message);
  const v1::ExpandedTrial expanded = ExpandedOf(experiment, trial);
  for (const v1::Assignment& assignment : expanded.assignments()) {
    absl::StrAppend(&text, "\n    ", assignment.path(), " = ", spec::ValueText(assignment.value()));
  }
  const Shape shape = ShapeOf(experiment, trial);
  absl::StrAppend(&text, "\n    ", shape.slots, " × ", View(Name(shape.constraint.device)),
                  ", seed ", SeedOf(experiment, trial), ", last loss ",
                  absl::StrCat(trial.last_loss).substr(0, 6), "\n");
  for (const Attempt& attempt : trial.attempts) text += Described(attempt);
  for (const KnownCheckpoint& known : trial.checkpoints) {
    absl::StrAppend(&text, "    checkpoint of attempt ", known.attempt, ": ", known.ref.path(),
                    "\n");
  }
  for (const KnownEvaluation& known : trial.evaluations) {
    absl::StrAppend(&text, "    evaluation of attempt ", known.attempt, " at step ", known.step,
                    ": ", absl::StrCat(known.loss).substr(0, 6), "\n");
  }
  return text;
}

std::string Described(const DurableState& state) {
  std::string text = absl::StrCat("next experiment ", state.next_experiment, "\n");
  for (const auto& [id, experiment] : state.experiments) {
    absl::StrAppend(
        &text, "experiment ", id, " ", experiment.spec.name(), " of ", experiment.file_name, " (",
        experiment.file_text.size(), " bytes): ", View(Name(StateOf(experiment))), "; ",
        experiment.pending, " pending, ", experiment.active, " active, ", experiment.finished,
        " finished, ", experiment.failed, " failed, ", experiment.cancelled, " cancelled, ",
        experiment.oom, " out of memory, ", experiment.attempts, " attempts\n");
    for (const Trial& trial : experiment.trials) text += Described(experiment, trial);
  }
  return text;
}

// Describes what continues after the start: the living attempts, each with its specification.
std::string DescribedLive(const State& state) {
  std::string text;
  for (const auto& [id, experiment] : state.durable.experiments) {
    for (uint32_t number = 1; number <= experiment.trials.size(); ++number) {
      const LiveAttempt* live = FindLiveAttempt(state, {id, number});
      if (live == nullptr) continue;
      absl::StrAppend(&text, "lives ", ToString(live->id), " from step ", live->step, " with lr ",
                      live->spec.optimizer().lr(), ", ", live->spec.train().max_steps(),
                      " steps, n_layer ", live->spec.model().n_layer(), "\n");
    }
  }
  for (const auto& [shape, line] : state.live.lines) {
    absl::StrAppend(&text, "waits for ", shape.slots, " × ", View(Name(shape.constraint.device)),
                    ": ", line.size(), " trials\n");
  }
  return text;
}

TEST(OldJournalsTest, TheJournalOfEveryReleaseOpensWithItsOldMeaning) {
  size_t journals = 0;
  for (const auto& entry : std::filesystem::directory_iterator(JOURNALS)) {
    if (entry.path().extension() != ".db") continue;
    ++journals;
    SCOPED_TRACE(entry.path().filename().string());
    const testing::TempFolder folder;
    std::filesystem::copy_file(entry.path(), folder / "journal.db");
    std::filesystem::path mark = entry.path();
    mark.replace_extension(".mark");
    if (std::filesystem::exists(mark)) std::filesystem::copy_file(mark, folder / "journal.mark");
    auto store = SqliteStore::Open(folder.path(), "test");
    ASSERT_TRUE(store.ok()) << store.status();
    MetricsModel metrics(1);
    const auto state = Restore(**store, SystemClock(), metrics, [] {});
    ASSERT_TRUE(state.ok()) << state.status();
    const std::string found = Described(state->durable) + DescribedLive(*state);
    std::filesystem::path golden = entry.path();
    golden.replace_extension(".golden");
    EXPECT_EQ(found, testing::Slurp(golden)) << "found:\n" << found;
    // From here on it has hashes, and a snapshot gives the same.
    EXPECT_TRUE((*store)->Close().ok());
    const auto report = CheckJournal(folder / "journal.db", std::numeric_limits<uint64_t>::max());
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(WrongOf(*report).empty()) << WrongOf(*report).front();
    const auto journal = OpenSqliteJournal(folder.path());
    const auto snapshot = MakeSnapshot(**journal);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_EQ(Described(LoadSnapshot(snapshot->parts)->state), Described(state->durable));
  }
  EXPECT_GE(journals, 2u);
}

}  // namespace
}  // namespace dt
