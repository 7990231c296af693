// logging_test.cc: the use of a process's log while the process ends.
#include "common/log/logging.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

TEST(LoggingTest, LinesBeforeTheEndAreWrittenAndLaterOnesDropped) {
  EXPECT_EXIT(
      {
        SetUpLogging();
        spdlog::critical("the last line");
        FinishLogging();
        spdlog::critical("too late");
        std::_Exit(7);
      },
      testing::ExitedWithCode(7),
      testing::AllOf(testing::HasSubstr("the last line"),
                     testing::Not(testing::HasSubstr("too late"))));
}

TEST(LoggingTest, ThreadsThatGoOnLoggingDoNotBreakAProcessThatEnds) {
  EXPECT_EXIT(
      {
        SetUpLogging();
        std::vector<std::thread> others(4);
        for (std::thread& other : others) {
          other = std::thread([] {
            while (true) spdlog::info("still here");
          });
        }
        // Two threads end the process, as when a lead is lost while a journal breaks.
        std::thread second(FinishLogging);
        FinishLogging();
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(LoggingTest, AStandardErrorThatNobodyReadsKeepsNoProcessFromEnding) {
  EXPECT_EXIT(
      {
        int ends[2];
        if (pipe(ends) != 0) std::_Exit(1);
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        while (write(ends[1], "full", 4) > 0) {
        }
        fcntl(ends[1], F_SETFL, 0);
        dup2(ends[1], STDERR_FILENO);
        SetUpLogging();
        spdlog::critical("a line that waits");
        FinishLogging();
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace dt
