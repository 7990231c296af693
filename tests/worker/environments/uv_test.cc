// uv_test.cc: packages are resolved and installed by a real uv, from wheels that the test makes.
#include "worker/environments/uv.h"

#include <sys/stat.h>

#include <filesystem>

#include "gtest/gtest.h"
#include "tests/testing/full_disk.h"
#include "tests/testing/offline_uv.h"
#include "tests/testing/temp_folder.h"
#include "worker/environments/maker.h"
#include "worker/environments/store.h"

namespace dt::environments {
namespace {

namespace fs = std::filesystem;

class UvTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::PathOfUv().empty()) GTEST_SKIP() << "uv is not installed; ./dev setup installs it";
    fs::create_directory(folder_ / "scratch");
    uv_.AddWheel("aa", "1.0", {"bb>=1"});
    uv_.AddWheel("bb", "1.0");
    uv_.AddWheel("bb", "1.2");
  }
  Job JobOf(const Wanted& wanted, const std::string& lock = "") const {
    return {.wanted = wanted,
            .lock = lock,
            .store = folder_ / "store",
            .bytes_max = 1 << 30,
            .scratch = folder_ / "scratch"};
  }
  Answer Resolved(const Wanted& wanted) const { return Do(JobOf(wanted), uv_.Variables(), -1); }
  // Makes it as a worker does. `folder`: where it then is.
  Answer Made(const Wanted& wanted, const std::string& lock, std::string* folder = nullptr) const {
    const Store store(folder_ / "store", 1 << 30);
    const absl::StatusOr<std::string> name = NameOf(wanted, lock);
    EXPECT_TRUE(name.ok()) << name.status();
    const auto fd = store.OpenLock(*name);
    EXPECT_TRUE(fd.ok());
    if (folder != nullptr) *folder = store.FolderOf(*name);
    return Do(JobOf(wanted, lock), uv_.Variables(), fd->get());
  }
  // Returns what a Python of the environment prints.
  static std::string Python(const std::string& folder, const std::string& program) {
    SpawnOptions options;
    options.path = folder + "/bin/python";
    options.arguments = {"-c", program};
    return ReadOutput(options, 1 << 16, absl::Seconds(60), StandardError::kRead).text;
  }

  testing::TempFolder folder_;
  testing::OfflineUv uv_;
};

TEST_F(UvTest, AListBecomesExactPackagesAndAnEnvironmentThatHasThem) {
  const Wanted wanted{.uv = {"aa"}};
  const Answer resolved = Resolved(wanted);
  ASSERT_TRUE(resolved.status.ok()) << resolved.status;
  EXPECT_EQ(resolved.lock, "# python: any\naa==1.0\nbb==1.2\n");
  EXPECT_EQ(resolved.packages, 2u);
  std::string folder;
  const Answer made = Made(wanted, resolved.lock, &folder);
  ASSERT_TRUE(made.status.ok()) << made.status;
  EXPECT_TRUE(made.made);
  EXPECT_EQ(Python(folder, "import aa, bb; print(bb.__version__)"), "1.2\n");
  EXPECT_FALSE(Made(wanted, resolved.lock).made);  // it is there
}

TEST_F(UvTest, AnOlderLockGivesItsOwnPackages) {
  std::string folder;
  ASSERT_TRUE(Made({.uv = {"aa"}}, "# python: any\naa==1.0\nbb==1.0\n", &folder).status.ok());
  EXPECT_EQ(Python(folder, "import bb; print(bb.__version__)"), "1.0\n");
}

TEST_F(UvTest, APackageWithAPasswordInItsUrlIsRefused) {
  folder_.Write("code/pylock.toml",
                "[[packages]]\nname = \"aa @ https://me:secret@host/aa.whl\"\nversion = \"1\"\n");
  const absl::Status resolved =
      Resolved({.uv = {"pylock.toml"}, .code_folder = folder_ / "code"}).status;
  EXPECT_EQ(resolved.code(), kConfigError) << resolved;
  EXPECT_NE(resolved.message().find("the URL of aa holds a user or a password"),
            absl::string_view::npos)
      << resolved;
}

TEST_F(UvTest, AFailureLeavesTheStoreWithinItsBound) {
  Job job = JobOf({.uv = {"aa>=3"}});
  EXPECT_FALSE(Do(job, uv_.Variables(), -1).status.ok());
  const std::string cache = Store(job.store, 0).cache();
  EXPECT_TRUE(fs::exists(cache));
  job.bytes_max = 0;
  EXPECT_FALSE(Do(job, uv_.Variables(), -1).status.ok());
  EXPECT_FALSE(fs::exists(cache));
}

