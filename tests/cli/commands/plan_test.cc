// plan_test.cc: dtctl plan, and the sentence from it that a submit prints.
#include "nlohmann/json.hpp"
#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

constexpr char kSizes[] = R"(version: 1
name: sizes
parameters:
  train.batch_size: [8, 16]
data: {train: "t*.bin", val: "v*.bin"}
train: {seq_len: 64, max_steps: 10}
)";

class PlanTest : public CommandTest {
 protected:
  void SetUp() override {
    Offer(kSizes, 2, "cuda");
    control_.Edit([](FakeControl::World& world) {
      v1::PlanResponse& plan = world.plan_answer;
      plan.set_trials(2);
      plan.set_device("cuda");
      plan.set_slots_connected(4);
      plan.set_slot_seconds(7200);
      plan.set_finish_seconds(3600);
      plan.add_notes("3 trials wait already, of the same or a higher priority");
      for (const int batch : {8, 16}) {
        v1::PlannedTrials& kind = *plan.add_configurations();
        kind.set_first(batch / 8);
        kind.set_trials(1);
        kind.set_slots(1);
        kind.set_memory_bytes(uint64_t{10} << 30);
        kind.set_device_bytes(uint64_t{80} << 30);
        kind.set_target_steps(10);
        kind.set_seconds(3600);
        kind.set_estimated_from("12 trials of the same model");
        kind.set_fits(true);
        v1::Assignment& batch_size = *kind.add_assignments();
        batch_size.set_path("train.batch_size");
        batch_size.mutable_value()->set_integer(batch);
      }
    });
  }
  void MakeTheSecondTooLarge() {
    control_.Edit([](FakeControl::World& world) {
      world.plan_answer.mutable_configurations(1)->set_fits(false);
      world.plan_answer.mutable_configurations(1)->set_lacks(
          "takes about 90.0 GiB of a slot's 80.0 GiB");
    });
  }
};

TEST_F(PlanTest, ShowsTheCostOfEachKindOfTrialAndTheFinishingTime) {
  const Ran ran = Run({"plan", "-"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"batch_size", "10.0 GiB", "80.0 GiB", "1h00m", "yes"}) {
    EXPECT_TRUE(Has(ran.out, part)) << part << "\n" << ran.out;
  }
  EXPECT_TRUE(
      Has(ran.err,
          "2 trials on cuda: about 2.0 slot-hours, done in 1 h 00 min on 4 slots (estimated "
          "from 12 trials of the same model); nothing was submitted."))
      << ran.err;
  EXPECT_TRUE(Has(ran.err, "3 trials wait already")) << ran.err;
  const auto world = control_.Snapshot();
  ASSERT_EQ(world.plans.size(), 1u);
  EXPECT_EQ(world.plans[0].spec().name(), "sizes");
  EXPECT_TRUE(world.submissions.empty());
}

TEST_F(PlanTest, ExitsWith7IfATrialWillNotRun) {
  MakeTheSecondTooLarge();
  const Ran ran = Run({"plan", "-"});
  EXPECT_EQ(ran.code, 7);
  EXPECT_TRUE(Has(ran.err, "1 of 2 trials will not run: takes about 90.0 GiB of a slot's 80.0 GiB"))
      << ran.err;
}

