// container_test.cc: dtprogram runs a program of an image, with a real podman, and with a fake
// docker.
#include <signal.h>

#include <memory>

#include "common/descendants.h"
#include "common/process_facts.h"
#include "tests/testing/fake_tools.h"
#include "tests/testing/small_image.h"
#include "tests/worker/program/program_fixture.h"

namespace dt {
namespace {

class PodmanTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() {
    image_ = std::make_unique<testing::SmallImage>();
    why_not_ = image_->Make();
  }
  static void TearDownTestSuite() { image_.reset(); }
  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
    ProgramTest::SetUp();
  }
  Environment Variables() const override {
    Environment variables = image_->Variables();
    variables["SECRET"] = "of the worker";
    return variables;
  }
  // Starts an attempt, and gives it the image that it resolves.
  void Begin(const nlohmann::json& program) {
    nlohmann::json spec = program;
    spec["environment"] = {{"image", testing::SmallImage::kName}};
    frames::Start start = StartOf(spec);
    start.code_folder = folder_ / "code";
    fs::create_directories(folder_ / "code");
    Say(start);
    ASSERT_TRUE(AwaitFrame<frames::Resolved>()) << Log();
    Say(frames::Environment{kToken, Find<frames::Resolved>()->lock});
  }

  static inline std::unique_ptr<testing::SmallImage> image_;
  static inline std::string why_not_;
};

