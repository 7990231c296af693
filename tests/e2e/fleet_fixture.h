// fleet_fixture.h: a cluster with the fake trainer, and helpers in the words of the tests.
#pragma once

#include <string>

#include "tests/e2e/cluster_fixture.h"
#include "tests/spec/experiment_builder.h"

namespace dt {

inline testing::Programs FakePrograms() { return {DTCOORD, DTWORKER, FAKE_TRAINER}; }

class FleetTest : public ClusterTest {
 protected:
  explicit FleetTest(testing::Transport transport = testing::Transport::kUnixSocket)
      : ClusterTest(FakePrograms(), transport) {}

  // Returns an experiment of one trial; `script` is for the fake trainer.
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
    EXPECT_EQ(rows.size(), steps) << cluster_.RowsByAttempt(experiment, trial)
                                  << cluster_.Explain(experiment, trial).ShortDebugString();
    for (const auto& [step, count] : rows) EXPECT_EQ(count, 1) << "step " << step;
    EXPECT_EQ(rows.empty() ? 0 : rows.rbegin()->first, steps);
  }
};

}  // namespace dt
