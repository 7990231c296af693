// program_test.cc: experiments with a user's own program, run by dtrain's real programs.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "absl/strings/str_replace.h"
#include "tests/e2e/fleet_fixture.h"
#include "tests/e2e/python_with.h"
#include "tests/testing/experiments.h"

namespace dt {
namespace {

namespace fs = std::filesystem;

class ProgramTest : public FleetTest {
 protected:
  // Returns an experiment that runs `text` with the shell; with "" the test adds a command.
  static v1::ExperimentSpec Program(const std::string& text, int ranks = 1, int64_t steps = 0) {
    v1::ExperimentSpec spec = OneTrial();
    spec.clear_explicit_paths();
    spec.add_explicit_paths(text.empty() ? "command" : "run");
    for (const char* path : {"steps", "resources.gpus", "resources.device", "seed", "retries.max",
                             "retries.backoff"}) {
      spec.add_explicit_paths(path);
    }
    spec.mutable_base()->set_run(text);
    spec.mutable_base()->set_steps(steps);
    spec.mutable_base()->mutable_resources()->set_gpus(ranks);
    spec.mutable_base()->mutable_retries()->set_backoff_seconds(0);
    return spec;
  }
  void StartPrograms(const std::vector<std::string>& workers) {
    cluster_.StartCoordinator();
    for (const std::string& name : workers) {
      cluster_.StartWorker(name, {"--program-runner", DTPROGRAM});
    }
    ASSERT_TRUE(cluster_.AwaitWorkers(workers.size()));
  }
  bool AwaitFile(const std::string& name) {
    return Await([&] { return fs::exists(cluster_.folder() / name); });
  }
  std::string At(const std::string& name) const { return "'" + (cluster_.folder() / name) + "'"; }
  pid_t PidIn(const std::string& name) const {
    pid_t pid = 0;
    std::ifstream(cluster_.folder() / name) >> pid;
    return pid;
  }
  // Returns a script that starts a process in another session and ends itself; the process's id is
  // in the file `daemon`.
  std::string Daemon() const {
    return "setsid sh -c 'echo $$ > " + (cluster_.folder() / "d.tmp") + "; mv " +
           (cluster_.folder() / "d.tmp") + " " + (cluster_.folder() / "daemon") +
           "; exec tail -f /dev/null' &\n";
  }
  // Returns a script that saves at its first step, 5, then waits in its first attempt. A later
  // attempt resumes from the checkpoint that it was given.
  std::string SavesAndWaits() const {
    return R"(if [ -n "$DTRAIN_RESUME" ]; then cp "$DTRAIN_RESUME/w" )" + At("resumed") +
           R"(; echo '{"step": 10, "accuracy": 0.9}' >&3; exit 0; fi
           mkdir "$DTRAIN_CHECKPOINT_DIR/c"; echo weights > "$DTRAIN_CHECKPOINT_DIR/c/w"
           echo '{"step": 5, "val_loss": 2, "accuracy": 0.5}' >&3
           echo '{"checkpoint": "c"}' >&3
           echo $$ > )" +
           At("p.tmp") + "; mv " + At("p.tmp") + " " + At("program") + "\n" +
           "exec tail -f /dev/null";
  }
  // Returns a population of two members of 8 steps, compared at 2, 4 and 6. Each member adds up its
  // rate, 9 for the first and 1 for the second, and its loss is 1000 minus the sum. Each attempt
  // notes the sum with which it starts.
  v1::ExperimentSpec PopulationOfPrograms() const {
    v1::ExperimentSpec spec = Program("", 1, 8);
    spec.mutable_explicit_paths(0)->assign("run");
    const std::string text = R"(sum=0; from=0
        if [ -n "$DTRAIN_RESUME" ]; then
          sum=$(cat "$DTRAIN_RESUME/sum"); from=$DTRAIN_RESUME_STEP
          echo $sum > @FOLDER/resumed-$DTRAIN_TRIAL-$from
        fi
        for step in 1 2 3 4 5 6 7 8; do
          [ $step -gt $from ] || continue
          sum=$((sum + @RATE))
          echo "{\"step\": $step, \"val_loss\": $((1000 - sum))}" >&3
          case ",$DTRAIN_RUNGS," in *",$step,"*)
            mkdir "$DTRAIN_CHECKPOINT_DIR/at-$step"
            echo $sum > "$DTRAIN_CHECKPOINT_DIR/at-$step/sum"
            echo "{\"checkpoint\": \"at-$step\", \"step\": $step}" >&3;;
          esac
        done)";
    spec.mutable_base()->set_run(
        absl::StrReplaceAll(text, {{"@RATE", "{rate}"}, {"@FOLDER", cluster_.folder().path()}}));
    v1::Parameter& rate = *spec.add_parameters();
    rate.set_path("rate");
    for (const int value : {1, 5, 9, 13}) rate.add_values()->set_integer(value);
    for (const int value : {9, 1}) {
      v1::Assignment& first = *spec.add_include()->add_values();
      first.set_path("rate");
      first.mutable_value()->set_integer(value);
    }
    spec.mutable_search()->set_method("pbt");
    spec.mutable_search()->set_max_trials(2);
    spec.mutable_search()->mutable_pbt()->set_every(0.25);
    spec.mutable_search()->mutable_pbt()->set_resample(0);
    return spec;
  }
  enum class Wanted { kPaused, kRunning };
  void Change(uint64_t experiment, Wanted wanted) {
    v1::ChangeRequest request;
    request.set_experiment(experiment);
    if (wanted == Wanted::kPaused) {
      request.mutable_pause();
    } else {
      request.mutable_resume();
    }
    v1::ChangeResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + testing::kPatience);
    const grpc::Status status = cluster_.control().Change(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void ExpectResumed(uint64_t experiment) {
    ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
    const auto explained = cluster_.Explain(experiment);
    ASSERT_EQ(explained.attempts_size(), 2);
    EXPECT_EQ(explained.attempts(1).resumed_step(), 5u);
    EXPECT_EQ(testing::Slurp(cluster_.folder() / "resumed"), "weights\n");
  }
};

