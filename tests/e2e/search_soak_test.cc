// search_soak_test.cc: searches of every method while coordinator, workers and trainers are killed
// at random. Whatever was killed, every trial becomes terminal, and what the coordinator counts is
// what its journal says.
//   e2e_search_soak_test --seconds 3600 --seed 7    longer, or with other kills
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <random>

#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

std::chrono::seconds soak_time{10};
uint32_t soak_seed = 1;

// After a worker was killed its attempts are lost once its lease is over, in 10 s.
constexpr std::chrono::seconds kToTheEnd{180};
constexpr int kWorkers = 3;
constexpr size_t kSearchesAtOnce = 3;

class SearchSoakTest : public FleetTest {
 protected:
  static std::string NameOf(size_t worker) { return "w" + std::to_string(worker); }

  // The searches follow each other, so that every run of some length has each of them.
  v1::ExperimentSpec SpecOf(size_t number) {
    v1::ExperimentSpec spec =
        Training(54, "step_ms=2 by_rate=1 eval_every=9 checkpoint_every=9 keep=2",
                 number % 4 == 3 ? 2 : 1)
            .spec();
    spec.mutable_base()->set_seed(static_cast<int64_t>(number + 1));
    v1::Parameter& rate = *spec.add_parameters();
    rate.set_path("optimizer.lr");
    rate.mutable_range()->set_min(1e-5);
    rate.mutable_range()->set_max(1e-1);
    rate.mutable_range()->set_scale("log");
    spec.mutable_base()->mutable_schedule()->set_warmup_steps(0);
    v1::Search& search = *spec.mutable_search();
    search.set_max_trials(16);
    switch (number % 5) {
      case 0:
        search.set_method("bayes");
        break;
      case 1:
        search.set_method("asha");
        search.set_sampler("bayes");
        break;
      case 2:
        search.set_method("random");
        spec.mutable_base()->mutable_stop()->mutable_median()->set_after(2);
        break;
      case 3:
        search.set_method("asha");
        break;
      case 4:
        search.set_method("bayes");
        search.set_max_trials(12);
        for (const int64_t seed : {1, 2}) spec.add_seeds(seed);
        break;
    }
    return spec;
  }

  uint32_t Below(size_t bound) { return static_cast<uint32_t>(random_() % bound); }

  void KillOne() {
    const std::string worker = NameOf(Below(kWorkers));
    switch (Below(4)) {
      case 0:
        cluster_.worker(worker).KillAndReap();
        cluster_.StartWorker(worker);
        return;
      case 1:
      case 2:
        if (const pid_t trainer = cluster_.TrainerOf(worker); trainer > 0) kill(trainer, SIGKILL);
        return;
      case 3:
        cluster_.KillCoordinator();
        cluster_.StartCoordinator();
        return;
    }
  }
  static bool Over(const v1::ExperimentSummary& summary) {
    return summary.pending() + summary.running() == 0 && summary.ended_wall_ms() > 0;
  }
  // How much has happened, so that one kill waits for something behind the kill before.
  uint64_t Happened() {
    uint64_t ended = 0;
    for (const uint64_t id : experiments_) {
      const v1::ExperimentSummary summary = cluster_.Experiment(id);
      ended += summary.trials() + summary.finished() + summary.failed() + summary.cancelled();
    }
    return ended;
  }
  void KeepSearchesGoing() {
    size_t live = 0;
    for (const uint64_t id : experiments_) live += Over(cluster_.Experiment(id)) ? 0 : 1;
    for (; live < kSearchesAtOnce; ++live) {
      experiments_.push_back(cluster_.Submit(SpecOf(experiments_.size())));
    }
  }

  std::vector<v1::TrialSummary> TrialsOf(uint64_t experiment) {
    std::vector<v1::TrialSummary> trials;
    const uint32_t count = cluster_.Experiment(experiment).trials();
    for (uint32_t number = 1; number <= count; ++number) {
      trials.push_back(cluster_.Trial(experiment, number));
    }
    return trials;
  }
  // Its trials, all terminal and none twice, give the sums of its summary.
  void ExpectCountsOfItsTrials(uint64_t id) {
    const v1::ExperimentSummary summary = cluster_.Experiment(id);
    uint32_t finished = 0;
    uint32_t failed = 0;
    uint32_t cancelled = 0;
    uint32_t early = 0;
    for (const v1::TrialSummary& trial : TrialsOf(id)) {
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
  // What each experiment and trial came to, without what only a running coordinator knows.
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
  void ExpectAWholeJournal() {
    cluster_.coordinator().Signal(SIGTERM);
    ASSERT_TRUE(cluster_.coordinator().AwaitExit());
    const std::string log = cluster_.folder() / "check.log";
    testing::ChildProcess check({DTCOORD, "check", cluster_.folder() / "state"}, log);
    const auto status = check.AwaitExit();
    ASSERT_TRUE(status);
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << testing::Slurp(log);
  }

  std::mt19937 random_{soak_seed};
  std::vector<uint64_t> experiments_;
};

TEST_F(SearchSoakTest, EveryTrialEndsAndEveryCountIsTheJournalsWhateverIsKilled) {
  SCOPED_TRACE("again with --seed " + std::to_string(soak_seed));
  std::vector<std::string> workers;
  for (size_t i = 0; i < kWorkers; ++i) workers.push_back(NameOf(i));
  Start(workers);
  const auto until = std::chrono::steady_clock::now() + soak_time;
  int kills = 0;
  while (std::chrono::steady_clock::now() < until && !HasFailure()) {
    KeepSearchesGoing();
    const uint64_t before = Happened();
    const size_t enough = 1 + Below(4);
    ASSERT_TRUE(Await([&] { return Happened() >= before + enough; }, kToTheEnd))
        << "nothing happens after " << kills << " kills";
    KillOne();
    ++kills;
  }
  for (const uint64_t id : experiments_) {
    ASSERT_TRUE(cluster_.AwaitEnd(id, kToTheEnd));
    ExpectCountsOfItsTrials(id);
  }
  std::printf("%d kills in %zu searches\n", kills, experiments_.size());
  const std::vector<std::string> results = Results();
  ExpectAWholeJournal();
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
