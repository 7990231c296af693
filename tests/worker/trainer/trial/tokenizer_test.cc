// tokenizer_test.cc: which fields of a specification the shards determine, and which they
// contradict.
#include "worker/trainer/trial/tokenizer.h"

#include <gtest/gtest.h>

#include "tests/testing/temp_folder.h"
#include "tests/worker/trainer/gpt2_trial.h"

namespace dt::trainer {
namespace {

class SettleTokenizerTest : public ::testing::Test {
 protected:
  SettleTokenizerTest() {
    folder_.Write("text/train_000000.bin", "ids");
    folder_.Write("text/val_000000.bin", "ids");
    spec_.data.train = "text/train_*.bin";
    spec_.data.val = "text/val_*.bin";
    spec_.data.tokenizer = Tokenizer::kAuto;
    spec_.model.vocab_size = spec_.model.vocab_pad = 0;
  }
  void Record(const std::string& folder, const std::string& tokenizer) {
    folder_.Write(folder + "/tokenizer.json", R"({"tokenizer": ")" + tokenizer + R"("})");
  }
  absl::Status Settle() { return SettleTokenizer(folder_.path(), spec_); }

  testing::TempFolder folder_;
  TrialSpec spec_ = Gpt2Trial();
};

TEST_F(SettleTokenizerTest, TheShardsNameTheirTokenizerAndVocabularySize) {
  Record("text", "byte");
  ASSERT_TRUE(Settle().ok());
  EXPECT_EQ(spec_.data.tokenizer, Tokenizer::kByte);
  EXPECT_EQ(spec_.model.vocab_size, 257);
  EXPECT_EQ(spec_.model.vocab_pad, 320);
}

TEST_F(SettleTokenizerTest, ShardsWithoutARecordCountAsGpt2s) {
  ASSERT_TRUE(Settle().ok());
  EXPECT_EQ(spec_.data.tokenizer, Tokenizer::kGpt2);
  EXPECT_EQ(spec_.model.vocab_size, 50257);
  EXPECT_EQ(spec_.model.vocab_pad, 50304);
}

TEST_F(SettleTokenizerTest, TheSpecificationsSettingsStay) {
  Record("text", "byte");
  spec_.model.vocab_size = 300;
  spec_.model.vocab_pad = 301;
  ASSERT_TRUE(Settle().ok());
  EXPECT_EQ(spec_.model.vocab_size, 300);
  EXPECT_EQ(spec_.model.vocab_pad, 301);
}

TEST_F(SettleTokenizerTest, BytesAreNotTrainedAsGpt2s) {
  Record("text", "byte");
  spec_.data.tokenizer = Tokenizer::kGpt2;
  const absl::Status refused = Settle();
  EXPECT_EQ(refused.code(), kDataError);
  EXPECT_EQ(refused.message(),
            "data.tokenizer is gpt2 and the shards of 'text/train_*.bin' were made by byte "
            "(the record beside them); set it to byte, or to auto");
}

TEST_F(SettleTokenizerTest, TrainingAndValidationShardsAreOfOneTokenizer) {
  Record("text", "byte");
  folder_.Write("other/val_000000.bin", "ids");
  Record("other", "gpt2");
  spec_.data.val = "other/val_*.bin";
  EXPECT_EQ(Settle().code(), kDataError);
}

TEST_F(SettleTokenizerTest, RowsForFewerTokensThanThereAreAreRefused) {
  Record("text", "byte");
  spec_.model.vocab_pad = 256;
  EXPECT_EQ(Settle().code(), kConfigError);
}

}  // namespace
}  // namespace dt::trainer