TEST_F(PodmanTest, AProgramRunsInItsImageAndReportsFromThere) {
  Begin({{"run",
          "cat /etc/mark; pwd; echo kept > kept; echo '{\"step\":3,\"loss\":0.5}' >$DTRAIN_REPORT\n"
          "echo '{\"step\":4,\"loss\":0.4}' >&$DTRAIN_REPORT_FD; touch $DTRAIN_CHECKPOINT_DIR/x\n"
          "ls $PYTHONPATH; echo \"$LINES_OF\" of \"$QUOTED\"; echo secret $SECRET; id -u"},
         {"resources",
          {{"env",
            {{{"key", "LINES_OF"}, {"value", "one\ntwo"}},
             {{"key", "QUOTED"}, {"value", "\"a'b\" $x "}}}}}}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "finished") << end.message;
  EXPECT_EQ(end.step, 4u);
  const std::string log = Log();
  for (const std::string& part :
       {std::string("within the image"), folder_ / "code", std::string("dtrain.py"),
        std::string("one\ntwo of \"a'b\" $x \n"), std::string("runs in podman, image localhost/"),
        "\nsecret\n" + std::to_string(geteuid()) + "\n"}) {
    EXPECT_NE(log.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(testing::Slurp(folder_ / "code/kept"), "kept\n");
  EXPECT_EQ(image_->Containers(), "");
  EXPECT_EQ(Find<frames::Resolved>()->lock.find("# image: localhost/small:1\nlocalhost/small@sha"),
            0u)
      << Find<frames::Resolved>()->lock;
}

TEST_F(PodmanTest, AStatusOfTheProgramIsTheProgramsEvenIfPodmanHasTheSame) {
  for (const char* status : {"7", "125", "126", "127"}) {
    frames_.clear();
    Begin({{"run", std::string("exit ") + status}});
    const frames::End end = AwaitEnd();
    EXPECT_EQ(end.cause, "trainer_crash") << status;
    EXPECT_NE(end.message.find(std::string("status ") + status), std::string::npos) << end.message;
  }
}

TEST_F(PodmanTest, AContainerThatPodmanDoesNotStartIsAFaultOfTheWorker) {
  Begin({{"command", {"/bin/true"}}, {"workdir", "/not/in/it"}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "config") << end.message;
  EXPECT_NE(end.message.find("is the workdir /not/in/it in the image?"), std::string::npos)
      << end.message;
  EXPECT_EQ(image_->Containers(), "");
}

TEST_F(PodmanTest, AProgramThatTheImageLacksIsOneErrorOfTheExperiment) {
  for (const auto& [program, word] :
       {std::pair(nlohmann::json{{"command", {"python9", "train.py"}}}, "'python9' in its PATH, /"),
        std::pair(nlohmann::json{{"command", {"/opt/nothing"}}}, "'/opt/nothing'; name one"),
        std::pair(nlohmann::json{{"command", {"./nothing"}}}, "'./nothing'; name one"),
        std::pair(nlohmann::json{{"run", "python9 train.py"}}, "'python9' in its PATH, /")}) {
    frames_.clear();
    Begin(program);
    const frames::End end = AwaitEnd();
    EXPECT_EQ(end.cause, "config") << program;
    EXPECT_TRUE(end.of_experiment) << program;
    EXPECT_NE(end.message.find(std::string("localhost/small:1 has no program ") + word),
              std::string::npos)
        << end.message;
  }
  EXPECT_EQ(image_->Containers(), "");
}

TEST_F(PodmanTest, AProgramThatPrintsTheWordsOfTheRuntimeIsNotMissing) {
  constexpr char kWords[] = "ERROR (catatonit:2): failed to exec pid1: No such file or directory";
  for (const char* status : {"1", "126", "127"}) {
    frames_.clear();
    Begin({{"command", {"sh", "-c", std::string("echo '") + kWords + "' >&2; exit " + status}}});
    const frames::End end = AwaitEnd();
    EXPECT_EQ(end.cause, "trainer_crash") << status << ": " << end.message;
    EXPECT_FALSE(end.of_experiment);
  }
}

TEST_F(PodmanTest, AStopReachesTheProgramWhichSaves) {
  Begin({{"command",
          {"/bin/sh", "-c",
           "trap 'echo saved > saved; exit 3' TERM; echo > up; while :; do sleep 0.1; done"}}});
  ASSERT_TRUE(AwaitFile("code/up"));
  Say(frames::Stop{kToken, true, false});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
  EXPECT_TRUE(fs::exists(folder_ / "code/saved"));
  EXPECT_EQ(image_->Containers(), "");
}

TEST_F(PodmanTest, AStopReachesTheChildrenOfAShellLine) {
  Begin({{"run",
          "sh -c 'trap \"echo saved > saved; exit\" TERM; echo > up; while :; do sleep 0.1; done'\n"
          "true"}});
  ASSERT_TRUE(AwaitFile("code/up"));
  Say(frames::Stop{kToken, true, false});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
  EXPECT_TRUE(fs::exists(folder_ / "code/saved"));
}

TEST_F(PodmanTest, AProgramThatIgnoresTheStopIsKilledWithItsContainer) {
  Begin({{"run", "trap '' TERM; echo > up; while :; do sleep 0.1; done"}});
  ASSERT_TRUE(AwaitFile("code/up"));
  Say(frames::Stop{kToken, false, false});
  EXPECT_EQ(AwaitEnd().cause, "cancelled");
  EXPECT_EQ(image_->Containers(), "");
}

TEST_F(PodmanTest, AHangShowsTheProcessesOfTheProgram) {
  Begin({{"run", "mkfifo nobody_writes; echo '{\"step\": 1, \"loss\": 2}'; exec cat nobody_writes"},
         {"timeout", {{"report", "1s"}, {"start_seconds", 0.0}}}});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "hang") << end.message;
  EXPECT_NE(Log().find("(cat) sleeps"), std::string::npos);
  EXPECT_EQ(Log().find("(conmon)"), std::string::npos);
}

TEST_F(PodmanTest, TheContainerOfAKilledRunnerGoesBeforeTheNextAttempt) {
  Begin({{"run", "echo > up; while :; do sleep 0.1; done"}});
  ASSERT_TRUE(AwaitFile("code/up"));
  const std::string left = image_->Containers();
  EXPECT_NE(left, "");
  kill(runner_.pid(), SIGKILL);
  runner_.AwaitExit();
  frames_.clear();
  PodmanTest::SetUp();
  Begin({{"run", "true"}});
  EXPECT_EQ(AwaitEnd().cause, "finished");
  EXPECT_EQ(image_->Containers(), "");
}

// A program whose container, monitor or client somebody ends from outside.
class TakenContainerTest : public PodmanTest {
 protected:
  // Starts a program that goes on until it is killed.
  void BeginEndless() {
    Begin({{"run", "echo > up; while :; do sleep 0.1; done"}});
    ASSERT_TRUE(AwaitFile("code/up"));
  }
  // Kills the processes of this name that the runner started.
  void KillBelowRunner(const std::string& name) const {
    for (const pid_t pid : Descendants()) {
      if (ProcessName(pid) == name) kill(pid, SIGKILL);
    }
  }
};

TEST_F(TakenContainerTest, AMonitorThatDiesIsAFaultOfTheWorkerAndNotACommandThatIsNotFound) {
  BeginEndless();
  KillBelowRunner("conmon");
  // Podman's client looks for the exit status for 20 s.
  ASSERT_TRUE(Await(
      [this] {
        Hear();
        return Find<frames::Idle>() != nullptr;
      },
      3 * testing::kPatience));
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "worker_fault") << end.message;
  EXPECT_NE(end.message.find("before the program in its container ended"), std::string::npos)
      << end.message;
  EXPECT_EQ(image_->Containers(), "");
}

TEST_F(TakenContainerTest, AClientThatIsKilledIsAFaultOfTheWorker) {
  BeginEndless();
  KillBelowRunner("podman");
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "worker_fault") << end.message;
  EXPECT_EQ(image_->Containers(), "");
}

TEST_F(TakenContainerTest, AContainerThatSomebodyRemovesIsAFaultOfTheWorker) {
  BeginEndless();
  std::string name = image_->Containers();
  name.resize(name.find('\n'));
  image_->Podman({"rm", "--force", "--time=0", name});
  const frames::End end = AwaitEnd();
  EXPECT_EQ(end.cause, "worker_fault") << end.message;
  EXPECT_NE(end.message.find("removed from outside"), std::string::npos) << end.message;
}

TEST_F(TakenContainerTest, AProgramThatKillsItselfIsNoFaultOfTheWorker) {
  Begin({{"run", "kill -9 $$"}});
  EXPECT_EQ(AwaitEnd().cause, "trainer_crash");
}

// A docker that starts the program on this host, with the words behind the image.
constexpr char kDocker[] = R"(
PATH=/usr/bin:/bin
case "$1 $2" in
  'image inspect') printf 'sha256:feed 1\ndigest x@sha256:%064d\n' 1 ;;
  'container inspect') echo "$(cat "$HOME/state") oom=false"; echo "env PATH=/opt/bin:/bin" ;;
  'cp '*)
    [ ! -e "$HOME/broken" ] || { echo 'Error response from daemon: broken pipe' >&2; exit 1; }
    grep -qx "${2#*:}" "$HOME/files" && exit 0
    echo "Error response from daemon: Could not find the file ${2#*:} in container $2" >&2
    exit 1 ;;
  'run '*)
    [ -e "$HOME/refuses" ] && { echo 'docker: no such device' >&2; exit 125; }
    shift
    for word; do
      shift
      case $word in
        --entrypoint=*) entry=${word#*=} ;;
        --env-file=*) while IFS= read -r line; do export "$line"; done <"${word#*=}" ;;
        --*) ;;
        *) break ;;
      esac
    done
    exec "$entry" "$@" ;;