TEST_F(UvTest, ANameThatIsNotUtf8IsRefused) {
  folder_.Write("code/pylock.toml", "[[packages]]\nname = \"a\xff\"\nversion = \"1\"\n");
  const absl::Status resolved =
      Resolved({.uv = {"pylock.toml"}, .code_folder = folder_ / "code"}).status;
  EXPECT_EQ(resolved.code(), kConfigError) << resolved;
  EXPECT_NE(resolved.message().find("not UTF-8"), absl::string_view::npos) << resolved;
}

TEST_F(UvTest, AFileOfRequirementsIsReadInTheFolderOfCode) {
  folder_.Write("code/needs/requirements.txt", "-r more.txt\n");
  folder_.Write("code/needs/more.txt", "bb<1.1\n");
  const Answer resolved =
      Resolved({.uv = {"needs/requirements.txt"}, .code_folder = folder_ / "code"});
  ASSERT_TRUE(resolved.status.ok()) << resolved.status;
  EXPECT_EQ(resolved.lock, "# python: any\nbb==1.0\n");
}

TEST_F(UvTest, TheIndexesOfAFileOfRequirementsStayWithItsPackages) {
  testing::OfflineUv others;
  others.AddWheel("bb", "1.3+cpu");
  folder_.Write("code/requirements.txt", "--find-links " + others.wheels() + "\nbb\n");
  const Wanted wanted{.uv = {"requirements.txt"}, .code_folder = folder_ / "code"};
  const Answer resolved = Resolved(wanted);
  EXPECT_EQ(resolved.lock, "# python: any\n--find-links " + others.wheels() + "\nbb==1.3+cpu\n");
  EXPECT_EQ(resolved.packages, 1u);
  std::string folder;
  const Answer made = Made(wanted, resolved.lock, &folder);
  ASSERT_TRUE(made.status.ok()) << made.status;
  EXPECT_EQ(Python(folder, "import bb; print(bb.__version__)"), "1.3+cpu\n");
  // Packages of the same version from elsewhere are another environment.
  EXPECT_NE(*NameOf(wanted, resolved.lock), *NameOf(wanted, "# python: any\nbb==1.3+cpu\n"));
}

TEST_F(UvTest, AnIndexWithAPasswordAndAFolderOfWheelsAreRefused) {
  for (const std::string line :
       {"--extra-index-url https://me:secret@x.invalid/simple", "--find-links wheels"}) {
    folder_.Write("code/wheels/x", "");
    folder_.Write("code/requirements.txt", line + "\nbb\n");
    const Answer resolved = Resolved({.uv = {"requirements.txt"}, .code_folder = folder_ / "code"});
    EXPECT_EQ(resolved.status.code(), kConfigError) << resolved.status;
    EXPECT_EQ(std::string(resolved.status.message()).find("secret"), std::string::npos);
  }
}

TEST_F(UvTest, AFifoInPlaceOfAFileIsRefusedAtOnce) {
  fs::create_directory(folder_ / "code");
  ASSERT_EQ(mkfifo((folder_ / "code/requirements.txt").c_str(), 0600), 0);
  const Answer resolved = Resolved({.uv = {"requirements.txt"}, .code_folder = folder_ / "code"});
  EXPECT_EQ(resolved.status, ConfigError("environment.uv: requirements.txt is not a regular file"));
}

TEST_F(UvTest, AListBeyondTheBoundIsAFaultOfTheExperiment) {
  folder_.Write("code/pylock.toml", [] {
    std::string text;
    for (int i = 0; i < 6000; ++i) {
      text += "[[packages]]\nname = \"package" + std::to_string(i) + "\"\nversion = \"1\"\n";
    }
    return text;
  }());
  const Answer resolved = Resolved({.uv = {"pylock.toml"}, .code_folder = folder_ / "code"});
  EXPECT_EQ(resolved.status.code(), kConfigError) << resolved.status;
}

TEST_F(UvTest, AFileThatDidNotTravelIsNamed) {
  const Answer resolved = Resolved({.uv = {"requirements.txt"}, .code_folder = folder_ / "code"});
  EXPECT_EQ(resolved.status,
            ConfigError("environment.uv: requirements.txt is not in the folder of code that was "
                        "sent along"));
}

TEST_F(UvTest, PackagesThatCannotBeResolvedAreAFaultOfTheExperimentInUvsWords) {
  const Answer resolved = Resolved({.uv = {"aa>=3"}});
  EXPECT_EQ(resolved.status.code(), kConfigError);
  const std::string message(resolved.status.message());
  EXPECT_NE(message.find("only aa==1.0 is available and you require aa>=3"), std::string::npos)
      << message;
}

TEST_F(UvTest, APythonThatIsNotThereIsNamed) {
  const Answer resolved = Resolved({.python = "3.99", .uv = {"aa"}});
  EXPECT_EQ(resolved.status.code(), kConfigError);
  EXPECT_NE(std::string(resolved.status.message()).find("3.99"), std::string::npos)
      << resolved.status;
}

