// checkpoint_kill_test.cc: kills a writer at each of its system calls, and at many bytes within its
// writes; the old checkpoint or the new one must be left, undamaged.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "common/files.h"
#include "tests/checkpoint/checkpoint_builder.h"
#include "tests/testing/temp_folder.h"

namespace dt::checkpoint {
namespace {

// Without optimisation and with sanitizers, a run takes ten times as long, so there are fewer
// moments.
#ifdef DTRAIN_SANITIZE
constexpr int kFewer = 6;
#else
constexpr int kFewer = 1;
#endif

using ::dt::testing::Medium;
using ::dt::testing::TempFolder;

// Does what a trainer does each time: saves, then deletes older checkpoints.
bool SaveAndRetire(const std::string& storage, const CheckpointId& id) {
  if (!Save(storage, id, std::nullopt, kWeights).ok()) return false;
  const Retention newest_alone{.keep_latest = 1, .keep_best = 0};
  for (const CheckpointId& old :
       ChooseToRemove(RankCheckpoints(storage, id.trial, "spec"), newest_alone)) {
    const absl::StatusOr<std::string> left = TakeNameAway(storage, old);
    if (!left.ok() || !RemoveAll(*left).ok()) return false;
  }
  return true;
}

class CheckpointKillTest : public ::testing::Test {
 protected:
  CheckpointKillTest() { EXPECT_TRUE(SaveAndRetire(folder_.path(), IdOf(10))); }

  // Expects that step 10 or step 20 is there and undamaged, and that nothing with a checkpoint's
  // name is damaged. Then a next attempt can continue.
  void ExpectWholeAndUsable() {
    const absl::StatusOr<std::optional<Checkpoint>> found = FindNewestGood(
        folder_.path(), kTrial, "spec", [](const CheckpointId&) { return true; },
        [](const CheckpointId& id, const absl::Status& error) {
          ADD_FAILURE() << id.Path() << ": " << error;
        });
    ASSERT_TRUE(found.ok()) << found.status();
    const std::optional<Checkpoint>& newest = *found;
    ASSERT_TRUE(newest);
    EXPECT_TRUE(newest->id.step == 10 || newest->id.step == 20) << newest->id.step;
    ExpectWhole(*newest);
    ASSERT_TRUE(SweepLeftovers(folder_.path(), kTrial, 2).ok());
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(folder_.path()) / "12/3/a1")) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
    }
  }

  TempFolder folder_{Medium::kMemory};
};

enum class Outcome { kKilled, kFinished, kNotAllowed };

// Runs SaveAndRetire in a child that is killed at its `stop`-th entry into or exit from a system
// call.
Outcome RunUntilSystemCall(const std::string& storage, int stop) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
    raise(SIGSTOP);
    _exit(SaveAndRetire(storage, IdOf(20)) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return Outcome::kNotAllowed;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL);
  for (int i = 0; i < stop; ++i) {
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      return Outcome::kFinished;
    }
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return Outcome::kKilled;
}

TEST_F(CheckpointKillTest, AKillAtAnySystemCallLeavesAnUndamagedCheckpoint) {
  // A run has some 300 stops; the bound only prevents an endless loop after a mistake.
  constexpr int kStopsMax = 5000;
  int killed = 0;
  for (int stop = 1; stop < kStopsMax; stop += kFewer) {
    const TempFolder own(Medium::kMemory);
    ASSERT_TRUE(SaveAndRetire(own.path(), IdOf(10)));
    const Outcome outcome = RunUntilSystemCall(own.path(), stop);
    if (outcome == Outcome::kNotAllowed) GTEST_SKIP() << "tracing a child is not allowed here";
    if (outcome == Outcome::kFinished) break;
    ++killed;
    std::filesystem::remove_all(folder_.path());
    std::filesystem::rename(own.path(), folder_.path());
    ExpectWholeAndUsable();
    ASSERT_FALSE(HasFailure()) << "killed at stop " << stop;
  }
  EXPECT_GT(killed, 50 / kFewer);
  EXPECT_LT(killed, kStopsMax - 1);
}

// A file size limit ends a write in its middle; its signal kills the writer right after.
void RunWithFileLimit(const std::string& storage, rlim_t bytes, bool survive, int* exit_code) {
  const pid_t child = fork();
  if (child == 0) {
    if (survive) signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    _exit(SaveAndRetire(storage, IdOf(20)) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(CheckpointKillTest, AKillAtManyBytesOfTheLargestFileLeavesAnUndamagedCheckpoint) {
  const uint64_t bytes = kWeights * sizeof(float);
  for (uint64_t at = 0; at < bytes; at += bytes * kFewer / 97 + 1) {
    int exit_code = 0;
    RunWithFileLimit(folder_.path(), at, false, &exit_code);
    ASSERT_EQ(exit_code, -SIGXFSZ) << at;
    ExpectWholeAndUsable();
    ASSERT_FALSE(HasFailure()) << "killed at byte " << at;
  }
}

TEST_F(CheckpointKillTest, AFullDiskIsAnErrorThatLeavesTheOldOneAlone) {
  for (const rlim_t at : {0, 10, 4096, 1 << 20}) {
    int exit_code = 0;
    RunWithFileLimit(folder_.path(), at, true, &exit_code);
    ASSERT_EQ(exit_code, 1) << at;
    const std::vector<CheckpointId> left = *ListCheckpoints(folder_.path(), kTrial);
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].step, 10u);
    ExpectWholeAndUsable();
  }
}

TEST_F(CheckpointKillTest, TheNextAttemptSavesInTheKilledOnesPlace) {
  int exit_code = 0;
  RunWithFileLimit(folder_.path(), 1 << 20, false, &exit_code);
  ASSERT_EQ(exit_code, -SIGXFSZ);
  ASSERT_TRUE(SaveAndRetire(folder_.path(), IdOf(20)));
  ExpectWholeAndUsable();
}

}  // namespace
}  // namespace dt::checkpoint
