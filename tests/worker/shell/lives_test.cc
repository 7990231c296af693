// lives_test.cc: a worker's knowledge of the earlier processes in its slot.
#include "worker/shell/lives.h"

#include <memory>

#include "common/files.h"
#include "common/limits.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

using Instances = std::vector<uint64_t>;

TEST(LivesTest, ALifeThatEndedIsKnownToTheNext) {
  const testing::TempFolder folder;
  auto first = std::make_unique<Lives>(folder / "lives", 11);
  EXPECT_EQ(first->Ended(), Instances{});
  first.reset();
  EXPECT_EQ(Lives(folder / "lives", 12).Ended(), Instances{11});
  EXPECT_EQ(Lives(folder / "lives", 13).Ended(), (Instances{11, 12}));
}

TEST(LivesTest, ALivingProcessIsNotCalledEnded) {
  const testing::TempFolder folder;
  auto first = std::make_unique<Lives>(folder / "lives", 11);
  first->Ended();
  Lives second(folder / "lives", 12);
  EXPECT_EQ(second.Ended(), Instances{});
  first.reset();
  EXPECT_EQ(second.Ended(), Instances{11}) << "it is asked again before each connection";
}

TEST(LivesTest, TheNewestFewAreKept) {
  const testing::TempFolder folder;
  for (uint64_t instance = 1; instance <= 100; ++instance) {
    Lives(folder / "lives", instance).Ended();
  }
  Lives last(folder / "lives", 101);
  EXPECT_LE(last.Ended().size(), limits::kEndedInstances);
  EXPECT_EQ(last.Ended().back(), 100u);
}

TEST(LivesTest, AFileThatIsNotOursIsNoProof) {
  const testing::TempFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder / "lives", "words\n-3\n").ok());
  EXPECT_EQ(Lives(folder / "lives", 12).Ended(), Instances{});
  EXPECT_EQ(Lives("/nowhere/lives", 12).Ended(), Instances{});
}

}  // namespace
}  // namespace dt
