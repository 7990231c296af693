// top_terminal_test.cc: the real dtctl on a pseudo-terminal: the effects of keys, and that every
// end of the program restores the terminal.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/await.h"
#include "tests/testing/fake_control.h"

namespace dt {
namespace {

// The parts of a terminal that top uses: lines of bytes, the cursor's row, the alternate screen.
class Emulator {
 public:
  void Write(const std::string& bytes) {
    for (const char c : bytes) Take(c);
  }
  std::string Text() const {
    std::string text;
    for (const auto& [row, line] : lines_) absl::StrAppend(&text, line, "\n");
    return text;
  }
  bool alternate() const { return alternate_; }
  bool cursor_shown() const { return cursor_shown_; }

 private:
  void Take(char c) {
    if (!sequence_.empty()) {
      sequence_ += c;
      if (sequence_.size() > 2 && c >= 0x40 && c <= 0x7e) Obey(std::exchange(sequence_, ""));
    } else if (c == '\x1b') {
      sequence_ = c;
    } else if (c == '\n') {
      ++row_;
    } else if (c != '\r') {
      lines_[row_] += c;
    }
  }
  void Obey(const std::string& sequence) {
    const std::string body = sequence.substr(2);
    if (body == "?1049h" || body == "?1049l") {
      alternate_ = body.back() == 'h';
      lines_.clear();  // the other screen's lines do not matter here
    }
    if (body == "?25h" || body == "?25l") cursor_shown_ = body.back() == 'h';
    if (body == "2J") lines_.clear();
    if (body == "H") row_ = 1;
    if (body.back() == 'H' && body.size() > 1) row_ = std::stoi(body);
    if (body == "K") lines_[row_].clear();
    if (body == "J") lines_.erase(lines_.lower_bound(row_), lines_.end());
  }

  std::map<int, std::string> lines_;
  int row_ = 1;
  std::string sequence_;  // an escape sequence so far
  bool alternate_ = false;
  bool cursor_shown_ = true;
};

class TopTerminalTest : public ::testing::Test {
 protected:
  TopTerminalTest() {
    control_.Edit([](FakeControl::World& world) {
      world.status.set_program_version("0.2.0");
      v1::ExperimentSummary& summary = *world.experiments[12].found.mutable_summary();
      summary.set_experiment(12);
      summary.set_name("sweep");
      summary.set_state(v1::EXPERIMENT_RUNNING);
      summary.set_running(2);
      for (uint32_t i = 1; i <= 2; ++i) {
        v1::TrialSummary& trial = world.experiments[12].trials.emplace_back();
        trial.set_experiment(12);
        trial.set_trial(i);
        trial.set_state(v1::TRIAL_RUNNING);
        trial.mutable_latest()->set_loss(4.0 - i);
        trial.add_workers(absl::StrCat("gpu0", i, "/0"));
        v1::WorkerSummary& worker = world.workers.emplace_back();
        worker.set_worker(absl::StrCat("gpu0", i, "/0"));
        worker.set_state("busy");
      }
    });
  }

  ~TopTerminalTest() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    Close();
  }

  void Close() {
    if (theirs_ >= 0) close(std::exchange(theirs_, -1));
    if (ours_ >= 0) close(std::exchange(ours_, -1));
  }

  void Start(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {DTCTL, "top", "--address", control_.address()};
    words.insert(words.end(), more.begin(), more.end());
    StartProgram(words);
  }

  // Starts the program in a new session, with the pseudo-terminal as its terminal.
  void StartProgram(std::vector<std::string> words) {
    screen_ = Emulator();
    Close();
    winsize size = {24, 80, 0, 0};
    ASSERT_EQ(openpty(&ours_, &theirs_, nullptr, nullptr, &size), 0);
    // Only this process holds it, so that closing it hangs up.
    ASSERT_EQ(fcntl(ours_, F_SETFD, FD_CLOEXEC), 0);
    // An unusual mode, so that a reset to defaults would be noticed.
    ASSERT_EQ(tcgetattr(theirs_, &before_), 0);
    before_.c_cc[VERASE] = 'H' - '@';
    before_.c_lflag &= ~static_cast<tcflag_t>(ECHOE);
    ASSERT_EQ(tcsetattr(theirs_, TCSANOW, &before_), 0);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::array<std::string, 2> settings = {"TERM=xterm", "LANG=C.UTF-8"};
    std::array<char*, 3> environment = {settings[0].data(), settings[1].data(), nullptr};
    pid_ = fork();
    if (pid_ == 0) {
      // Between fork and exec of a process with threads, only system calls are safe.
      setsid();
      ioctl(theirs_, TIOCSCTTY, 0);
      dup2(theirs_, STDIN_FILENO);
      dup2(theirs_, STDOUT_FILENO);
      dup2(theirs_, STDERR_FILENO);
      execve(arguments[0], arguments.data(), environment.data());
      _exit(127);
    }
    ASSERT_GT(pid_, 0);
  }

