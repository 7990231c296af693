// dtcoord_state_test.cc: one coordinator for each state folder, and files that may not grow.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/coordinator/dtcoord_fixture.h"

namespace dt {
namespace {

using testing::ChildProcess;

TEST_F(DtcoordTest, ASecondCoordinatorIsRefusedEvenIfTheLockFileIsGone) {
  ChildProcess first = Start("first");
  Dial("first");
  std::filesystem::remove(folder_ / "state/lock");
  ChildProcess second = Start("second");
  EXPECT_EQ(ExitCode(second), 1);
  EXPECT_NE(testing::Slurp(folder_ / "second.log").find("in use by another dtcoord"),
            std::string::npos);
  first.Signal(SIGTERM);
  EXPECT_EQ(ExitCode(first), 0);
  ExpectCleanJournal();
}

TEST_F(DtcoordTest, AFileThatMayNotGrowEndsItWithAReasonAndNothingAcknowledgedIsLost) {
  uint64_t acknowledged = 0;
  {
    ChildProcess child = Start("limited");
    const auto stub = Dial("limited");
    acknowledged = Submit(*stub, "before");
    // The limit leaves room for the log file; it applies to the journal's file too.
    const rlimit limit{512 << 10, 512 << 10};
    ASSERT_EQ(prlimit(child.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
    for (int i = 0; i < 200; ++i) {
      v1::SubmitRequest request = RequestOf(absl::StrCat("large", i));
      request.set_file_text(std::string(100'000, 'x'));
      v1::SubmitResponse response;
      if (!stub->Submit(Deadline().get(), request, &response).ok()) break;
      acknowledged = response.experiment();
    }
    const std::optional<int> status = child.AwaitExit();
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 1) << *status;
    const std::string log = testing::Slurp(folder_ / "limited.log");
    EXPECT_NE(log.find("the file has reached its size limit"), std::string::npos) << log;
  }
  ChildProcess again = Start("again");
  EXPECT_GE(Status(*Dial("again")).experiments(), acknowledged);
}

}  // namespace
}  // namespace dt
