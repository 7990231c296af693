// descendants_test.cc: processes that leave their parent, their group and their session.
#include "common/descendants.h"

#include <signal.h>

#include <algorithm>

#include "common/spawn.h"
#include "gtest/gtest.h"
#include "tests/testing/await.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

TEST(DescendantsTest, ADaemonIsFoundAndEnded) {
  AdoptOrphans();
  const testing::TempFolder folder;
  // The shell ends; its child lives on in another session.
  const std::string script = "setsid sh -c 'echo $$ > " + (folder / "pid.tmp") + "; mv " +
                             (folder / "pid.tmp") + " " + (folder / "pid") +
                             "; exec tail -f /dev/null' & exit 0";
  ASSERT_TRUE(Spawn({.path = "/bin/sh", .arguments = {"-c", script}}).ok());
  ASSERT_TRUE(testing::Await([&] { return std::filesystem::exists(folder / "pid"); }));
  pid_t daemon = 0;
  std::ifstream(folder / "pid") >> daemon;
  ASSERT_TRUE(testing::Await([&] {
    const std::vector<pid_t> found = Descendants();
    return std::find(found.begin(), found.end(), daemon) != found.end();
  }));
  EXPECT_GE(EndDescendants(absl::Seconds(30)), 1);
  EXPECT_FALSE(testing::ProcessAlive(daemon));
  EXPECT_TRUE(Descendants().empty());
}

}  // namespace
}  // namespace dt
