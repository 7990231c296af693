// publish_test.cc: runs that break off, at each single step, while they move their shards to the
// output.
#include "corpus/publish.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "corpus/glob.h"
#include "tests/corpus/tokenize_fixture.h"

namespace dt::corpus {
namespace {

using ::dt::testing::Slurp;

constexpr int kKilled = 9;
enum class Break { kKill, kDiskError };

// Breaks off before its nth step.
class BreaksOff : public FolderChanges {
 public:
  BreaksOff(int nth, Break how) : left_(nth), how_(how) {}
  absl::Status Write(const std::string& path, std::string_view content) override {
    DT_RETURN_IF_ERROR(Step(path));
    return FolderChanges::Write(path, content);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    DT_RETURN_IF_ERROR(Step(to));
    return FolderChanges::Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override {
    DT_RETURN_IF_ERROR(Step(path));
    return FolderChanges::Remove(path);
  }

 private:
  absl::Status Step(const std::string& path) {
    if (--left_ > 0) return absl::OkStatus();
    if (how_ == Break::kKill) ::_exit(kKilled);
    return IoError("cannot change '" + path + "': a test's own disk error");
  }

  int left_;
  const Break how_;
};

using Files = std::map<std::string, std::string>;

class PublishTest : public TokenizeFixture {
 protected:
  PublishTest() {
    options_.shard_tokens = 1024;
    options_.validation_fraction = 0.3;
    old_.push_back(folder_.Write("old.txt", std::string(6000, 'o')));
    new_.push_back(folder_.Write("new.txt", std::string(4000, 'n')));
  }

  // Returns the contents by name of the files that the output folder shows.
  Files Output() const {
    Files files;
    for (const auto& entry : std::filesystem::directory_iterator(options_.output)) {
      files[entry.path().filename().string()] =
          entry.is_directory() ? "" : Slurp(entry.path().string());
    }
    return files;
  }
  // Fills the folder as it is before a run, from these inputs.
  void BeginWithOldShards() {
    std::filesystem::remove_all(options_.output);
    options_.existing = Existing::kRefuse;
    options_.inputs = old_;
    Run();
  }
  // Replaces the shards by those of new_, in a run that is killed before its nth step.
  bool ReplaceOldShardsUntil(int nth) {
    BeginWithOldShards();
    options_.existing = Existing::kReplace;
    options_.inputs = new_;
    return RunUntil(nth, Break::kKill);
  }
  Files Undisturbed(const std::vector<std::string>& inputs) {
    const std::string output = std::exchange(options_.output, folder_ / "whole");
    std::filesystem::remove_all(options_.output);
    options_.inputs = inputs;
    Run();
    Files files = Output();
    options_.output = output;
    return files;
  }
  // Returns true if the run broke off, false if it had fewer steps.
  bool RunUntil(int nth, Break how) {
    BreaksOff changes(nth, how);
    if (how == Break::kDiskError) return !TokenizeFiles(options_, nullptr, &changes).ok();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(TokenizeFiles(options_, nullptr, &changes).ok() ? 0 : 1);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 1);
    return WIFEXITED(status) && WEXITSTATUS(status) == kKilled;
  }
  // Expects that a trainer finds nothing, or the shards of one run.
  void ExpectNoMixture(const Files& before, const Files& after) {
    for (const std::string split : {"train", "val"}) {
      const auto found = ResolveGlob(options_.output, "data.train", split + "_*");
      if (!found.ok()) continue;
      Files seen;
      for (const std::string& path : *found) {
        seen[std::filesystem::path(path).filename().string()] = Slurp(path);
      }
      const auto of = [&split](const Files& files) {
        Files some;
        for (const auto& [name, content] : files) {
          if (name.starts_with(split)) some[name] = content;
        }
        return some;
      };
      EXPECT_TRUE(seen == of(before) || seen == of(after));
    }
  }

