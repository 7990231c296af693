#include "common/process_facts.h"

#include <signal.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "tests/testing/await.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

TEST(ProcessFactsTest, TheNameAndALineOfTheStatusAreRead) {
  EXPECT_EQ(ProcessFact(getpid(), "Pid"), std::to_string(getpid()));
  EXPECT_EQ(ProcessFact(getpid(), "NoSuchLine"), "");
  const testing::TempFolder folder;
  const testing::ChildProcess child({"/bin/sleep", "300"}, folder / "log");
  EXPECT_TRUE(testing::Await([&] { return ProcessName(child.pid()) == "sleep"; }));
}

TEST(ProcessFactsTest, ASignalIsFoundInItsMaskAlone) {
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &one, &before), 0);
  EXPECT_TRUE(HasSignal(getpid(), "SigBlk", SIGUSR2));
  EXPECT_FALSE(HasSignal(getpid(), "SigPnd", SIGUSR2));
  EXPECT_FALSE(HasSignal(getpid(), "SigBlk", SIGKILL));
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

TEST(ProcessFactsTest, OfAProcessThatHasEndedThereIsNothing) {
  constexpr pid_t kNobody = 0x7fffffff;
  EXPECT_EQ(ProcessName(kNobody), "");
  EXPECT_EQ(ProcessFact(kNobody, "Pid"), "");
  EXPECT_FALSE(HasSignal(kNobody, "SigCgt", SIGKILL));
}

}  // namespace
}  // namespace dt
