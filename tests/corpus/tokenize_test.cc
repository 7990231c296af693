#include "corpus/tokenize.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>

#include "common/files.h"
#include "corpus/byte_tokenizer.h"
#include "corpus/documents.h"
#include "corpus/shard.h"
#include "tests/corpus/tokenize_fixture.h"

namespace dt::corpus {
namespace {

using ::dt::testing::TempFolder;

class TokenizeTest : public TokenizeFixture {
 protected:
  TokenizeTest() { options_.shard_tokens = 1024; }

  absl::Status Refused() {
    absl::StatusOr<TokenizeSummary> summary = TokenizeFiles(options_, nullptr);
    EXPECT_FALSE(summary.ok());
    return summary.status();
  }
};

TEST_F(TokenizeTest, PutsEndOfTextBeforeEachDocumentInSortedOrder) {
  folder_.Write("in/b.txt", "second");
  folder_.Write("in/a/z.txt", "first");
  folder_.Write("in/c.txt", "\xc3\xa9\xff");
  options_.inputs = {folder_ / "in"};
  const TokenizeSummary summary = Run();
  EXPECT_EQ(Text(summary.train_files), "|first|second|\xc3\xa9\xff");
  EXPECT_EQ(summary.documents, 3u);
  EXPECT_EQ(summary.train_tokens, 17u);
  EXPECT_EQ(summary.vocabulary, 257);
  EXPECT_EQ(summary.train_files, std::vector<std::string>{folder_ / "out/train_000000.bin"});
  EXPECT_TRUE(summary.val_files.empty());
}

TEST_F(TokenizeTest, SkipsBinaryEmptyAndHiddenFiles) {
  folder_.Write("in/a.txt", "text");
  folder_.Write("in/b.bin", std::string("a\0b", 3));
  folder_.Write("in/c.txt", "");
  folder_.Write("in/.git/config", "hidden");
  std::filesystem::create_directory_symlink(folder_ / "in", folder_ / "in/loop");
  options_.inputs = {folder_ / "in"};
  const TokenizeSummary summary = Run();
  EXPECT_EQ(Text(summary.train_files), "|text");
  EXPECT_EQ(summary.skipped, 2u);
}

TEST_F(TokenizeTest, CutsTheStreamIntoShardsWithoutLosingAToken) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>('a' + i % 26);
  options_.inputs = {folder_.Write("a.txt", text)};
  const TokenizeSummary summary = Run();
  EXPECT_EQ(summary.train_files.size(), 5u);
  EXPECT_EQ(Text(summary.train_files), "|" + text);
  EXPECT_EQ(TokenShard::Open(summary.train_files[0])->tokens(), 1024u);
}

TEST_F(TokenizeTest, TakesCompleteDocumentsSpreadOverTheListForValidation) {
  for (int i = 0; i < 100; ++i) {
    folder_.Write("in/" + std::to_string(100 + i),
                  std::string(50, static_cast<char>('A' + i % 26)));
  }
  options_.inputs = {folder_ / "in"};
  options_.validation_fraction = 0.1;
  const TokenizeSummary summary = Run();
  EXPECT_EQ(summary.val_tokens, 10u * 51);
  EXPECT_EQ(summary.train_tokens, 90u * 51);
}

TEST_F(TokenizeTest, TheDrawSaysNothingOfTheLengthOfDocuments) {
  std::string lines;
  for (int i = 0; i < 400; ++i) {
    const bool is_long = i % 4 == 3;
    const std::string text = (is_long ? "L" : "s") + std::string(is_long ? 3000 : 30, 'x');
    lines += "{\"text\": \"" + text + "\"}\n";
    folder_.Write("in/" + std::to_string(1000 + i), text);
  }
  for (const std::string& input : {folder_.Write("a.jsonl", lines), folder_ / "in"}) {
    options_.inputs = {input};
    options_.validation_fraction = 0.25;
    options_.existing = Existing::kReplace;
    const TokenizeSummary summary = Run();
    const std::string val = Text(summary.val_files);
    const auto count = [&val](char letter) { return std::count(val.begin(), val.end(), letter); };
    EXPECT_EQ(count('|'), 100) << input;
    EXPECT_NEAR(static_cast<double>(count('L')), 25, 12) << input;
    EXPECT_NEAR(static_cast<double>(summary.val_tokens) /
                    static_cast<double>(summary.val_tokens + summary.train_tokens),
                0.25, 0.12);
  }
}

TEST_F(TokenizeTest, FewLinesGiveOneToValidation) {
  for (const int count : {2, 10, 19, 21}) {
    std::string lines, texts;
    for (int i = 0; i < count; ++i) {
      lines += "{\"text\": \"" + std::string(1, static_cast<char>('a' + i)) + "\"}\n";
    }
    options_.inputs = {folder_.Write("a.jsonl", "{\"text\": \"\"}\n" + lines)};
    options_.validation_fraction = 0.05;
    options_.existing = Existing::kReplace;
    const TokenizeSummary summary = Run();
    EXPECT_GE(summary.val_tokens, 2u) << count;
    EXPECT_LE(summary.val_tokens, 4u) << count;
    EXPECT_EQ(summary.val_tokens + summary.train_tokens, 2u * static_cast<unsigned>(count));
    EXPECT_EQ(Text(Run().val_files), Text(summary.val_files)) << "each time the same";
  }
}

TEST_F(TokenizeTest, TooLittleDataForValidationIsAnError) {
  options_.validation_fraction = 0.05;
  for (const std::string& input :
       {folder_.Write("one.jsonl", "{\"text\": \"only one\"}\n"), folder_.Write("a.txt", "tiny")}) {
    options_.inputs = {input};
    const absl::Status refused = Refused();
    EXPECT_EQ(refused.code(), kConfigError);
    EXPECT_NE(refused.message().find("too little text to keep some of it for validation"),
              std::string::npos)
        << refused;
  }
  options_.validation_fraction = 0;
  EXPECT_EQ(Run().val_tokens, 0u) << "it was not requested";
}

TEST_F(TokenizeTest, CutsValidationFromTheEndOfASingleDocument) {
  options_.inputs = {folder_.Write("a.txt", std::string(900, 'x') + std::string(100, 'y'))};
  options_.validation_fraction = 0.1;
  const TokenizeSummary summary = Run();
  EXPECT_EQ(Text(summary.train_files), "|" + std::string(900, 'x'));
  EXPECT_EQ(Text(summary.val_files), "|" + std::string(100, 'y'));
}

TEST_F(TokenizeTest, TheFirstShardCanBeValidation) {
  options_.inputs = {folder_.Write("a.txt", std::string(1023, 'v') + std::string(500, 't'))};
  options_.validation = Validation::kFirstShard;
  const TokenizeSummary summary = Run();
  EXPECT_EQ(Text(summary.val_files), "|" + std::string(1023, 'v'));
  EXPECT_EQ(Text(summary.train_files), std::string(500, 't'));
}

TEST_F(TokenizeTest, ValidationCanHaveFilesOfItsOwn) {
  options_.inputs = {folder_.Write("a.txt", "train")};
  options_.validation_inputs = {folder_.Write("b.txt", "val")};
  options_.validation = Validation::kFiles;
  const TokenizeSummary summary = Run();
  EXPECT_EQ(Text(summary.train_files), "|train");
  EXPECT_EQ(Text(summary.val_files), "|val");
}

TEST_F(TokenizeTest, RefusesAFolderThatHasShardsAndReplacesThemAllOnRequest) {
  options_.inputs = {folder_.Write("a.txt", std::string(3000, 'x'))};
  EXPECT_EQ(Run().train_files.size(), 3u);
  options_.inputs = {folder_.Write("b.txt", "small")};
  EXPECT_EQ(Refused().code(), kConfigError);
  options_.existing = Existing::kReplace;
  Run();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(options_.output)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"dtrain_shards.json", "train_000000.bin"}));
}

