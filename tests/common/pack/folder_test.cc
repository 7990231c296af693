// folder_test.cc: which files of a folder are packed, and the unpacked result.
#include "common/pack/folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "common/limits.h"
#include "common/pack/pack.h"
#include "common/sha256.h"
#include "gtest/gtest.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt::pack {
namespace {

namespace fs = std::filesystem;

class FolderTest : public ::testing::Test {
 protected:
  void Git(const std::vector<std::string>& words) {
    std::vector<std::string> command = {
        GIT, "-C", folder_.path(), "-c", "user.name=A", "-c", "user.email=a@example.org"};
    command.insert(command.end(), words.begin(), words.end());
    testing::ChildProcess git(command, log_ / "git.log", {{"GIT_CONFIG_GLOBAL", "/dev/null"}});
    EXPECT_EQ(git.AwaitExit().value_or(-1), 0) << testing::Slurp(log_ / "git.log");
  }
  // Returns the packed paths, one a line.
  std::string Paths() {
    const auto packed = PackFolder(folder_.path());
    if (!packed.ok()) return std::string(packed.status().message());
    EXPECT_EQ(packed->digest, Sha256Hex(packed->bytes));
    const auto files = Read(packed->bytes);
    EXPECT_TRUE(files.ok()) << files.status();
    EXPECT_EQ(files->size(), packed->files);
    std::string paths;
    for (const FileView& file : *files) paths += std::string(file.path) + "\n";
    return paths;
  }

  testing::TempFolder folder_, log_, out_;
};

TEST_F(FolderTest, TrackedAndNewFilesArePackedAndIgnoredOnesAreNot) {
  folder_.Write("train.py", "1");
  folder_.Write("new.py", "2");
  folder_.Write("gone.py", "3");
  folder_.Write("data/big.bin", "4");
  folder_.Write("sub/kept.py", "5");
  folder_.Write(".gitignore", "data/\n*.pyc\n");
  folder_.Write("sub/x.pyc", "6");
  Git({"init", "-q"});
  Git({"add", "train.py", "gone.py"});
  Git({"commit", "-q", "-m", "one"});
  fs::remove(folder_ / "gone.py");
  folder_.Write("train.py", "1, changed");
  EXPECT_EQ(Paths(), ".gitignore\nnew.py\nsub/kept.py\ntrain.py\n");
  const auto packed = PackFolder(folder_.path());
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->revision.size(), 40u);
  EXPECT_NE(packed->changes.find(" M train.py"), std::string::npos) << packed->changes;
  EXPECT_NE(packed->changes.find("?? new.py"), std::string::npos) << packed->changes;
  EXPECT_NE(packed->note.find("which stay behind: data/big.bin; "), std::string::npos);
  // A folder within the work tree is packed alone.
  const auto part = PackFolder(folder_ / "sub");
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->files, 1u);
}

TEST_F(FolderTest, IgnoredFilesAreNamedAndPackedIfAPatternIncludesThem) {
  folder_.Write("train.py", "1");
  for (const char* path : {"data/x/train.bin", "data/x/val.bin", "data/meta.pkl", ".venv/lib/a.py",
                           "__pycache__/a.pyc", "build/x.bin", ".env", "run.log"}) {
    folder_.Write(path, "12345678");
  }
  folder_.Write(".gitignore", "data/\n.venv\n__pycache__\nbuild\n.env\n*.log\n");
  Git({"init", "-q"});
  const auto note = [this](const std::vector<std::string>& include) {
    const auto packed = PackFolder(folder_.path(), include);
    return packed.ok() ? packed->note : std::string(packed.status().message());
  };
  EXPECT_EQ(note({}),
            "git ignores 3 files of the code's folder, 24 B, which stay behind: data/meta.pkl, "
            "data/x/train.bin, data/x/val.bin; if the program needs them, write code: {folder: …, "
            "include: [data/*.pkl]}");
  EXPECT_EQ(note({"data/**/*.bin"}).find("git ignores 1 file of"), 0u) << note({"data/**/*.bin"});
  EXPECT_EQ(note({"data"}), "") << "a folder has everything below it";
  EXPECT_EQ(note({"data/?/*.bin", "data/meta.[p]kl"}), "");
  EXPECT_NE(note({"data/*.bin"}).find("matches 'data/*.bin'"), std::string::npos)
      << "* is of one part of a path";
  const auto packed = PackFolder(folder_.path(), {"data/x"});
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->files, 4u);
  EXPECT_EQ(note({"train.py"}), note({})) << "files that are packed anyway may be named";
}

