#include "common/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "common/files.h"
#include "tests/testing/await.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

class SpawnTest : public ::testing::Test {
 protected:
  // Returns the output of a shell script that must end with 0.
  std::string Printed(const std::string& script, SpawnOptions options = {}) {
    options.path = "/bin/sh";
    options.arguments = {"-c", script};
    options.log = folder_ / "log";
    const absl::StatusOr<pid_t> pid = Spawn(options);
    EXPECT_TRUE(pid.ok()) << pid.status();
    int status = -1;
    if (!pid.ok() || waitpid(*pid, &status, 0) != *pid) return "";
    EXPECT_EQ(status, 0);
    return ReadFile(options.log, 1 << 16).value_or("");
  }

  testing::TempFolder folder_;
};

TEST_F(SpawnTest, WordsAndVariablesReachTheProgramAndThoseOfTheServiceManagerDoNot) {
  setenv("NOTIFY_SOCKET", "/ours", 1);
  setenv("SPAWN_TEST_KEPT", "kept", 1);
  setenv("SPAWN_TEST_REPLACED", "old", 1);
  const std::string text =
      Printed("echo \"$SPAWN_TEST_KEPT $SPAWN_TEST_REPLACED ${NOTIFY_SOCKET-none}\"",
              {.environment = EnvironmentWith({{"SPAWN_TEST_REPLACED", "new"}})});
  unsetenv("NOTIFY_SOCKET");
  EXPECT_EQ(text, "kept new none\n");
}

TEST_F(SpawnTest, OnlyTheNamedDescriptorsAreOpen) {
  // Neither has close-on-exec; a library may open such ones too.
  const UniqueFd stray(fcntl(STDERR_FILENO, F_DUPFD, 40));
  const UniqueFd given(open("/dev/zero", O_RDONLY));
  const UniqueFd high(fcntl(given.get(), F_DUPFD, 50));
  for (const Life life : {Life::kOwn, Life::kOfStarter}) {
    EXPECT_EQ(Printed("for n in 0 3 4 40 50; do readlink /proc/$$/fd/$n || echo none; done",
                      {.descriptors = {{high.get(), 3}}, .life = life}),
              "/dev/null\n/dev/zero\nnone\nnone\nnone\n");
    std::filesystem::remove(folder_ / "log");
  }
}

TEST_F(SpawnTest, AProcessGroupOfItsOwnIsItsOwn) {
  for (const Life life : {Life::kOwn, Life::kOfStarter}) {
    EXPECT_EQ(Printed("test \"$(cut -d' ' -f5 /proc/$$/stat)\" = $$ && echo own",
                      {.group = ProcessGroup::kOwn, .life = life}),
              "own\n");
    std::filesystem::remove(folder_ / "log");
  }
}

TEST_F(SpawnTest, AProcessStartsInItsFolderWithDefaultSignalsAndNoneBlocked) {
  sigset_t usual, blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &usual);
  signal(SIGPIPE, SIG_IGN);
  for (const Life life : {Life::kOwn, Life::kOfStarter}) {
    // Ignore real-time signals: posix_spawn leaves two of the C library's own ignored.
    EXPECT_EQ(Printed("pwd; while read name set; do case $name in SigBlk: | SigIgn:) "
                      "echo $name $((0x$set & 0x7fffffff)) ;; esac; done </proc/self/status",
                      {.folder = "/proc", .life = life}),
              "/proc\nSigBlk: 0\nSigIgn: 0\n");
    std::filesystem::remove(folder_ / "log");
  }
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &usual, nullptr);
}

TEST_F(SpawnTest, AProcessBoundToItsStarterEndsWithTheThread) {
  pid_t bound = -1;
  std::thread starter([&] {
    const auto pid = Spawn({.path = "/bin/sleep", .arguments = {"1000"}, .life = Life::kOfStarter});
    ASSERT_TRUE(pid.ok()) << pid.status();
    bound = *pid;
  });
  starter.join();
  ASSERT_GT(bound, 0);
  std::optional<int> ended;
  EXPECT_TRUE(testing::Await([&] {
    int status = 0;
    if (waitpid(bound, &status, WNOHANG) == bound) ended = status;
    return ended.has_value();
  }));
  if (!ended) kill(bound, SIGKILL);
  EXPECT_EQ(ended.value_or(0), SIGKILL);
}

TEST_F(SpawnTest, AProcessBeginsWithoutAControlGroupThatDoesNotTakeIt) {
  const UniqueFd none(open((folder_ / "").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(none.valid());
  EXPECT_EQ(Printed("echo runs", {.life = Life::kOfStarter, .control_group = none.get()}),
            "runs\n");
}

TEST(SpawnErrorTest, AMissingProgramIsNamed) {
  for (const Life life : {Life::kOwn, Life::kOfStarter}) {
    const absl::StatusOr<pid_t> pid = Spawn({.path = "/absent/program", .life = life});
    ASSERT_FALSE(pid.ok());
    EXPECT_EQ(std::string(pid.status().message()),
              "starting /absent/program: No such file or directory");
  }
}

TEST(SpawnErrorTest, AShortageOfTheSystemDiffersFromAProgramThatCannotRun) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  SpawnOptions options{.path = "/bin/true", .life = Life::kOfStarter};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::StatusOr<pid_t> pid = Spawn(options);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(pid.status())) << pid.status();
  EXPECT_TRUE(absl::IsUnavailable(Spawn({.path = "/absent/program"}).status()));
}

TEST(SpawnErrorTest, AFolderThatIsNotThereIsAnError) {
  for (const Life life : {Life::kOwn, Life::kOfStarter}) {
    const absl::StatusOr<pid_t> pid =
        Spawn({.path = "/bin/true", .folder = "/absent", .life = life});
    ASSERT_FALSE(pid.ok());
    EXPECT_EQ(std::string(pid.status().message()), "starting /bin/true: No such file or directory");
  }
}

}  // namespace
}  // namespace dt