  std::vector<std::string> old_;
  std::vector<std::string> new_;
};

TEST_F(PublishTest, TheNextRunFinishesARunIntoANewFolderWhereverItBrokeOff) {
  const Files whole = Undisturbed(new_);
  for (const Break how : {Break::kKill, Break::kDiskError}) {
    int steps = 0;
    while (true) {
      std::filesystem::remove_all(options_.output);
      if (!RunUntil(++steps, how)) break;
      ExpectNoMixture({}, whole);
      if (steps == 1 || IsBeingPublished(options_.output)) {
        const TokenizeSummary summary = Run();
        EXPECT_EQ(summary.bytes, 4000u);
        EXPECT_EQ(summary.train_files.size() + summary.val_files.size() + 1, whole.size())
            << "and the record of their tokenizer";
        EXPECT_EQ(summary.train_tokens + summary.val_tokens, 4002u)
            << "an end of text in each split";
      }
      Files left = Output();
      left.erase(".tokenize");  // the last step removes it
      EXPECT_TRUE(left == whole) << "broken off before step " << steps;
    }
    EXPECT_EQ(steps, 4 + static_cast<int>(whole.size())) << "record, moves, record and workshop";
  }
}

TEST_F(PublishTest, OldShardsStayUntilAllNewOnesAreRecordedAndAreNeverMixedWithThem) {
  for (const ShardFormat format : {ShardFormat::kLlmc, ShardFormat::kNpy}) {
    options_.format = ShardFormat::kLlmc;
    const Files before = Undisturbed(old_);
    options_.format = format;
    const Files after = Undisturbed(new_);
    for (int nth = 1;; ++nth) {
      options_.format = ShardFormat::kLlmc;
      BeginWithOldShards();
      options_.existing = Existing::kReplace;
      options_.format = format;
      options_.inputs = new_;
      if (!RunUntil(nth, Break::kKill)) break;
      ExpectNoMixture(before, after);
      if (nth == 1) {
        Files left = Output();
        left.erase(".tokenize");
        EXPECT_TRUE(left == before);
      }
      Run();
      EXPECT_TRUE(Output() == after) << "killed before step " << nth;
    }
  }
}

TEST_F(PublishTest, WithoutOverwriteTheSameCommandFinishesAnOverwriteThatItBegan) {
  const Files after = Undisturbed(new_);
  ASSERT_TRUE(ReplaceOldShardsUntil(5));
  options_.existing = Existing::kRefuse;
  EXPECT_EQ(Run().bytes_resumed, 4000u);
  EXPECT_TRUE(Output() == after);
  EXPECT_FALSE(TokenizeFiles(options_, nullptr).ok()) << "now it is one more run";
}

TEST_F(PublishTest, AnotherRunFinishesItTooAndIsThenRefused) {
  const Files whole = Undisturbed(new_);
  options_.inputs = new_;
  ASSERT_TRUE(RunUntil(4, Break::kKill));
  options_.inputs = old_;
  const absl::StatusOr<TokenizeSummary> refused = TokenizeFiles(options_, nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), kConfigError);
  EXPECT_TRUE(Output() == whole);
}

TEST_F(PublishTest, FinishingMayBeBrokenOffAgainAndAgain) {
  const Files after = Undisturbed(new_);
  ASSERT_TRUE(ReplaceOldShardsUntil(2));
  int runs = 0;
  for (; IsBeingPublished(options_.output); ++runs) {
    ASSERT_LT(runs, 30);
    RunUntil(2, Break::kKill);  // one step each
  }
  EXPECT_GT(runs, 8);
  Files left = Output();
  left.erase(".tokenize");
  EXPECT_TRUE(left == after);
}

TEST_F(PublishTest, ARecordWhoseShardsAreGoneIsDropped) {
  const Files whole = Undisturbed(new_);
  options_.inputs = new_;
  ASSERT_TRUE(RunUntil(2, Break::kKill));
  std::filesystem::remove(options_.output + "/.tokenize/train_000001.bin");
  Run();
  EXPECT_TRUE(Output() == whole);

  std::filesystem::remove_all(options_.output);
  folder_.Write("out/.tokenize/publish.json", "{\"key\":1}");
  Run();
  EXPECT_TRUE(Output() == whole);
}

TEST_F(PublishTest, AnOldShardIsNotTakenForALostNewOneOfItsName) {
  const Files after = Undisturbed(new_);
  ASSERT_TRUE(ReplaceOldShardsUntil(2));
  ASSERT_TRUE(std::filesystem::remove(options_.output + "/.tokenize/train_000001.bin"));
  ASSERT_TRUE(std::filesystem::exists(options_.output + "/train_000001.bin"));
  Run();
  EXPECT_TRUE(Output() == after);
}

TEST_F(PublishTest, APatternIsRefusedWhileAPartOfTheShardsIsThere) {
  options_.inputs = new_;
  ASSERT_TRUE(RunUntil(4, Break::kKill));
  folder_.Write("out/notes.bin", "x");
  const auto found = ResolveGlob(folder_.path(), "data.train", "out/train_*.bin");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), kDataError);
  EXPECT_NE(found.status().message().find("tokenize"), std::string::npos) << found.status();
  EXPECT_TRUE(ResolveGlob(folder_.path(), "data.train", "out/notes.bin").ok())
      << "no shard of such a run";
  Run();
  EXPECT_TRUE(ResolveGlob(folder_.path(), "data.train", "out/train_*.bin").ok());
}

}  // namespace
}  // namespace dt::corpus