  void Type(const std::string& keys) {
    ASSERT_EQ(write(ours_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  void ReadOutput() {
    std::array<char, 4096> bytes;
    pollfd ready = {ours_, POLLIN, 0};
    while (poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN) != 0) {
      const ssize_t count = read(ours_, bytes.data(), bytes.size());
      if (count <= 0) return;
      screen_.Write(std::string(bytes.data(), static_cast<size_t>(count)));
    }
  }

  // Waits until the screen shows `part`; returns false if it never does.
  bool Shows(const std::string& part) {
    return testing::Await([&] {
      ReadOutput();
      return screen_.Text().find(part) != std::string::npos;
    });
  }
  bool Hides(const std::string& part) {
    return testing::Await([&] {
      ReadOutput();
      return screen_.Text().find(part) == std::string::npos;
    });
  }

  // Returns the wait status, or -1 if the program does not end.
  int AwaitEnd() {
    int status = -1;
    const bool ended = testing::Await([&] {
      ReadOutput();
      return waitpid(pid_, &status, WNOHANG) == pid_;
    });
    if (!ended) return -1;
    pid_ = -1;
    ReadOutput();
    return status;
  }

  bool ModesAreAsBefore() const {
    termios now = {};
    EXPECT_EQ(tcgetattr(theirs_, &now), 0);
    return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag &&
           now.c_oflag == before_.c_oflag && now.c_cflag == before_.c_cflag &&
           std::memcmp(now.c_cc, before_.c_cc, sizeof now.c_cc) == 0;
  }
  void ExpectGivenBack() {
    EXPECT_TRUE(ModesAreAsBefore());
    EXPECT_FALSE(screen_.alternate());
    EXPECT_TRUE(screen_.cursor_shown());
  }

  FakeControl control_;
  pid_t pid_ = -1;
  int ours_ = -1;
  int theirs_ = -1;
  termios before_ = {};
  Emulator screen_;
};

TEST_F(TopTerminalTest, KeysChangeTheScreenAndQGivesTheTerminalBack) {
  Start();
  ASSERT_TRUE(Shows("by TRIAL")) << screen_.Text();
  EXPECT_TRUE(screen_.alternate());
  EXPECT_FALSE(ModesAreAsBefore());
  Type("ss");
  EXPECT_TRUE(Shows("by LOSS ↑")) << screen_.Text();
  Type("r");
  EXPECT_TRUE(Shows("by LOSS ↓")) << screen_.Text();
  Type("fgpu02");
  EXPECT_TRUE(Shows("filter: gpu02")) << screen_.Text();
  EXPECT_TRUE(Hides("12/1")) << screen_.Text();
  Type("\x1b");
  EXPECT_TRUE(Shows("12/1")) << "Escape alone: " << screen_.Text();
  Type("t");
  EXPECT_TRUE(Hides("running trials")) << screen_.Text();
  Type("?");
  EXPECT_TRUE(Shows("this help, and back")) << screen_.Text();
  Type("?q");
  const int status = AwaitEnd();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ExpectGivenBack();
}

TEST_F(TopTerminalTest, ChangesAreShownAsTheyHappenAndAPauseFreezesTheScreen) {
  Start({"--interval", "100ms"});
  ASSERT_TRUE(Shows("12/2")) << screen_.Text();
  const auto rename = [this](const std::string& name) {
    control_.Edit([&name](FakeControl::World& world) {
      world.experiments[12].found.mutable_summary()->set_name(name);
    });
  };
  rename("renamed");
  EXPECT_TRUE(Shows("renamed")) << screen_.Text();
  Type("p");
  ASSERT_TRUE(Shows("paused")) << screen_.Text();
  rename("third");
  Type("ss");
  ASSERT_TRUE(Shows("by LOSS")) << screen_.Text();
  EXPECT_NE(screen_.Text().find("renamed"), std::string::npos) << screen_.Text();
  Type("p");
  EXPECT_TRUE(Shows("third")) << screen_.Text();
}

TEST_F(TopTerminalTest, EverySignalThatEndsAProcessGivesTheTerminalBack) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT}) {
    Start();
    ASSERT_TRUE(Shows("running trials")) << screen_.Text();
    kill(pid_, number);
    const int status = AwaitEnd();
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << number << ": " << status;
    ExpectGivenBack();
  }
}