TEST_F(ProgramTest, AShellLineIsATrial) {
  StartPrograms({"w0"});
  const uint64_t experiment =
      cluster_.Submit(Program(R"(echo hello; echo '{"step": 3, "val_loss": 1.5}' >&3)", 1, 10));
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  EXPECT_EQ(cluster_.Trial(experiment).val_loss(), 1.5);
  EXPECT_TRUE(Await([&] {
    const std::string log = cluster_.Logs(experiment);
    return log.rfind("dtrain: runs ", 0) == 0 && log.find("hello") != std::string::npos;
  })) << cluster_.Logs(experiment);
}

TEST_F(ProgramTest, ASilentProgramFinishes) {
  StartPrograms({"w0"});
  const uint64_t experiment = cluster_.Submit(Program("exit 0"));
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
}

TEST_F(ProgramTest, TheNoteOnAMissingMetricOutlivesTheProgramAndTheCoordinator) {
  StartPrograms({"w0"});
  const uint64_t experiment =
      cluster_.Submit(Program("echo 'step 30: train loss 4.4711, val loss 4.4746'"));
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED)) << cluster_.Logs(experiment);
  const auto hint = [&] { return cluster_.Trial(experiment).hint(); };
  EXPECT_EQ(hint().find("it reported nothing; nearly a report was \"step 30: train loss"), 0u)
      << hint();
  EXPECT_NE(hint().find(R"(print {"step": 30, "train_loss": 4.4711, "val_loss": 4.4746})"),
            std::string::npos)
      << hint();
  const std::string before = hint();
  cluster_.KillCoordinator();
  cluster_.StartCoordinator();
  EXPECT_EQ(hint(), before);
}

TEST_F(ProgramTest, AMetricNamedLossComparesTrials) {
  StartPrograms({"w0"});
  v1::ExperimentSpec spec = Program(R"(for step in 0 1 2 3; do
      echo "{\"step\": $step, \"loss\": $((5 + step))}"; done; exec tail -f /dev/null)");
  spec.mutable_search()->set_metric("loss");
  spec.mutable_base()->mutable_stop()->set_max_loss(7);
  spec.add_explicit_paths("stop.max_loss");
  const uint64_t experiment = cluster_.Submit(spec);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED)) << cluster_.Logs(experiment);
  const v1::TrialSummary trial = cluster_.Trial(experiment);
  EXPECT_EQ(trial.cause(), v1::CAUSE_STOPPED_EARLY);
  EXPECT_EQ(trial.metric_value(), 5);
}

