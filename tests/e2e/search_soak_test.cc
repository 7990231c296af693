// search_soak_test.cc: searches of every method, while coordinator, workers and trainers are killed
// at random and users edit running experiments. Whatever was killed and changed: every trial
// becomes terminal, each kind of edit is accepted and is in the histories, and the coordinator's
// counts agree with its journal.
//   e2e_search_soak_test --seconds 3600 --seed 7    longer, or with other kills and edits
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <set>

#include "common/limits.h"
#include "tests/e2e/fleet_fixture.h"
#include "tests/e2e/soak_journal.h"
#include "tests/e2e/soak_people.h"
#include "tests/e2e/soak_specs.h"

namespace dt {
namespace {

std::chrono::seconds soak_time{60};
uint32_t soak_seed = 1;

// The attempts of a killed worker are lost when its lease is over, after 10 s.
constexpr std::chrono::seconds kToTheEnd{180};
// An edit stays in force this long when nothing happens any more: everything may be paused.
constexpr std::chrono::seconds kEdited{1};
constexpr size_t kWorkers = 3;
constexpr size_t kSearchesAtOnce = 4;
constexpr int kTrials = 8;
constexpr size_t kEditsAtOnce = 4;
// Bound on a run's further turns, until each kind of edit was accepted.
constexpr int kTurnsForTheRest = 60;

class SearchSoakTest : public FleetTest {
 protected:
  static std::vector<std::string> Workers() {
    std::vector<std::string> names;
    for (size_t i = 0; i < kWorkers; ++i) names.push_back("w" + std::to_string(i));
    return names;
  }
  void StartWorker(const std::string& name) {
    cluster_.StartWorker(name, {"--program-runner", DTPROGRAM});
  }

  uint32_t Below(size_t bound) { return static_cast<uint32_t>(random_() % bound); }

  void KillOne() {
    const std::string worker = Workers()[Below(kWorkers)];
    switch (Below(5)) {
      case 0:
        cluster_.worker(worker).KillAndReap();
        StartWorker(worker);
        return;
      case 1:
      case 2:
        if (const pid_t trainer = cluster_.TrainerOf(worker); trainer > 0) kill(trainer, SIGKILL);
        return;
      case 3:
      case 4:
        cluster_.KillCoordinator();
        cluster_.StartCoordinator();
        return;
    }
  }
  static bool Over(const v1::ExperimentSummary& summary) {
    return summary.pending() + summary.running() == 0 && summary.ended_wall_ms() > 0;
  }
  std::vector<uint64_t> Live() {
    std::vector<uint64_t> live;
    for (const uint64_t id : experiments_) {
      if (!Over(cluster_.Experiment(id))) live.push_back(id);
    }
    return live;
  }
  // Counts what has happened, so that each kill waits for something after the kill before it.
  uint64_t Happened() {
    uint64_t ended = 0;
    for (const uint64_t id : experiments_) {
      const v1::ExperimentSummary summary = cluster_.Experiment(id);
      ended += summary.trials() + summary.finished() + summary.failed() + summary.cancelled();
    }
    return ended;
  }
  // Submits searches; their kinds follow each other, so that every run has each kind.
  void KeepSearchesGoing() {
    for (size_t live = Live().size(); live < kSearchesAtOnce; ++live) {
      const size_t number = experiments_.size();
      const auto kind = static_cast<SoakKind>(number % kSoakKinds);
      const v1::ExperimentSpec spec = SoakSpec(kind, static_cast<int64_t>(number + 1), kTrials);
      experiments_.push_back(cluster_.Submit(spec));
      people_.TakeSubmitted(experiments_.back(), kTrials, spec.base().train().max_steps());
      if (kind == SoakKind::kProgram) programs_.insert(experiments_.back());
    }
  }
  // Kills or changes something, and waits until trials go on.
  void Turn() {
    KeepSearchesGoing();
    const uint64_t before = Happened();
    const size_t enough = 1 + Below(4);
    const auto more = [&] { return Happened() >= before + enough; };
    if (Below(2) == 0) {
      KillOne();
      ++kills_;
    } else {
      for (size_t edits = 1 + Below(kEditsAtOnce); edits > 0; --edits) {
        const std::vector<uint64_t> live = Live();
        std::vector<uint64_t> others = experiments_;
        std::erase_if(others, [&live](uint64_t id) {
          return std::find(live.begin(), live.end(), id) != live.end();
        });
        people_.EditOne(live, others);
      }
      if (Below(4) == 0) KillOne();  // before the events that it waits for
      if (!Await(more, kEdited)) people_.UndoAll();
    }
    // Nothing may happen because of an edit in an earlier turn.
    if (Await(more, kEdited)) return;
    people_.UndoAll();
    ASSERT_TRUE(Await([&] { return more() || Live().empty(); }, kToTheEnd))
        << "nothing happens after " << kills_ << " kills";
  }

