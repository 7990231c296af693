#include "corpus/glob.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/testing/temp_folder.h"

namespace dt::corpus {
namespace {

using ::dt::testing::TempFolder;

class GlobTest : public ::testing::Test {
 protected:
  GlobTest() {
    for (const char* name :
         {"fine/train_000001.bin", "fine/train_000000.bin", "fine/val_000000.bin",
          "fine/.hidden.bin", "other/train_000000.bin", "top.bin"}) {
      folder_.Write(name, "x");
    }
    std::filesystem::create_directory(folder_ / "fine/train_folder.bin");
  }
  std::vector<std::string> Find(const std::string& pattern) {
    const absl::StatusOr<std::vector<std::string>> found =
        ResolveGlob(folder_.path(), "data.train", pattern);
    EXPECT_TRUE(found.ok()) << found.status();
    std::vector<std::string> relative;
    for (const std::string& path : *found) {
      relative.push_back(std::filesystem::relative(path, folder_.path()).string());
    }
    return relative;
  }
  absl::Status Refused(const std::string& pattern) {
    const absl::StatusOr<std::vector<std::string>> found =
        ResolveGlob(folder_.path(), "data.train", pattern);
    EXPECT_FALSE(found.ok()) << pattern;
    return found.status();
  }

  TempFolder folder_;
};

using Paths = std::vector<std::string>;

TEST_F(GlobTest, FindsRegularFilesInSortedOrder) {
  EXPECT_EQ(Find("fine/train_*.bin"), (Paths{"fine/train_000000.bin", "fine/train_000001.bin"}));
  EXPECT_EQ(Find("*/train_00000?.bin"),
            (Paths{"fine/train_000000.bin", "fine/train_000001.bin", "other/train_000000.bin"}));
  EXPECT_EQ(Find("./top.bin"), (Paths{"top.bin"}));
  EXPECT_EQ(Find("fine/[tv]*_000000.bin"), (Paths{"fine/train_000000.bin", "fine/val_000000.bin"}));
}

TEST_F(GlobTest, LeavesHiddenFilesOutUnlessNamed) {
  EXPECT_EQ(Find("fine/*.bin").size(), 3u);
  EXPECT_EQ(Find("fine/.*.bin"), (Paths{"fine/.hidden.bin"}));
}

TEST_F(GlobTest, ALinkThatLeadsNowhereIsAnErrorAndNotLeftOut) {
  std::filesystem::create_symlink(folder_ / "gone", folder_ / "fine/train_000002.bin");
  for (const char* pattern : {"fine/train_*.bin", "fine/train_000002.bin", "*/*.bin"}) {
    const absl::Status refused = Refused(pattern);
    EXPECT_EQ(refused.code(), kDataError) << pattern;
    EXPECT_NE(refused.message().find("/gone', which is not there"), std::string::npos) << refused;
  }
  EXPECT_EQ(Find("fine/val_*.bin"), Paths{"fine/val_000000.bin"});
  folder_.Write("gone", "x");
  EXPECT_EQ(Find("fine/train_*.bin").size(), 3u);
}

TEST_F(GlobTest, RefusesToLeaveTheDataRootByDots) {
  EXPECT_EQ(Refused("../x/*.bin").code(), kConfigError);
  EXPECT_EQ(Refused("fine/../top.bin").code(), kConfigError);
}

TEST_F(GlobTest, RefusesToLeaveTheDataRootByAnAbsolutePath) {
  for (const std::string pattern : {"/etc/passwd", "/etc/*", "//etc/passwd"}) {
    const absl::Status refused = Refused(pattern);
    EXPECT_EQ(refused.code(), kConfigError);
    EXPECT_EQ(refused.message(),
              "data.train '" + pattern + "' is an absolute path, which leaves the data root '" +
                  folder_.path() + "'; write it relative to the worker's --data-root");
  }
  EXPECT_FALSE(ResolveGlob(folder_.path(), "data.train", folder_ / "top.bin").ok())
      << "the data roots of two hosts differ";
}

TEST_F(GlobTest, WithoutADataRootAPathMeansTheSameAsInAShell) {
  const auto found = ResolveGlob("", "data.train", folder_ / "fine/val_*.bin");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->size(), 1u);
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const auto relative = ResolveGlob("", "data.train", "fine/val_*.bin");
  std::filesystem::current_path(here);
  ASSERT_TRUE(relative.ok()) << relative.status();
  EXPECT_EQ(relative->size(), 1u);
}

TEST_F(GlobTest, ADataRootMayHoldWildcardCharacters) {
  folder_.Write("odd[1]*/a.bin", "x");
  const auto found = ResolveGlob(folder_ / "odd[1]*", "data.train", "*.bin");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), 1u);
}

TEST_F(GlobTest, NamesTheMissingFileAndItsFolder) {
  const absl::Status none = Refused("fine/none_*.bin");
  EXPECT_EQ(none.code(), kDataError);
  EXPECT_NE(none.message().find("fine/none_*.bin"), std::string::npos);
  EXPECT_NE(none.message().find(folder_.path()), std::string::npos);
  EXPECT_EQ(Refused("").code(), kConfigError);
  EXPECT_EQ(Refused("**/a.bin").code(), kConfigError);
}

}  // namespace
}  // namespace dt::corpus