TEST_F(UvTest, ABrokenLockIsNamedWithItsLine) {
  folder_.Write("code/pyproject.toml", "[project]\nname = 'p'\nversion = '0'\n");
  folder_.Write("code/uv.lock", "version = 1\n[[package\n");
  const Answer resolved = Resolved({.uv = {"uv.lock"}, .code_folder = folder_ / "code"});
  EXPECT_EQ(resolved.status.code(), kConfigError);
  EXPECT_NE(std::string(resolved.status.message()).find("line 2"), std::string::npos)
      << resolved.status;
}

TEST_F(UvTest, ALockIsFollowed) {
  folder_.Write("code/pyproject.toml",
                "[project]\nname = 'p'\nversion = '0'\nrequires-python = '>=3.9'\n"
                "dependencies = ['aa', 'bb<1.1']\n");
  SpawnOptions lock;
  lock.path = testing::PathOfUv();
  lock.arguments = {"lock", "--project", folder_ / "code"};
  lock.environment = uv_.Variables();
  const ProgramOutput locked = ReadOutput(lock, 1 << 16, absl::Seconds(60), StandardError::kRead);
  ASSERT_TRUE(locked.ok) << locked.text;
  const Wanted wanted{.uv = {"uv.lock"}, .code_folder = folder_ / "code"};
  const Answer resolved = Resolved(wanted);
  EXPECT_EQ(resolved.lock, "# python: any\naa==1.0\nbb==1.0\n") << resolved.status;
  std::string folder;
  const Answer made = Made(wanted, resolved.lock, &folder);
  ASSERT_TRUE(made.status.ok()) << made.status;
  EXPECT_EQ(Python(folder, "import bb; print(bb.__version__)"), "1.0\n");
}

TEST_F(UvTest, AFolderAsPackageIsRefused) {
  folder_.Write("code/own/pyproject.toml", "[project]\nname = 'own'\nversion = '0'\n");
  folder_.Write("code/requirements.txt", "-e ./own\n");
  const Answer resolved = Resolved({.uv = {"requirements.txt"}, .code_folder = folder_ / "code"});
  EXPECT_EQ(resolved.status.code(), kConfigError) << resolved.status;
}

TEST_F(UvTest, AFolderInALockIsRefused) {
  for (const std::string form : {"directory = { path = \"own\" }", "[packages.directory]"}) {
    folder_.Write("code/pylock.toml",
                  "lock-version = \"1.0\"\n[[packages]]\nname = \"own\"\n" + form + "\n");
    const Answer resolved = Resolved({.uv = {"pylock.toml"}, .code_folder = folder_ / "code"});
    EXPECT_EQ(resolved.status.code(), kConfigError) << resolved.status;
    EXPECT_NE(std::string(resolved.status.message()).find("'./own' is a folder"), std::string::npos)
        << resolved.status;
  }
}

TEST_F(UvTest, AFullDiskIsNoFaultOfTheExperimentAndLeavesNothing) {
  const Wanted wanted{.uv = {"aa"}};
  const std::string lock = Resolved(wanted).lock;
  std::string folder;
  {
    const testing::FullDisk disk;
    disk.Allow(100);
    const Answer made = Made(wanted, lock, &folder);
    EXPECT_EQ(made.status.code(), kIoError) << made.status;
  }
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(Made(wanted, lock).status.ok());
}

TEST_F(UvTest, TheNameOfAnEnvironmentFollowsWhatIsInIt) {
  const Wanted wanted{.uv = {"aa"}};
  const auto name = NameOf(wanted, "aa==1.0\n");
  EXPECT_EQ(*name, *NameOf({.uv = {"aa", "bb"}}, "aa==1.0\n"));  // the same packages
  EXPECT_NE(*name, *NameOf(wanted, "aa==1.1\n"));
  EXPECT_NE(*name, *NameOf({.python = "3.11", .uv = {"aa"}}, "aa==1.0\n"));
  EXPECT_NE(*name, *NameOf({.uv = {"aa"}, .index = "https://x.example"}, "aa==1.0\n"));
}

TEST(MakerTest, AnAnswerIsReadAsItWasWritten) {
  Answer answer;
  answer.status = ConfigError("why");
  answer.lock = "a==1\n";
  answer.packages = 1;
  answer.made = true;
  const Answer read = ReadAnswer(AnswerText(answer));
  EXPECT_EQ(read.status, answer.status);
  EXPECT_EQ(read.lock, answer.lock);
  EXPECT_EQ(read.packages, 1u);
  EXPECT_TRUE(read.made);
  EXPECT_EQ(ReadAnswer("").status.code(), kIoError);  // it was killed
}

}  // namespace
}  // namespace dt::environments
