// tokenize_restart_test.cc: runs that are killed in the middle, and the runs after them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "corpus/tokenize.h"
#include "tests/testing/temp_folder.h"

namespace dt::corpus {
namespace {

using ::dt::testing::Medium;
using ::dt::testing::Slurp;
using ::dt::testing::TempFolder;

constexpr int kDiedThere = 9;

// With sanitizers a run takes ten times as long, so fewer are killed.
#ifdef DTRAIN_SANITIZE
constexpr int kKillsApart = 6;
#else
constexpr int kKillsApart = 1;
#endif

class RestartTest : public ::testing::Test {
 protected:
  RestartTest() {
    std::string text;
    while (text.size() < (9 << 20)) text += "word " + std::to_string(text.size()) + " ";
    folder_.Write("in/a.txt", text);
    std::string lines;
    for (int i = 0; i < 9000; ++i) {
      lines += "{\"text\":\"" + std::to_string(i) + std::string(900, 'x') + "\"}\n";
    }
    folder_.Write("in/b.jsonl", lines);
    folder_.Write("in/c.txt", text.substr(0, 3 << 20));
    folder_.Write("vocab.bpe", "#version: 0.2\nw o\nr d\nwo rd\n");
    options_.inputs = {folder_ / "in"};
    options_.output = folder_ / "out";
    options_.shard_tokens = 1 << 20;
    options_.validation_fraction = 0.3;
  }

  // Runs in a child process, which dies without notice in its nth call of progress.
  void KillAtCall(int nth) {
    const pid_t child = ::fork();
    if (child == 0) {
      int calls = 0;
      const absl::StatusOr<TokenizeSummary> ended =
          TokenizeFiles(options_, [&](const TokenizeProgress&) -> Go {
            if (++calls == nth) ::_exit(kDiedThere);
            return Go::kOn;
          });
      ::_exit(ended.ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), kDiedThere) << "ended before it could be killed";
  }
  TokenizeSummary Run() {
    absl::StatusOr<TokenizeSummary> summary = TokenizeFiles(options_, nullptr);
    EXPECT_TRUE(summary.ok()) << summary.status();
    return summary.ok() ? *summary : TokenizeSummary{};
  }
  // Returns the contents by name of all files in the output folder.
  std::map<std::string, std::string> Output() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(options_.output)) {
      files[entry.path().filename().string()] =
          entry.is_directory() ? "" : Slurp(entry.path().string());
    }
    return files;
  }
  std::map<std::string, std::string> Undisturbed() {
    const std::string output = std::exchange(options_.output, folder_ / "whole");
    Run();
    std::map<std::string, std::string> files = Output();
    std::filesystem::remove_all(options_.output);
    options_.output = output;
    return files;
  }

  TempFolder folder_{Medium::kMemory};
  TokenizeOptions options_;
};

TEST_F(RestartTest, AfterAnyKillTheNextRunContinuesAndWritesTheSameBytes) {
  // With larger shards some waves end without a complete shard, so that a kill loses the later
  // part.
  for (const uint64_t shard_tokens : {uint64_t{1} << 20, (uint64_t{5} << 20) + 17}) {
    options_.shard_tokens = shard_tokens;
    const auto whole = Undisturbed();
    for (int nth = 1; nth <= 5; nth += kKillsApart) {
      std::filesystem::remove_all(options_.output);
      KillAtCall(nth);
      EXPECT_EQ(Output().size(), 1u) << "readers see no shard of a killed run";
      const TokenizeSummary summary = Run();
      if (nth >= 3) {
        EXPECT_GT(summary.bytes_resumed, uint64_t{7} << 20);
      }
      EXPECT_TRUE(Output() == whole) << "killed in call " << nth;
    }
  }
}

TEST_F(RestartTest, ARunMayBeKilledAgainAndAgain) {
  options_.tokenizer = Tokenizer::kGpt2;
  options_.vocabulary = folder_ / "vocab.bpe";
  options_.format = ShardFormat::kNpy;
  options_.validation = Validation::kFirstShard;
  const auto whole = Undisturbed();
  for (int time = 0; time < 4; ++time) KillAtCall(1);
  options_.threads = 3;  // any number gives the same shards
  const TokenizeSummary summary = Run();
  EXPECT_GT(summary.bytes_resumed, uint64_t{12} << 20);
  EXPECT_TRUE(Output() == whole);
}

TEST_F(RestartTest, TheCountsCoverTheCompleteRun) {
  const TokenizeSummary whole = Run();
  std::filesystem::remove_all(options_.output);
  KillAtCall(3);
  const TokenizeSummary resumed = Run();
  EXPECT_EQ(resumed.documents, whole.documents);
  EXPECT_EQ(resumed.bytes, whole.bytes);
  EXPECT_EQ(resumed.train_tokens, whole.train_tokens);
  EXPECT_EQ(resumed.val_tokens, whole.val_tokens);
  EXPECT_EQ(resumed.train_files, whole.train_files);
}

TEST_F(RestartTest, OtherOptionsOrInputsStartAgain) {
  KillAtCall(3);
  options_.validation_fraction = 0.31;
  EXPECT_EQ(Run().bytes_resumed, 0u);

  std::filesystem::remove_all(options_.output);
  KillAtCall(3);
  folder_.Write("in/d.txt", "one more");
  EXPECT_EQ(Run().bytes_resumed, 0u);

  std::filesystem::remove_all(options_.output);
  KillAtCall(3);
  const std::string file = folder_ / "in/a.txt";
  std::filesystem::last_write_time(
      file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
  const auto whole = Undisturbed();
  EXPECT_EQ(Run().bytes_resumed, 0u);
  EXPECT_TRUE(Output() == whole);
}

TEST_F(RestartTest, PartsDamagedSinceAreMadeAgain) {
  const auto whole = Undisturbed();
  const std::string workshop = folder_ / "out/.tokenize/";
  for (const std::string name : {"train_000000.bin", "train_000003.bin", "state.json"}) {
    std::filesystem::remove_all(options_.output);
    KillAtCall(2);
    ASSERT_TRUE(std::filesystem::exists(workshop + name)) << name;
    std::filesystem::resize_file(workshop + name, 17);
    EXPECT_EQ(Run().bytes_resumed, 0u) << name;
    EXPECT_TRUE(Output() == whole);
  }
}

TEST_F(RestartTest, AStoppedRunKeepsItsCompleteShardsAndReportsIt) {
  const auto whole = Undisturbed();
  const absl::StatusOr<TokenizeSummary> stopped =
      TokenizeFiles(options_, [](const TokenizeProgress&) { return Go::kStop; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.status().code(), kCancelledError);
  EXPECT_NE(stopped.status().message().find("the same command continues"), std::string::npos);
  EXPECT_GT(Run().bytes_resumed, 0u);
  EXPECT_TRUE(Output() == whole);
}

}  // namespace
}  // namespace dt::corpus