TEST_F(FolderTest, OutsideAWorkTreeCachesEnvironmentsAndIgnoredFilesAreNotPacked) {
  folder_.Write("train.py", "1");
  folder_.Write("__pycache__/train.pyc", "2");
  folder_.Write(".venv/bin/python", "3");
  EXPECT_EQ(Paths(), "train.py\n");
  folder_.Write("secret", "4");
  folder_.Write("sub/secret", "5");
  folder_.Write("sub/kept.log", "6");
  folder_.Write("sub/other.log", "7");
  folder_.Write("deep/er/x.tmp", "8");
  folder_.Write("deep/er/x.py", "9");
  folder_.Write("out/a/b", "10");
  folder_.Write(".gitignore", "# mine\n/secret\n*.log\n!kept.log\nout/\n");
  folder_.Write("deep/.gitignore", "**/*.tmp\n");
  EXPECT_EQ(Paths(),
            ".gitignore\ndeep/.gitignore\ndeep/er/x.py\nsub/kept.log\nsub/secret\ntrain.py\n");
  const auto packed = PackFolder(folder_.path());
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->revision, "");
  EXPECT_NE(packed->note.find("which stay behind: secret; "), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / ".git"));
}

TEST_F(FolderTest, APythonEnvironmentIsNotPackedWhateverItsName) {
  folder_.Write("train.py", "1");
  folder_.Write("my_pyvenv.cfg", "2");
  folder_.Write("env311/pyvenv.cfg", "3");
  fs::create_directories(folder_ / "env311/bin");
  fs::create_symlink("/usr/bin/python3", folder_ / "env311/bin/python3");
  folder_.Write("tools/conda/conda-meta/history", "4");
  folder_.Write("tools/conda/lib/a.py", "5");
  folder_.Write("tools/b.py", "6");
  EXPECT_EQ(Paths(), "my_pyvenv.cfg\ntools/b.py\ntrain.py\n");
  folder_.Write(".gitignore", "*.log\n");
  EXPECT_EQ(Paths(), ".gitignore\nmy_pyvenv.cfg\ntools/b.py\ntrain.py\n") << "as git lists it";
}

TEST_F(FolderTest, NothingIsPackedIfAnIgnoreFileCannotBeRead) {
  folder_.Write("train.py", "1");
  folder_.Write("sub/secret", "2");
  const std::string path = getenv("PATH");
  setenv("PATH", log_.path().c_str(), 1);  // no git is found there
  const std::string without = Paths();
  folder_.Write("sub/.gitignore", "secret\n");
  const std::string with = Paths();
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(without, "sub/secret\ntrain.py\n");
  EXPECT_NE(with.find("has a sub/.gitignore"), std::string::npos) << with;
  EXPECT_NE(with.find("install git"), std::string::npos) << with;
}

TEST_F(FolderTest, IfGitRefusesAWorkTreeItsIgnoreFileCountsAndTheUserIsWarned) {
  folder_.Write("train.py", "1");
  folder_.Write("secret", "2");
  folder_.Write(".gitignore", "secret\n");
  folder_.Write(".git/HEAD", "damaged");
  EXPECT_EQ(Paths(), ".gitignore\ntrain.py\n");
  const auto packed = PackFolder(folder_.path());
  ASSERT_TRUE(packed.ok());
  EXPECT_NE(packed->note.find("git status"), std::string::npos) << packed->note;
}