  std::vector<v1::TrialSummary> TrialsOf(uint64_t experiment) {
    std::vector<v1::TrialSummary> trials;
    const uint32_t count = cluster_.Experiment(experiment).trials();
    for (uint32_t number = 1; number <= count; ++number) {
      trials.push_back(cluster_.Trial(experiment, number));
    }
    return trials;
  }
  // A trial that trained to its end has each step once, in spite of all kills.
  void ExpectItsRows(const v1::TrialSummary& trial) {
    if (trial.state() != v1::TRIAL_FINISHED || trial.cause() == v1::CAUSE_STOPPED_EARLY ||
        programs_.count(trial.experiment()) > 0) {
      return;
    }
    SCOPED_TRACE(trial.ShortDebugString());
    EXPECT_EQ(trial.step(), trial.target_steps());
    ExpectEachStepOnce(trial.experiment(), trial.step(), trial.trial());
  }
  // Expects that the experiment's trials are all terminal and distinct, and add up to its summary.
  void ExpectCountsOfItsTrials(uint64_t id) {
    const v1::ExperimentSummary summary = cluster_.Experiment(id);
    uint32_t finished = 0;
    uint32_t failed = 0;
    uint32_t cancelled = 0;
    uint32_t early = 0;
    for (const v1::TrialSummary& trial : TrialsOf(id)) {
      ExpectItsRows(trial);
      finished += trial.state() == v1::TRIAL_FINISHED ? 1 : 0;
      failed += trial.state() == v1::TRIAL_FAILED ? 1 : 0;
      cancelled += trial.state() == v1::TRIAL_CANCELLED ? 1 : 0;
      early += trial.cause() == v1::CAUSE_STOPPED_EARLY ? 1 : 0;
    }
    EXPECT_EQ(finished + failed + cancelled, summary.trials()) << summary.ShortDebugString();
    EXPECT_EQ(finished, summary.finished()) << summary.ShortDebugString();
    EXPECT_EQ(failed, summary.failed()) << summary.ShortDebugString();
    EXPECT_EQ(cancelled, summary.cancelled()) << summary.ShortDebugString();
    EXPECT_EQ(early, summary.stopped_early()) << summary.ShortDebugString();
    if (summary.search_end().empty()) {
      EXPECT_GE(summary.trials(), summary.planned_trials()) << summary.ShortDebugString();
    }
  }
  // Returns the result of each experiment and trial, without the parts that only a running
  // coordinator knows.
  std::vector<std::string> Results() {
    std::vector<std::string> results;
    for (const uint64_t id : experiments_) {
      results.push_back(cluster_.Experiment(id).ShortDebugString());
      for (const v1::TrialSummary& trial : TrialsOf(id)) {
        v1::TrialSummary kept;
        kept.set_experiment(id);
        kept.set_trial(trial.trial());
        kept.set_state(trial.state());
        kept.set_cause(trial.cause());
        kept.set_message(trial.message());
        kept.set_attempts(trial.attempts());
        kept.set_step(trial.step());
        kept.set_chosen(trial.chosen());
        kept.set_metric_value(trial.metric_value());
        *kept.mutable_assignments() = trial.assignments();
        results.push_back(kept.ShortDebugString());
      }
    }
    return results;
  }
  // Expects a line for each acknowledged edit in the experiment's history, and no other line.
  void ExpectHistories() {
    for (const uint64_t id : experiments_) {
      const v1::GetExperimentResponse response = cluster_.Described(id);
      // With more edits than this, the oldest are only in the journal.
      if (static_cast<size_t>(response.edits_size()) >= limits::kEditsPerExperiment) continue;
      SoakEdits shown;
      for (const auto& edit : response.edits()) {
        EXPECT_EQ(edit.who(), "ann") << edit.what();
        ++shown[{id, SoakEditOf(edit.what())}];
      }
      EXPECT_EQ(shown, Of(people_.taken(), id)) << response.ShortDebugString();
    }
  }
  static SoakEdits Of(const SoakEdits& edits, uint64_t id) {
    SoakEdits mine;
    for (const auto& each : edits) {
      if (each.first.first == id) mine.insert(each);
    }
    return mine;
  }
  // Recounts edits, trials and their ends from the journal's records.
  void ExpectCountsOfTheJournal(const std::map<uint64_t, v1::ExperimentSummary>& summaries) {
    const absl::StatusOr<SoakJournal> journal = ReadSoakJournal(cluster_.folder() / "state");
    ASSERT_TRUE(journal.ok()) << journal.status();
    SoakEdits edits = journal->edits;
    for (const auto& [key, times] : people_.taken()) {
      if (key.second == "retry") edits[key] = times;  // it has a record for each trial
    }
    EXPECT_EQ(edits, people_.taken());
    EXPECT_EQ(journal->trials_again, people_.trials_again());
    std::map<uint64_t, std::map<v1::TrialState, uint32_t>> ends;
    std::map<uint64_t, uint32_t> early;
    for (const auto& [trial, end] : journal->ends) {
      ++ends[trial.first][end.state()];
      early[trial.first] += end.cause() == v1::CAUSE_STOPPED_EARLY ? 1 : 0;
    }
    for (const auto& [id, summary] : summaries) {
      SCOPED_TRACE(summary.ShortDebugString());
      EXPECT_EQ(summary.trials(), journal->trials.at(id));
      EXPECT_EQ(summary.finished(), ends[id][v1::TRIAL_FINISHED]);
      EXPECT_EQ(summary.failed(), ends[id][v1::TRIAL_FAILED]);
      EXPECT_EQ(summary.cancelled(), ends[id][v1::TRIAL_CANCELLED]);
      EXPECT_EQ(summary.stopped_early(), early[id]);
    }
  }
  void ExpectAWholeJournal() {
    cluster_.coordinator().Signal(SIGTERM);
    ASSERT_TRUE(cluster_.coordinator().AwaitExit());
    const std::string log = cluster_.folder() / "check.log";
    testing::ChildProcess check({DTCOORD, "check", cluster_.folder() / "state"}, log);
    const auto status = check.AwaitExit();
    ASSERT_TRUE(status);
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << testing::Slurp(log);
  }