TEST_F(ProgramTest, AFailureReportsItsStatusAndItsLastLine) {
  StartPrograms({"w0"});
  v1::ExperimentSpec spec = Program("echo 'no such column: y' >&2; exit 4");
  spec.mutable_base()->mutable_retries()->set_max(0);
  const uint64_t experiment = cluster_.Submit(spec);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FAILED));
  const std::string message = cluster_.Trial(experiment).message();
  EXPECT_NE(message.find("status 4"), std::string::npos) << message;
  EXPECT_NE(message.find("no such column: y"), std::string::npos) << message;
}

TEST_F(ProgramTest, TwoRanksKnowEachOther) {
  StartPrograms({"w0", "w1"});
  const uint64_t experiment = cluster_.Submit(
      Program("echo $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR > '" +
                  cluster_.folder().path() + "'/rank-$RANK; cd '" + cluster_.folder().path() +
                  "'; echo $MASTER_PORT > new-$RANK; mv new-$RANK port-$RANK\n" + "while [ ! -e " +
                  At("port-0") + " -o ! -e " + At("port-1") + " ]; do :; done",
              2));
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  EXPECT_EQ(testing::Slurp(cluster_.folder() / "rank-0"), "2 0 2 127.0.0.1\n");
  EXPECT_EQ(testing::Slurp(cluster_.folder() / "rank-1"), "2 1 2 127.0.0.1\n");
  EXPECT_EQ(testing::Slurp(cluster_.folder() / "port-0"),
            testing::Slurp(cluster_.folder() / "port-1"));
}

TEST_F(ProgramTest, AMemberOfAPopulationGoesOnWithTheOthersCheckpointAndAMovedValue) {
  StartPrograms({"w0"});
  const uint64_t experiment = cluster_.Submit(PopulationOfPrograms());
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 2, v1::TRIAL_FINISHED));
  EXPECT_EQ(cluster_.Trial(experiment, 1).val_loss(), 1000 - 8 * 9);
  const v1::ExplainTrialResponse member = cluster_.Explain(experiment, 2);
  ASSERT_GE(member.takeovers_size(), 1);
  ASSERT_EQ(member.attempts_size(), 1 + member.takeovers_size());
  EXPECT_EQ(member.takeovers(0).from_trial(), 1u);
  EXPECT_EQ(member.takeovers(0).step(), 2u);
  EXPECT_EQ(testing::Slurp(cluster_.folder() / "resumed-2-2"), "18\n") << "the sum of the other";
  const int64_t moved = member.takeovers(0).now(0).value().integer();
  EXPECT_TRUE(moved == 5 || moved == 13) << moved;
  for (int i = 0; i < member.takeovers_size(); ++i) {
    EXPECT_EQ(member.attempts(i + 1).resumed_step(), member.takeovers(i).step());
  }
  const v1::Takeover& last = member.takeovers(member.takeovers_size() - 1);
  const auto own = static_cast<int64_t>(8 - last.step()) * last.now(0).value().integer();
  EXPECT_EQ(cluster_.Trial(experiment, 2).val_loss(),
            static_cast<double>(1000 - 9 * static_cast<int64_t>(last.step()) - own));
}

TEST_F(ProgramTest, AKilledProgramResumesFromItsNewestCheckpoint) {
  StartPrograms({"w0"});
  const uint64_t experiment = cluster_.Submit(Program(SavesAndWaits()));
  ASSERT_TRUE(AwaitFile("program"));
  ASSERT_TRUE(Await([&] { return cluster_.Checkpoints(experiment).size() == 1; }));
  kill(PidIn("program"), SIGKILL);
  ExpectResumed(experiment);
}

TEST_F(ProgramTest, AProgramThatHangsResumesFromItsNewestCheckpoint) {
  StartPrograms({"w0"});
  v1::ExperimentSpec spec = Program(SavesAndWaits());
  spec.mutable_base()->mutable_timeout()->set_report("2s");
  spec.add_explicit_paths("timeout.report");
  const uint64_t experiment = cluster_.Submit(spec);
  ExpectResumed(experiment);
  const v1::ExplainTrialResponse explained = cluster_.Explain(experiment);
  EXPECT_EQ(explained.attempts(0).cause(), v1::CAUSE_HANG);
  EXPECT_NE(explained.attempts(0).message().find("no report for 2s, which is timeout.report"),
            std::string::npos)
      << explained.attempts(0).message();
  EXPECT_FALSE(ProcessAlive(PidIn("program")));
}

