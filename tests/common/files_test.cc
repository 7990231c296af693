#include "common/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "common/file_lock.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

using testing::Slurp;
using testing::TempFolder;

TEST(FilesTest, AReadPastTheEndNamesTheFileAndTheByte) {
  const TempFolder folder;
  const std::string path = folder.Write("a", "hello");
  const absl::StatusOr<InputFile> file = InputFile::Open(path);
  ASSERT_TRUE(file.ok());
  char buffer[8] = {};
  ASSERT_TRUE(file->ReadAt(1, buffer, 4).ok());
  EXPECT_STREQ(buffer, "ello");
  const absl::Status short_read = file->ReadAt(3, buffer, 5);
  ASSERT_FALSE(short_read.ok());
  EXPECT_EQ(short_read.code(), kDataError);
  EXPECT_NE(short_read.message().find(path), std::string::npos);
  EXPECT_NE(short_read.message().find("byte 5"), std::string::npos);
  std::filesystem::resize_file(path, 2);
  EXPECT_NE(file->ReadAt(4, buffer, 1).message().find("ends at byte 2, 3 bytes early"),
            std::string::npos);
}

TEST(FilesTest, OpensOnlyRegularFiles) {
  const TempFolder folder;
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const std::string& path : {folder / "absent", folder.path(), folder / "fifo"}) {
    const absl::StatusOr<InputFile> file = InputFile::Open(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.status().code(), kDataError);
  }
}

TEST(FilesTest, AnAtomicWriteReplacesTheContentAndLeavesNothingElse) {
  const TempFolder folder;
  const std::string path = folder.Write("a", "old");
  ASSERT_TRUE(WriteFileAtomically(path, "new").ok());
  EXPECT_EQ(Slurp(path), "new");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  EXPECT_FALSE(WriteFileAtomically(folder / "absent/a", "x").ok());
}

TEST(FilesTest, OnlyOneProcessHasTheLockOfAFileOrFolder) {
  const TempFolder folder;
  for (const std::string& path : {folder / "lock", folder.path()}) {
    {
      const auto first = LockFile(path);
      ASSERT_TRUE(first.ok()) << first.status();
      EXPECT_EQ(LockFile(path).status().code(), absl::StatusCode::kFailedPrecondition);
    }
    EXPECT_TRUE(LockFile(path).ok());
  }
  EXPECT_EQ(LockFile(folder / "no/lock").status().code(), kIoError);
}

TEST(FilesTest, ALockIsWaitedForUntilADeadlineWhichNamesItAndItsHolder) {
  const TempFolder folder;
  const std::string path = folder / "lock";
  auto held = LockFile(path);
  ASSERT_TRUE(held.ok()) << held.status();
  const auto late =
      AwaitLock(path, "another dtctl", absl::ZeroDuration(), [](absl::Duration) { return true; });
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  const std::string said(late.status().message());
  EXPECT_NE(said.find("another dtctl has held the lock '" + path), std::string::npos) << said;
  const auto interrupted = AwaitLock(path, "another dtctl", absl::InfiniteDuration(),
                                     [](absl::Duration) { return false; });
  EXPECT_EQ(interrupted.status().code(), absl::StatusCode::kCancelled);
  const auto taken =
      AwaitLock(path, "another dtctl", absl::InfiniteDuration(), [&](absl::Duration) {
        *held = UniqueFd();
        return true;
      });
  EXPECT_TRUE(taken.ok()) << taken.status();
}

TEST(FilesTest, ReadsAFileOfTheKernelAndNoneOfAProcessThatHasEnded) {
  EXPECT_NE(ReadKernelFile("/proc/self/stat").find("(common_test)"), std::string::npos);
  EXPECT_EQ(ReadKernelFile("/proc/self/mem"), "") << "its first page cannot be read";
  EXPECT_EQ(ReadKernelFile("/proc/self/absent"), "");
}

TEST(FilesTest, ListsTheNamesInAFolder) {
  const TempFolder folder;
  folder.Write("b", "");
  folder.Write("a", "");
  auto names = ListFolder(folder / "");
  ASSERT_TRUE(names.ok()) << names.status();
  std::sort(names->begin(), names->end());
  EXPECT_EQ(*names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(ListFolder(folder / "absent").status().code(), kIoError);
}

TEST(FilesTest, RefusesToReadMoreThanTheBound) {
  const TempFolder folder;
  const std::string path = folder.Write("a", "12345");
  EXPECT_EQ(*ReadFile(path, 5), "12345");
  EXPECT_FALSE(ReadFile(path, 4).ok());
}

}  // namespace
}  // namespace dt