  void PrintWhatHappened() const {
    std::map<std::string, int> edits;
    for (const auto& [key, times] : people_.taken()) edits[key.second] += times;
    std::printf("%d kills in %zu experiments; edits:", kills_, experiments_.size());
    for (const auto& [what, times] : edits) std::printf(" %s %d", what.c_str(), times);
    std::printf("\n");
  }

  std::mt19937 random_{soak_seed};
  SoakPeople people_{cluster_, random_, Workers()};
  std::vector<uint64_t> experiments_;
  std::set<uint64_t> programs_;
  int kills_ = 0;
};

TEST_F(SearchSoakTest, EveryTrialEndsAndCountsMatchTheJournalDespiteKillsAndEdits) {
  SCOPED_TRACE("again with --seed " + std::to_string(soak_seed));
  cluster_.StartCoordinator();
  for (const std::string& worker : Workers()) StartWorker(worker);
  ASSERT_TRUE(cluster_.AwaitWorkers(kWorkers));
  const auto until = std::chrono::steady_clock::now() + soak_time;
  while (!HasFailure() &&
         (std::chrono::steady_clock::now() < until || experiments_.size() < kSoakKinds)) {
    Turn();
  }
  for (int turn = 0; !HasFailure() && !people_.Missing().empty() && turn < kTurnsForTheRest;
       ++turn) {
    Turn();
    people_.UndoAll();
  }
  people_.UndoAll();
  for (const uint64_t id : experiments_) {
    ASSERT_TRUE(cluster_.AwaitEnd(id, kToTheEnd));
    ExpectCountsOfItsTrials(id);
  }
  PrintWhatHappened();
  EXPECT_EQ(people_.Missing(), std::vector<std::string>()) << "were never taken";
  ExpectHistories();
  const std::vector<std::string> results = Results();
  std::map<uint64_t, v1::ExperimentSummary> summaries;
  for (const uint64_t id : experiments_) summaries[id] = cluster_.Experiment(id);
  ExpectAWholeJournal();
  ExpectCountsOfTheJournal(summaries);
  cluster_.StartCoordinator();
  EXPECT_EQ(Results(), results) << "a coordinator that has read its journal knows the same";
}

}  // namespace
}  // namespace dt

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; ++i) {
    const auto number = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seconds") == 0) dt::soak_time = std::chrono::seconds(number);
    if (std::strcmp(argv[i], "--seed") == 0) dt::soak_seed = static_cast<uint32_t>(number);
  }
  return RUN_ALL_TESTS();
}
