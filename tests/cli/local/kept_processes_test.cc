// kept_processes_test.cc: real processes in the background: none is lost, and no other process is
// touched.
#include "cli/local/kept_processes.h"

#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/cli/local/pause.h"
#include "tests/testing/await.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

class KeptProcessesTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_.Write("logs/x", ""); }
  void TearDown() override {
    KeptProcesses kept = Open();
    EXPECT_TRUE(kept.End(kept.Names(), absl::ZeroDuration(), Pause).ok());
  }
  KeptProcesses Open() { return *KeptProcesses::Open(folder_.path(), Pause); }
  std::string List() const {
    std::ifstream file(folder_ / "processes");
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }
  // Waits until the log of `name` contains `text`.
  bool AwaitLog(const KeptProcesses& kept, const std::string& name, const std::string& text) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (kept.LogTail(name).find(text) == std::string::npos) {
      if (absl::Now() > deadline) return false;
      Pause(absl::Milliseconds(5));
    }
    return true;
  }

  testing::TempFolder folder_;
};

TEST_F(KeptProcessesTest, AStartedProcessIsFoundAndEndedByALaterCommand) {
  ASSERT_TRUE(Open().Start({"sleeper", {"/bin/sleep", "300"}, {}}).ok());
  KeptProcesses later = Open();
  EXPECT_EQ(later.Names(), std::vector<std::string>{"sleeper"});
  EXPECT_TRUE(later.IsAlive("sleeper"));
  EXPECT_FALSE(later.IsAlive("other"));
  ASSERT_TRUE(later.End({"sleeper"}, kPatience, Pause).ok());
  EXPECT_FALSE(later.IsAlive("sleeper"));
  EXPECT_TRUE(later.Forget().ok());
  EXPECT_EQ(List(), "");
}

TEST_F(KeptProcessesTest, AKilledProcessIsNotAliveFromThatMoment) {
  for (int run = 0; run < 100; ++run) {
    KeptProcesses kept = Open();
    ASSERT_TRUE(kept.Start({"sleeper", {"/bin/sleep", "300"}, {}}).ok());
    ASSERT_TRUE(kept.IsAlive("sleeper")) << run;
    ASSERT_EQ(kill(std::atoi(List().c_str()), SIGKILL), 0);
    EXPECT_FALSE(kept.IsAlive("sleeper")) << run;
  }
}

TEST_F(KeptProcessesTest, AProcessIdThatBelongsToAnotherProcessNowIsLeftAlone) {
  testing::ChildProcess other({"/bin/sleep", "300"}, folder_ / "other.log");
  folder_.Write("processes", absl::StrCat(other.pid(), " 1 sleeper\n"));
  KeptProcesses kept = Open();
  EXPECT_FALSE(kept.IsAlive("sleeper"));
  EXPECT_TRUE(kept.End({"sleeper"}, absl::ZeroDuration(), Pause).ok());
  EXPECT_EQ(kill(other.pid(), 0), 0);
}

TEST_F(KeptProcessesTest, AProcessWithoutItsMarkIsLeftAloneAlthoughNumberAndStartTimeAreTheSame) {
  testing::ChildProcess other({"/bin/sleep", "300"}, folder_ / "other.log");
  std::ifstream stat(absl::StrCat("/proc/", other.pid(), "/stat"));
  std::string word;
  for (int field = 1; field <= 22; ++field) stat >> word;  // its name, "(sleep)", is one word
  folder_.Write("processes", absl::StrCat(other.pid(), " ", word, " sleeper\n"));
  // Until then, the child is still between fork and exec.
  ASSERT_TRUE(testing::Await([&] { return !Open().IsAlive("sleeper"); }));
  KeptProcesses kept = Open();
  EXPECT_TRUE(kept.End({"sleeper"}, absl::ZeroDuration(), Pause).ok());
  EXPECT_TRUE(other.Running());
}

TEST_F(KeptProcessesTest, ATornLineOfTheListHidesNothing) {
  const std::string torn = "123 4567 tor";
  folder_.Write("processes", torn);
  ASSERT_TRUE(Open().Start({"first", {"/bin/sleep", "300"}, {}}).ok());
  folder_.Write("processes", List() + torn);
  ASSERT_TRUE(Open().Start({"second", {"/bin/sleep", "300"}, {}, "with-a-note"}).ok());
  KeptProcesses kept = Open();
  EXPECT_TRUE(kept.IsAlive("first")) << List();
  EXPECT_TRUE(kept.IsAlive("second")) << List();
  EXPECT_EQ(kept.Note("second"), "with-a-note");
  ASSERT_TRUE(kept.End(kept.Names(), kPatience, Pause).ok());
  EXPECT_FALSE(kept.IsAlive("first"));
  EXPECT_FALSE(kept.IsAlive("second"));
}

TEST_F(KeptProcessesTest, AProcessThatDoesNotEndIsKilledWithItsChildren) {
  KeptProcesses kept = Open();
  ASSERT_TRUE(kept.Start({"stubborn",
                          {"/bin/sh", "-c", "trap '' TERM; sleep 300 & echo $! deaf; wait; wait"},
                          {}})
                  .ok());
  ASSERT_TRUE(AwaitLog(kept, "stubborn", "deaf"));
  std::ifstream log(kept.LogPath("stubborn"));
  pid_t child = 0;
  log >> child;
  ASSERT_TRUE(kept.End({"stubborn"}, absl::Milliseconds(1), Pause).ok());
  std::ifstream stat(absl::StrCat("/proc/", child, "/stat"));
  std::string text;
  std::getline(stat, text);
  EXPECT_TRUE(text.empty() || text.find(") Z ") != std::string::npos) << text;
}

TEST_F(KeptProcessesTest, AProcessKnowsItsClusterAndItsOutputIsKept) {
  KeptProcesses kept = Open();
  ASSERT_TRUE(
      kept.Start({"writer", {"/bin/sh", "-c", "echo $DTRAIN_UP $MORE"}, {{"MORE", "yes"}}}).ok());
  EXPECT_TRUE(AwaitLog(kept, "writer", folder_.path() + " yes"));
}

TEST_F(KeptProcessesTest, AProgramThatIsMissingIsNamed) {
  KeptProcesses kept = Open();
  const absl::Status status = kept.Start({"none", {folder_ / "none"}, {}});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(status.message()).find("/none"), std::string::npos) << status;
  EXPECT_EQ(List(), "");
}

TEST_F(KeptProcessesTest, ASecondOneWaitsForTheLockAndMayBeInterrupted) {
  const KeptProcesses first = Open();
  int looks = 0;
  const auto second =
      KeptProcesses::Open(folder_.path(), [&looks](absl::Duration) { return ++looks < 3; });
  EXPECT_EQ(second.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(looks, 3);
}

}  // namespace
}  // namespace dt::cli