// Adds the coordinator's plan for a trial of several ranks.
void AddStrategies(v1::PlannedTrials& kind) {
  kind.set_slots(8);
  kind.set_parameters(1'557'611'200);
  kind.set_advice("zero1; with model.activation_checkpointing: block ddp would do");
  uint64_t state = uint64_t{24} << 30;
  for (const char* strategy : {"ddp", "zero1"}) {
    v1::PlannedStrategy& row = *kind.add_strategies();
    row.set_strategy(strategy);
    row.set_state_bytes(state);
    row.set_activation_bytes(uint64_t{41} << 30);
    row.set_peak_bytes(state + (uint64_t{48} << 30));
    row.set_wire_bytes(uint64_t{1022} << 20);
    row.set_wire_seconds(state > (uint64_t{10} << 30) ? -1 : 0.0216);
    row.set_verdict(state > (uint64_t{10} << 30) ? "tight" : "fits");
    row.set_least(state < (uint64_t{10} << 30));
    state /= 3;
  }
}

TEST_F(PlanTest, ShowsEachStrategyOfTrialsWithSeveralRanksWithin80Columns) {
  EXPECT_FALSE(Has(Run({"plan", "-"}).out, "STRATEGY")) << "a single rank shares with no other";
  control_.Edit([](FakeControl::World& world) {
    for (v1::PlannedTrials& kind : *world.plan_answer.mutable_configurations()) {
      AddStrategies(kind);
    }
  });
  columns_ = 80;
  tty_ = true;
  const Ran ran = Run({"plan", "-", "--no-color"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out,
                  "\nTrials like 1, 2: 1.56G parameters, 8 ranks, 80.0 GiB a slot\n"
                  "STRATEGY     STATE  ACTIVATIONS      PEAK  WIRE/STEP  EXPOSED  VERDICT\n"
                  "ddp       24.0 GiB     41.0 GiB  72.0 GiB   1022 MiB        -  tight\n"
                  "zero1     8.00 GiB     41.0 GiB  56.0 GiB   1022 MiB  <21.6ms  fits <- least\n"
                  "Advice: zero1; with model.activation_checkpointing: block ddp would do.\n"))
      << ran.out;
}

TEST_F(PlanTest, CutModelsHaveTheirOwnRowsWithTheWaitsOfTheirStages) {
  control_.Edit([](FakeControl::World& world) {
    v1::PlannedTrials& kind = *world.plan_answer.mutable_configurations(0);
    AddStrategies(kind);
    v1::PlannedStrategy tensor = kind.strategies(1), stages = kind.strategies(1),
                        copies = kind.strategies(1);
    tensor.set_strategy("ddp");
    tensor.set_tensor(2);
    stages.set_tensor(2);
    stages.set_pipeline(4);
    stages.set_bubble_ratio(0.158);
    copies.set_strategy("hsdp");
    copies.set_shard(4);
    for (const auto& row : {tensor, stages, copies}) *kind.add_strategies() = row;
  });
  columns_ = 80;
  tty_ = true;
  const Ran ran = Run({"plan", "-", "--no-color"});
  for (const char* part : {"  BUBBLE  VERDICT\n", "\ntensor 2 ", "\nhsdp of 4 ",
                           "\nzero1, tensor 2, pipeline 4 ", "     16%  fits"}) {
    EXPECT_TRUE(Has(ran.out, part)) << part << "\n" << ran.out;
  }
  const auto plan = nlohmann::json::parse(Run({"plan", "-", "-o", "json"}).out);
  const auto& row = plan.at("configurations").at(0).at("strategies").at(3);
  EXPECT_EQ(row.at("bubble_ratio"), 0.158);
  EXPECT_EQ(row.at("pipeline"), 4);
  EXPECT_EQ(row.at("tensor"), 2);
}

TEST_F(PlanTest, WithManySizesItShowsTheFirstTablesAndPointsToTheOthers) {
  control_.Edit([](FakeControl::World& world) {
    v1::PlanResponse& plan = world.plan_answer;
    AddStrategies(*plan.mutable_configurations(0));
    for (uint64_t i = 0; i < 6; ++i) {
      v1::PlannedTrials& kind = *plan.add_configurations();
      kind = plan.configurations(0);
      kind.set_parameters(1000 + i);
    }
  });
  const Ran ran = Run({"plan", "-"});
  size_t tables = 0;
  for (size_t at = 0; (at = ran.out.find("STRATEGY", at)) != std::string::npos; ++at) ++tables;
  EXPECT_EQ(tables, 4u);
  EXPECT_TRUE(Has(ran.out, "and 3 tables more of other sizes; -o json has all\n")) << ran.out;
}

TEST_F(PlanTest, JsonHasEveryField) {
  control_.Edit([](FakeControl::World& world) {
    AddStrategies(*world.plan_answer.mutable_configurations(0));
  });
  const auto plan = nlohmann::json::parse(Run({"plan", "-", "-o", "json"}).out);
  EXPECT_EQ(plan.at("configurations").size(), 2u);
  EXPECT_EQ(plan.at("slot_seconds"), 7200);
  const auto& strategies = plan.at("configurations").at(0).at("strategies");
  EXPECT_EQ(strategies.at(1).at("strategy"), "zero1");
  EXPECT_EQ(strategies.at(1).at("least"), true);
}

TEST_F(PlanTest, AWrongFileIsShownAsEver) {
  input_ = "version: 1\nname: x\ntrain: {batchsize: 8}\n";
  const Ran ran = Run({"plan", "-"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "stdin:3:")) << ran.err;
  EXPECT_TRUE(control_.Snapshot().plans.empty());
}

TEST_F(PlanTest, LittleWorkIsShownInSeconds) {
  control_.Edit([](FakeControl::World& world) { world.plan_answer.set_slot_seconds(12); });
  const Ran ran = Run({"submit", "-"});
  EXPECT_TRUE(Has(ran.err, "It takes about 12 slot-seconds, done in")) << ran.err;
}

TEST_F(PlanTest, ASubmitPrintsThePlanInOneLine) {
  Ran ran = Run({"submit", "-"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.err, "It takes about 2.0 slot-hours, done in 1 h 00 min on 4 slots"))
      << ran.err;
  MakeTheSecondTooLarge();
  ran = Run({"submit", "-"});
  EXPECT_EQ(ran.code, 0) << "it was submitted all the same";
  EXPECT_TRUE(Has(ran.err, "Note: 1 of 2 trials will not run")) << ran.err;
  EXPECT_FALSE(Has(Run({"submit", "-", "--id-only"}).err, "will not run"));
}

}  // namespace
}  // namespace dt::cli