TEST_F(ProgramTest, ARankThatHoldsUpItsGangShowsItsStackInTheLog) {
  StartPrograms({"w0", "w1"});
  // Rank 0 waits for rank 1, as in a collective; rank 1 waits for something that never comes.
  v1::ExperimentSpec spec = Program(
      R"(if [ "$RANK" = 0 ]; then echo '{"step": 1, "loss": 2}'; exec tail -f /dev/null; fi
         mkfifo nobody_writes; exec cat nobody_writes)",
      2);
  spec.mutable_base()->mutable_timeout()->set_report("2s");
  spec.add_explicit_paths("timeout.report");
  spec.mutable_base()->mutable_retries()->set_max(0);
  const uint64_t experiment = cluster_.Submit(spec);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FAILED)) << cluster_.Logs(experiment);
  EXPECT_TRUE(Await([&] {
    return cluster_.Logs(experiment).find(" (cat) sleeps") != std::string::npos;
  })) << cluster_.Logs(experiment);
  EXPECT_NE(cluster_.Logs(experiment).find("another rank hangs"), std::string::npos);
}

TEST_F(ProgramTest, AProgramWhoseRunnerIsKilledLeavesNoProcessAndResumes) {
  StartPrograms({"w0"});
  const uint64_t experiment =
      cluster_.Submit(Program("[ -n \"$DTRAIN_RESUME\" ] || " + Daemon() + SavesAndWaits()));
  ASSERT_TRUE(AwaitFile("program") && AwaitFile("daemon"));
  ASSERT_TRUE(Await([&] { return cluster_.Checkpoints(experiment).size() == 1; }));
  kill(cluster_.AwaitTrainerOf("w0"), SIGKILL);
  ExpectResumed(experiment);
  EXPECT_FALSE(ProcessAlive(PidIn("program")));
  EXPECT_FALSE(ProcessAlive(PidIn("daemon")));
}

TEST_F(ProgramTest, AProgramWhoseWorkerIsKilledLeavesNoProcess) {
  StartPrograms({"w0"});
  cluster_.Submit(Program(Daemon() + SavesAndWaits()));
  ASSERT_TRUE(AwaitFile("program") && AwaitFile("daemon"));
  cluster_.worker("w0").KillAndReap();
  EXPECT_TRUE(
      Await([&] { return !ProcessAlive(PidIn("program")) && !ProcessAlive(PidIn("daemon")); }));
}

TEST_F(ProgramTest, ACancelLeavesNoProcess) {
  StartPrograms({"w0"});
  const uint64_t experiment = cluster_.Submit(Program(Daemon() + SavesAndWaits()));
  ASSERT_TRUE(AwaitFile("program") && AwaitFile("daemon"));
  cluster_.Cancel(experiment);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_CANCELLED));
  EXPECT_FALSE(ProcessAlive(PidIn("program")));
  EXPECT_FALSE(ProcessAlive(PidIn("daemon")));
}

TEST_F(ProgramTest, ALeavingWorkerLetsAProgramSave) {
  StartPrograms({"w0"});
  const uint64_t experiment = cluster_.Submit(
      Program(R"(if [ -n "$DTRAIN_RESUME" ]; then cp "$DTRAIN_RESUME/w" )" + At("resumed") +
              "; exit 0; fi\n" +
              R"(trap 'mkdir "$DTRAIN_CHECKPOINT_DIR/c"; echo weights > "$DTRAIN_CHECKPOINT_DIR/c/w"
                 echo "{\"checkpoint\": \"c\", \"step\": 5}" >&3; exit 1' TERM
                 echo > )" +
              At("ready") + "; while :; do :; done"));
  ASSERT_TRUE(AwaitFile("ready"));
  cluster_.worker("w0").Signal(SIGTERM);
  ASSERT_TRUE(cluster_.worker("w0").AwaitExit());
  cluster_.StartWorker("w1", {"--program-runner", DTPROGRAM});
  ExpectResumed(experiment);
}

TEST_F(ProgramTest, AWorkerThatAllowsNoProgramsRefusesOne) {
  cluster_.StartCoordinator();
  cluster_.StartWorker("w0", {"--program-runner", DTPROGRAM, "--programs", "deny"});
  ASSERT_TRUE(cluster_.AwaitWorkers(1));
  const uint64_t experiment = cluster_.Submit(Program("echo > " + At("ran")));
  // The scheduler may already know that no worker can take it; then the trial waits.
  ASSERT_TRUE(Await([&] {
    const v1::TrialSummary trial = cluster_.Trial(experiment);
    return trial.state() == v1::TRIAL_FAILED || !trial.waiting().empty();
  }));
  EXPECT_FALSE(fs::exists(cluster_.folder() / "ran"));
}

