// last_words_test.cc: which printed line explains the end of an attempt.
#include "worker/agent/last_words.h"

#include "gtest/gtest.h"

namespace dt {
namespace {

TEST(LastWordsTest, LinesThatNameAnErrorAreKnown) {
  for (const char* line :
       {"RuntimeError: the real cause", "KeyError",
        "torch.cuda.OutOfMemoryError: CUDA out of memory", "[rank3]: ValueError: shapes differ",
        "KeyboardInterrupt", "error: no input files", "train.c:3:5: error: expected ';'",
        "sh: 1: trian: command not found", "thread 'main' panicked at 'index out of bounds'",
        "Segmentation fault (core dumped)", "panic: runtime error: index out of range", "Killed",
        "terminate called after throwing an instance of 'std::bad_alloc'"}) {
    EXPECT_TRUE(SaysError(line)) << line;
  }
}

TEST(LastWordsTest, MeasuresAndProgressAreNoErrors) {
  for (const char* line : {"", "epoch 3", "MeanSquaredError: 0.05", "error: 0.25", "val error: 0.3",
                           "100%|████| 10/10 [00:01<00:00]", "Traceback (most recent call last):",
                           "  File \"a.py\", line 3, in <module>", "saved to errors.txt"}) {
    EXPECT_FALSE(SaysError(line)) << line;
  }
}

TEST(LastWordsTest, WithoutOutputThereIsNoReason) {
  LastWords words;
  EXPECT_EQ(words.Text(), "");
  words.Take(LogPipe::kErrors, "");
  words.Take(LogPipe::kOutput, "  \t");
  EXPECT_EQ(words.Text(), "");
}

TEST(LastWordsTest, StandardErrorIsTheBetterEvidence) {
  LastWords words;
  words.Take(LogPipe::kErrors, "no such column: y");
  words.Take(LogPipe::kOutput, "epoch 3");
  EXPECT_EQ(words.Text(), "its last line: no such column: y");
}

TEST(LastWordsTest, AWarningOfPythonIsNoEvidence) {
  LastWords words;
  words.Take(LogPipe::kOutput, "iter 80: loss 3.5");
  words.Take(LogPipe::kErrors, "/x/train.py:196: FutureWarning: GradScaler is deprecated");
  words.Take(LogPipe::kErrors, "  scaler = GradScaler()");
  EXPECT_EQ(words.Text(), "its last line: iter 80: loss 3.5");
  words.Take(LogPipe::kErrors, "  a line with an indent of its own");
  EXPECT_EQ(words.Evidence(), "  a line with an indent of its own");
}

TEST(LastWordsTest, AnErrorFollowedByOtherLinesIsReportedWithThem) {
  LastWords words;
  words.Take(LogPipe::kErrors, "ValueError: an older one");
  words.Take(LogPipe::kErrors, "RuntimeError: the real cause");
  EXPECT_EQ(words.Text(), "its last line: RuntimeError: the real cause");
  words.Take(LogPipe::kErrors, "1 leaked semaphore object to clean up at shutdown");
  EXPECT_EQ(
      words.Text(),
      "its last error: RuntimeError: the real cause; its last line: 1 leaked semaphore object "
      "to clean up at shutdown");
}

TEST(LastWordsTest, LongAndMalformedLinesAreMadePrintable) {
  LastWords words;
  words.Take(LogPipe::kOutput, "\xff" + std::string(5000, 'x'));
  EXPECT_LT(words.Text().size(), 600u);
  EXPECT_EQ(words.Text().find('\xff'), std::string::npos);
}

TEST(LastWordsTest, AnErrorThatWasHandledLongBeforeTheEndIsNoEvidence) {
  LastWords words;
  words.Take(LogPipe::kErrors, "torch.OutOfMemoryError: CUDA out of memory.");
  for (int line = 0; line < 20; ++line) words.Take(LogPipe::kErrors, "cleaning up");
  EXPECT_EQ(words.Evidence(), "torch.OutOfMemoryError: CUDA out of memory.");
  words.Take(LogPipe::kErrors, "epoch 2 with half the batch");
  EXPECT_EQ(words.Evidence(), "epoch 2 with half the batch");
}

TEST(LastWordsTest, AKnownErrorComesWithItsFix) {
  LastWords words;
  words.Take(LogPipe::kErrors, "ModuleNotFoundError: No module named 'timm'");
  words.Take(LogPipe::kErrors, "cleaning up");
  EXPECT_EQ(words.Evidence(), "ModuleNotFoundError: No module named 'timm'");
  EXPECT_NE(words.Text().find("its last line: cleaning up; install it for the interpreter"),
            std::string::npos)
      << words.Text();
}

}  // namespace
}  // namespace dt