TEST_F(FolderTest, TimesOwnersAndModesBesidesExecutableDoNotChangeTheDigest) {
  const std::string path = folder_.Write("a/run.sh", "x");
  const auto before = PackFolder(folder_.path());
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(48));
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  const auto same = PackFolder(folder_.path());
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  const auto executable = PackFolder(folder_.path());
  ASSERT_TRUE(before.ok() && same.ok() && executable.ok());
  EXPECT_EQ(before->digest, same->digest);
  EXPECT_NE(before->digest, executable->digest);
}

TEST_F(FolderTest, UnpackingGivesThePackedFiles) {
  folder_.Write("a/b/c.py", "hello");
  folder_.Write("run.sh", "#!/bin/sh\n");
  fs::permissions(folder_ / "run.sh", fs::perms::owner_all);
  fs::create_symlink("a/b/c.py", folder_ / "link");
  const auto packed = PackFolder(folder_.path());
  ASSERT_TRUE(packed.ok()) << packed.status();
  const absl::Status unpacked = UnpackInto(packed->bytes, out_ / "fresh");
  ASSERT_TRUE(unpacked.ok()) << unpacked;
  EXPECT_EQ(testing::Slurp(out_ / "fresh/link"), "hello");
  EXPECT_EQ(access((out_ / "fresh/run.sh").c_str(), X_OK), 0);
  EXPECT_NE(access((out_ / "fresh/a/b/c.py").c_str(), X_OK), 0);
  const auto again = PackFolder(out_ / "fresh");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->digest, packed->digest);
  EXPECT_FALSE(UnpackInto(packed->bytes, out_ / "fresh").ok()) << "over existing files";
}

TEST_F(FolderTest, AFolderThatCannotBePackedIsRefusedWithAReasonAndAdvice) {
  EXPECT_NE(Paths().find("has no file to send"), std::string::npos) << Paths();
  fs::create_symlink("/etc/passwd", folder_ / "link");
  EXPECT_NE(Paths().find("leaves the folder"), std::string::npos) << Paths();
  fs::remove(folder_ / "link");
  const std::string large = folder_.Write("large.bin", "");
  ASSERT_EQ(truncate(large.c_str(), static_cast<off_t>(limits::kCodeBytes) + 1), 0);
  EXPECT_NE(Paths().find("'large.bin'"), std::string::npos) << Paths();
  EXPECT_NE(std::string(PackFolder(folder_ / "absent").status().message()).find("is not a folder"),
            std::string::npos);
}

TEST_F(FolderTest, DamagedBytesNeverWriteOutsideTheFolder) {
  const auto whole = Pack({{"a/b", Kind::kFile, "1"},
                           {"a/c", Kind::kLink, "../d"},
                           {"d/e", Kind::kExecutable, "22"},
                           {"f", Kind::kLink, "a"}});
  ASSERT_TRUE(whole.ok());
  fs::create_directories(out_ / "below");
  std::mt19937 random(7);  // the same each time
  for (int i = 0; i < 1'000; ++i) {
    std::string bytes = *whole;
    const std::string words[] = {"..", "/", "f", "x", "l", "a"};
    const std::string& word = words[random() % std::size(words)];
    bytes.replace(random() % bytes.size(), word.size(), word);
    const absl::Status unpacked = UnpackInto(bytes, out_ / "below/fresh");
    EXPECT_EQ(fs::exists(out_ / "below/fresh"), unpacked.ok()) << "round " << i;
    fs::remove_all(out_ / "below/fresh");
    size_t left = 0;
    for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(out_.path())) ++left;
    ASSERT_EQ(left, 1u) << "round " << i;
  }
}

}  // namespace
}  // namespace dt::pack
