#include "bench/tokenizer/train_vocabulary.h"

#include <gtest/gtest.h>

#include "corpus/bpe.h"

namespace dt::bench {
namespace {

TEST(TrainVocabularyTest, TheMostFrequentPairIsMergedFirstAndASpaceBelongsToTheNextWord) {
  // " ab" four times, "ab" once: a b five times; then Ġ ab four times; nothing else appears twice.
  EXPECT_EQ(TrainVocabulary("ab ab ab ab ab", 10),
            "#version: trained by tokenizer_bench\na b\n\xC4\xA0 ab\n");
}

TEST(TrainVocabularyTest, TrainingStopsAtTheNumberOfMergesAndTheEncoderAcceptsTheResult) {
  const absl::StatusOr<corpus::BpeVocabulary> vocabulary = corpus::BpeVocabulary::Parse(
      TrainVocabulary("the then the other the\n\xC3\xA9t\xC3\xA9", 3), "trained");
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
  EXPECT_EQ(vocabulary->size(), 256 + 3 + 1);
}

}  // namespace
}  // namespace dt::bench
