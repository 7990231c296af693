// alive_file_test.cc: when the file is touched, and what happens if it cannot be.
#include "worker/shell/alive_file.h"

#include <fcntl.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "common/limits.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

constexpr absl::Duration kPeriod = limits::kAlivePeriod;

// Catches all log lines while this object lives.
class CaughtLog {
 public:
  CaughtLog() { spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink_)); }
  ~CaughtLog() { spdlog::set_default_logger(before_); }
  size_t lines() const { return sink_->last_raw().size(); }

 private:
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  const std::shared_ptr<spdlog::sinks::ringbuffer_sink_st> sink_ =
      std::make_shared<spdlog::sinks::ringbuffer_sink_st>(16);
};

class AliveFileTest : public ::testing::Test {
 protected:
  // Returns whether the file was touched since the last call, and makes it old.
  bool Touched() const {
    struct stat facts {};
    const timespec long_ago[2] = {};
    if (stat(path_.c_str(), &facts) != 0) return false;
    EXPECT_EQ(utimensat(AT_FDCWD, path_.c_str(), long_ago, 0), 0);
    return facts.st_mtim.tv_sec > 0;
  }

  testing::TempFolder folder_;
  const std::string path_ = folder_ / "run/alive";
  absl::Duration now_ = absl::Hours(1);
  CaughtLog log_;
};

TEST_F(AliveFileTest, IsTouchedAtOnceAndThenOnceInAPeriod) {
  std::filesystem::create_directory(folder_ / "run");
  AliveFile alive(path_);
  alive.Touch(now_);
  EXPECT_TRUE(Touched());
  EXPECT_EQ(alive.due(), now_ + kPeriod);
  alive.Touch(now_ + kPeriod - absl::Milliseconds(1));
  EXPECT_FALSE(Touched());
  alive.Touch(now_ + kPeriod);
  EXPECT_TRUE(Touched());
}

TEST_F(AliveFileTest, AMissingFolderIsReportedOnceAndTheFileFollowsWhenItExists) {
  AliveFile alive(path_);
  for (int i = 0; i < 3; ++i) alive.Touch(now_ += kPeriod);
  EXPECT_EQ(log_.lines(), 1u);
  std::filesystem::create_directory(folder_ / "run");
  alive.Touch(now_ += kPeriod);
  EXPECT_TRUE(Touched());
  std::filesystem::remove_all(folder_ / "run");
  for (int i = 0; i < 3; ++i) alive.Touch(now_ += kPeriod);
  EXPECT_EQ(log_.lines(), 2u) << "it is gone again";
}

TEST_F(AliveFileTest, AForeignFileIsLeftAloneAndDelaysNothing) {
  std::filesystem::create_directory(folder_ / "run");
  folder_.Write("another", "");
  std::filesystem::create_symlink(folder_ / "another", path_);
  AliveFile(path_).Touch(now_);
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  AliveFile(path_).Touch(now_);
  EXPECT_EQ(log_.lines(), 2u);
}

TEST_F(AliveFileTest, WithoutAPathNothingIsEverDue) {
  AliveFile none("");
  none.Touch(now_);
  EXPECT_EQ(none.due(), absl::InfiniteDuration());
  EXPECT_EQ(log_.lines(), 0u);
}

}  // namespace
}  // namespace dt