TEST_F(TopTerminalTest, CtrlCEndsItWith130WhileTheCoordinatorIsAway) {
  Start({"--interval", "100ms"});
  ASSERT_TRUE(Shows("running trials")) << screen_.Text();
  control_.SetCallHook([](std::string_view, int, FakeControl::World&) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting");
  });
  EXPECT_TRUE(Shows("No answer from the coordinator")) << screen_.Text();
  control_.SetCallHook(nullptr);
  EXPECT_TRUE(Hides("No answer from the coordinator")) << screen_.Text();
  Type("\x03");
  const int status = AwaitEnd();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  ExpectGivenBack();
}

TEST_F(TopTerminalTest, ExperimentsThatEndedAreNotAskedForWithEveryRound) {
  control_.Edit([](FakeControl::World& world) {
    v1::ExperimentSummary& ended = *world.experiments[11].found.mutable_summary();
    ended.set_experiment(11);
    ended.set_name("over");
    ended.set_state(v1::EXPERIMENT_FINISHED);
  });
  Start({"--interval", "100ms"});
  ASSERT_TRUE(Shows("running trials")) << screen_.Text();
  const auto asked = [this](bool alone) {
    const auto world = control_.Snapshot();
    return std::count_if(
        world.experiment_lists.begin(), world.experiment_lists.end(),
        [alone](const auto& one) { return (one.experiment() != 0 || one.last()) == alone; });
  };
  control_.Edit([](FakeControl::World& world) {
    world.experiments[12].found.mutable_summary()->set_name("renamed");
  });
  ASSERT_TRUE(Shows("renamed")) << screen_.Text();
  // At least two rounds of the last and the live experiment. All experiments are listed only at the
  // start: once over the session's connection and once over the asking thread's.
  ASSERT_TRUE(testing::Await([&] {
    ReadOutput();
    return asked(true) >= 4;
  }));
  EXPECT_LE(asked(false), 2);
  control_.Edit([](FakeControl::World& world) {
    v1::ExperimentSummary& fresh = *world.experiments[13].found.mutable_summary();
    fresh = world.experiments[12].found.summary();
    fresh.set_experiment(13);
    fresh.set_name("fresh");
  });
  EXPECT_TRUE(Shows("fresh")) << screen_.Text();
}

TEST_F(TopTerminalTest, AnErrorGivesTheTerminalBackAndIsPrintedThere) {
  Start({"--interval", "100ms"});
  ASSERT_TRUE(Shows("running trials")) << screen_.Text();
  control_.SetCallHook([](std::string_view, int, FakeControl::World&) {
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "this user may not look");
  });
  const int status = AwaitEnd();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
  EXPECT_TRUE(Shows("this user may not look")) << screen_.Text();
  ExpectGivenBack();
}

TEST_F(TopTerminalTest, ASuspendGivesTheTerminalBackAndAResumeTakesItAgain) {
  // The system stops no process that no shell could continue, so a shell runs it.
  const std::string script =
      absl::StrCat(DTCTL, " top --address ", control_.address(), "; echo stopped; read go; fg");
  for (const bool by_key : {true, false}) {
    StartProgram({"/bin/sh", "-m", "-c", script});
    ASSERT_TRUE(Shows("running trials")) << screen_.Text();
    if (by_key) {
      Type("\x1a");
    } else {
      kill(-tcgetpgrp(ours_), SIGTSTP);
    }
    ASSERT_TRUE(Shows("stopped")) << screen_.Text();
    ExpectGivenBack();
    Type("\n");
    ASSERT_TRUE(Shows("running trials, by TRIAL")) << screen_.Text();
    EXPECT_TRUE(screen_.alternate());
    EXPECT_FALSE(ModesAreAsBefore());
    Type("s");
    EXPECT_TRUE(Shows("by PROGRESS")) << screen_.Text();
    Type("q");
    const int status = AwaitEnd();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    ExpectGivenBack();
  }
}

TEST_F(TopTerminalTest, AResizeRedrawsTheScreen) {
  Start();
  ASSERT_TRUE(Shows("12/2")) << screen_.Text();
  EXPECT_EQ(screen_.Text().find("this-is-the-end"), std::string::npos);
  control_.Edit([](FakeControl::World& world) {
    world.workers[0].set_state("idle");
    world.workers[0].set_device_name("a-device-with-quite-a-long-name");
    world.workers[0].set_host("a-host-with-a-name-as-long-as-that-this-is-the-end");
  });
  winsize wide = {40, 200, 0, 0};
  ASSERT_EQ(ioctl(theirs_, TIOCSWINSZ, &wide), 0);
  EXPECT_TRUE(Shows("this-is-the-end")) << screen_.Text();
}

}  // namespace
}  // namespace dt