TEST_F(TokenizeTest, NpyShardsReplaceThoseOfTheOtherFormat) {
  options_.inputs = {folder_.Write("a.txt", "text")};
  Run();
  options_.format = ShardFormat::kNpy;
  EXPECT_EQ(Refused().code(), kConfigError);
  options_.existing = Existing::kReplace;
  const TokenizeSummary summary = Run();
  EXPECT_EQ(summary.train_files, std::vector<std::string>{folder_ / "out/train_000000.npy"});
  EXPECT_EQ(Text(summary.train_files), "|text");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/train_000000.bin"));
}

TEST_F(TokenizeTest, LeftoversOfAKilledRunAreRemoved) {
  folder_.Write("out/.tokenize/train_000007.bin", "half");
  options_.inputs = {folder_.Write("a.txt", "text")};
  Run();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/.tokenize"));
}

TEST_F(TokenizeTest, TwoRunsIntoOneFolderAreRefused) {
  options_.inputs = {folder_.Write("a.txt", "text")};
  std::filesystem::create_directory(options_.output);
  const UniqueFd other(open(options_.output.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(Refused().code(), kConfigError);
}

TEST_F(TokenizeTest, RefusesImpossibleOptions) {
  EXPECT_EQ(Refused().code(), kConfigError);  // no inputs
  options_.inputs = {folder_ / "absent"};
  EXPECT_NE(Refused().message().find("absent"), std::string::npos);
  options_.inputs = {folder_.Write("only.bin", std::string(10, '\0'))};
  EXPECT_EQ(Refused().code(), kConfigError);
  options_.inputs = {folder_.Write("a.txt", "text")};
  options_.validation_fraction = 1;
  EXPECT_EQ(Refused().code(), kConfigError);
  options_.validation_fraction = 0;
  options_.shard_tokens = 3;
  EXPECT_EQ(Refused().code(), kConfigError);
  options_.shard_tokens = 1024;
  options_.validation = Validation::kFirstShard;  // would take everything
  EXPECT_EQ(Refused().code(), kConfigError);
}

TEST_F(TokenizeTest, ReportsProgressUpToTheEnd) {
  options_.inputs = {folder_.Write("a.txt", std::string(6 << 20, 'x')),
                     folder_.Write("b.txt", "y")};
  options_.shard_tokens = 100 << 20;
  TokenizeProgress last;
  int calls = 0;
  ASSERT_TRUE(TokenizeFiles(options_, [&](const TokenizeProgress& progress) {
                EXPECT_GE(progress.bytes_done, last.bytes_done);
                last = progress;
                ++calls;
                return Go::kOn;
              }).ok());
  EXPECT_GE(calls, 2);
  EXPECT_EQ(last.bytes_done, last.bytes);
  EXPECT_EQ(last.documents, 2u);
}

TEST_F(TokenizeTest, ARunStoppedBeforeItsFirstShardLeavesNothing) {
  options_.inputs = {folder_.Write("a.txt", std::string(3 << 20, 'x'))};
  options_.shard_tokens = 1 << 22;
  const absl::StatusOr<TokenizeSummary> summary =
      TokenizeFiles(options_, [](const TokenizeProgress&) { return Go::kStop; });
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.status().code(), kCancelledError);
  EXPECT_TRUE(std::filesystem::is_empty(options_.output));
}

// Writes a vocabulary in which "an" is one token.
std::string WriteVocabulary(const TempFolder& folder) {
  return folder.Write("vocab.bpe", "#version: 0.2\na n\n\xC4\xA0 an\n");
}

TEST_F(TokenizeTest, Gpt2TokensDoNotDependOnThreadsOrReadBoundaries) {
  options_.tokenizer = Tokenizer::kGpt2;
  options_.vocabulary = WriteVocabulary(folder_);
  options_.shard_tokens = 1 << 20;
  std::string text;
  while (text.size() < (3 << 20)) text += " an ananas, an\xC2\xA0" + std::to_string(text.size());
  folder_.Write("in/a.txt", text);
  folder_.Write("in/b.txt", std::string(2 << 20, 'n'));  // no place to cut it
  options_.inputs = {folder_ / "in"};
  std::vector<std::string> streams;
  for (const int threads : {1, 3}) {
    options_.threads = threads;
    options_.existing = Existing::kReplace;
    const TokenizeSummary summary = Run();
    EXPECT_EQ(summary.vocabulary, 259);
    std::string stream;
    for (const std::string& path : summary.train_files) {
      const absl::StatusOr<TokenShard> shard = TokenShard::Open(path);
      std::vector<uint16_t> ids(shard->tokens());
      EXPECT_TRUE(shard->Read(0, ids).ok());
      stream.append(reinterpret_cast<const char*>(ids.data()), ids.size() * 2);
    }
    streams.push_back(stream);
  }
  EXPECT_TRUE(streams[0] == streams[1]);
  const absl::StatusOr<BpeVocabulary> vocabulary = BpeVocabulary::Open(options_.vocabulary);
  std::vector<uint16_t> whole = {vocabulary->end_of_text()};
  BpeEncoder(*vocabulary).Append(text, whole);
  EXPECT_TRUE(streams[0].starts_with(
      std::string(reinterpret_cast<const char*>(whole.data()), whole.size() * 2)));
}

TEST_F(TokenizeTest, ATextThatCanNowhereBeCutIsRefusedBeforeItFillsTheMemory) {
  const std::string path = folder_.Write("in/line.txt", std::string(10000, 'a'));
  std::filesystem::resize_file(path, 300 << 20);  // the added part takes no room on the disk
  options_.inputs = {path};
  options_.tokenizer = Tokenizer::kGpt2;
  options_.vocabulary = folder_.Write("vocab.bpe", "#version: 0.2\na a\n");
  const absl::Status error = Refused();
  EXPECT_EQ(error.code(), kDataError);
  EXPECT_NE(error.message().find("256 MiB without a space"), std::string::npos) << error;
}

TEST_F(TokenizeTest, Gpt2WithoutItsVocabularyIsRefused) {
  folder_.Write("in/a.txt", "a");
  options_.inputs = {folder_ / "in"};
  options_.tokenizer = Tokenizer::kGpt2;
  EXPECT_EQ(Refused().code(), kConfigError);
  options_.vocabulary = folder_ / "absent";
  const absl::Status error = Refused();
  EXPECT_EQ(error.code(), kConfigError);
  EXPECT_EQ(error.message(), "--vocab: there is no file '" + (folder_ / "absent") +
                                 "'; 'dtctl data fetch gpt2-vocab --output DIR' gets GPT-2's "
                                 "vocab.bpe");
}

TEST_F(TokenizeTest, AFileInPlaceOfTheOutputFolderIsRefused) {
  folder_.Write("in/a.txt", "a");
  options_.inputs = {folder_ / "in"};
  options_.output = folder_.Write("file", "");
  const absl::Status error = Refused();
  EXPECT_EQ(error.code(), kConfigError);
  EXPECT_NE(error.message().find("let --output name a folder"), std::string::npos) << error;
}

}  // namespace
}  // namespace dt::corpus
