// network_test.cc: 'dtctl bench network' between two real workers, and its use by 'dtctl plan'.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/e2e/training_fixture.h"

namespace dt {
namespace {

constexpr std::chrono::seconds kMeasuring{120};

class NetworkTest : public TrainingTest {
 protected:
  void SetUp() override {
    cluster_.StartCoordinator();
    for (const char* worker : {"w0", "w1"}) {
      cluster_.StartWorker(worker, {"--programs", "deny"});
    }
    ASSERT_TRUE(cluster_.AwaitWorkers(2));
  }
  nlohmann::json PlanOf(const std::string& strategy) {
    FileOf file;
    file.ranks = 2;
    const nlohmann::json plan =
        nlohmann::json::parse(MustDtctl({"plan", WriteFile(file), "-o", "json"}).out);
    nlohmann::json found = plan["configurations"][0];
    for (const nlohmann::json& each : plan["configurations"][0]["strategies"]) {
      const bool whole = each["tensor"] == 1 && each["pipeline"] == 1;
      if (whole && each["strategy"] == strategy) found["of"] = each;
      if (each["pipeline"] == 2) found["stages"] = each;
    }
    return found;
  }
};

TEST_F(NetworkTest, APlanUsesTheMeasurementBetweenWorkers) {
  EXPECT_LT(PlanOf("zero1")["of"]["wire_seconds"], 0) << "nothing was measured yet";
  const Ran ran =
      MustDtctl({"bench", "network", "--sizes", "64K,1M", "--rounds", "3", "-o", "json"});
  const nlohmann::json figures = nlohmann::json::parse(ran.out)["items"];
  ASSERT_EQ(figures.size(), 16u) << ran.out;
  for (const nlohmann::json& figure : figures) {
    EXPECT_EQ(figure["ranks"], 2);
    EXPECT_EQ(figure["hosts"], 1);
    EXPECT_GT(figure["bus_bandwidth"], 1e6);
  }
  EXPECT_EQ(figures[0]["op"], "all_reduce");
  EXPECT_NE(ran.err.find("2 ranks on 1 host: w0, w1"), std::string::npos) << ran.err;

  const nlohmann::json planned = PlanOf("zero1");
  EXPECT_GT(planned["of"]["wire_seconds"], 0);
  EXPECT_GT(PlanOf("gossip")["of"]["wire_seconds"], 0);
  EXPECT_GT(planned["stages"]["wire_seconds"], 0) << planned.dump(1);
  EXPECT_NE(planned["wire_from"].get<std::string>().find("what experiment 1 measured"),
            std::string::npos);
  FileOf file;
  file.ranks = 2;
  const Ran table = MustDtctl({"plan", WriteFile(file)});
  EXPECT_NE(table.out.find("EXPOSED is by what experiment 1 measured of the network"),
            std::string::npos)
      << table.out;

  // The result is durable: a restarted coordinator shows it without a new measurement.
  cluster_.KillCoordinator();
  cluster_.StartCoordinator();
  ASSERT_TRUE(cluster_.AwaitWorkers(2));
  EXPECT_GT(PlanOf("ddp")["of"]["wire_seconds"], 0);
  const Ran again = MustDtctl({"bench", "network", "--of", "1", "-o", "csv"});
  EXPECT_EQ(std::count(again.out.begin(), again.out.end(), '\n'), 17) << again.out;
}

TEST_F(NetworkTest, AWorkerThatIsKilledMeanwhileFailsTheMeasurementAndLeavesNoTrainer) {
  const std::string file = cluster_.folder().Write(
      "long.yaml",
      "version: 1\nname: long\ncommand: [dtrain:network, --sizes=16M, --rounds=100]\n"
      "resources: {gpus: 2, device: cpu}\nsearch: {metric: bus_bandwidth, goal: maximize}\n"
      "retries: {max: 0}\n");
  MustDtctl({"submit", file});
  ASSERT_TRUE(cluster_.AwaitTrial(1, 1, v1::TRIAL_RUNNING, kMeasuring));
  cluster_.worker("w1").KillAndReap();
  ASSERT_TRUE(cluster_.AwaitTrial(1, 1, v1::TRIAL_FAILED, kMeasuring));
  const v1::TrialSummary trial = cluster_.Trial(1);
  // Its peer notices the closed connection at once, the coordinator notices the lost worker.
  EXPECT_TRUE(trial.cause() == v1::CAUSE_COLLECTIVE || trial.cause() == v1::CAUSE_WORKER_LOST)
      << trial.message();
  EXPECT_FALSE(trial.message().empty());
  const Ran shown = Dtctl({"bench", "network", "--of", "1"});
  EXPECT_EQ(shown.code, 10);
  EXPECT_NE(shown.err.find("experiment 1 failed: "), std::string::npos) << shown.err;
  EXPECT_TRUE(Await([this] { return cluster_.LivingTrainers().size() <= 1; }, kMeasuring));
}

}  // namespace
}  // namespace dt
