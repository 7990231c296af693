#include "common/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "common/files.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

class SpawnTest : public ::testing::Test {
 protected:
  // What a shell script prints, from a process that ended with 0.
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
  // Neither has close-on-exec, as a library's may not.
  const UniqueFd stray(fcntl(STDERR_FILENO, F_DUPFD, 40));
  const UniqueFd given(open("/dev/zero", O_RDONLY));
  const UniqueFd high(fcntl(given.get(), F_DUPFD, 50));
  EXPECT_EQ(Printed("for n in 0 3 4 40 50; do readlink /proc/$$/fd/$n || echo none; done",
                    {.descriptors = {{high.get(), 3}}}),
            "/dev/null\n/dev/zero\nnone\nnone\nnone\n");
}

TEST_F(SpawnTest, AProcessGroupOfItsOwnIsItsOwn) {
  EXPECT_EQ(Printed("test \"$(cut -d' ' -f5 /proc/$$/stat)\" = $$ && echo own",
                    {.group = ProcessGroup::kOwn}),
            "own\n");
}

TEST(SpawnErrorTest, AMissingProgramIsNamed) {
  const absl::StatusOr<pid_t> pid = Spawn({.path = "/absent/program"});
  ASSERT_FALSE(pid.ok());
  EXPECT_EQ(std::string(pid.status().message()),
            "starting /absent/program: No such file or directory");
}

}  // namespace
}  // namespace dt
