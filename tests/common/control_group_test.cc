// control_group_test.cc: the kernel's own control groups, if this machine lets us make them.
#include "common/control_group.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "common/descendants.h"
#include "common/files.h"
#include "common/spawn.h"
#include "gtest/gtest.h"
#include "tests/testing/await.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

// Returns the name of a group that a process of this PID namespace makes; `step` away is another.
std::string GroupOf(pid_t maker, ino_t step = 0) {
  struct stat space;
  EXPECT_EQ(stat("/proc/self/ns/pid", &space), 0);
  return "/dtrain-" + std::to_string(space.st_ino + step) + "-" + std::to_string(maker);
}

TEST(ControlGroupTest, AFolderThatIsNoGroupGivesNone) {
  const testing::TempFolder folder;
  EXPECT_EQ(ControlGroup::MakeBelow(folder / ""), nullptr);
  EXPECT_EQ(ControlGroup::MakeBelow(folder / "absent"), nullptr);
}

class OwnGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    own_ = OwnControlGroup();
    if (own_) group_ = ControlGroup::MakeBelow(*own_);
    if (group_ == nullptr) GTEST_SKIP() << "this process may make no control group";
    AdoptOrphans();
  }
  // Returns the number of a process that has ended and was reaped, so that no process has it.
  static pid_t Gone() {
    const absl::StatusOr<pid_t> gone = Spawn({.path = "/bin/true"});
    EXPECT_TRUE(gone.ok());
    EXPECT_EQ(waitpid(*gone, nullptr, 0), *gone);
    return *gone;
  }
  std::optional<std::string> own_;
  std::unique_ptr<ControlGroup> group_;
};

TEST_F(OwnGroupTest, AChainOfSuccessorsIsEndedAtOnceAndThisProcessIsNot) {
  const testing::TempFolder folder;
  // Each process starts its successor in another session and ends.
  std::ofstream(folder / "relay") << "#!/bin/sh\n: > " << (folder / "runs")
                                  << "\nsetsid \"$0\" &\n";
  ASSERT_EQ(chmod((folder / "relay").c_str(), 0700), 0);
  ASSERT_TRUE(Spawn({.path = folder / "relay",
                     .life = Life::kOfStarter,
                     .control_group = group_->descriptor()})
                  .ok());
  ASSERT_TRUE(testing::Await([&] { return std::filesystem::exists(folder / "runs"); }));
  group_->Kill();
  EXPECT_TRUE(testing::Await([&] {
    std::filesystem::remove(folder / "runs");
    EndDescendants(absl::ZeroDuration());  // reaps
    return Descendants().empty();
  }));
  EXPECT_FALSE(std::filesystem::exists(folder / "runs"));
  EXPECT_EQ(group_->Kill(), 0) << "no process is left in it";
}

TEST_F(OwnGroupTest, AProgramBeginsInItsGroupAndThisProcessStays) {
  const testing::TempFolder folder;
  const std::string file = folder / "its";
  const auto program = Spawn({.path = "/bin/sh",
                              .arguments = {"-c", "cat /proc/self/cgroup > " + file},
                              .life = Life::kOfStarter,
                              .control_group = group_->descriptor()});
  ASSERT_TRUE(program.ok());
  ASSERT_EQ(waitpid(*program, nullptr, 0), *program);
  const std::string text = ReadFile(file, 1 << 16).value_or("");
  EXPECT_NE(text.find(GroupOf(getpid())), std::string::npos) << text;
  EXPECT_EQ(OwnControlGroup(), own_);
}

// A process makes one group after another.
TEST_F(OwnGroupTest, AGroupThatAnEarlierOneLeftIsEndedAndRemoved) {
  const std::string its = *own_ + GroupOf(getpid());
  ASSERT_EQ(mkdir((its + "/inner").c_str(), 0755), 0);
  testing::ChildProcess program({.path = "/bin/tail", .arguments = {"-f", "/dev/null"}});
  std::ofstream(its + "/inner/cgroup.procs") << program.pid();
  group_.reset();
  ASSERT_TRUE(std::filesystem::exists(its)) << "a process is in it";
  group_ = ControlGroup::MakeBelow(*own_);
  EXPECT_NE(group_, nullptr);
  EXPECT_FALSE(std::filesystem::exists(its + "/inner"));
  EXPECT_TRUE(program.AwaitExit());
}

TEST_F(OwnGroupTest, ProcessesThatAKilledProcessLeftAreEndedByTheNext) {
  const std::string left = *own_ + GroupOf(Gone());
  ASSERT_EQ(mkdir(left.c_str(), 0755), 0);
  testing::ChildProcess program({.path = "/bin/tail", .arguments = {"-f", "/dev/null"}});
  std::ofstream(left + "/cgroup.procs") << program.pid();
  group_.reset();
  EXPECT_TRUE(testing::Await([&] {
    EXPECT_NE(ControlGroup::MakeBelow(*own_), nullptr);
    return !program.Running();
  }));
  EXPECT_NE(ControlGroup::MakeBelow(*own_), nullptr);
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(OwnGroupTest, TheGroupOfAProcessThatLivesIsLeftAlone) {
  testing::ChildProcess other({.path = "/bin/tail", .arguments = {"-f", "/dev/null"}});
  const std::string its = *own_ + GroupOf(other.pid());
  ASSERT_EQ(mkdir(its.c_str(), 0755), 0);
  EndAbandonedGroups(*own_);
  EXPECT_TRUE(std::filesystem::exists(its));
  EXPECT_EQ(rmdir(its.c_str()), 0);
}

// A container that sees its host's groups must not end the host's programs.
TEST_F(OwnGroupTest, TheGroupOfAnotherPidNamespaceIsLeftAlone) {
  const std::string its = *own_ + GroupOf(Gone(), 1);
  ASSERT_EQ(mkdir(its.c_str(), 0755), 0);
  EndAbandonedGroups(*own_);
  EXPECT_TRUE(std::filesystem::exists(its));
  EXPECT_EQ(rmdir(its.c_str()), 0);
}

}  // namespace
}  // namespace dt
