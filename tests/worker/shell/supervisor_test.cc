// supervisor_test.cc: one agent per GPU, kept alive and stopped together. Shells stand for agents.
#include "worker/shell/supervisor.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "gtest/gtest.h"
#include "tests/testing/await.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"
#include "worker/shell/shell.h"

namespace dt {
namespace {

using testing::Await;
using testing::ProcessAlive;

class SupervisorTest : public ::testing::Test {
 protected:
  // Forking is safe: this program has one thread.
  void Start(const std::vector<AgentCommand>& commands) {
    supervisor_ = fork();
    if (supervisor_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      BlockWorkerSignals();
      AliveFile alive(folder_ / "alive");
      _exit(Supervise("/bin/sh", commands, alive));
    }
  }
  ~SupervisorTest() override {
    // Stop it by a signal, not by SIGKILL, so that it ends its agents too.
    if (supervisor_ > 0) Stop();
  }
  int Stop() {
    kill(supervisor_, SIGTERM);
    int status = -1;
    EXPECT_TRUE(Await([&] { return waitpid(supervisor_, &status, WNOHANG) == supervisor_; }));
    supervisor_ = -1;
    return status;
  }
  // Returns an agent that writes its process id to a file and stays until it is stopped. Signals
  // arrive blocked, as for a real agent, which waits for them; env unblocks them for a shell.
  AgentCommand Agent(const std::string& name) const {
    return {
        name,
        {"-c", "exec env --default-signal=TERM sh -c 'echo $$ >" + (folder_ / name) + ".new; mv " +
                   (folder_ / name) + ".new " + (folder_ / name) + "; exec tail -f /dev/null'"}};
  }
  // Returns the agent's process once it is another one than `not_this`.
  pid_t AwaitAgent(const std::string& name, pid_t not_this = 0) const {
    pid_t pid = 0;
    EXPECT_TRUE(Await([&] {
      std::ifstream file(folder_ / name);
      return (file >> pid) && pid != not_this;
    })) << name;
    return pid;
  }

  testing::TempFolder folder_;
  pid_t supervisor_ = -1;
};

TEST_F(SupervisorTest, AnAgentThatDiesIsStartedAgainAndTheOthersStay) {
  Start({Agent("a"), Agent("b")});
  const pid_t a = AwaitAgent("a");
  const pid_t b = AwaitAgent("b");
  kill(a, SIGKILL);
  AwaitAgent("a", a);
  EXPECT_TRUE(ProcessAlive(b));
}

TEST_F(SupervisorTest, TheAliveFileIsTouchedRepeatedly) {
  Start({Agent("a")});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(Await([&] { return std::filesystem::exists(folder_ / "alive"); }));
    std::filesystem::remove(folder_ / "alive");
  }
}

TEST_F(SupervisorTest, TerminatingItEndsEveryAgentFirst) {
  Start({Agent("a"), Agent("b")});
  const pid_t a = AwaitAgent("a");
  const pid_t b = AwaitAgent("b");
  const int status = Stop();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_FALSE(ProcessAlive(a));
  EXPECT_FALSE(ProcessAlive(b));
}

}  // namespace
}  // namespace dt