esac
)";

class FakeDockerTest : public ProgramTest {
 protected:
  void SetUp() override {
    tools_.Put("docker", kDocker);
    ProgramTest::SetUp();
  }
  Environment Variables() const override {
    return {
        {"PATH", tools_ / "bin"}, {"HOME", tools_.folder().path()}, {"SECRET", "of the worker"}};
  }
  frames::End RunWithImage(const std::string& script) {
    frames::Start start = StartOf({{"run", script}, {"environment", {{"image", "x:1"}}}});
    start.environment = "# image: x:1\nx@sha256:" + std::string(63, '0') + "1\n";
    Say(start);
    return AwaitEnd();
  }

  testing::FakeTools tools_;
};

TEST_F(FakeDockerTest, ReportsComeByThePathAndTheContainerIsRemoved) {
  const frames::End end = RunWithImage(
      "echo '{\"step\":3,\"loss\":0.5}' >$DTRAIN_REPORT; echo \"fd $DTRAIN_REPORT_FD.\"");
  EXPECT_EQ(end.cause, "finished") << end.message;
  EXPECT_EQ(end.step, 3u);
  EXPECT_NE(Log().find("fd .\n"), std::string::npos);
  const std::string calls = tools_.TakeCalls();
  EXPECT_NE(calls.find("docker rm --force --volumes dtrain-7-3-1-0-"), std::string::npos) << calls;
  EXPECT_EQ(calls.find("of the worker"), std::string::npos);
}

TEST_F(FakeDockerTest, AContainerThatDoesNotStartIsAFaultOfTheWorker) {
  tools_.folder().Write("refuses", "");
  tools_.folder().Write("state", "started=0001-01-01T00:00:00Z");
  const frames::End end = RunWithImage("true");
  EXPECT_EQ(end.cause, "worker_fault");
  EXPECT_EQ(end.message,
            "docker did not start the container (exit status 125); its own words are the last "
            "lines of the trial's log");
  EXPECT_FALSE(end.of_experiment);
}

TEST_F(FakeDockerTest, AProgramThatTheImageLacksIsNamed) {
  tools_.folder().Write("state", "started=2026-11-28T08:00:00Z");
  tools_.folder().Write("files", "/opt/bin/nothing\n");
  EXPECT_EQ(RunWithImage("nothing\nexit 127").cause, "trainer_crash") << "it is in the image";
  frames_.clear();
  tools_.folder().Write("files", "/bin/other\n");
  const frames::End end = RunWithImage("nothing\nexit 127");
  EXPECT_EQ(end.cause, "config");
  EXPECT_EQ(end.message,
            "environment.image: x:1 has no program 'nothing' in its PATH, /opt/bin:/bin; name one "
            "that it has, or choose an image with it");
  frames_.clear();
  tools_.folder().Write("broken", "");
  EXPECT_EQ(RunWithImage("nothing\nexit 127").cause, "trainer_crash")
      << "a runtime that fails proves nothing";
}

TEST_F(FakeDockerTest, AContainerThatSomebodyRemovesIsAFaultOfTheWorker) {
  tools_.folder().Write("state", "Error: No such container: dtrain");
  const frames::End end = RunWithImage("exit 3");
  EXPECT_EQ(end.cause, "worker_fault") << end.message;
}

TEST_F(FakeDockerTest, AStatusOfAProgramThatRanIsItsOwn) {
  tools_.folder().Write("state", "started=2026-11-28T08:00:00Z");
  EXPECT_EQ(RunWithImage("exit 125").cause, "trainer_crash");
}

}  // namespace
}  // namespace dt
