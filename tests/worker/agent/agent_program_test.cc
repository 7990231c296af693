// agent_program_test.cc: attempts whose trainer is a user's program.
#include "tests/worker/agent/program_agent_fixture.h"

namespace dt {
namespace {

TEST_F(AgentProgramTest, AProgramsRunnerIsStartedWithTheGangsData) {
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
  state_.options.trainer_start = TrainerStart::kAlwaysWarm;
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
  EXPECT_FALSE(Take<SpawnTrainer>()) << "the next attempts are programs";
  Order(Holding(2));
  EXPECT_EQ(Take<SpawnTrainer>()->kind, TrainerKind::kOwn);
}

TEST_F(AgentProgramTest, AProgramIsRefusedWithTheFixIfTheWorkerAllowsNone) {
  state_.options.hello.set_programs(false);
  Connect();
  Order(HoldingProgram(1));
  EXPECT_FALSE(Take<SpawnTrainer>());
  const v1::Ended end = OnlyEnd();
  EXPECT_EQ(end.cause(), v1::CAUSE_CONFIG);
  EXPECT_NE(end.message().find("--programs=allow"), std::string::npos) << end.message();
}

TEST_F(AgentProgramTest, ARankWhosePeerHangsHasTimeToLogItsStacks) {
  ReachProgram();
  v1::Orders orders = HoldingProgram(1);
  orders.mutable_attempt()->set_abandon(true);
  orders.mutable_attempt()->set_hang(true);
  Order(orders);
  const auto stop = TakeFrame<frames::Stop>();
  ASSERT_TRUE(stop);
  EXPECT_TRUE(stop->stacks);
  EXPECT_FALSE(stop->checkpoint);
  Advance(limits::kStacksPatience + limits::kProgramLeaveGrace);
  EXPECT_FALSE(Take<KillTrainer>());
  Advance(2 * limits::kTrainerExitGrace);
  EXPECT_TRUE(Take<KillTrainer>());
}

TEST_F(AgentProgramTest, AProgramHasItsOwnTimeToSave) {
  Connect();
  v1::Orders orders = HoldingProgram(1);
  orders.mutable_attempt()->mutable_spec()->mutable_timeout()->set_stop_seconds(600);
  Order(orders);
  TrainerComesUp();
  Say(frames::Prepared{.token = Hex(1), .target_steps = 100});
  Say(frames::Running{Hex(1), 0});
  DeliverReports();
  orders.mutable_attempt()->set_checkpoint_stop(true);
  Order(orders);
  actions_.clear();
  Advance(absl::Minutes(9));
  EXPECT_FALSE(Take<KillTrainer>());
  Advance(absl::Minutes(1));
  EXPECT_TRUE(Take<KillTrainer>());
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

TEST_F(AgentProgramTest, ACrashReportsTheLastLineOfStandardError) {
  ReachProgram();
  Feed(LogLines{{"ValueError: no such file"}, 0, LogPipe::kErrors});
  Feed(LogLines{{"epoch 3"}, 0, LogPipe::kOutput});
  Say(frames::End{Hex(1), "trainer_crash", "the program exited with status 1", 0});
  EXPECT_EQ(OnlyEnd().message(),
            "the program exited with status 1; its last line: ValueError: no such file");
}

TEST_F(AgentProgramTest, TheRunnersLinesAreNotQuotedAsTheProgramsOutput) {
  ReachProgram();
  Feed(LogLines{{"dtrain: runs exit 1 in /run/1, submitted by ann"}, 0, LogPipe::kOutput});
  Say(frames::End{Hex(1), "trainer_crash", "the program exited with status 1", 0});
  EXPECT_EQ(OnlyEnd().message(), "the program exited with status 1");
}

TEST_F(AgentProgramTest, OutputOfAnEarlierAttemptIsNotReportedForTheNext) {
  ReachProgram();
  Feed(LogLines{{"KeyError: secret of team A"}, 0, LogPipe::kErrors});
  Feed(LogLines{{"token of team A"}, 0, LogPipe::kOutput});
  Say(frames::End{Hex(1), "finished", "", 0});
  Say(frames::Idle{});
  Order(HoldingProgram(2));
  ASSERT_TRUE(TakeFrame<frames::Start>()) << "the same runner";
  Say(frames::End{Hex(2), "trainer_crash", "the program exited with status 7", 0});
  ASSERT_EQ(Ends().size(), 2u);
  EXPECT_EQ(Ends()[1].message(), "the program exited with status 7");
}

TEST_F(AgentProgramTest, AnErrorAmongLeftOutLinesIsReported) {
  ReachProgram();
  Feed(LogLines{{"and on", "and on"}, 900, LogPipe::kErrors, "RuntimeError: the real cause"});
  Say(frames::End{Hex(1), "trainer_crash", "the program exited with status 1", 0});
  EXPECT_EQ(OnlyEnd().message(),
            "the program exited with status 1; its last error: RuntimeError: the real cause; its "
            "last line: and on");
}

TEST_F(AgentProgramTest, AProgramsRunnerHasNoneOfTheUsersVariables) {
  Connect();
  v1::Orders orders = HoldingProgram(1);
  v1::Label& variable = *orders.mutable_attempt()->mutable_spec()->mutable_resources()->add_env();
  variable.set_key("LD_PRELOAD");
  variable.set_value("/mine.so");
  Order(orders);
  EXPECT_TRUE(Take<SpawnTrainer>()->env.empty());
  TrainerComesUp();
  const auto start = TakeFrame<frames::Start>();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->spec.at("resources").at("env")[0].at("value"), "/mine.so");
}

TEST_F(AgentProgramTest, ARunnerThatDoesNotStartIsItsWorkersFault) {
  Connect();
  v1::Orders orders = HoldingProgram(1);
  orders.mutable_attempt()->mutable_spec()->mutable_resources()->add_env()->set_key("MINE");
  Order(orders);
  for (int i = 0; i < limits::kTrainerStartTries; ++i) {
    Feed(TrainerStartFailed{"starting dtprogram: Resource temporarily unavailable"});
    Advance(limits::kTrainerRestartMax);
  }
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_WORKER_FAULT);
}

TEST_F(AgentProgramTest, AProgramsReportsArePassedOn) {
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
