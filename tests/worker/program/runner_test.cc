// runner_test.cc: dtprogram serves several trials of an experiment, and nothing of one is in the
// next.
#include "common/control_group.h"
#include "tests/testing/fake_tools.h"
#include "tests/worker/program/program_fixture.h"

namespace dt {
namespace {

constexpr char kOther[] = "4567";

// Writes all that a program inherits or finds into the file "$SHOWN". The shell's number differs.
constexpr char kShow[] = R"({ env | grep -v -e ^SHOWN= -e _PORT= | sort; pwd; umask; ulimit -a
ls /proc/$$/fd
grep -E '^(Sig(Blk|Ign|Cgt)|Cpus_allowed_list|NoNewPrivs|Uid|Gid):' /proc/self/status
cat /proc/$$/oom_score_adj /proc/$$/coredump_filter /proc/$$/cgroup
cut -d ' ' -f 5,18,19 /proc/$$/stat | sed "s/^$PPID /runner /"
ls -AR "${DTRAIN_REPORT%/*}"
wc -w < /proc/$PPID/task/$PPID/children; } > "$SHOWN" 2>&1)";

// Changes all that a program can change of itself, and leaves files, a control group, a daemon and
// a child that hold its descriptors.
constexpr char kMess[] = R"(export LEFT=secret; umask 077; ulimit -n 60; ulimit -c 0
trap '' INT QUIT HUP; exec 9>"$DTRAIN_REPORT"
echo 300 > /proc/$$/oom_score_adj; renice -n 3 $$ > /dev/null
scratch=${DTRAIN_REPORT%/*}; echo left > "$scratch/left"; echo left > "$scratch/files/left"
mkdir "/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/inner" 2> /dev/null
cd /; tail -f /dev/null & printf 'no end of line'
)";

class RunnerTest : public ProgramTest {
 protected:
  frames::End EndOf(const nlohmann::json& spec, const std::string& token = kToken) {
    frames_.clear();
    frames::Start start = StartOf(spec);
    start.token = token;
    Say(start);
    return AwaitEnd();
  }
  // Returns what a program sees of its surroundings.
  std::string Shown(const std::string& name) {
    const std::string script = "SHOWN=" + In(name) + "\n" + kShow;
    EXPECT_EQ(EndOf({{"run", script}}).cause, "finished");
    return testing::Slurp(folder_ / name);
  }
  size_t Descriptors() const {
    const fs::directory_iterator open("/proc/" + std::to_string(runner_.pid()) + "/fd");
    return static_cast<size_t>(std::distance(open, fs::directory_iterator()));
  }
  std::string Children() const {
    const std::string pid = std::to_string(runner_.pid());
    return testing::ReadOfProcess(runner_.pid(), "task/" + pid + "/children");
  }
};

TEST_F(RunnerTest, AProgramFindsWhatTheFirstOfItsRunnerFound) {
  const std::string first = Shown("first");
  EXPECT_NE(first.find("DTRAIN_REPORT="), std::string::npos) << first;
  EXPECT_EQ(
      EndOf({{"run", Daemon() + kMess + "while [ ! -e " + In("daemon") + " ]; do :; done"}}).cause,
      "finished");
  EXPECT_FALSE(ProcessAlive(PidIn("daemon")));
  EXPECT_EQ(Shown("next"), first);
  EXPECT_TRUE(runner_.Running());
}

TEST_F(RunnerTest, AVariableOfOneTrialIsNotTheNextOnes) {
  nlohmann::json spec = {
      {"run", "echo \"it is ${TOKEN-unset}\""},
      {"resources", {{"env", nlohmann::json::array({{{"key", "TOKEN"}, {"value", "abc"}}})}}}};
  EXPECT_EQ(EndOf(spec).cause, "finished");
  spec.erase("resources");
  EXPECT_EQ(EndOf(spec).cause, "finished");
  EXPECT_NE(Log().find("it is abc\n"), std::string::npos);
  EXPECT_NE(Log().find("it is unset\n"), std::string::npos);
}

TEST_F(RunnerTest, AtRestItHasNothingOfItsTrials) {
  EXPECT_EQ(EndOf({{"run", "exit 0"}}).cause, "finished");
  const size_t descriptors = Descriptors();
  for (const char* script : {"exit 3", kMess, "kill -9 $$", "echo '{\"step\": 1}' >&3"}) {
    EndOf({{"run", script}});
  }
  EXPECT_EQ(Descriptors(), descriptors);
  EXPECT_EQ(Children(), "");
  EXPECT_FALSE(fs::exists(folder_ / "run/scratch"));
  const std::string end = "-" + std::to_string(runner_.pid());
  for (const auto& entry : fs::directory_iterator(OwnControlGroup().value_or("/sys/fs/cgroup"))) {
    EXPECT_FALSE(entry.path().filename().string().ends_with(end)) << entry.path();
  }
}

TEST_F(RunnerTest, MessagesForTheEarlierTrialAreRefused) {
  EXPECT_EQ(EndOf({{"run", "exit 0"}}).cause, "finished");
  frames_.clear();
  frames::Start start =
      StartOf({{"run", ": > " + In("up") + "; while [ ! -e " + In("go") + " ]; do :; done"}});
  start.token = kOther;
  Say(start);
  ASSERT_TRUE(AwaitFile("up"));
  Say(frames::Registered{kToken, 5});
  Say(frames::Connect{kToken, "127.0.0.1:1"});
  Say(frames::Stop{kToken, false});
  std::ofstream(folder_ / "go") << "\n";
  EXPECT_EQ(AwaitEnd().cause, "finished") << "it was stopped in the place of another";
  EXPECT_EQ(Find<frames::End>()->token, kOther);
}

// Each of these texts changes the runner, from which the next program would inherit it.
TEST_F(RunnerTest, ARunnerThatItsProgramChangedServesNoFurtherTrial) {
  for (const char* change : {"resource.prlimit(p, resource.RLIMIT_NOFILE, (200, 200))",
                             "os.setpriority(os.PRIO_PROCESS, p, 7)",
                             "open(f'/proc/{p}/oom_score_adj', 'w').write('300')",
                             "open(f'/proc/{p}/coredump_filter', 'w').write('0x1')"}) {
    if (!runner_.Running()) StartRunner();
    frames_.clear();
    Say(StartOf(
        {{"command",
          {"python3", "-c", std::string("import os, resource\np = os.getppid()\n") + change}}}));
    const auto status = runner_.AwaitExit();
    EXPECT_EQ(status, 0) << change;
    Hear();
    ASSERT_NE(Find<frames::End>(), nullptr) << change;
    EXPECT_EQ(Find<frames::End>()->cause, "finished") << change << Log();
    EXPECT_EQ(Find<frames::Idle>(), nullptr) << change;
  }
  EXPECT_NE(Log().find("serves no further trial"), std::string::npos);
}

TEST_F(RunnerTest, AKilledRunnerLeavesTheNextOneNothing) {
  const std::string first = Shown("first");
  frames_.clear();
  Run(Daemon() + kMess + "while :; do :; done");
  ASSERT_TRUE(AwaitFile("daemon"));
  const pid_t killed = runner_.pid();
  runner_.Signal(SIGKILL);
  ASSERT_TRUE(runner_.AwaitExit());
  // As its worker does.
  kill(-killed, SIGKILL);
  kill(PidIn("daemon"), SIGKILL);
  StartRunner();
  const auto nameless = [](const std::string& text) {  // without the group's name
    const size_t group = text.find("0::");
    return group == std::string::npos ? text
                                      : text.substr(0, group) + text.substr(text.find('\n', group));
  };
  EXPECT_EQ(nameless(Shown("next")), nameless(first));
}

TEST_F(RunnerTest, AtRestItEndsWithItsWorkerAndAtItsOrder) {
  EXPECT_EQ(EndOf({{"run", "exit 0"}}).cause, "finished");
  link_.Reset();
  EXPECT_TRUE(runner_.AwaitExit()) << "its worker was killed";
  StartRunner();
  EXPECT_EQ(EndOf({{"run", "exit 0"}}).cause, "finished");
  Say(frames::Exit{});
  EXPECT_EQ(runner_.AwaitExit(), 0);
}

class StoppedToolTest : public RunnerTest {
 protected:
  void SetUp() override {
    tools_.Put("podman", Daemon() + "exec tail -f /dev/null");
    RunnerTest::SetUp();
  }
  Environment Variables() const override { return tools_.Variables(); }

  testing::FakeTools tools_;
};

TEST_F(StoppedToolTest, AToolOfAStoppedTrialLeavesNoProcess) {
  Say(StartOf({{"run", "true"}, {"environment", {{"image", "x:1"}}}}));
  ASSERT_TRUE(AwaitFile("daemon")) << Log();
  Say(frames::Stop{kToken, false});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
  EXPECT_FALSE(ProcessAlive(PidIn("daemon")));
  EXPECT_EQ(Children(), "");
}

}  // namespace
}  // namespace dt
