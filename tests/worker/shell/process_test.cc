// process_test.cc: starts real processes: a shell, and the fake trainer.
#include "worker/shell/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "gtest/gtest.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

using testing::Await;
using testing::TempFolder;

class ProcessTest : public ::testing::Test {
 protected:
  void Start(TrainerCommand command) {
    auto started = TrainerProcess::Start(command);
    ASSERT_TRUE(started.ok()) << started.status();
    process_ = *std::move(started);
  }
  void StartShell(const std::string& script) { Start({"/bin/sh", {"-c", script}, {}}); }
  void StartFake(std::map<std::string, std::string> env = {}) {
    Start({FAKE_TRAINER, {}, std::move(env)});
  }
  void Serve() {
    const absl::Duration now = clock_.Now().steady + skew_;
    for (AgentEvent& event : process_->Serve(now)) Keep(std::move(event));
    for (AgentEvent& event : process_->Reap(now)) Keep(std::move(event));
  }
  void Keep(AgentEvent event) {
    if (auto* frame = std::get_if<FrameReceived>(&event)) {
      frames_.push_back(frame->frame);
    } else if (auto* lines = std::get_if<LogLines>(&event)) {
      std::vector<std::string>& of = lines->pipe == LogPipe::kErrors ? errors_ : output_;
      of.insert(of.end(), lines->lines.begin(), lines->lines.end());
      if (lines->before_start) early_ += lines->lines.size();
      lines_.insert(lines_.end(), lines->lines.begin(), lines->lines.end());
      dropped_ += lines->dropped;
    } else if (auto* astray = std::get_if<TrainerMisbehaved>(&event)) {
      misbehaved_.push_back(astray->reason);
    } else if (auto* exited = std::get_if<TrainerExited>(&event)) {
      exited_ = *exited;
    }
  }
  template <typename Frame>
  bool AwaitFrame() {
    return Await([this] {
      Serve();
      return std::any_of(frames_.begin(), frames_.end(),
                         [](const auto& frame) { return std::holds_alternative<Frame>(frame); });
    });
  }
  bool AwaitExit() {
    return Await([this] {
      Serve();
      return exited_.has_value();
    });
  }
  static frames::Start StartFrame(int steps) {
    frames::Start start;
    start.token = std::string(32, 'a');
    start.attempt = 1;
    start.spec = {{"train", {{"max_steps", std::to_string(steps)}}}, {"data", {{"train", ""}}}};
    return start;
  }

  SystemClock clock_;
  absl::Duration skew_;
  std::unique_ptr<TrainerProcess> process_;
  std::vector<frames::FromTrainer> frames_;
  std::vector<std::string> lines_;
  std::vector<std::string> output_, errors_;
  size_t early_ = 0;
  uint64_t dropped_ = 0;
  std::vector<std::string> misbehaved_;
  std::optional<TrainerExited> exited_;
};

TEST_F(ProcessTest, FramesGoBothWays) {
  TempFolder storage;
  StartFake();
  ASSERT_TRUE(AwaitFrame<frames::Idle>());
  frames::Start start = StartFrame(3);
  start.storage = storage.path();
  process_->Send(start, clock_.Now().steady);
  ASSERT_TRUE(AwaitFrame<frames::End>());
  EXPECT_TRUE(AwaitFrame<frames::StepDone>());
  process_->Send(frames::Exit{}, clock_.Now().steady);
  ASSERT_TRUE(AwaitExit());
  EXPECT_TRUE(WIFEXITED(exited_->wait_status));
  EXPECT_EQ(WEXITSTATUS(exited_->wait_status), 0);
}

TEST_F(ProcessTest, AMissingProgramIsNamed) {
  const auto started = TrainerProcess::Start({"/nowhere/dttrain", {}, {}});
  EXPECT_EQ(started.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(started.status().message()).find("/nowhere/dttrain"), std::string::npos);
}

TEST_F(ProcessTest, NothingOfOursIsOpenInTheTrainer) {
  UniqueFd stray(fcntl(STDERR_FILENO, F_DUPFD, 40));  // without close-on-exec
  StartShell("cd /proc/$$/fd && echo *");
  ASSERT_TRUE(AwaitExit());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0].substr(0, 7), "0 1 2 3");
  EXPECT_EQ(lines_[0].find(std::to_string(stray.get())), std::string::npos);
}

TEST_F(ProcessTest, EnvironmentIsOursWithTheAttemptsOnTop) {
  setenv("DTRAIN_TEST_OURS", "ours", 1);
  setenv("NOTIFY_SOCKET", "/nowhere", 1);
  Start({"/bin/sh",
         {"-c", "echo $DTRAIN_TEST_OURS $ADDED ${NOTIFY_SOCKET-unset}"},
         {{"ADDED", "added"}}});
  unsetenv("NOTIFY_SOCKET");
  ASSERT_TRUE(AwaitExit());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0], "ours added unset");
}

