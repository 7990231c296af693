// program_test.cc: a program's run from start to end.
#include "tests/worker/program/program_fixture.h"

namespace dt {
namespace {

TEST_F(ProgramTest, ReportsArriveAsATrainersFramesInOrder) {
  Run(R"(echo '{"step": 1, "loss": 3.5}' >&3
         echo '{"step": 2, "val_loss": 3.0, "accuracy": 0.5}' > "$DTRAIN_REPORT"
         echo 'no report' >&3
         printf '{"step": 3, "loss": 2.5}' >&3)",
      {{"steps", "10"}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "finished") << end.message;
  EXPECT_EQ(end.step, 3u);
  ASSERT_NE(Find<frames::Prepared>(), nullptr);
  EXPECT_EQ(Find<frames::Prepared>()->target_steps, 10u);
  ASSERT_NE(Find<frames::StoreUp>(), nullptr);
  EXPECT_EQ(Find<frames::StoreUp>()->address.substr(0, 10), "127.0.0.1:");
  EXPECT_NE(Find<frames::Running>(), nullptr);
  EXPECT_EQ(All<frames::StepDone>().size(), 2u);
  const auto evaluations = All<frames::Eval>();
  ASSERT_EQ(evaluations.size(), 1u);
  EXPECT_EQ(evaluations[0].metrics.at("accuracy"), 0.5);
  EXPECT_NE(Log().find("not a JSON object"), std::string::npos) << "the wrong line is reported";
  EXPECT_FALSE(fs::exists(folder_ / "run/scratch"));
}

TEST_F(ProgramTest, AProgramSeesTheExperimentsVariables) {
  Run(R"(printf '%s|%s|%s\n' "$MINE" "${EMPTY-unset}" "$TWO")",
      {{"resources",
        {{"env",
          {{{"key", "MINE"}, {"value", "a=b ü"}},
           {{"key", "EMPTY"}, {"value", ""}},
           {{"key", "TWO"}, {"value", "x\ny"}}}}}}});
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_NE(Log().find("a=b ü||x\ny\n"), std::string::npos);
}

TEST_F(ProgramTest, AFolderThatItsHostRefusesIsNoFaultOfTheProgram) {
  fs::remove_all(folder_ / "run");
  std::ofstream(folder_ / "run") << "no folder";
  Run("exit 0");
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "worker_fault");
  EXPECT_NE(end.message.find("run/scratch"), std::string::npos) << end.message;
}

TEST_F(ProgramTest, AScriptThatTestsForRankIsAloneOnOneSlot) {
  Run("echo \"${RANK-none} $DTRAIN_RANK\" > " + In("rank"), {{"launcher", "auto"}});
  EXPECT_EQ(AwaitEnd().cause, "finished");
  std::ifstream file(folder_ / "rank");
  std::string rank;
  std::getline(file, rank);
  EXPECT_EQ(rank, "none 0");
  EXPECT_NE(Log().find("; no launcher's variables\n"), std::string::npos);
}

TEST_F(ProgramTest, AStatusThatIsNotZeroIsACrash) {
  Run("echo broken >&2; exit 3");
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "trainer_crash");
  EXPECT_EQ(end.message, "the program exited with status 3");
}

