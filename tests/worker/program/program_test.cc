// program_test.cc: dtprogram with real programs; the test is its agent.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "checkpoint/checkpoint.h"
#include "common/unique_fd.h"
#include "gtest/gtest.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"
#include "worker/frames/frames.h"

namespace dt {
namespace {

namespace fs = std::filesystem;
using testing::Await;
using testing::ProcessAlive;

constexpr char kToken[] = "0123";

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    link_ = UniqueFd(fcntl(ends[0], F_DUPFD_CLOEXEC, 10));
    const UniqueFd theirs(fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
    close(ends[0]);
    close(ends[1]);
    log_ =
        UniqueFd(open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const UniqueFd log(fcntl(log_.get(), F_DUPFD_CLOEXEC, 10));
    fs::create_directory(folder_ / "run");
    runner_ =
        testing::ChildProcess({.path = DTPROGRAM,
                               .arguments = {"--lock", folder_ / "lock", "--scratch",
                                             folder_ / "run/scratch", "--threads", "3"},
                               .descriptors = {{log.get(), 1}, {log.get(), 2}, {theirs.get(), 3}},
                               .group = ProcessGroup::kOwn});
    ASSERT_TRUE(AwaitFrame<frames::Idle>());
    frames_.clear();
  }
  void TearDown() override {
    if (HasFailure()) std::cerr << "its log:\n" << Log();
    link_.Reset();
    runner_.AwaitExit();
  }

  frames::Start StartOf(const nlohmann::json& spec, int rank = 0, int world_size = 1) {
    frames::Start start;
    start.token = kToken;
    start.experiment = 7;
    start.trial = 3;
    start.attempt = 1;
    start.rank = rank;
    start.world_size = world_size;
    start.spec = spec;
    start.storage = folder_ / "storage";
    start.data_address = "127.0.0.1";
    return start;
  }
  void Run(const std::string& script, const nlohmann::json& more = nlohmann::json::object()) {
    nlohmann::json spec = more;
    spec["run"] = script;
    Say(StartOf(spec));
  }
  void Say(const frames::ToTrainer& frame) {
    const std::string line = frames::ToLine(frame) + "\n";
    ASSERT_EQ(send(link_.get(), line.data(), line.size(), MSG_NOSIGNAL), std::ssize(line));
  }
  void Hear() {
    char chunk[65536];
    for (ssize_t got; (got = recv(link_.get(), chunk, sizeof(chunk), MSG_DONTWAIT)) > 0;) {
      unread_.append(chunk, static_cast<size_t>(got));
    }
    for (size_t end; (end = unread_.find('\n')) != std::string::npos; unread_.erase(0, end + 1)) {
      auto parsed = frames::ParseFromTrainer(unread_.substr(0, end));
      ASSERT_TRUE(std::holds_alternative<frames::FromTrainer>(parsed)) << unread_.substr(0, end);
      frames_.push_back(std::get<frames::FromTrainer>(parsed));
    }
  }
  template <typename Frame>
  const Frame* Find() const {
    for (const frames::FromTrainer& frame : frames_) {
      if (const auto* found = std::get_if<Frame>(&frame)) return found;
    }
    return nullptr;
  }
  template <typename Frame>
  std::vector<Frame> All() const {
    std::vector<Frame> all;
    for (const frames::FromTrainer& frame : frames_) {
      if (const auto* found = std::get_if<Frame>(&frame)) all.push_back(*found);
    }
    return all;
  }
  template <typename Frame>
  bool AwaitFrame() {
    return Await([this] {
      Hear();
      return Find<Frame>() != nullptr;
    });
  }
  // Its end, after which it is idle.
  frames::End AwaitEnd() {
    EXPECT_TRUE(AwaitFrame<frames::Idle>());
    const auto* end = Find<frames::End>();
    EXPECT_NE(end, nullptr);
    return end == nullptr ? frames::End{} : *end;
  }
  bool AwaitFile(const std::string& name) {
    return Await([&] { return fs::exists(folder_ / name); });
  }
  pid_t PidIn(const std::string& name) const {
    pid_t pid = 0;
    std::ifstream(folder_ / name) >> pid;
    return pid;
  }
  std::string Log() const {
    std::ifstream file(folder_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string In(const std::string& name) const { return "'" + (folder_ / name) + "'"; }
  // A shell text that starts a daemon: a process of another session, whose parent ends.
  std::string Daemon() const {
    return "setsid sh -c 'echo $$ > " + (folder_ / "d.tmp") + "; mv " + (folder_ / "d.tmp") + " " +
           (folder_ / "daemon") + "; exec tail -f /dev/null' &\n";
  }

  const testing::TempFolder folder_;
  UniqueFd link_, log_;
  testing::ChildProcess runner_;
  std::string unread_;
  std::vector<frames::FromTrainer> frames_;
};

TEST_F(ProgramTest, WhatItReportsComesAsATrainersFramesInOrder) {
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
  EXPECT_NE(Log().find("not a JSON object"), std::string::npos) << "the wrong line is told";
  EXPECT_FALSE(fs::exists(folder_ / "run/scratch"));
}

TEST_F(ProgramTest, WhatItPrintsAsAReportIsOneAndStaysInTheLog) {
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
  EXPECT_EQ(Log().find("left out"), std::string::npos) << "what is no report is told of nothing";
}

TEST_F(ProgramTest, ItSeesTheExperimentsVariables) {
  Run(R"(printf '%s|%s|%s\n' "$MINE" "${EMPTY-unset}" "$TWO")",
      {{"resources",
        {{"env",
          {{{"key", "MINE"}, {"value", "a=b ü"}},
           {{"key", "EMPTY"}, {"value", ""}},
           {{"key", "TWO"}, {"value", "x\ny"}}}}}}});
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_NE(Log().find("a=b ü||x\ny\n"), std::string::npos);
}

TEST_F(ProgramTest, OurLinesBeginWhereALineOfTheProgramsEnds) {
  Run("printf 'no newline'; " + Daemon() + "while [ ! -e " + In("daemon") + " ]; do :; done");
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_NE(Log().find("no newline\ndtrain: killed "), std::string::npos);
}

TEST_F(ProgramTest, AFolderThatItsHostRefusesIsNoFaultOfTheProgram) {
  fs::remove_all(folder_ / "run");
  std::ofstream(folder_ / "run") << "no folder";
  Run("exit 0");
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "worker_fault");
  EXPECT_NE(end.message.find("run/scratch"), std::string::npos) << end.message;
}

TEST_F(ProgramTest, WhatItsReportsLackIsToldWhileItRunsAndAtItsEnd) {
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

TEST_F(ProgramTest, OneThatNeverReportsItsMetricIsToldSo) {
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
  // Each drawn over the one before, and more text without a newline than a line may have.
  Run(R"(printf '{"step": 1, "val_loss": 3}\r{"step": 2, "val_loss": 2}\r';)"
      R"( head -c 1500000 /dev/zero | tr '\0' '#'; printf '\r{"step": 3, "val_loss": 1}\r\n')");
  EXPECT_EQ(AwaitEnd().cause, "finished");
  std::vector<uint64_t> steps;
  for (const frames::Eval& eval : All<frames::Eval>()) steps.push_back(eval.step);
  EXPECT_EQ(steps, (std::vector<uint64_t>{1, 2, 3}));
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

TEST_F(ProgramTest, OfAProgramThatReportsByItsDescriptorNothingPrintedIsAReport) {
  Run(R"(echo '{"step": 10, "loss": 9.0, "val_loss": 9.0}'
         echo '{"step": 10, "val_loss": 1.0}' >&3
         echo '{"step": 20, "val_loss": 8.0}')");
  EXPECT_EQ(AwaitEnd().cause, "finished");
  ASSERT_EQ(All<frames::Eval>().size(), 1u);
  EXPECT_EQ(All<frames::Eval>()[0].loss, 1.0);
  EXPECT_NE(Log().find("\"val_loss\": 8.0}"), std::string::npos) << "it is in the log";
}

TEST_F(ProgramTest, WhatAProgramPrintsIsAllInTheLogBeforeItsEndIsTold) {
  Run("i=0; while [ $i -lt 20000 ]; do echo \"line $i of many\"; i=$((i+1)); done; exit 3");
  EXPECT_EQ(AwaitEnd().cause, "trainer_crash");
  EXPECT_NE(Log().find("line 0 of many\nline 1 of many\n"), std::string::npos);
  EXPECT_NE(Log().find("line 19998 of many\nline 19999 of many\n"), std::string::npos);
}

TEST_F(ProgramTest, AStatusThatIsNotZeroIsACrash) {
  Run("echo broken >&2; exit 3");
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "trainer_crash");
  EXPECT_EQ(end.message, "the program exited with status 3");
}

TEST_F(ProgramTest, OneProgramFollowsAnother) {
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

TEST_F(ProgramTest, ACheckpointIsKeptToldAndGivenToTheNextAttempt) {
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

TEST_F(ProgramTest, ADamagedCheckpointIsToldAndTheOneBeforeItIsTaken) {
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
  // In the same words, so that it is the same trial's.
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

TEST_F(ProgramTest, ToldToSaveItHasTheTimeAndItsStatusSaysNothing) {
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

TEST_F(ProgramTest, OneThatDoesNotListenIsKilled) {
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

TEST_F(ProgramTest, TheProgramEndsWhereTheRunnerIsKilledOutright) {
  Run("echo $$ > " + In("p.tmp") + "; mv " + In("p.tmp") + " " + In("program") +
      "; while :; do :; done");
  ASSERT_TRUE(AwaitFile("program"));
  const pid_t program = PidIn("program");
  runner_.Signal(SIGKILL);
  ASSERT_TRUE(runner_.AwaitExit());
  const bool ended = Await([&] { return !ProcessAlive(program); });
  if (!ended) kill(program, SIGKILL);
  EXPECT_TRUE(ended) << "nobody else would end it";
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
