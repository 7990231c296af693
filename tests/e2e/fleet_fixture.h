// fleet_fixture.h: a cluster with the fake trainer, in the words of the tests.
#pragma once

#include <string>
#include <vector>

#include "tests/spec/experiment_builder.h"
#include "tests/testing/cluster.h"

namespace dt {

using testing::Await;
using testing::Cluster;
using testing::ProcessAlive;
using testing::Transport;
namespace v1 = ::dtrain::v1;

inline testing::Programs FakePrograms() { return {DTCOORD, DTWORKER, FAKE_TRAINER}; }

class FleetTest : public ::testing::Test {
 protected:
  ~FleetTest() override {
    if (!HasFailure()) return;
    for (const auto& entry : std::filesystem::directory_iterator(cluster_.folder().path())) {
      if (entry.path().extension() != ".log") continue;
      const std::string text = testing::Slurp(entry.path());
      std::cerr << "---- " << entry.path().filename().string() << ", its end:\n"
                << text.substr(text.size() - std::min<size_t>(text.size(), 4000)) << "\n";
    }
  }

  // Starts the coordinator and these workers.
  void Start(const std::vector<std::string>& workers) {
    cluster_.StartCoordinator();
    for (const std::string& name : workers) cluster_.StartWorker(name);
    ASSERT_TRUE(cluster_.AwaitWorkers(workers.size()));
  }
  // An experiment of one trial; `script` is the fake trainer's.
  static spec::ExperimentBuilder Training(int steps, const std::string& script = "step_ms=1",
                                          int ranks = 1) {
    spec::ExperimentBuilder builder;
    builder.Set("train.max_steps", std::to_string(steps))
        .Set("data.train", script)
        .Set("resources.gpus", std::to_string(ranks))
        .Set("resources.device", "cpu")
        .Set("retries.backoff", "0.1s");
    return builder;
  }
  void ExpectEachStepOnce(uint64_t experiment, uint64_t steps, uint32_t trial = 1) {
    const auto rows = cluster_.ValidRows(experiment, trial);
    EXPECT_EQ(rows.size(), steps);
    for (const auto& [step, count] : rows) EXPECT_EQ(count, 1) << "step " << step;
    EXPECT_EQ(rows.empty() ? 0 : rows.rbegin()->first, steps);
  }
  // The worker that has this rank now.
  std::string WorkerOf(uint64_t experiment, int rank, uint32_t trial = 1) {
    const v1::TrialSummary summary = cluster_.Trial(experiment, trial);
    return rank < summary.workers_size() ? summary.workers(rank) : "";
  }

  Cluster cluster_{FakePrograms()};
};

}  // namespace dt
