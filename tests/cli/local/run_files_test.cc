// run_files_test.cc: a purge removes its cluster's files in the run folder, and nothing else.
#include "cli/local/run_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

namespace fs = std::filesystem;

const std::string kOwn(32, 'a');
const std::string kOther(32, 'b');
const std::string kDigest(64, '1');
const std::string kOtherDigest(64, '2');

class RunFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(run_);
    chmod(run_.c_str(), 0700);
  }
  void Write(const std::string& name) const { folder_.Write("run/" + name, "x"); }
  bool Has(const std::string& name) const { return fs::exists(run_ + "/" + name); }
  // Puts the files of a CPU slot of this storage there.
  void PutSlot(const std::string& id) const {
    for (const char* end : {".lock", ".lives", ".lives.lock", ".lock.program/report"}) {
      Write("slot-local_cpu_0-" + id + end);
    }
    Write("code/slot-local_cpu_0-" + id + ".lock");
    Write("code/slot-local_cpu_0-" + id + "/token/train.py");
  }

  testing::TempFolder folder_;
  const std::string run_ = folder_ / "run";
};

TEST_F(RunFilesTest, NothingIsLeftOfTheOnlyCluster) {
  PutSlot(kOwn);
  Write("code/" + kDigest);
  ASSERT_TRUE(RemoveRunFiles(run_, kOwn, {kDigest}).ok());
  EXPECT_FALSE(fs::exists(run_));
}

TEST_F(RunFilesTest, AnotherClusterOfTheUserKeepsItsFiles) {
  PutSlot(kOwn);
  PutSlot(kOther);
  Write("code/" + kDigest);
  Write("code/" + kOtherDigest);
  Write("slot-GPU-1.lock");
  Write("mine.txt");
  Write("slot-local_cpu_0-" + kOwn + "0.lock");
  ASSERT_TRUE(RemoveRunFiles(run_, kOwn, {kDigest}).ok());
  for (const std::string& kept :
       {"slot-local_cpu_0-" + kOther + ".lock", "slot-local_cpu_0-" + kOther + ".lives",
        "slot-local_cpu_0-" + kOther + ".lock.program/report",
        "code/slot-local_cpu_0-" + kOther + ".lock",
        "code/slot-local_cpu_0-" + kOther + "/token/train.py", "code/" + kOtherDigest,
        std::string("slot-GPU-1.lock"), std::string("mine.txt"),
        "slot-local_cpu_0-" + kOwn + "0.lock"}) {
    EXPECT_TRUE(Has(kept)) << kept;
  }
  for (const std::string& gone :
       {"slot-local_cpu_0-" + kOwn + ".lock", "slot-local_cpu_0-" + kOwn + ".lock.program",
        "code/slot-local_cpu_0-" + kOwn, "code/slot-local_cpu_0-" + kOwn + ".lock",
        "code/" + kDigest}) {
    EXPECT_FALSE(Has(gone)) << gone;
  }
}

TEST_F(RunFilesTest, ALinkIsRemovedAndItsTargetStays) {
  folder_.Write("target/file", "x");
  fs::create_directory_symlink(folder_ / "target", run_ + "/slot-x-" + kOwn);
  fs::create_directory(run_ + "/code");
  fs::create_directory_symlink(folder_ / "target", run_ + "/code/" + kDigest);
  ASSERT_TRUE(RemoveRunFiles(run_, kOwn, {kDigest}).ok());
  EXPECT_TRUE(fs::exists(folder_ / "target/file"));
  EXPECT_FALSE(fs::exists(run_));
}

TEST_F(RunFilesTest, AFolderThatIsALinkOrOfOthersIsLeftAlone) {
  PutSlot(kOwn);
  const std::string link = folder_ / "link";
  fs::create_directory_symlink(run_, link);
  ASSERT_TRUE(RemoveRunFiles(link, kOwn, {}).ok());
  EXPECT_TRUE(Has("slot-local_cpu_0-" + kOwn + ".lock"));
  chmod(run_.c_str(), 0777);
  ASSERT_TRUE(RemoveRunFiles(run_, kOwn, {}).ok());
  EXPECT_TRUE(Has("slot-local_cpu_0-" + kOwn + ".lock"));
}

TEST_F(RunFilesTest, WithoutAnIdNothingIsRemoved) {
  PutSlot(kOwn);
  for (const std::string& id : {std::string(), std::string("*"), kOwn.substr(1)}) {
    ASSERT_TRUE(RemoveRunFiles(run_, id, {kDigest}).ok());
    EXPECT_TRUE(Has("slot-local_cpu_0-" + kOwn + ".lock")) << id;
  }
  ASSERT_TRUE(RemoveRunFiles(folder_ / "absent", kOwn, {}).ok());
}

TEST_F(RunFilesTest, IdAndDigestsAreReadWhereTheProgramsWriteThem) {
  EXPECT_EQ(StorageIdIn(run_), "");
  Write("dtrain-storage-id");
  EXPECT_EQ(StorageIdIn(run_), "") << "it holds no id";
  folder_.Write("run/dtrain-storage-id", kOwn + "\n");
  EXPECT_EQ(StorageIdIn(run_), kOwn);
  Write("code/" + kDigest);
  Write("code/" + kDigest + ".tmp");
  EXPECT_EQ(DigestsIn(run_), std::vector<std::string>{kDigest});
}

}  // namespace
}  // namespace dt::cli
