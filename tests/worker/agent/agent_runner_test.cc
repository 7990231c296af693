// agent_runner_test.cc: one program's runner serves the trials of one experiment.
#include <functional>

#include "common/trainer_limits.h"
#include "tests/worker/agent/program_agent_fixture.h"

namespace dt {
namespace {

class AgentRunnerTest : public AgentProgramTest {
 protected:
  // Orders an attempt, lets it end on a new runner, and lets that rest.
  void Rest(uint8_t token) {
    Order(HoldingProgram(token));
    EXPECT_TRUE(Take<SpawnTrainer>());
    TrainerComesUp();
    EXPECT_TRUE(TakeFrame<frames::Start>());
    EndsAs("finished", token);
    Say(frames::Idle{});
    Order(HoldingNothing());
    DeliverReports();
    EXPECT_FALSE(TakeFrame<frames::Exit>());
  }
  // Lets an attempt end, and its runner leave.
  void EndAndLeave(uint8_t token) {
    EndsAs("finished", token);
    Say(frames::Idle{});
    Order(HoldingNothing());
    Advance(limits::kRunnerRest);
    EXPECT_TRUE(TakeFrame<frames::Exit>());
    TrainerDies(0);
    DeliverReports();
    actions_.clear();
  }
};

TEST_F(AgentRunnerTest, ARunnerServesTheTrialsOfOneExperiment) {
  ReachProgram();
  Say(frames::End{Hex(1), "finished", "", 0});
  Say(frames::Idle{});
  EXPECT_FALSE(Holds(1)) << "the slot is free, and the runner stays";
  EXPECT_FALSE(TakeFrame<frames::Exit>());
  Order(HoldingProgram(2));
  EXPECT_FALSE(Take<SpawnTrainer>());
  const auto start = TakeFrame<frames::Start>();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->token, Hex(2));
}

TEST_F(AgentRunnerTest, ARunnerLeavesForAnotherExperimentUserOrEnvironment) {
  const std::vector<std::function<void(v1::Assigned&)>> changes = {
      [](v1::Assigned& next) { next.set_experiment(2); },
      [](v1::Assigned& next) { next.set_submitted_by("bob"); },
      [](v1::Assigned& next) { next.mutable_spec()->mutable_environment()->add_uv("numpy"); },
      [](v1::Assigned& next) {
        next.mutable_spec()->mutable_resources()->add_env()->set_key("TOKEN");
      }};
  Connect();
  uint8_t token = 0;
  for (const auto& change : changes) {
    Rest(++token);
    v1::Orders orders = HoldingProgram(++token);
    change(*orders.mutable_attempt());
    Order(orders);
    EXPECT_TRUE(TakeFrame<frames::Exit>()) << "its program may be another user's";
    EXPECT_FALSE(Take<SpawnTrainer>()) << "one at a time";
    TrainerDies(0);
    EXPECT_TRUE(Take<SpawnTrainer>());
    TrainerComesUp();
    EXPECT_EQ(TakeFrame<frames::Start>()->token, Hex(token));
    EndAndLeave(token);
  }
}

TEST_F(AgentRunnerTest, ARunnerWithoutAnotherTrialLeaves) {
  ReachProgram();
  EndsAs("finished");
  Say(frames::Idle{});
  Order(HoldingNothing());
  Advance(limits::kRunnerRest - absl::Seconds(1));
  EXPECT_FALSE(TakeFrame<frames::Exit>());
  Advance(absl::Seconds(1));
  EXPECT_TRUE(TakeFrame<frames::Exit>());
  TrainerDies(0);
  EXPECT_FALSE(Take<SpawnTrainer>());
}

TEST_F(AgentRunnerTest, ARunnerThatServesARunLongerThanItsRestStays) {
  ReachProgram();
  Say(frames::End{Hex(1), "finished", "", 0});
  Say(frames::Idle{});
  Order(HoldingProgram(2));
  ASSERT_TRUE(TakeFrame<frames::Start>());
  Advance(limits::kRunnerRest * 2);
  EXPECT_FALSE(TakeFrame<frames::Exit>());
}

TEST_F(AgentRunnerTest, AWorkerThatDrainsSendsARestingRunnerAway) {
  Connect();
  Rest(1);
  Feed(Terminate{});
  EXPECT_TRUE(TakeFrame<frames::Exit>());
  DeliverReports();
  EXPECT_FALSE(Take<ExitProcess>()) << "its runner is there";
  TrainerDies(0);
  Acknowledge(HoldingNothing());
  DeliverReports();
  Feed(TimePassed{});
  EXPECT_TRUE(Take<ExitProcess>());
}

TEST_F(AgentRunnerTest, ARunnerOfAJournalThatWasReplacedServesNoTrialOfTheNext) {
  Connect();
  Rest(1);
  journal_ = kJournal + 1;
  Order(HoldingProgram(2));
  EXPECT_TRUE(TakeFrame<frames::Exit>()) << "its experiment 1 is another one";
}

TEST_F(AgentRunnerTest, ARestingRunnerWaitsForTheCodeOfTheNextTrialWithoutADeadline) {
  Connect();
  Rest(1);
  v1::Orders orders = HoldingProgram(2);
  orders.mutable_attempt()->mutable_code()->set_digest(std::string(64, 'a'));
  Order(orders);
  EXPECT_TRUE(Take<FetchCode>());
  DeliverReports();
  Advance(2 * limits::kRunnerRest);
  DeliverReports();
  EXPECT_FALSE(Take<SendFrame>());
  EXPECT_GT(NextDeadline(state_), now_.steady) << "the worker would not sleep";
  Order(HoldingNothing());
  DeliverReports();
  EXPECT_FALSE(TakeFrame<frames::Exit>()) << "it rests again";
  Advance(limits::kRunnerRest);
  EXPECT_TRUE(TakeFrame<frames::Exit>());
}

TEST_F(AgentRunnerTest, ARunnerWhoseFileWasReplacedServesNoFurtherTrial) {
  Connect();
  Rest(1);
  Feed(TrainerReplaced{});
  EXPECT_TRUE(TakeFrame<frames::Exit>()) << "at rest it leaves at once";
  TrainerDies(0);
  Order(HoldingProgram(2));
  EXPECT_TRUE(Take<SpawnTrainer>());
  TrainerComesUp();
  EXPECT_TRUE(TakeFrame<frames::Start>());
  Feed(TrainerReplaced{});
  EXPECT_FALSE(TakeFrame<frames::Exit>()) << "its program goes on";
  EndsAs("finished", 2);
  Order(HoldingProgram(3));
  Say(frames::Idle{});
  EXPECT_TRUE(TakeFrame<frames::Exit>());
  TrainerDies(0);
  EXPECT_TRUE(Take<SpawnTrainer>());
}

TEST_F(AgentRunnerTest, ARestingRunnerThatIsKilledCostsTheNextTrialNothing) {
  Connect();
  Rest(1);
  TrainerDies(SIGKILL);
  EXPECT_FALSE(Take<SpawnTrainer>());
  Order(HoldingProgram(2));
  EXPECT_TRUE(Take<SpawnTrainer>()) << "without a pause";
  EXPECT_EQ(state_.start_failures, 0);
}

TEST_F(AgentRunnerTest, ATrialThatARestingRunnerDidNotTakeUpGetsANewOne) {
  Connect();
  Rest(1);
  Order(HoldingProgram(2));
  ASSERT_TRUE(TakeFrame<frames::Start>());
  TrainerDies(SIGKILL);
  EXPECT_TRUE(Take<SpawnTrainer>());
  EXPECT_EQ(Ends().size(), 1u) << "only that of the first";
  TrainerComesUp();
  const auto again = TakeFrame<frames::Start>();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->token, Hex(2));
  // The new runner's death is the trial's own.
  TrainerDies(SIGKILL);
  ASSERT_EQ(Ends().size(), 2u);
  EXPECT_EQ(Ends()[1].cause(), v1::CAUSE_TRAINER_CRASH);
}