// The program does what PyTorch does: it writes its record once something comes out of its pipe.
TEST_F(ProgramTest, AHangNamesTheRecordOfItsCollectives) {
  Run(R"(mkfifo "$TORCH_NCCL_DEBUG_INFO_PIPE_FILE"0.pipe
         exec 4<>"$TORCH_NCCL_DEBUG_INFO_PIPE_FILE"0.pipe
         echo '{"step": 1, "loss": 3.5}' >&3
         head -c 1 <&4 >/dev/null; echo all > "$TORCH_FR_DUMP_TEMP_FILE"0
         cat <&4 >/dev/null)",
      {{"timeout", {{"report", "1s"}}},
       {"resources",
        {{"env",
          {{{"key", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"}, {"value", folder_ / "pipe-"}},
           {{"key", "TORCH_FR_DUMP_TEMP_FILE"}, {"value", folder_ / "rank-"}}}}}}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "hang") << end.message;
  EXPECT_NE(
      Log().find("NCCL's newest collectives are in " + (folder_ / "rank-0") + "; torchfrtrace"),
      std::string::npos)
      << Log();
  EXPECT_NE(Log().find("what its processes are doing:\n"), std::string::npos) << Log();
}

TEST_F(ProgramTest, ProgramsFollowEachOther) {
  Run("exit 0");
  EXPECT_EQ(AwaitEnd().cause, "finished");
  frames_.clear();
  Run("exit 1");
  EXPECT_EQ(AwaitEnd().cause, "trainer_crash");
}

TEST_F(ProgramTest, AProgramThatIsNotThereIsTheConfigurationsFault) {
  Say(StartOf({{"command", {"no-such-program", "x"}}}));
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "config");
  EXPECT_NE(end.message.find("no-such-program"), std::string::npos) << end.message;
}

TEST_F(ProgramTest, ACheckpointIsKeptReportedAndGivenToTheNextAttempt) {
  Run(R"(mkdir "$DTRAIN_CHECKPOINT_DIR/mine"; echo weights > "$DTRAIN_CHECKPOINT_DIR/mine/w"
         echo '{"step": 5, "val_loss": 2}' >&3; echo '{"checkpoint": "mine"}' >&3)");
  ASSERT_TRUE(AwaitFrame<frames::CheckpointDone>());
  const frames::CheckpointDone saved = *Find<frames::CheckpointDone>();
  EXPECT_EQ(saved.path, "7/3/a1/step-5");
  EXPECT_EQ(saved.loss, 2.0);
  Say(frames::Registered{kToken, 5});
  EXPECT_EQ(AwaitEnd().cause, "finished");
  frames_.clear();

  frames::Start next = StartOf({{"run", "cat \"$DTRAIN_RESUME/w\" > " + In("read") +
                                            "; echo $DTRAIN_RESUME_STEP >> " + In("read")}});
  next.attempt = 2;
  next.resume = frames::Resume{5, saved.path, saved.manifest_hash};
  Say(next);
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_EQ(Find<frames::Running>()->resumed_step, 5u);
  std::stringstream read;
  read << std::ifstream(folder_ / "read").rdbuf();
  EXPECT_EQ(read.str(), "weights\n5\n");
}

TEST_F(ProgramTest, ADamagedCheckpointIsReportedAndThePreviousOneUsed) {
  const std::string save =
      R"(save() { mkdir "$DTRAIN_CHECKPOINT_DIR/c"; echo $1 > "$DTRAIN_CHECKPOINT_DIR/c/w"
         echo "{\"checkpoint\": \"c\", \"step\": $1}" >&3
         while [ ! -e "$DTRAIN_CHECKPOINT_DIR/step-$1/manifest.json" ]; do :; done; }
         save 5; save 6)";
  Run(save + "\n", {{"checkpoint", {{"keep_latest", 2}}}});
  ASSERT_TRUE(Await([this] {
    Hear();
    return All<frames::CheckpointDone>().size() == 2;
  }));
  const frames::CheckpointDone newest = All<frames::CheckpointDone>()[1];
  Say(frames::Registered{kToken, 6});
  AwaitEnd();
  frames_.clear();
  folder_.Write("storage/7/3/a1/step-6/w", "damaged");
  // The command stays the same, so that it is the same trial.
  frames::Start next = StartOf({{"run", save + "\n"}, {"checkpoint", {{"keep_latest", 2}}}});
  next.attempt = 2;
  next.resume = frames::Resume{6, newest.path, newest.manifest_hash};
  Say(next);
  ASSERT_TRUE(AwaitFrame<frames::Running>());
  EXPECT_EQ(Find<frames::Running>()->resumed_step, 5u);
  EXPECT_NE(Log().find("step-6 is skipped"), std::string::npos);
  Say(frames::Stop{kToken, false});
  AwaitEnd();
}

TEST_F(ProgramTest, OldCheckpointsGoOnceANewerOneIsRegistered) {
  Run(R"(for step in 1 2 3; do
           mkdir "$DTRAIN_CHECKPOINT_DIR/c"; echo $step > "$DTRAIN_CHECKPOINT_DIR/c/w"
           echo "{\"checkpoint\": \"c\", \"step\": $step}" >&3
           while [ ! -e "$DTRAIN_CHECKPOINT_DIR/step-$step" ]; do :; done
         done; while [ ! -e )" +
          In("go") + " ]; do :; done\n",
      {{"checkpoint", {{"keep_latest", 1}, {"keep_best", 0}}}});
  ASSERT_TRUE(Await([this] {
    Hear();
    return All<frames::CheckpointDone>().size() == 3;
  }));
  Say(frames::Registered{kToken, 3});
  ASSERT_TRUE(Await([this] {
    return !fs::exists(folder_ / "storage/7/3/a1/step-2") &&
           !fs::exists(folder_ / "storage/7/3/a1/step-1");
  }));
  EXPECT_TRUE(fs::exists(folder_ / "storage/7/3/a1/step-3/manifest.json"));
  folder_.Write("go", "");
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_EQ(All<frames::CheckpointRemoved>().size(), 2u);
}

TEST_F(ProgramTest, AFolderElsewhereIsNoCheckpoint) {
  Run("mkdir " + In("other") + "; echo x > " + In("other") + "/w\n" + "echo '{\"checkpoint\": \"" +
      (folder_ / "other") + "\", \"step\": 1}' >&3\n" +
      "echo '{\"checkpoint\": \"../a9\", \"step\": 1}' >&3\n" +
      "echo '{\"checkpoint\": \".\", \"step\": 2}' >&3\n");
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_EQ(Find<frames::CheckpointDone>(), nullptr);
  EXPECT_TRUE(fs::exists(folder_ / "other/w"));
}

