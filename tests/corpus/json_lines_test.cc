// json_lines_test.cc: lines of JSON, well-formed and not, and complete files of them.
#include "corpus/json_lines.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "corpus/tokenize.h"
#include "tests/corpus/tokenize_fixture.h"

namespace dt::corpus {
namespace {

TEST(JsonLineTest, TheTextIsTheStringInTheField) {
  EXPECT_EQ(*TextOfJsonLine(R"({"text": "a\nb\u00e9\ud83d\ude00", "id": 1})", "text"),
            "a\nb\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(
      *TextOfJsonLine(R"({"meta": {"text": "no"}, "l": [{"text": 1}], "text": "yes"})", "text"),
      "yes");
  EXPECT_EQ(*TextOfJsonLine(R"({"content": "c", "text": null})", "content"), "c");
  EXPECT_EQ(*TextOfJsonLine("{\"text\": \"\"}\r", "text"), "");
}

TEST(JsonLineTest, AnErrorIsExplained) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"text": "a)", "not JSON at byte"},
      {R"({"text": "a"} x)", "not JSON at byte 15"},
      {R"({"text": "a", })", "not JSON"},
      {"{\"text\": \"\xFF\"}", "not JSON"},
      {R"({"text": "\ud800"})", "not JSON"},
      {"plain words", "not JSON at byte 1"},
      {R"(["text"])", "is an array and no object"},
      {R"("text")", "is a string and no object"},
      {"3", "is a number and no object"},
      {R"({"body": "a"})", "has no field \"text\""},
      {R"({"text": 5})", "has in field \"text\" a number and no text"},
      {R"({"text": ["a"]})", "an array and no text"},
      {R"({"text": {"text": "a"}})", "an object and no text"},
      {R"({"text": "a", "text": null})", "null and no text"}};
  for (const auto& [line, reason] : wrong) {
    const absl::StatusOr<std::string> read = TextOfJsonLine(line, "text");
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_EQ(read.status().code(), kDataError);
    EXPECT_NE(read.status().message().find(reason), std::string::npos) << read.status();
  }
}

TEST(JsonLineTest, AMessageDoesNotRepeatALongLine) {
  const std::string line = "{\"text\": \"" + std::string(1 << 20, 'x') + "\x01\"}";
  EXPECT_LT(TextOfJsonLine(line, "text").status().message().size(), 400u);
  const std::string deep(1 << 20, '[');
  EXPECT_FALSE(TextOfJsonLine("{\"text\": " + deep, "text").ok());
}

class JsonLinesTest : public TokenizeFixture {
 protected:
  JsonLinesTest() {
    options_.existing = Existing::kReplace;
    options_.shard_tokens = 1 << 20;
  }
};

TEST_F(JsonLinesTest, EachLineIsADocumentBesideFilesOfText) {
  folder_.Write("in/a.jsonl", "{\"text\":\"one\"}\n\n  \r\n{\"text\":\"\"}\n{\"text\":\"two\"}");
  folder_.Write("in/b.txt", "three");
  folder_.Write("in/c.json-lines", "{\"text\":\"four\"}\n");
  options_.inputs = {folder_ / "in"};
  const TokenizeSummary summary = Run();
  EXPECT_EQ(Text(summary.train_files), "|one|two|three|four");
  EXPECT_EQ(summary.documents, 4u);
  EXPECT_EQ(summary.skipped, 1u) << "the empty text";
}

TEST_F(JsonLinesTest, ValidationIsSpreadOverTheLinesForAnyNumberOfThreads) {
  std::string lines;
  std::string texts;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = std::to_string(i) + std::string(static_cast<size_t>(i) % 700, 'x');
    lines += "{\"text\":\"" + text + "\"}\n";
    texts += "|" + text;
  }
  options_.inputs = {folder_.Write("a.jsonl", lines)};
  options_.shard_tokens = 1 << 24;
  EXPECT_EQ(Text(Run().train_files), texts);
  options_.validation_fraction = 0.1;
  const TokenizeSummary one = Run();
  const std::string train = Text(one.train_files);
  const std::string val = Text(one.val_files);
  EXPECT_EQ(train.size() + val.size(), texts.size());
  EXPECT_NEAR(static_cast<double>(val.size()) / static_cast<double>(texts.size()), 0.1, 0.005);
  EXPECT_NE(val.find("|19"), std::string::npos) << "up to the end of the file";
  options_.threads = 3;
  const TokenizeSummary three = Run();
  EXPECT_TRUE(Text(three.train_files) == train);
  EXPECT_TRUE(Text(three.val_files) == val);
}

TEST_F(JsonLinesTest, LinesLongerThanTheReadBufferAreComplete) {
  const std::string text(5 << 20, 'y');
  options_.inputs = {folder_.Write("a.jsonl", "{\"text\":\"" + text + "\"}\n{\"text\":\"z\"}\n")};
  options_.shard_tokens = 1 << 24;
  EXPECT_TRUE(Text(Run().train_files) == "|" + text + "|z");
}

TEST_F(JsonLinesTest, AValidationFileOfLinesIsAllForValidation) {
  options_.inputs = {folder_.Write("a.jsonl", "{\"body\":\"train\"}\n")};
  options_.validation_inputs = {folder_.Write("b.jsonl", "{\"body\":\"v\"}\n{\"body\":\"w\"}\n")};
  options_.validation = Validation::kFiles;
  options_.text_field = "body";
  const TokenizeSummary summary = Run();
  EXPECT_EQ(Text(summary.train_files), "|train");
  EXPECT_EQ(Text(summary.val_files), "|v|w");
}

TEST_F(JsonLinesTest, AMalformedLineIsNamedByFileAndNumberAndLeavesNothing) {
  const std::string path = folder_.Write("a.jsonl", "{\"text\":\"a\"}\n\n{\"txt\":\"b\"}\n");
  options_.inputs = {path};
  const absl::StatusOr<TokenizeSummary> summary = TokenizeFiles(options_, nullptr);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.status().message(),
            path + ":3: has no field \"text\"; --text-field names the one that has the text");
  EXPECT_EQ(summary.status().code(), kDataError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/train_000000.bin"));
}

TEST_F(JsonLinesTest, ALineBeyondTheLimitIsRefusedBeforeItIsInMemory) {
  const std::string path = folder_.Write("a.jsonl", "{\"text\":\"a\"}\n");
  std::filesystem::resize_file(path, uint64_t{1} << 30);  // zeros, without a line end
  options_.inputs = {path};
  const absl::StatusOr<TokenizeSummary> summary = TokenizeFiles(options_, nullptr);
  ASSERT_FALSE(summary.ok());
  EXPECT_NE(summary.status().message().find(":2: longer than 100 MiB"), std::string::npos)
      << summary.status();
}

}  // namespace
}  // namespace dt::corpus
