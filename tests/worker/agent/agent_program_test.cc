// agent_program_test.cc: attempts whose trainer is a program of the person's.
#include "tests/worker/agent/agent_fixture.h"

namespace dt {
namespace {

class AgentProgramTest : public AgentTest {
 protected:
  AgentProgramTest() { state_.options.hello.set_programs(true); }

  static v1::Orders HoldingProgram(uint8_t token, int rank = 0, int world_size = 1) {
    v1::Orders orders = Holding(token, rank, world_size);
    orders.mutable_attempt()->mutable_spec()->add_command("true");
    orders.mutable_attempt()->set_submitted_by("ann");
    orders.mutable_attempt()->set_experiment_name("mine");
    orders.mutable_attempt()->add_local_devices("GPU-1");
    return orders;
  }
  void ReachProgram() {
    Connect();
    Order(HoldingProgram(1));
    TrainerComesUp();
    Say(frames::Prepared{.token = Hex(1), .target_steps = 100});
    Say(frames::Running{Hex(1), 0});
    DeliverReports();
    actions_.clear();
  }
};

TEST_F(AgentProgramTest, ItsRunnerIsStartedAndToldOfTheGang) {
  Connect();
  Order(HoldingProgram(1));
  const auto spawn = Take<SpawnTrainer>();
  ASSERT_TRUE(spawn);
  EXPECT_EQ(spawn->kind, TrainerKind::kProgram);
  TrainerComesUp();
  const auto start = TakeFrame<frames::Start>();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->submitted_by, "ann");
  EXPECT_EQ(start->experiment_name, "mine");
  EXPECT_EQ(start->local_devices, std::vector<std::string>{"GPU-1"});
  EXPECT_EQ(start->spec.at("command"), nlohmann::json({"true"}));
}

TEST_F(AgentProgramTest, AWarmTrainerLeavesForAProgramAndIsNotStartedAgain) {
  state_.options.warmth = Warmth::kAlwaysWarm;
  Feed(TimePassed{});
  EXPECT_EQ(Take<SpawnTrainer>()->kind, TrainerKind::kOwn);
  TrainerComesUp();
  Connect();
  Order(HoldingProgram(1));
  EXPECT_TRUE(TakeFrame<frames::Exit>()) << "its GPU is the program's";
  TrainerDies(0);
  EXPECT_EQ(Take<SpawnTrainer>()->kind, TrainerKind::kProgram);
  TrainerComesUp();
  EndsAs("finished");
  Say(frames::Idle{});
  Order(HoldingNothing());
  TrainerDies(SIGKILL);
  Advance(absl::Minutes(1));
  EXPECT_FALSE(Take<SpawnTrainer>()) << "programs are what comes";
  Order(Holding(2));
  EXPECT_EQ(Take<SpawnTrainer>()->kind, TrainerKind::kOwn);
}

TEST_F(AgentProgramTest, WithoutLeaveAProgramIsRefusedWithTheFix) {
  state_.options.hello.set_programs(false);
  Connect();
  Order(HoldingProgram(1));
  EXPECT_FALSE(Take<SpawnTrainer>());
  const v1::Ended end = OnlyEnd();
  EXPECT_EQ(end.cause(), v1::CAUSE_CONFIG);
  EXPECT_NE(end.message().find("--programs=allow"), std::string::npos) << end.message();
}

TEST_F(AgentProgramTest, ACancelAsksTheProgramFirst) {
  ReachProgram();
  v1::Orders orders = HoldingProgram(1);
  orders.mutable_attempt()->set_kill(true);
  Order(orders);
  EXPECT_FALSE(Take<KillTrainer>());
  const auto stop = TakeFrame<frames::Stop>();
  ASSERT_TRUE(stop);
  EXPECT_FALSE(stop->checkpoint);
  Advance(limits::kProgramLeaveGrace + limits::kTrainerExitGrace);
  EXPECT_TRUE(Take<KillTrainer>());
  TrainerDies(SIGKILL);
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_CANCELLED);
}

TEST_F(AgentProgramTest, ACrashSaysTheLastLineOfItsErrors) {
  ReachProgram();
  Feed(LogLines{{"ValueError: no such file"}, 0, LogPipe::kErrors});
  Feed(LogLines{{"epoch 3"}, 0, LogPipe::kOutput});
  Say(frames::End{Hex(1), "trainer_crash", "the program exited with status 1", 0});
  EXPECT_EQ(OnlyEnd().message(),
            "the program exited with status 1; its last line: ValueError: no such file");
}

TEST_F(AgentProgramTest, WhatItsRunnerSaysIsNotQuotedAsTheProgramsWords) {
  ReachProgram();
  Feed(LogLines{{"dtrain: runs exit 1 in /run/1, submitted by ann"}, 0, LogPipe::kOutput});
  Say(frames::End{Hex(1), "trainer_crash", "the program exited with status 1", 0});
  EXPECT_EQ(OnlyEnd().message(), "the program exited with status 1");
}

TEST_F(AgentProgramTest, WhatItTellsIsPassedOn) {
  ReachProgram();
  frames::Progress live{.token = Hex(1), .step = 7};
  live.share = 0.4;
  Say(live);
  frames::Eval eval{.token = Hex(1), .step = 7};
  eval.metrics["accuracy"] = 0.5;
  Say(eval);
  Advance(limits::kHeartbeat);
  EXPECT_EQ(LastReport().attempts(0).progress(), 0.4);
  const auto told = std::find_if(items_.begin(), items_.end(),
                                 [](const v1::Item& item) { return item.has_evaluation(); });
  ASSERT_NE(told, items_.end());
  ASSERT_EQ(told->evaluation().metrics_size(), 1);
  EXPECT_EQ(told->evaluation().metrics(0).name(), "accuracy");
}

}  // namespace
}  // namespace dt