TEST_F(ProcessTest, AKillEndsTheCompleteGroup) {
  StartShell("sh -c 'echo $$; exec cat /dev/zero >/dev/null' & wait");
  ASSERT_TRUE(Await([this] {
    Serve();
    return !lines_.empty();
  }));
  const pid_t grandchild = std::stoi(lines_[0]);
  ASSERT_TRUE(testing::ProcessAlive(grandchild));
  process_->Kill();
  ASSERT_TRUE(AwaitExit());
  EXPECT_EQ(WTERMSIG(exited_->wait_status), SIGKILL);
  EXPECT_EQ(exited_->oom, OomEvidence::kNone);
  EXPECT_TRUE(Await([&] { return !testing::ProcessAlive(grandchild); }));
}

TEST_F(ProcessTest, ProcessesThatATrainerLeavesAreEndedWithIt) {
  StartShell("sh -c 'echo $$; exec cat /dev/zero >/dev/null 2>&1' & read line <&3");
  ASSERT_TRUE(Await([this] {
    Serve();
    return !lines_.empty();
  }));
  const pid_t grandchild = std::stoi(lines_[0]);
  process_->Send(frames::Exit{}, clock_.Now().steady);
  ASSERT_TRUE(AwaitExit());
  EXPECT_TRUE(Await([&] { return !testing::ProcessAlive(grandchild); }));
}

TEST_F(ProcessTest, FramesAndLinesOfADeadTrainerComeBeforeItsExit) {
  StartShell(
      "echo '{\"type\":\"idle\"}' >&3; echo last words; echo to the error output >&2; kill -SEGV "
      "$$");
  ASSERT_TRUE(AwaitExit());
  EXPECT_EQ(WTERMSIG(exited_->wait_status), SIGSEGV);
  EXPECT_EQ(frames_.size(), 1u);
  EXPECT_EQ(lines_.size(), 2u);
}

TEST_F(ProcessTest, NonsenseIsReportedOnceAndEndsTheConversation) {
  StartShell("echo nonsense >&3; echo '{\"type\":\"idle\"}' >&3; echo more >&3");
  ASSERT_TRUE(AwaitExit());
  EXPECT_EQ(misbehaved_.size(), 1u);
  EXPECT_TRUE(frames_.empty());
}

TEST_F(ProcessTest, AFrameWithoutEndIsRefused) {
  StartShell("head -c 2000000 /dev/zero >&3; read line <&3");
  ASSERT_TRUE(Await([this] {
    Serve();
    return !misbehaved_.empty();
  }));
}

TEST_F(ProcessTest, ATrainerThatClosesItsLinkAndLivesOnIsDetected) {
  StartShell("exec 3>&-; echo closed; while :; do read line < /dev/zero; done");
  ASSERT_TRUE(Await([this] {
    Serve();
    return process_->NextDeadline() < absl::InfiniteDuration();
  }));
  EXPECT_TRUE(misbehaved_.empty());
  skew_ = limits::kTrainerExitGrace;
  Serve();
  EXPECT_EQ(misbehaved_.size(), 1u);
}

TEST_F(ProcessTest, FloodOfLinesIsCutToTheRate) {
  StartShell("i=0; while [ $i -lt 3000 ]; do echo line; i=$((i+1)); done");
  ASSERT_TRUE(AwaitExit());
  EXPECT_EQ(lines_.size() + dropped_, 3000u);
  EXPECT_GT(dropped_, 0u);
}

TEST_F(ProcessTest, ABurstOfOutputLeavesTheErrorsAlone) {
  StartShell(
      "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo 'the cause' >&2; exit "
      "1");
  ASSERT_TRUE(AwaitExit());
  EXPECT_EQ(errors_, std::vector<std::string>{"the cause"});
  ASSERT_FALSE(output_.empty());
  EXPECT_EQ(output_.back(), "line 2999") << "the newest are kept";
}

TEST_F(ProcessTest, UnfinishedLinesAreReportedBeforeTheAttemptsEnd) {
  StartShell(
      "printf 'no newline'; printf '50%%\\r100%%' >&2; "
      "echo "
      "'{\"type\":\"end\",\"token\":\"a\",\"cause\":\"finished\",\"message\":\"\",\"step\":0}' "
      ">&3; read line <&3");
  ASSERT_TRUE(AwaitFrame<frames::End>());
  EXPECT_EQ(output_, std::vector<std::string>{"no newline"});
  EXPECT_EQ(errors_, (std::vector<std::string>{"50%", "100%"}));
}

TEST_F(ProcessTest, OutputBeforeAStartIsMarkedAsSuch) {
  StartShell("printf 'of the first'; echo '{\"type\":\"idle\"}' >&3; read line <&3; echo second");
  ASSERT_TRUE(AwaitFrame<frames::Idle>());
  EXPECT_TRUE(output_.empty());
  process_->Send(StartFrame(1), clock_.Now().steady);
  ASSERT_TRUE(AwaitExit());
  EXPECT_EQ(output_, (std::vector<std::string>{"of the first", "second"}));
  EXPECT_EQ(early_, 1u);
}

TEST_F(ProcessTest, TheEndOfTheOwnerEndsTheTrainer) {
  StartFake();
  ASSERT_TRUE(AwaitFrame<frames::Idle>());
  const pid_t pid = process_->pid();
  process_.reset();
  EXPECT_FALSE(testing::ProcessAlive(pid));
}

}  // namespace
}  // namespace dt
