// measure_test.cc: real trainers measure the speed of their communication, started as an agent
// starts them.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/collectives.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

class MeasureTest : public AttemptTest {
 protected:
  static frames::Start Measuring(const std::vector<std::string>& options) {
    frames::Start start;
    start.token = "network";
    start.experiment = 7;
    start.trial = 1;
    start.attempt = 1;
    start.spec = {{"command", nlohmann::json::array({"dtrain:network"})}};
    for (const std::string& option : options) start.spec["command"].push_back(option);
    return start;
  }
  // Returns the measured sizes by kind: "all_reduce data 2 of 1 over gloo".
  static std::map<std::string, std::vector<uint64_t>> Kinds(const Told& told) {
    std::map<std::string, std::vector<uint64_t>> kinds;
    for (const frames::Eval& eval : told.evals) {
      const frames::NetworkFigure& figure = eval.network.value();
      kinds[figure.op + " " + figure.axis + " " + std::to_string(figure.ranks) + " of " +
            std::to_string(figure.hosts) + " over " + figure.over]
          .push_back(figure.bytes);
      EXPECT_GT(figure.seconds, 0);
      EXPECT_LE(figure.least_seconds, figure.seconds);
      EXPECT_GE(figure.most_seconds, figure.seconds);
      const double bus = BusFactor(figure.op, figure.ranks) * static_cast<double>(figure.bytes);
      EXPECT_NEAR(eval.metrics.at("bus_bandwidth"), bus / figure.seconds,
                  1e-6 * bus / figure.seconds);
    }
    return kinds;
  }
};

TEST_F(MeasureTest, TwoRanksMeasureEachOperationOnEachSizeAndTrainAfterwards) {
  TrainerGang gang(2);
  const Told told = gang.Run(Measuring({"--sizes=4K,256K", "--rounds=3"}));
  ExpectFinished(told);
  const std::vector<uint64_t> sizes = {4096, 262144};
  const std::map<std::string, std::vector<uint64_t>> expected = {
      {"all_reduce data 2 of 1 over shared_memory", sizes},
      {"all_reduce data 2 of 1 over gloo", sizes},
      {"all_gather data 2 of 1 over shared_memory", sizes},
      {"all_gather data 2 of 1 over gloo", sizes},
      {"reduce_scatter data 2 of 1 over shared_memory", sizes},
      {"reduce_scatter data 2 of 1 over gloo", sizes},
      {"broadcast data 2 of 1 over gloo", sizes},
      {"send data 2 of 1 over gloo", sizes}};
  EXPECT_EQ(Kinds(told), expected);
  EXPECT_EQ(told.evals[0].network->rounds, 3u);
  EXPECT_EQ(told.evals.back().step, 16u);
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "3";
  const Told trained = gang.Run(Start(spec));
  ExpectFinished(trained);
  EXPECT_EQ(trained.rows.size(), 3u);
}

TEST_F(MeasureTest, HostsWithSeveralRanksMeasureWithinAndBetweenHosts) {
  TrainerGang gang(4);
  frames::Start start = Measuring({"--ops=all_gather", "--sizes=4K", "--rounds=1"});
  start.node_ranks = {0, 0, 1, 1};
  const Told told = gang.Run(start);
  ExpectFinished(told);
  const std::vector<uint64_t> size = {4096};
  const std::map<std::string, std::vector<uint64_t>> expected = {
      {"all_gather data 4 of 2 over gloo", size},
      {"all_gather shard 2 of 1 over shared_memory", size},
      {"all_gather shard 2 of 1 over gloo", size},
      {"all_gather replicate 2 of 2 over gloo", size}};
  EXPECT_EQ(Kinds(told), expected);
  // The hosts differ by one rank.
  start.node_ranks = {0, 0, 0, 1};
  EXPECT_EQ(Kinds(gang.Run(start)).size(), 1u);
}

TEST_F(MeasureTest, AStopEndsItBetweenTwoRounds) {
  TrainerGang gang(2);
  const Told told = gang.Run(Measuring({"--sizes=64K,16M", "--rounds=100"}),
                             [](TrainerGang& all, const frames::FromTrainer& frame) {
                               if (!std::holds_alternative<frames::Eval>(frame)) return;
                               for (const int rank : {0, 1}) all.Stop(rank, /*checkpoint=*/false);
                             });
  ExpectAllStopped(told);
  EXPECT_LT(told.evals.size(), 16u);
}

TEST_F(MeasureTest, ARankThatIsKilledEndsTheOther) {
  TrainerGang gang(2);
  const Told told = gang.Run(Measuring({"--sizes=64K,16M", "--rounds=100"}),
                             [](TrainerGang& all, const frames::FromTrainer& frame) {
                               if (!std::holds_alternative<frames::Eval>(frame)) return;
                               kill(all.rank(1).pid(), SIGKILL);
                             });
  EXPECT_EQ(told.Cause(0), "collective") << told.Message(0);
}

TEST_F(MeasureTest, AnImpossibleMeasurementIsAnErrorOfTheFile) {
  EXPECT_EQ(TrainerGang(1).Run(Measuring({})).Cause(0), "config");
  const Told told = TrainerGang(2).Run(Measuring({"--sizes=many"}));
  EXPECT_EQ(told.Cause(0), "config");
  EXPECT_NE(told.Message(0).find("--sizes has 'many'"), std::string::npos) << told.Message(0);
}

}  // namespace
}  // namespace dt::testing
