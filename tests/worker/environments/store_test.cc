// store_test.cc: environments are made once, are complete or absent, and are bounded.
#include "worker/environments/store.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "common/files.h"
#include "gtest/gtest.h"
#include "tests/testing/await.h"
#include "tests/testing/full_disk.h"
#include "tests/testing/temp_folder.h"

namespace dt::environments {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMuch = 1 << 30;

class StoreTest : public ::testing::Test {
 protected:
  // Makes an environment of one file of `bytes`.
  static std::function<absl::Status(const std::string&)> Maker(size_t bytes) {
    return [bytes](const std::string& folder) {
      DT_RETURN_IF_ERROR(MakeFolders(folder));
      return WriteFileAtomically(folder + "/file", std::string(bytes, 'x'));
    };
  }
  static void MakeCache(const Store& store) {
    EXPECT_TRUE(store.ShareCache().ok());
    fs::create_directory(store.cache());
  }
  UniqueFd Claimed(const Store& store, const std::string& name, size_t bytes = 100) const {
    absl::StatusOr<UniqueFd> lock = store.OpenLock(name);
    EXPECT_TRUE(lock.ok()) << lock.status();
    const absl::StatusOr<bool> made = store.Claim(name, *lock, Maker(bytes));
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(lock);
  }

  testing::TempFolder folder_;
  const std::string store_folder_ = folder_ / "store";
};

TEST_F(StoreTest, AnEnvironmentIsMadeOnceAndThenFound) {
  const Store store(store_folder_, kMuch);
  const auto lock = store.OpenLock("a");
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(*store.Claim("a", *lock, Maker(1)));
  EXPECT_FALSE(*store.Claim("a", *lock, Maker(1)));
  EXPECT_TRUE(store.IsComplete("a"));
}

TEST_F(StoreTest, AFolderThatOthersMayWriteToIsRefused) {
  fs::create_directory(store_folder_);
  fs::permissions(store_folder_, fs::perms::all);
  const Store store(store_folder_, kMuch);
  EXPECT_EQ(store.OpenLock("a").status().code(), kIoError);
  EXPECT_EQ(store.ShareCache().status().code(), kIoError);
}

TEST_F(StoreTest, OfTwoThatWantTheSameAtOnceOneMakesIt) {
  const Store store(store_folder_, kMuch);
  std::atomic<int> makes = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto lock = store.OpenLock("a");
      ASSERT_TRUE(lock.ok());
      const auto made = store.Claim("a", *lock, [&](const std::string& folder) {
        ++makes;
        return Maker(1)(folder);
      });
      EXPECT_TRUE(made.ok());
      EXPECT_TRUE(fs::exists(store.FolderOf("a") + "/file"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(makes, 1);
}

TEST_F(StoreTest, AKillInTheMiddleLeavesNothingThatCountsAsComplete) {
  const Store store(store_folder_, kMuch);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = store.OpenLock("a");
    static_cast<void>(store.Claim("a", *lock, [](const std::string& folder) {
      static_cast<void>(Maker(1)(folder));
      static_cast<void>(WriteFileAtomically(folder + "/half", ""));
      for (;;) pause();
      return absl::OkStatus();
    }));
    _exit(0);
  }
  ASSERT_TRUE(testing::Await([&] { return fs::exists(store.FolderOf("a") + "/half"); }));
  EXPECT_FALSE(store.IsComplete("a"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  Claimed(store, "a");
  EXPECT_TRUE(store.IsComplete("a"));
  EXPECT_FALSE(fs::exists(store.FolderOf("a") + "/half"));  // nothing of the dead maker is left
}

TEST_F(StoreTest, AMakerThatFailsLeavesNothing) {
  const Store store(store_folder_, kMuch);
  const auto lock = store.OpenLock("a");
  ASSERT_TRUE(lock.ok());
  const auto made = store.Claim("a", *lock, [](const std::string& folder) {
    DT_RETURN_IF_ERROR(Maker(1)(folder));
    return IoError("reason");
  });
  EXPECT_EQ(made.status(), IoError("reason"));
  EXPECT_FALSE(fs::exists(store.FolderOf("a")));
}

TEST_F(StoreTest, AnEnvironmentThatLostItsPythonIsMadeAgain) {
  const Store store(store_folder_, kMuch);
  const std::string host_python = folder_ / "python3.11";
  const auto make = [&](const std::string& folder) {
    DT_RETURN_IF_ERROR(MakeFolders(folder + "/bin"));
    DT_RETURN_IF_ERROR(WriteFileAtomically(folder + "/pyvenv.cfg", ""));
    DT_RETURN_IF_ERROR(WriteFileAtomically(host_python, ""));
    fs::permissions(host_python, fs::perms::owner_all);
    fs::create_symlink(host_python, folder + "/bin/python");
    fs::create_symlink("python", folder + "/bin/python3");
    return absl::OkStatus();
  };
  const auto lock = store.OpenLock("a");
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(*store.Claim("a", *lock, make));
  EXPECT_FALSE(*store.Claim("a", *lock, make));
  fs::remove(host_python);  // as when the host's Python is replaced by a newer one
  EXPECT_FALSE(store.IsComplete("a"));
  EXPECT_TRUE(*store.Claim("a", *lock, make));
  fs::remove(store.FolderOf("a") + "/bin/python3");
  EXPECT_TRUE(*store.Claim("a", *lock, make));
  EXPECT_TRUE(store.IsComplete("a"));
}

TEST_F(StoreTest, AnEnvironmentThatIsMadeWithoutAPythonIsTheHostsFault) {
  const Store store(store_folder_, kMuch);
  const auto lock = store.OpenLock("a");
  ASSERT_TRUE(lock.ok());
  const auto made = store.Claim("a", *lock, [](const std::string& folder) {
    DT_RETURN_IF_ERROR(MakeFolders(folder));
    return WriteFileAtomically(folder + "/pyvenv.cfg", "");
  });
  EXPECT_EQ(made.status().code(), kIoError) << made.status();
  EXPECT_FALSE(fs::exists(store.FolderOf("a")));
}

TEST_F(StoreTest, AFullDiskIsTheHostsFaultAndLeavesNothing) {
  const Store store(store_folder_, kMuch);
  const auto lock = store.OpenLock("a");
  ASSERT_TRUE(lock.ok());
  const testing::FullDisk disk;
  disk.Allow(1000);
  const auto made = store.Claim("a", *lock, Maker(2000));
  EXPECT_EQ(made.status().code(), kIoError) << made.status();
  disk.AllowAll();
  EXPECT_FALSE(fs::exists(store.FolderOf("a")));
  EXPECT_TRUE(*store.Claim("a", *lock, Maker(2000)));
}

TEST_F(StoreTest, BeyondItsBoundTheLeastRecentlyUsedGoes) {
  const Store store(store_folder_, 250 << 10);
  Claimed(store, "a", 100 << 10);
  Claimed(store, "b", 100 << 10);
  // The clock of files has steps of some ms.
  fs::last_write_time(store.FolderOf("b") + "/dtrain-complete",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  Claimed(store, "a");  // used again, after b
  Claimed(store, "c", 100 << 10);
  EXPECT_TRUE(store.IsComplete("a"));
  EXPECT_FALSE(store.IsComplete("b"));
  EXPECT_TRUE(store.IsComplete("c"));
  EXPECT_LE(store.Bytes(), uint64_t{250} << 10);
}

TEST_F(StoreTest, AnEnvironmentInUseIsNeverRemoved) {
  const Store store(store_folder_, 150 << 10);
  const UniqueFd in_use = Claimed(store, "a", 100 << 10);
  Claimed(store, "b", 100 << 10);
  EXPECT_TRUE(store.IsComplete("a"));
  // b was in use too while it was made, so the store is above its bound until the next one.
  const UniqueFd also = Claimed(store, "c", 100 << 10);
  EXPECT_TRUE(store.IsComplete("a"));
  EXPECT_FALSE(store.IsComplete("b"));
}

TEST_F(StoreTest, FilesWithSeveralLinksCountOnce) {
  const Store store(store_folder_, kMuch);
  Claimed(store, "a", 100 << 10);
  const uint64_t before = store.Bytes();
  fs::create_hard_link(store.FolderOf("a") + "/file", store.FolderOf("a") + "/again");
  EXPECT_EQ(store.Bytes(), before);
}

TEST_F(StoreTest, WithoutTheCachesLinksEachRemovalFreesBytes) {
  const Store store(store_folder_, 250 << 10);
  MakeCache(store);
  for (const std::string name : {"a", "b", "c"}) {
    const UniqueFd in_use = Claimed(store, name, 100 << 10);
    fs::last_write_time(store.FolderOf(name) + "/dtrain-complete",
                        fs::file_time_type::clock::now() - std::chrono::hours('d' - name[0]));
    if (name == "c") break;  // the store was beyond its bound, and has removed the cache
    fs::create_hard_link(store.FolderOf(name) + "/file", store.cache() + "/" + name);
  }
  EXPECT_FALSE(fs::exists(store.cache()));
  EXPECT_FALSE(store.IsComplete("a"));
  EXPECT_TRUE(store.IsComplete("b"));
  EXPECT_TRUE(store.IsComplete("c"));
}

TEST_F(StoreTest, NobodyRemovesACacheInUse) {
  const Store store(store_folder_, 50 << 10);
  MakeCache(store);
  ASSERT_TRUE(WriteFileAtomically(store.cache() + "/wheel", std::string(100 << 10, 'x')).ok());
  {
    const auto resolving = store.ShareCache();
    ASSERT_TRUE(resolving.ok());
    store.Evict();
    EXPECT_TRUE(fs::exists(store.cache()));
  }
  store.Evict();
  EXPECT_FALSE(fs::exists(store.cache()));
}

TEST_F(StoreTest, UvsCacheGoesWhenNothingElseCan) {
  const Store store(store_folder_, 50 << 10);
  MakeCache(store);
  ASSERT_TRUE(WriteFileAtomically(store.cache() + "/wheel", std::string(100 << 10, 'x')).ok());
  const UniqueFd in_use = Claimed(store, "a", 10);
  EXPECT_FALSE(fs::exists(store.cache()));
  EXPECT_TRUE(store.IsComplete("a"));
}

}  // namespace
}  // namespace dt::environments