TEST_F(ProgramTest, AnUnmodifiedDdpScriptTrainsOnTwoRanks) {
  const std::optional<Python> python = PythonWith("torch");
  if (!python) GTEST_SKIP() << "no python3 imports torch; " << kMakesOne;
  cluster_.StartCoordinator();
  for (const char* name : {"w0", "w1"}) {
    cluster_.StartWorker(name, {"--program-runner", DTPROGRAM}, python->env);
  }
  ASSERT_TRUE(cluster_.AwaitWorkers(2));
  v1::ExperimentSpec spec = Program("", 2);
  for (const char* word : {python->path.c_str(), DTRAIN_SOURCE_DIR "/examples/command/ddp.py"}) {
    spec.mutable_base()->add_command(word);
  }
  const uint64_t experiment = cluster_.Submit(spec);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, std::chrono::minutes(2)))
      << cluster_.Logs(experiment);
  EXPECT_NE(cluster_.Logs(experiment).find("with 2 ranks"), std::string::npos);
}

TEST_F(ProgramTest, AScikitLearnScriptReportsAndSaves) {
  const std::optional<Python> python = PythonWith("sklearn");
  if (!python) GTEST_SKIP() << "no python3 imports sklearn; ./dev setup makes one";
  cluster_.StartCoordinator();
  cluster_.StartWorker("w0", {"--program-runner", DTPROGRAM}, python->env);
  ASSERT_TRUE(cluster_.AwaitWorkers(1));
  v1::ExperimentSpec spec = Program("", 1, 10);
  for (const char* word : {python->path.c_str(), DTRAIN_SOURCE_DIR "/examples/command/digits.py"}) {
    spec.mutable_base()->add_command(word);
  }
  const uint64_t experiment = cluster_.Submit(spec);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, std::chrono::minutes(2)))
      << cluster_.Logs(experiment);
  EXPECT_EQ(cluster_.Trial(experiment).step(), 10u);
  EXPECT_FALSE(cluster_.Checkpoints(experiment).empty());
}

TEST_F(ProgramTest, ALightningModuleReportsSavesAndResumesAfterAPause) {
  const std::optional<Python> python = PythonWith("pytorch_lightning");
  if (!python) GTEST_SKIP() << "no python3 imports pytorch_lightning; " << kMakesOne;
  cluster_.StartCoordinator();
  cluster_.StartWorker("w0", {"--program-runner", DTPROGRAM}, python->env);
  ASSERT_TRUE(cluster_.AwaitWorkers(1));
  // The program validates after each pass of 8 steps.
  constexpr uint64_t kSteps = 188 * 8;
  v1::ExperimentSpec spec = Program("", 1, kSteps);
  spec.mutable_search()->set_metric("val_loss");
  for (const char* word :
       {python->path.c_str(), DTRAIN_SOURCE_DIR "/examples/command/lightning_module.py"}) {
    spec.mutable_base()->add_command(word);
  }
  const uint64_t experiment = cluster_.Submit(spec);
  const auto patience = std::chrono::minutes(3);
  ASSERT_TRUE(Await([&] { return !cluster_.Checkpoints(experiment).empty(); }, patience))
      << cluster_.Logs(experiment);
  Change(experiment, Wanted::kPaused);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_PENDING, patience))
      << cluster_.Logs(experiment);
  const auto saved = cluster_.Checkpoints(experiment);
  ASSERT_FALSE(saved.empty());
  Change(experiment, Wanted::kRunning);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, patience))
      << cluster_.Logs(experiment);
  EXPECT_EQ(cluster_.Trial(experiment).step(), kSteps);
  EXPECT_LT(cluster_.Trial(experiment).metric_value(), 4)
      << "it learned: its targets have a variance of 8";
}

TEST_F(ProgramTest, APausedProgramResumesFromItsCheckpoint) {
  StartPrograms({"w0"});
  const uint64_t experiment = cluster_.Submit(Program(SavesAndWaits()));
  ASSERT_TRUE(AwaitFile("program"));
  ASSERT_TRUE(Await([&] { return cluster_.Checkpoints(experiment).size() == 1; }));
  Change(experiment, Wanted::kPaused);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_PENDING));
  Change(experiment, Wanted::kRunning);
  ExpectResumed(experiment);
}

}  // namespace
}  // namespace dt