TEST_F(ProgramTest, AStoppedProgramHasTimeToSaveAndItsStatusDoesNotCount) {
  Run(R"(trap 'mkdir "$DTRAIN_CHECKPOINT_DIR/c"; echo x > "$DTRAIN_CHECKPOINT_DIR/c/w"
               echo "{\"checkpoint\": \"c\", \"step\": 4}" >&3; exit 9' TERM
         echo > )" +
      In("ready") + "; while :; do :; done");
  ASSERT_TRUE(AwaitFile("ready"));
  Say(frames::Stop{kToken, true});
  ASSERT_TRUE(AwaitFrame<frames::CheckpointDone>());
  Say(frames::Registered{kToken, 4});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
}

TEST_F(ProgramTest, ARankThatHasSavedWaitsForTheGangsEnd) {
  frames::Start start = StartOf(
      {{"run", "trap 'exit 0' TERM; echo > " + In("ready") + "; while :; do :; done"}}, 1, 2);
  Say(start);
  ASSERT_TRUE(AwaitFrame<frames::Prepared>());
  EXPECT_EQ(Find<frames::StoreUp>(), nullptr);
  Say(frames::Connect{kToken, "127.0.0.1:1234"});
  ASSERT_TRUE(AwaitFile("ready"));
  Say(frames::Stop{kToken, true});
  Hear();
  EXPECT_EQ(Find<frames::End>(), nullptr) << "rank 0 may still be saving";
  Say(frames::Stop{kToken, false});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
}

TEST_F(ProgramTest, AProgramThatIgnoresTheStopIsKilled) {
  Run("trap '' TERM; echo > " + In("ready") + "; while :; do :; done");
  ASSERT_TRUE(AwaitFile("ready"));
  Say(frames::Stop{kToken, false});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
}

TEST_F(ProgramTest, NoDaemonOutlivesItsProgram) {
  Run(Daemon() + "while [ ! -e " + In("daemon") + " ]; do :; done");
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_FALSE(ProcessAlive(PidIn("daemon")));
}

TEST_F(ProgramTest, NoDaemonOutlivesTheAgent) {
  Run(Daemon() + "while :; do :; done");
  ASSERT_TRUE(AwaitFile("daemon"));
  link_.Reset();
  ASSERT_TRUE(runner_.AwaitExit());
  EXPECT_FALSE(ProcessAlive(PidIn("daemon")));
}

TEST_F(ProgramTest, TheProgramEndsIfTheRunnerIsKilled) {
  Run("echo $$ > " + In("p.tmp") + "; mv " + In("p.tmp") + " " + In("program") +
      "; while :; do :; done");
  ASSERT_TRUE(AwaitFile("program"));
  const pid_t program = PidIn("program");
  runner_.Signal(SIGKILL);
  ASSERT_TRUE(runner_.AwaitExit());
  const bool ended = Await([&] { return !ProcessAlive(program); });
  if (!ended) kill(program, SIGKILL);
  EXPECT_TRUE(ended) << "nothing else would end it";
}

TEST_F(ProgramTest, APythonProgramImportsDtrain) {
  Run(R"(python3 -c 'import dtrain
assert dtrain.parameters() == {"lr": 0.5, "seed": 3}, dtrain.parameters()
assert dtrain.resume() is None and dtrain.rungs() == []
assert not dtrain.should_stop()
dtrain.report(1, loss=2, accuracy=float("nan"))
dtrain.progress(0.25)
open("w", "w").write("x")
import os, tempfile
folder = tempfile.mkdtemp()
open(os.path.join(folder, "w"), "w").write("x")
dtrain.checkpoint(folder, 1)')",
      {{"seed", "3"}, {"values", {{{"path", "lr"}, {"value", {{"number", 0.5}}}}}}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "finished") << end.message;
  ASSERT_EQ(All<frames::Eval>().size(), 1u);
  EXPECT_EQ(All<frames::Eval>()[0].train_loss, 2.0);
  const auto live = All<frames::Progress>();
  ASSERT_FALSE(live.empty());
  EXPECT_EQ(live.back().share, 0.25);
  EXPECT_EQ(All<frames::CheckpointDone>().size(), 1u);
}

TEST(ProgramHelpTest, HelpThatCannotBePrintedIsAnError) {
  const testing::TempFolder folder;
  testing::ChildProcess runner(
      {"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh", DTPROGRAM, "--help"}, folder / "log");
  const auto status = runner.AwaitExit();
  ASSERT_TRUE(status && WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), 1);
  EXPECT_NE(testing::Slurp(folder / "log").find("cannot write to 'standard output'"),
            std::string::npos);
}

}  // namespace
}  // namespace dt
