// output_test.cc: a program's output: its log, its reports, and lines that are almost reports.
#include "absl/strings/str_cat.h"
#include "tests/worker/program/program_fixture.h"

namespace dt {
namespace {

TEST_F(ProgramTest, APrintedReportCountsAndStaysInTheLog) {
  Run(R"(echo 'epoch 1'
         echo '{"step": 1, "loss": 3.5}'
         echo '{"step": 2, "val_loss": 3.0, "accuracy": NaN} '
         echo '{"step": 3, "val_loss": "low"}'
         echo '{"epoch": 3}'
         echo 'now {"step": 4, "val_loss": 1.0}'
         mkdir "$DTRAIN_CHECKPOINT_DIR/c"; echo x > "$DTRAIN_CHECKPOINT_DIR/c/w"
         echo '{"checkpoint": "c", "step": 5}'
         printf '{"step": 6, "val_loss": 2.0}')");
  ASSERT_TRUE(AwaitFrame<frames::CheckpointDone>());
  Say(frames::Registered{kToken, 5});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "finished") << end.message;
  EXPECT_EQ(end.step, 6u);
  EXPECT_EQ(All<frames::StepDone>().size(), 1u);
  const auto evaluations = All<frames::Eval>();
  ASSERT_EQ(evaluations.size(), 2u);
  EXPECT_EQ(evaluations[0].step, 2u);
  EXPECT_EQ(evaluations[0].loss, 3.0);
  EXPECT_EQ(evaluations[1].step, 6u);
  for (const char* line : {"epoch 1\n", "\"loss\": 3.5}\n", "\"epoch\": 3", "\"low\"}"}) {
    EXPECT_NE(Log().find(line), std::string::npos) << line;
  }
  EXPECT_EQ(Log().find("left out"), std::string::npos) << "a line that is no report causes no note";
}

TEST_F(ProgramTest, ACheckpointByTheDescriptorLeavesPrintedReportsAlone) {
  Run(R"(echo '{"step": 1, "val_loss": 3}'
         mkdir "$DTRAIN_CHECKPOINT_DIR/c"; echo x > "$DTRAIN_CHECKPOINT_DIR/c/w"
         echo '{"progress": 0.5}' >&3
         echo '{"checkpoint": "c", "step": 1}' >&3
         while [ -e "$DTRAIN_CHECKPOINT_DIR/c" ]; do :; done
         echo '{"step": 2, "val_loss": 2}')");
  ASSERT_TRUE(AwaitFrame<frames::CheckpointDone>());
  Say(frames::Registered{kToken, 1});
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_EQ(All<frames::Eval>().size(), 2u);
  EXPECT_EQ(Log().find("no report"), std::string::npos) << Log();
}

TEST_F(ProgramTest, OurLinesBeginAfterALineOfTheProgram) {
  Run("printf 'no newline'; " + Daemon() + "while [ ! -e " + In("daemon") + " ]; do :; done");
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_NE(Log().find("no newline\ndtrain: killed "), std::string::npos);
}

TEST_F(ProgramTest, AMissingMetricIsReportedDuringTheRunAndAtItsEnd) {
  frames::Start start = StartOf({{"run", R"(echo 'epoch 1 begins'
      echo "{'epoch': 1, 'accuracy': 0.5}"
      while [ ! -e )" + In("go") + R"( ]; do :; done)"}});
  start.metric = "accuracy";
  Say(start);
  const auto hint = [this] {
    Hear();
    for (const frames::Progress& each : All<frames::Progress>()) {
      if (each.hint) return *each.hint;
    }
    return std::string();
  };
  EXPECT_TRUE(Await([&] { return !hint().empty(); }));
  EXPECT_EQ(hint().find("it has reported nothing yet; nearly a report was \"{'epoch': 1, "), 0u)
      << hint();
  std::ofstream(folder_ / "go").put('x');
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "finished");
  EXPECT_NE(end.hint.find("it reported nothing; nearly"), std::string::npos) << end.hint;
  EXPECT_NE(end.hint.find("json.dumps"), std::string::npos) << end.hint;
}

TEST_F(ProgramTest, AProgramThatNeverReportsItsMetricGetsANote) {
  frames::Start start = StartOf({{"run", R"(echo '{"step": 1, "acc": 0.5}'
                                            echo '{"step": 2, "acc": 0.6, "note": "x"}')"}});
  start.metric = "accuracy";
  Say(start);
  EXPECT_EQ(AwaitEnd().hint,
            "it never reported accuracy, by which trials are compared; it reported acc");
  EXPECT_EQ(All<frames::Eval>().size(), 2u);
  EXPECT_NE(Log().find("'note' is left out of its reports: it is the text 'x'"), std::string::npos);
}

TEST_F(ProgramTest, ABarInTheSameLineIsNoPartOfAReport) {
  Run(R"(printf '50%%|#####     |\r{"step": 1, "val_loss": 3}\n')");
  EXPECT_EQ(AwaitEnd().hint, "");
  EXPECT_EQ(All<frames::Eval>().size(), 1u);
}

TEST_F(ProgramTest, ReportsThatEndInACarriageReturnCount) {
  // Each report overwrites the one before on its line; then comes more text without a newline than
  // a line may have.
  Run(R"(printf '{"step": 1, "val_loss": 3}\r{"step": 2, "val_loss": 2}\r';)"
      R"( head -c 1500000 /dev/zero | tr '\0' '#'; printf '\r{"step": 3, "val_loss": 1}\r\n')");
  EXPECT_EQ(AwaitEnd().cause, "finished");
  std::vector<uint64_t> steps;
  for (const frames::Eval& eval : All<frames::Eval>()) steps.push_back(eval.step);
  EXPECT_EQ(steps, (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(ProgramTest, PrintedLinesAreNoReportsIfAProgramUsesItsDescriptor) {
  Run(R"(echo '{"step": 10, "loss": 9.0, "val_loss": 9.0}'
         echo '{"step": 10, "val_loss": 1.0}' >&3
         echo '{"step": 20, "val_loss": 8.0}')");
  EXPECT_EQ(AwaitEnd().cause, "finished");
  ASSERT_EQ(All<frames::Eval>().size(), 1u);
  EXPECT_EQ(All<frames::Eval>()[0].loss, 1.0);
  EXPECT_NE(Log().find("\"val_loss\": 8.0}"), std::string::npos) << "it is in the log";
}

TEST_F(ProgramTest, AllOutputIsInTheLogBeforeTheEndIsReported) {
  Run("i=0; while [ $i -lt 20000 ]; do echo \"line $i of many\"; i=$((i+1)); done; exit 3");
  EXPECT_EQ(AwaitEnd().cause, "trainer_crash");
  EXPECT_NE(Log().find("line 0 of many\nline 1 of many\n"), std::string::npos);
  EXPECT_NE(Log().find("line 19998 of many\nline 19999 of many\n"), std::string::npos);
}

TEST_F(ProgramTest, AReportOnStandardErrorGetsANoteAndStaysInTheLog) {
  frames::Start start = StartOf({{"run", R"(echo 'training begins' >&2
                          printf '{"step": 1, "accuracy": 0.5}' >&2)"}});
  start.metric = "accuracy";
  Say(start);
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "finished");
  EXPECT_TRUE(All<frames::Eval>().empty());
  EXPECT_NE(
      end.hint.find("nearly a report was \"{\"step\": 1, \"accuracy\": 0.5}\": it was printed "
                    "to standard error; print it to standard output"),
      std::string::npos)
      << end.hint;
  EXPECT_NE(Log().find("training begins\n{\"step\": 1, \"accuracy\": 0.5}"), std::string::npos);
}

TEST_F(ProgramTest, ASilentProgramHangsAndItsProcessesAreInTheLog) {
  Run("trap '' TERM; echo '{\"step\": 1, \"loss\": 2}'; while :; do :; done",
      {{"timeout", {{"report", "1s"}, {"start_seconds", 0.0}}}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "hang");
  EXPECT_EQ(end.message, "no report for 1s, which is timeout.report");
  EXPECT_EQ(end.step, 1u);
  EXPECT_NE(Log().find(" (sh) runs\n"), std::string::npos);
}

TEST_F(ProgramTest, PythonThatHangsPrintsItsStackWithoutAnyTool) {
  constexpr char kPython[] = "/usr/bin/python3";
  if (access(kPython, X_OK) != 0) GTEST_SKIP() << "there is no " << kPython;
  std::ofstream(folder_ / "hang.py") << R"(import threading
def wait_for_data():
    threading.Event().wait()
print('{"step": 1, "loss": 2}', flush=True)
wait_for_data()
)";
  Run(absl::StrCat("exec ", kPython, " ", In("hang.py")),
      {{"timeout", {{"report", "1s"}, {"start_seconds", 0.0}}},
       {"resources", {{"env", {{{"key", "PATH"}, {"value", "/no/such"}}}}}}});
  EXPECT_EQ(AwaitEnd().cause, "hang");
  EXPECT_NE(Log().find("hang.py\", line 3 in wait_for_data"), std::string::npos) << Log();
}

TEST_F(ProgramTest, ARankThatLeavesBecauseAnotherHangsLogsItsProcesses) {
  Run("mkfifo nobody_writes; echo '{\"step\": 1, \"loss\": 2}'; exec cat nobody_writes");
  ASSERT_TRUE(AwaitFrame<frames::StepDone>());
  // The report comes before the shell has become the program that waits.
  ASSERT_TRUE(testing::Await([this] {
    for (const pid_t child : testing::ChildrenOf(runner_.pid())) {
      const std::string stat = testing::Slurp("/proc/" + std::to_string(child) + "/stat");
      if (stat.find("(cat) S") != std::string::npos) return true;
    }
    return false;
  }));
  Say(frames::Stop{kToken, false, true});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
  EXPECT_NE(Log().find("another rank hangs"), std::string::npos) << Log();
  EXPECT_NE(Log().find(" (cat) sleeps"), std::string::npos) << Log();
}

TEST_F(ProgramTest, AProgramThatNeverReportsHangsAtTheLimitOfItsStart) {
  // A program that never wakes, as tail does each second.
  Run("mkfifo nobody_writes; exec cat nobody_writes",
      {{"timeout", {{"report", "never"}, {"start_seconds", 1.0}}}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "hang");
  EXPECT_EQ(end.message, "no report within 1s of its start, which is timeout.start");
  EXPECT_NE(Log().find(" (cat) sleeps"), std::string::npos) << Log();
}

TEST_F(ProgramTest, AProgramThatHasRunForItsTotalTimeIsAskedToSaveAndHasFinished) {
  frames::Start start = StartOf({{"run", R"(trap 'echo saved; exit 3' TERM
                  echo '{"step": 4, "loss": 2}'; while :; do sleep 0.1; done)"},
                                 {"timeout", {{"report", "never"}, {"total_seconds", 61.0}}}});
  start.ran_seconds = 60;
  Say(start);
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "finished");
  EXPECT_EQ(end.message, "timeout.total of 1m1s reached at step 4");
  EXPECT_NE(Log().find("saved\n"), std::string::npos) << Log();
}

TEST_F(ProgramTest, AnOrderToLeaveCountsMoreThanTheTotalTime) {
  Run("trap '' TERM; echo '{\"step\": 4, \"loss\": 2}'; exec tail -f /dev/null",
      {{"timeout", {{"report", "never"}, {"total_seconds", 1.0}, {"stop_seconds", 600.0}}}});
  ASSERT_TRUE(
      Await([this] { return Log().find("timeout.total has passed") != std::string::npos; }));
  Say(frames::Stop{kToken, false});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
}

TEST_F(ProgramTest, AProgramThatDoesNotSaveInItsTimeIsEnded) {
  Run("trap '' TERM; echo '{\"step\": 4, \"loss\": 2}'; while :; do sleep 0.1; done",
      {{"timeout", {{"report", "never"}, {"total_seconds", 1.0}, {"stop_seconds", 1.0}}}});
  EXPECT_EQ(AwaitEnd().cause, "finished");
}

TEST_F(ProgramTest, ALoggersLineOnStandardErrorIsANearReport) {
  Run("echo 'INFO:root:step 3: val_loss=0.25' >&2");
  const frames::End end = AwaitEnd();
  EXPECT_NE(end.hint.find(R"(print {"step": 3, "val_loss": 0.25})"), std::string::npos) << end.hint;
}

}  // namespace
}  // namespace dt
