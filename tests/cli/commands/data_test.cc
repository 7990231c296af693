#include "cli/commands/data.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "cli/commands/app.h"
#include "nlohmann/json.hpp"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

TEST(DataTest, TheBarShowsShareBytesSpeedTimeLeftAndDocuments) {
  EXPECT_EQ(
      TokenizeBar({12, 40, 1 << 20, 2 << 20}, 2),
      "[############------------]  50%  1.00 MiB of 2.00 MiB  512 KiB/s  2.0 s left  12 of 40 "
      "documents");
  EXPECT_EQ(TokenizeBar({1, 1, 10, 10}, 1).substr(0, 32), "[########################] 100% ");
  // The earlier run's part counts as done, but not for the speed.
  const corpus::TokenizeProgress resumed = {12, 0, 3 << 20, 4 << 20, 3 << 20};
  EXPECT_EQ(TokenizeBar(resumed, 1),
            "[##################------]  75%  3.00 MiB of 4.00 MiB  12 documents");
}

TEST(DataTest, TheResultNamesThePatternsOfTheExperimentFile) {
  corpus::TokenizeOptions options;
  options.output = "out";
  corpus::TokenizeSummary summary;
  summary.documents = 3;
  summary.bytes = 2048;
  summary.skipped = 2;
  summary.train_tokens = 12345;
  summary.train_files = {"out/train_000000.bin", "out/train_000001.bin"};
  summary.vocabulary = 257;
  EXPECT_EQ(TokenizeText(options, summary),
            "documents   3, 2.00 KiB; 2 binary or empty documents skipped\n"
            "train       12,345 tokens in 2 files, out/train_*.bin\n"
            "validation  none\n"
            "vocabulary  257\n"
            "folder      out\n");
  EXPECT_EQ(TokenizeJson(summary)["train_tokens"], 12345);
}

TEST(DataTest, TheSectionForTheExperimentFileNamesTheTokenizer) {
  corpus::TokenizeOptions options;
  corpus::TokenizeSummary summary;
  EXPECT_EQ(DataSection(options, summary, "texts/mine"),
            R"(data: {train: "texts/mine/train_*.bin", tokenizer: byte})");
  summary.val_files = {"out/val_000000.npy"};
  options.tokenizer = corpus::Tokenizer::kGpt2;
  options.format = corpus::ShardFormat::kNpy;
  EXPECT_EQ(DataSection(options, summary, ""),
            R"(data: {train: "train_*.npy", val: "val_*.npy", tokenizer: gpt2})");
}

TEST(DataTest, APathIsShownRelativeToTheDataRootOfLocalWorkers) {
  const ShardPlace known = PlaceOf("/state/local/data/wiki/small", {"/x", "/state/local/data"});
  EXPECT_TRUE(known.known);
  EXPECT_EQ(known.folder, "wiki/small");
  EXPECT_EQ(PlaceOf("/data", {"/data"}).folder, "");
  const ShardPlace other = PlaceOf("/data2/wiki", {"/data"});
  EXPECT_FALSE(other.known);
  EXPECT_EQ(other.root, "/data2");
  EXPECT_EQ(other.folder, "wiki");
}

TEST(DataTest, ErrorsThatTheUserCanFixAreUsageErrors) {
  EXPECT_TRUE(absl::IsInvalidArgument(CommandStatus(ConfigError("x"))));
  EXPECT_TRUE(absl::IsInvalidArgument(CommandStatus(DataError("x"))));
  EXPECT_TRUE(absl::IsCancelled(CommandStatus(CancelledError("x"))));
  EXPECT_TRUE(absl::IsInternal(CommandStatus(IoError("x"))));
}

class DataCommandTest : public ::testing::Test {
 protected:
  int Run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    Terminal terminal;
    terminal.out = &out_;
    terminal.err = &err_;
    terminal.in = &in_;
    terminal.err_is_tty = tty_;
    arguments.insert(arguments.begin(), {"data", "tokenize"});
    return dt::cli::Run(arguments, terminal, interrupt_, Pace{});
  }

  ::dt::testing::TempFolder folder_;
  Interrupt interrupt_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  bool tty_ = false;
};