TEST_F(AgentRunnerTest, ARunnerThatDiesWithItsProgramCostsThatTrialAlone) {
  Connect();
  Rest(1);
  Order(HoldingProgram(2));
  Say(frames::Prepared{.token = Hex(2)});
  Say(frames::Running{Hex(2), 0});
  TrainerDies(SIGKILL);
  ASSERT_EQ(Ends().size(), 2u);
  EXPECT_EQ(Ends()[1].cause(), v1::CAUSE_TRAINER_CRASH);
  actions_.clear();
  Order(HoldingProgram(3));
  EXPECT_TRUE(Take<SpawnTrainer>());
}

TEST_F(AgentRunnerTest, ARunnerThatHangsAfterItsTrialsEndIsKilledAndTheNextTrialRuns) {
  ReachProgram();
  EndsAs("finished");
  Order(HoldingProgram(2));
  Advance(limits::kTrainerIdleGrace);
  EXPECT_TRUE(Take<KillTrainer>());
  TrainerDies(SIGKILL);
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_FINISHED);
  EXPECT_TRUE(Take<SpawnTrainer>());
}

// A runner says `end`, and then leaves instead of becoming idle.
TEST_F(AgentRunnerTest, ARunnerThatServesNoFurtherTrialCostsNothing) {
  ReachProgram();
  EndsAs("finished");
  Order(HoldingProgram(2));
  TrainerDies(0);
  EXPECT_EQ(OnlyEnd().cause(), v1::CAUSE_FINISHED);
  EXPECT_TRUE(Take<SpawnTrainer>()) << "without a pause";
}

TEST_F(AgentRunnerTest, FramesOfTheEarlierTrialAreRefused) {
  Connect();
  Rest(1);
  Order(HoldingProgram(2));
  Say(frames::Prepared{.token = Hex(2)});
  Say(frames::Running{Hex(2), 0});
  DeliverReports();
  items_.clear();
  Train(1, 3, 1);
  EndsAs("finished", 1);
  Say(frames::CheckpointDone{.token = Hex(1), .step = 3, .path = "1/2/a3/step-3"});
  Advance(limits::kHeartbeat);
  DeliverReports();
  EXPECT_TRUE(items_.empty());
  EXPECT_TRUE(Holds(2));
}

}  // namespace
}  // namespace dt
