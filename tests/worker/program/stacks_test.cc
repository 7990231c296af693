// stacks_test.cc: the lines of a log about processes that hang.
#include "worker/program/stacks.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt::program {
namespace {

TEST(StacksTest, AProcessThatHasGoneIsALineAndNoFailure) {
  const std::vector<std::string> lines = StacksOf({999'999'999}, {{"PATH", "/no/such"}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("process 999999999 ("), 0u);
}

TEST(StacksTest, OfManyProcessesTheFirstAreShownAndTheRestCounted) {
  const std::vector<std::string> lines =
      StacksOf(std::vector<pid_t>(20, getpid()), {{"PATH", "/no/such"}});
  EXPECT_EQ(lines.back(), "and 12 processes more") << absl::StrJoin(lines, "\n");
  EXPECT_LE(lines.size(), kStackLines + 1);
}

TEST(StacksTest, APythonProcessHasTheFramesThatPySpyPrints) {
  const testing::TempFolder folder;
  // A stand-in for an interpreter, by its name, and one for py-spy.
  const std::string python = folder / "python3";
  std::filesystem::copy_file("/bin/sh", python);
  folder.Write("py-spy", "#!/bin/sh\necho \"$1 of $3: train.py:7 in wait\"\n");
  std::filesystem::permissions(folder / "py-spy", std::filesystem::perms::owner_all);
  testing::ChildProcess child({.path = python, .arguments = {"-c", "while :; do :; done"}});
  ASSERT_TRUE(testing::Await([&] {
    std::string name;
    std::ifstream(absl::StrCat("/proc/", child.pid(), "/comm")) >> name;
    return name == "python3";
  }));
  const std::vector<std::string> lines =
      StacksOf({child.pid()}, {{"PATH", absl::StrCat(folder.path(), ":/usr/bin:/bin")}});
  ASSERT_EQ(lines.size(), 2u) << absl::StrJoin(lines, "\n");
  EXPECT_EQ(lines[0].find(absl::StrCat("process ", child.pid(), " (python3) ")), 0u);
  EXPECT_EQ(lines[1], absl::StrCat("  dump of ", child.pid(), ": train.py:7 in wait"));
}

TEST(StacksTest, AnotherProgramHasTheFramesOfGdb) {
  const testing::TempFolder folder;
  folder.Write("gdb",
               "#!/bin/sh\necho 'warning: no symbols'\necho 'Thread 1 (LWP 7):'\n"
               "echo \"#0  ${6} in poll ()\"\n");
  std::filesystem::permissions(folder / "gdb", std::filesystem::perms::owner_all);
  testing::ChildProcess child({.path = "/bin/sh", .arguments = {"-c", "while :; do :; done"}});
  const std::vector<std::string> lines =
      StacksOf({child.pid()}, {{"PATH", absl::StrCat(folder.path(), ":/usr/bin:/bin")}});
  ASSERT_EQ(lines.size(), 3u) << absl::StrJoin(lines, "\n");
  EXPECT_EQ(lines[1], "  Thread 1 (LWP 7):");
  EXPECT_EQ(lines[2], absl::StrCat("  #0  ", child.pid(), " in poll ()"));
}

}  // namespace
}  // namespace dt::program
