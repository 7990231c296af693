// network_figures_test.cc: a trial's measurements of the network are kept, and plans use them.
#include "coordinator/core/facts/network_figures.h"

#include "common/network_bench.h"
#include "coordinator/core/answer/plan/planning.h"
#include "coordinator/core/facts/network_facts.h"
#include "tests/testing/core_fixture.h"
#include "tests/testing/plans.h"

namespace dt {
namespace {

constexpr uint64_t kFreeGiB = uint64_t{1} << 30;

class NetworkFiguresTest : public CoreTest {
 protected:
  void AddSlots(const std::vector<std::string>& names, const std::string& host = "host-a") {
    for (const std::string& name : names) {
      TestWorker& worker = AddWorker(name, {.host = host});
      worker.hello.set_device_name("Cpu");
      worker.hello.set_memory_bytes(64 * kFreeGiB);
      worker.hello.set_programs(false);
      Connect(name);
    }
  }
  static v1::ExperimentSpec Bench(int ranks) {
    v1::ExperimentSpec spec = OneTrial();
    spec.clear_explicit_paths();
    for (const char* path : {"command", "resources.gpus", "resources.device", "seed"}) {
      spec.add_explicit_paths(path);
    }
    for (const std::string& word : WordsOf(NetworkBench())) spec.mutable_base()->add_command(word);
    spec.mutable_base()->mutable_resources()->set_gpus(ranks);
    spec.mutable_search()->set_metric("bus_bandwidth");
    spec.mutable_search()->set_goal("maximize");
    return spec;
  }
  // Makes an item with `rate` seconds for each byte of the complete buffer.
  v1::Item Figure(const std::string& worker, uint64_t step, const std::string& op, uint32_t ranks,
                  uint64_t bytes, double rate, const std::string& over = "gloo",
                  uint32_t hosts = 1) {
    v1::Item item = Evaluation(worker, step, kNotANumber);
    v1::NetworkFigure& figure = *item.mutable_evaluation()->mutable_network();
    figure.set_op(op);
    figure.set_axis("data");
    figure.set_ranks(ranks);
    figure.set_hosts(hosts);
    figure.set_bytes(bytes);
    figure.set_over(over);
    figure.set_rounds(5);
    figure.set_seconds(rate * static_cast<double>(bytes));
    return item;
  }
  // Lets the newest experiment measure: each op at one rate, in buffers of 1 MiB.
  void Measure(const std::vector<std::string>& gang, double rate, uint32_t hosts = 1) {
    for (const std::string& worker : gang) Follow(worker);
    for (const std::string& worker : gang) Heartbeat(worker);
    const auto ranks = static_cast<uint32_t>(gang.size());
    SendItems(gang[0], {Prepared(gang[0], 0), Running(gang[0]),
                        Figure(gang[0], 1, "all_reduce", ranks, 1 << 20, rate, "gloo", hosts),
                        Figure(gang[0], 2, "all_gather", ranks, 1 << 20, rate, "gloo", hosts),
                        Figure(gang[0], 3, "reduce_scatter", ranks, 1 << 20, rate, "gloo", hosts)});
    Finish(gang, 3);
  }
  v1::PlannedTrials Plan(int ranks) {
    v1::ExperimentSpec spec = OneTrial();
    spec.mutable_base()->mutable_train()->set_max_steps(100);
    spec.mutable_base()->mutable_train()->set_batch_size(4);
    spec.mutable_base()->mutable_train()->set_seq_len(64);
    spec.mutable_base()->mutable_resources()->set_gpus(ranks);
    for (const char* path : {"train.batch_size", "train.seq_len"}) spec.add_explicit_paths(path);
    const auto plan =
        TryPlan(spec, [this](const PlanAsk& ask) { return Call<v1::PlanResponse>(ask); });
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? plan->configurations(0) : v1::PlannedTrials();
  }
};

TEST_F(NetworkFiguresTest, AMeasurementRunsOnWorkersThatRunNoProgramsAndWaitsInLine) {
  AddSlots({"a", "b"});
  Submit(OneTrial());
  const ExperimentId bench = Submit(Bench(2));
  EXPECT_EQ(StateOfTrial({bench, 1}), v1::TRIAL_PENDING);
  EXPECT_NE(Explain({bench, 1}).find("needs 2"), std::string::npos) << Explain({bench, 1});
  Train({"a"});
  Finish({"a"});
  EXPECT_NE(StateOfTrial({bench, 1}), v1::TRIAL_PENDING);
  const v1::Assigned& assigned = workers_.at("b").orders->attempt();
  EXPECT_EQ(assigned.spec().command(0), "dtrain:network");
  EXPECT_EQ((std::vector<int>{assigned.node_ranks().begin(), assigned.node_ranks().end()}),
            (std::vector<int>{0, 0}));
}

TEST_F(NetworkFiguresTest, APlanUsesAndNamesTheMeasurement) {
  AddSlots({"a", "b"});
  EXPECT_EQ(Plan(2).wire_from(), "");
  EXPECT_LT(Plan(2).strategies(0).wire_seconds(), 0);
  const ExperimentId bench = Submit(Bench(2));
  Measure({"a", "b"}, 1e-9);
  EXPECT_EQ(StateOfTrial({bench, 1}), v1::TRIAL_FINISHED);
  const v1::PlannedTrials planned = Plan(2);
  EXPECT_EQ(planned.wire_from().find("what experiment 1 measured of the network, on "), 0u)
      << planned.wire_from();
  const double all = 4 * static_cast<double>(planned.parameters());
  EXPECT_NEAR(planned.strategies(0).wire_seconds(), 1e-9 * all, 1e-12 * all) << "each byte once";
  EXPECT_EQ(planned.strategies(1).strategy(), "zero1");
  EXPECT_NEAR(planned.strategies(1).wire_seconds(), 2e-9 * all, 1e-12 * all);
}

TEST_F(NetworkFiguresTest, TheNewestFigureOfAKindCountsAndOutlivesARestartAndItsExperiment) {
  AddSlots({"a", "b"});
  const ExperimentId first = Submit(Bench(2));
  Measure({"a", "b"}, 1e-9);
  Submit(Bench(2));
  Measure({"a", "b"}, 3e-9);
  EXPECT_EQ(state_.durable.figures.size(), 3u) << "the second took the place of the first";
  RestartCoordinator();
  EXPECT_EQ(state_.durable.figures.size(), 3u);
  Connect("a");
  Connect("b");
  const v1::PlannedTrials planned = Plan(2);
  EXPECT_NEAR(planned.strategies(0).wire_seconds(),
              3e-9 * 4 * static_cast<double>(planned.parameters()), 1e-6);
  EXPECT_NE(planned.wire_from().find(absl::StrCat("experiment ", first + 1)), std::string::npos);
}

TEST_F(NetworkFiguresTest, OtherRanksAndOtherHostsTellNothingOfThese) {
  AddSlots({"a", "b"});
  AddSlots({"c", "d"}, "host-b");
  Submit(Bench(2));
  Measure({"a", "b"}, 1e-9);
  EXPECT_GE(Plan(2).strategies(0).wire_seconds(), 0);
  EXPECT_LT(Plan(4).strategies(0).wire_seconds(), 0) << "nothing was measured between four ranks";
  Submit(Bench(4));
  Measure({"a", "b", "c", "d"}, 1e-9, 1);
  EXPECT_LT(Plan(4).strategies(0).wire_seconds(), 0) << "within a host is not between hosts";
  Submit(Bench(4));
  Measure({"a", "b", "c", "d"}, 1e-9, 2);
  EXPECT_GE(Plan(4).strategies(0).wire_seconds(), 0);
}

TEST_F(NetworkFiguresTest, GradientsOnOneHostUseItsRanksSharedMemory) {
  AddSlots({"a", "b"});
  Submit(Bench(2));
  for (const char* worker : {"a", "b"}) Follow(worker);
  for (const char* worker : {"a", "b"}) Heartbeat(worker);
  SendItems("a", {Prepared("a", 0), Running("a"), Figure("a", 1, "all_reduce", 2, 1 << 20, 4e-9),
                  Figure("a", 2, "all_reduce", 2, 1 << 20, 1e-9, "shared_memory")});
  const v1::PlannedTrials planned = Plan(2);
  EXPECT_NEAR(planned.strategies(0).wire_seconds(),
              1e-9 * 4 * static_cast<double>(planned.parameters()), 1e-6);
  EXPECT_LT(planned.strategies(1).wire_seconds(), 0) << "gathers were not measured";
}

TEST_F(NetworkFiguresTest, SharesOnOneHostUseMemoryAndStagesAndGossipUseSends) {
  AddSlots({"a", "b"});
  Submit(Bench(2));
  for (const char* worker : {"a", "b"}) Follow(worker);
  for (const char* worker : {"a", "b"}) Heartbeat(worker);
  const auto row = [this](const std::string& strategy, int stages) {
    const v1::PlannedTrials planned = Plan(2);
    for (const v1::PlannedStrategy& each : planned.strategies()) {
      if (each.strategy() == strategy && each.pipeline() == stages) return each;
    }
    return v1::PlannedStrategy();
  };
  SendItems("a", {Prepared("a", 0), Running("a"), Figure("a", 1, "all_reduce", 2, 1 << 20, 4e-9),
                  Figure("a", 2, "all_gather", 2, 1 << 20, 4e-9),
                  Figure("a", 3, "reduce_scatter", 2, 1 << 20, 4e-9)});
  const double all = 4 * static_cast<double>(Plan(2).parameters());
  EXPECT_NEAR(row("zero1", 1).wire_seconds(), 8e-9 * all, 1e-6);
  EXPECT_LT(row("ddp", 2).wire_seconds(), 0) << "sends of stages were not measured";
  EXPECT_LT(row("gossip", 1).wire_seconds(), 0);
  SendItems("a", {Figure("a", 4, "all_gather", 2, 1 << 20, 1e-9, "shared_memory"),
                  Figure("a", 5, "reduce_scatter", 2, 1 << 20, 1e-9, "shared_memory"),
                  Figure("a", 6, "send", 2, 1 << 20, 2e-9)});
  EXPECT_NEAR(row("zero1", 1).wire_seconds(), 2e-9 * all, 1e-6);
  EXPECT_GT(row("ddp", 2).wire_seconds(), 0);
  EXPECT_GT(row("gossip", 1).wire_seconds(), 0);
}

TEST(KeepFigureTest, BeyondTheBoundTheOldestExperimentsFigureIsDropped) {
  DurableState state;
  v1::NetworkFigure figure;
  const uint64_t all = limits::kNetworkFigures + 3;
  for (uint64_t experiment = 1; experiment <= all; ++experiment) {
    figure.set_bytes(all - experiment);  // the oldest is the last in order
    KeepFigure(state, Attempt(), {experiment, 1}, figure, 0);
  }
  EXPECT_EQ(state.figures.size(), limits::kNetworkFigures);
  EXPECT_EQ(state.figures.begin()->second.by.experiment, all);
  EXPECT_EQ(state.figures.rbegin()->second.by.experiment, 4u);
}

}  // namespace
}  // namespace dt
