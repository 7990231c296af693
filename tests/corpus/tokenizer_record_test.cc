// tokenizer_record_test.cc: the record in a folder of shards of the tokenizer that made them.
#include "corpus/tokenizer_record.h"

#include "common/sha256.h"
#include "tests/corpus/tokenize_fixture.h"

namespace dt::corpus {
namespace {

constexpr char kMerges[] = "#version: 0.2\na b\n";

class TokenizerRecordTest : public TokenizeFixture {
 protected:
  TokenizerRecordTest() {
    options_.inputs = {folder_.Write("in.txt", "some text to be tokenised")};
    options_.validation_fraction = 0;
  }
  std::string Shard(const std::string& folder) { return folder_ / (folder + "/train_000000.bin"); }
  std::optional<TokenizerRecord> RecordOf(const std::vector<std::string>& shards) {
    const auto record = RecordedTokenizer(shards);
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? *record : std::nullopt;
  }
};

TEST_F(TokenizerRecordTest, TokenizingRecordsWhichTokenizerMadeTheShards) {
  options_.output = folder_ / "bytes";
  Run();
  EXPECT_EQ(RecordOf({Shard("bytes")}), (TokenizerRecord{Tokenizer::kByte, ""}));
}

TEST_F(TokenizerRecordTest, AVocabularyIsRecordedByItsHash) {
  options_.tokenizer = Tokenizer::kGpt2;
  options_.vocabulary = folder_.Write("vocab.bpe", kMerges);
  options_.output = folder_ / "gpt2";
  Run();
  EXPECT_EQ(RecordOf({Shard("gpt2")}), (TokenizerRecord{Tokenizer::kGpt2, Sha256Hex(kMerges)}));
}

TEST_F(TokenizerRecordTest, ShardsOfOtherProgramsHaveNoRecord) {
  EXPECT_EQ(RecordOf({folder_.Write("fetched/train_000000.bin", "ids")}), std::nullopt);
}

TEST_F(TokenizerRecordTest, ShardsOfTwoTokenizersAreRefusedByName) {
  options_.output = folder_ / "bytes";
  Run();
  folder_.Write("other/dtrain_shards.json", RecordText({{Tokenizer::kGpt2, "ab"}, {}}));
  const auto mixed = RecordedTokenizer(std::vector<std::string>{Shard("bytes"), Shard("other")});
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.status().code(), kDataError);
  for (const char* part : {"/bytes'", "/other'", "byte", "gpt2"}) {
    EXPECT_NE(mixed.status().message().find(part), std::string::npos) << mixed.status();
  }
}

TEST_F(TokenizerRecordTest, AnEmptyRecordIsAnErrorAndNotTakenAsAbsent) {
  for (const char* content : {"", "[]", "{\"tokenizer\": \"klingon\"}", "{\"tokenizer\": 1}"}) {
    folder_.Write("odd/dtrain_shards.json", content);
    const auto odd = RecordedTokenizer(std::vector<std::string>{Shard("odd")});
    ASSERT_FALSE(odd.ok()) << content;
    EXPECT_NE(odd.status().message().find("odd/dtrain_shards.json"), std::string::npos);
  }
}

TEST_F(TokenizerRecordTest, ReplacedShardsHaveTheirOwnRecord) {
  folder_.Write("out/train_000000.bin", "of GPT-2");
  folder_.Write("out/tokenizer.json", R"({"tokenizer": "gpt2", "vocabulary_sha256": "ab"})");
  options_.existing = Existing::kReplace;
  Run();
  EXPECT_EQ(RecordOf({Shard("out")}), (TokenizerRecord{Tokenizer::kByte, ""}));
  EXPECT_EQ(FindOldRecord(folder_ / "out"), "") << "an older trainer would read it";
}

TEST_F(TokenizerRecordTest, TheRecordOfVersion020IsReadIfThereIsNoNewerOne) {
  folder_.Write("old/tokenizer.json", R"({"tokenizer": "gpt2", "vocabulary_sha256": "ab"})");
  EXPECT_EQ(RecordOf({Shard("old")}), (TokenizerRecord{Tokenizer::kGpt2, "ab"}));
  folder_.Write("old/dtrain_shards.json", R"({"tokenizer": "byte"})");
  EXPECT_EQ(RecordOf({Shard("old")}), (TokenizerRecord{Tokenizer::kByte, ""}));
}

TEST_F(TokenizerRecordTest, ATokenizerOfAnotherProgramsIsLeftAlone) {
  const std::string theirs = R"({"version": "1.0", "truncation": null, "model": {"type": "BPE"}})";
  for (const std::string& content :
       {theirs, "{\"model\": {\"vocab\": \"" + std::string(1 << 20, 'x') + "\"}}", std::string(),
        std::string("[1, 2]"), std::string("no JSON")}) {
    folder_.Write("theirs/tokenizer.json", content);
    EXPECT_EQ(RecordOf({Shard("theirs")}), std::nullopt) << content.substr(0, 40);
  }
  options_.output = folder_ / "theirs";
  folder_.Write("theirs/tokenizer.json", theirs);
  Run();
  EXPECT_EQ(::dt::testing::Slurp(folder_ / "theirs/tokenizer.json"), theirs);
}

}  // namespace
}  // namespace dt::corpus