TEST_F(DataCommandTest, WritesShardsAndPrintsTheirFolderWithoutACoordinator) {
  const std::string text = folder_.Write("a.txt", "hello");
  EXPECT_EQ(Run({"--output", folder_ / "out", "--val-fraction", "0", text, "-o", "json"}), 0)
      << err_.str();
  const Json result = Json::parse(out_.str());
  EXPECT_EQ(result["train_tokens"], 6);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/train_000000.bin"));
}

TEST_F(DataCommandTest, WritesNpyWhenAskedTo) {
  const std::string text = folder_.Write("a.txt", "hello");
  EXPECT_EQ(Run({"--output", folder_ / "out", "--format", "npy", "--val-fraction", "0", text}), 0)
      << err_.str();
  EXPECT_NE(out_.str().find("out/train_*.npy"), std::string::npos) << out_.str();
  EXPECT_NE(err_.str().find("\n  data: {train: \"out/train_*.npy\", tokenizer: byte}"),
            std::string::npos)
      << err_.str();
}

TEST_F(DataCommandTest, ValidationFilesMayBeRepeatedAndLeaveThePathsAlone) {
  const std::string a = folder_.Write("a.txt", "aa");
  const std::string b = folder_.Write("b.txt", "b");
  const std::string c = folder_.Write("c.txt", "c");
  EXPECT_EQ(Run({"--output", folder_ / "out", "--val", b, "--val", c, a, "-o", "json"}), 0);
  EXPECT_EQ(Json::parse(out_.str())["train_tokens"], 3);
  EXPECT_EQ(Json::parse(out_.str())["val_tokens"], 4);
}

TEST_F(DataCommandTest, EncodesWithTheVocabularyThatItIsGiven) {
  const std::string text = folder_.Write("a.txt", "hello hell");
  const std::string merges =
      folder_.Write("vocab.bpe", "#version: 0.2\nh e\nl l\nhe ll\n\xc4\xa0 hell\n");
  EXPECT_EQ(Run({"--output", folder_ / "out", "--tokenizer", "gpt2", "--vocab", merges,
                 "--val-fraction", "0", "--threads", "2", text, "-o", "json"}),
            0)
      << err_.str();
  const Json result = Json::parse(out_.str());
  EXPECT_EQ(result["vocabulary"], 256 + 4 + 1);
  EXPECT_EQ(result["train_tokens"], 4) << "end of text, hell, o, and hell after a space";
}

TEST_F(DataCommandTest, DrawsABarOnlyOnATerminal) {
  const std::string text = folder_.Write("a.txt", "hello");
  EXPECT_EQ(
      Run({"--output", folder_ / "plain", "--tokenizer", "byte", "--val-fraction", "0", text}), 0);
  EXPECT_EQ(err_.str().find('\r'), std::string::npos);
  tty_ = true;
  EXPECT_EQ(Run({"--output", folder_ / "tty", "--val-fraction", "0", text}), 0);
  EXPECT_NE(err_.str().find("[####"), std::string::npos);
}

TEST_F(DataCommandTest, MistakesExitTwoAndCtrlCExits130) {
  const std::string text = folder_.Write("a.txt", "hello");
  EXPECT_EQ(Run({"--output", folder_ / "out", folder_ / "absent"}), 2);
  EXPECT_NE(err_.str().find("absent"), std::string::npos);
  EXPECT_EQ(Run({text}), 2);
  EXPECT_EQ(Run({"--output", folder_ / "out", "--tokenizer", "klingon", text}), 2);
  EXPECT_EQ(Run({"--output", folder_ / "out", "--format", "csv", text}), 2);
  EXPECT_NE(err_.str().find("use bin or npy"), std::string::npos) << err_.str();
  EXPECT_EQ(Run({"--output", folder_ / "out", "--val", text, "--val-first-shard", text}), 2);
  interrupt_.Trigger();
  EXPECT_EQ(Run({"--output", folder_ / "out", text}), 130);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "out"));
}

}  // namespace
}  // namespace dt::cli
