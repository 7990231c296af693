// adopt_test.cc: turns folders that programs wrote into checkpoints.
#include <filesystem>

#include "common/files.h"
#include "gtest/gtest.h"
#include "tests/checkpoint/checkpoint_builder.h"
#include "tests/testing/temp_folder.h"

namespace dt::checkpoint {
namespace {

namespace fs = std::filesystem;

class AdoptTest : public ::testing::Test {
 protected:
  absl::StatusOr<SavedCheckpoint> Adopt(uint64_t step, const std::string& name) {
    Manifest manifest;
    manifest.spec_hash = "spec";
    manifest.loss = 2.5;
    return AdoptCheckpoint(folder_.path(), IdOf(step), folder_ / ("12/3/a1/" + name), manifest,
                           leave_);
  }
  void Write(const std::string& name, const std::string& content = "x") {
    folder_.Write("12/3/a1/" + name, content);
  }

  const testing::TempFolder folder_;
  std::atomic<bool> leave_{false};
};

TEST_F(AdoptTest, AFolderWithFoldersBecomesACheckpointThatVerifies) {
  Write("mine/model.bin", std::string(3 << 20, 'm'));
  Write("mine/.metadata");
  Write("mine/deep/er/state", "");
  const auto saved = Adopt(10, "mine");
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_FALSE(fs::exists(folder_ / "12/3/a1/mine")) << "nothing writes to it any more";
  const auto opened = OpenCheckpoint(folder_.path(), IdOf(10), saved->manifest_hash);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->manifest.kind, ManifestKind::kProgram);
  EXPECT_EQ(opened->manifest.loss, 2.5);
  ASSERT_EQ(opened->manifest.files.size(), 3u);
  EXPECT_EQ(opened->manifest.files[1].name, "deep/er/state");
  EXPECT_EQ(RankCheckpoints(folder_.path(), kTrial, "spec").size(), 1u) << "retention sees it";
  folder_.Write("12/3/a1/step-10/deep/er/state", "changed");
  EXPECT_FALSE(OpenCheckpoint(folder_.path(), IdOf(10)).ok());
}

TEST_F(AdoptTest, AFolderThatAlreadyHasItsFinalNameIsAccepted) {
  Write("step-5/a");
  EXPECT_TRUE(Adopt(5, "step-5").ok());
  EXPECT_TRUE(OpenCheckpoint(folder_.path(), IdOf(5)).ok());
}

TEST_F(AdoptTest, AFolderThatCannotBeACheckpointStaysInPlace) {
  fs::create_directories(folder_ / "12/3/a1/empty");
  EXPECT_FALSE(Adopt(1, "empty").ok());
  EXPECT_TRUE(fs::exists(folder_ / "12/3/a1/empty"));

  Write("linked/a");
  fs::create_symlink("/etc/passwd", folder_ / "12/3/a1/linked/b");
  EXPECT_FALSE(Adopt(2, "linked").ok());
  EXPECT_TRUE(fs::exists(folder_ / "12/3/a1/linked/a"));

  Write("named/\xff\xfe/a");
  const absl::Status named = Adopt(2, "named").status();
  EXPECT_EQ(named.code(), kDataError) << named;
  EXPECT_NE(named.message().find("\\xff\\xfe"), absl::string_view::npos) << named;
  EXPECT_TRUE(fs::exists(folder_ / "12/3/a1/named"));

  Write("good/a");
  ASSERT_TRUE(Adopt(3, "good").ok());
  EXPECT_FALSE(Adopt(4, "step-3").ok()) << "a checkpoint is not taken twice";
  EXPECT_TRUE(OpenCheckpoint(folder_.path(), IdOf(3)).ok());

  Write("late/a");
  leave_ = true;
  EXPECT_EQ(Adopt(6, "late").status().code(), kCancelledError);
  EXPECT_TRUE(fs::exists(folder_ / "12/3/a1/late/a"));
}

TEST(ProgramManifestTest, NamesStayWithinTheFolder) {
  for (const char* name :
       {"../x", "/etc/passwd", "a/../b", "a//b", ".", "", "a/.", "manifest.json"}) {
    Manifest manifest;
    manifest.kind = ManifestKind::kProgram;
    manifest.files = {{name, 1, "00"}};
    EXPECT_FALSE(ParseManifest(ManifestText(manifest)).ok()) << name;
  }
}

}  // namespace
}  // namespace dt::checkpoint
