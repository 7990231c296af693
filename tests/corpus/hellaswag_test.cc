#include "corpus/hellaswag.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/testing/temp_folder.h"

namespace dt::corpus {
namespace {

using ::dt::testing::TempFolder;
using Words = std::vector<uint16_t>;

// Returns one example as llm.c packs it.
Words Packed(uint16_t index, uint16_t label, const Words& context,
             const std::vector<Words>& endings) {
  Words words = {65535, 0, index, label, static_cast<uint16_t>(endings.size())};
  const auto add = [&](const Words& text) {
    words.push_back(static_cast<uint16_t>(text.size()));
    words.insert(words.end(), text.begin(), text.end());
  };
  add(context);
  for (const Words& ending : endings) add(ending);
  words[1] = static_cast<uint16_t>(2 * words.size());
  return words;
}
Words TwoExamples() {
  Words words = Packed(0, 2, {10, 11}, {{1}, {2, 3}, {4}, {5, 6, 7}});
  const Words second = Packed(1, 0, {12}, {{1}, {2}, {3}, {4}});
  words.insert(words.end(), second.begin(), second.end());
  return words;
}

class HellaSwagTest : public ::testing::Test {
 protected:
  std::string WritePacked(const Words& words, int32_t examples = 2, int32_t version = 1) {
    std::string bytes(1024, '\0');
    const int32_t header[4] = {20240522, version, examples, 100};
    bytes.replace(0, sizeof(header), reinterpret_cast<const char*>(header), sizeof(header));
    bytes.append(reinterpret_cast<const char*>(words.data()), 2 * words.size());
    return folder_.Write("hellaswag.bin", bytes);
  }
  void ExpectRefused(const std::string& path, const std::string& said) {
    TextCodec codec;
    const auto refused = ReadHellaSwag(path, &codec, 257);
    ASSERT_FALSE(refused.ok()) << said;
    EXPECT_EQ(refused.status().code(), kDataError);
    EXPECT_NE(refused.status().message().find(said), std::string::npos) << refused.status();
  }
  TempFolder folder_;
};

TEST_F(HellaSwagTest, ReadsThePackedFile) {
  const auto examples = ReadHellaSwag(WritePacked(TwoExamples()), nullptr, 257);
  ASSERT_TRUE(examples.ok()) << examples.status();
  ASSERT_EQ(examples->size(), 2u);
  const HellaSwagExample& first = (*examples)[0];
  EXPECT_EQ(first.context, (Words{10, 11}));
  EXPECT_EQ(first.endings[3], (Words{5, 6, 7}));
  EXPECT_EQ(first.label, 2);
  EXPECT_EQ((*examples)[1].label, 0);
}

TEST_F(HellaSwagTest, ReadsTheOriginalLinesWithASpaceBeforeEachEnding) {
  const std::string path = folder_.Write(
      "hellaswag.jsonl",
      "{\"ind\": 24, \"ctx_a\": \"A\", \"ctx\": \"A man\", \"endings\": [\"runs.\", \"é\", \"a\", "
      "\"b\"], \"label\": 1}\n\n"
      "{\"ctx\": \"B\", \"endings\": [\"1\", \"2\", \"3\", \"4\"], \"label\": 3}");
  ASSERT_TRUE(*IsHellaSwagText(path));
  TextCodec codec;
  const auto examples = ReadHellaSwag(path, &codec, 257);
  ASSERT_TRUE(examples.ok()) << examples.status();
  ASSERT_EQ(examples->size(), 2u);
  EXPECT_EQ(codec.Decode((*examples)[0].context), "A man");
  EXPECT_EQ(codec.Decode((*examples)[0].endings[0]), " runs.");
  EXPECT_EQ(codec.Decode((*examples)[0].endings[1]), " é");
  EXPECT_EQ((*examples)[0].label, 1);
  EXPECT_EQ((*examples)[1].label, 3);
}

TEST_F(HellaSwagTest, ALabelMayBeATextOfItsDigits) {
  TextCodec codec;
  const std::string path = folder_.Write(
      "a.jsonl", "{\"ctx\": \"c\", \"label\": \"3\", \"endings\": [\"a\", \"b\", \"c\", \"d\"]}\n");
  const auto examples = ReadHellaSwag(path, &codec, 257);
  ASSERT_TRUE(examples.ok()) << examples.status();
  EXPECT_EQ((*examples)[0].label, 3);
  for (const char* label : {"\"\"", "\"x\"", "\"1x\"", "null"}) {
    ExpectRefused(folder_.Write("b.jsonl", std::string("{\"ctx\": \"c\", \"label\": ") + label +
                                               ", \"endings\": [\"a\", \"b\", \"c\", \"d\"]}\n"),
                  "line 1");
  }
}

TEST_F(HellaSwagTest, RefusesPackedFilesThatLie) {
  const Words good = TwoExamples();
  const auto with = [&](const std::function<void(Words&)>& change) {
    Words words = good;
    change(words);
    return words;
  };
  ExpectRefused(WritePacked(good, 3), "it has 2 examples and says 3");
  ExpectRefused(WritePacked({}, 0), "it has no examples");
  ExpectRefused(WritePacked(good, 2, 2), "version 2; only 1 is read");
  ExpectRefused(WritePacked(with([](Words& w) { w[0] = 1; })), "does not begin as an example");
  ExpectRefused(WritePacked(with([](Words& w) { w[1] = 2; })), "does not begin as an example");
  ExpectRefused(WritePacked(with([](Words& w) { w[1] = 60000; })), "or is cut off");
  ExpectRefused(WritePacked(with([](Words& w) { w.pop_back(); })), "example 1: it does not begin");
  ExpectRefused(WritePacked(with([](Words& w) { w[3] = 4; })), "its label is 4");
  ExpectRefused(WritePacked(with([](Words& w) { w[4] = 5; })), "does not have four endings");
  ExpectRefused(WritePacked(with([](Words& w) { w[5] = 3; })), "not as long as it says");
  ExpectRefused(WritePacked(with([](Words& w) { w[5] = 65535; })), "not as long as it says");
  ExpectRefused(WritePacked(with([](Words& w) { w[6] = 300; })), "it has id 300; model.vocab_size");
  ExpectRefused(WritePacked(Packed(0, 0, {}, {{1}, {2}, {3}, {4}}), 1), "its context is empty");
  ExpectRefused(WritePacked(Packed(0, 0, {1}, {{1}, {}, {3}, {4}}), 1), "an ending is empty");
  ExpectRefused(folder_.Write("short", std::string("\x8a\xd8\x34\x01")), "is cut off: 4 bytes");
}

TEST_F(HellaSwagTest, RefusesLinesThatAreNoExamplesByNumber) {
  const std::string good =
      "{\"ctx\": \"B\", \"endings\": [\"1\", \"2\", \"3\", \"4\"], \"label\": 3}\n";
  for (const char* bad :
       {"{", "{}", "{\"ctx\": \"B\", \"endings\": [\"1\", \"2\", \"3\"], \"label\": 0}",
        "{\"ctx\": 1, \"endings\": [\"1\", \"2\", \"3\", \"4\"], \"label\": 0}",
        "{\"ctx\": \"B\", \"endings\": [\"1\", \"2\", \"3\", 4], \"label\": 0}",
        "{\"ctx\": \"B\", \"endings\": [\"1\", \"2\", \"3\", \"4\"], \"label\": \"no\"}"}) {
    ExpectRefused(folder_.Write("bad.jsonl", good + bad), "line 2: it is not an object with");
  }
  ExpectRefused(folder_.Write("bad.jsonl", good + good.substr(0, good.size() - 3) + "4}"),
                "line 2: its label is 4");
  ExpectRefused(folder_.Write("bad.jsonl",
                              "{\"ctx\": \"\", \"endings\": [\"1\", \"2\", \"3\", "
                              "\"4\"], \"label\": 3}"),
                "line 1: its context is empty");
  ExpectRefused(folder_.Write("empty", ""), "is not a HellaSwag file");
  ExpectRefused(folder_ / "absent", "absent");
}

TEST(TextCodecTest, BytesComeBackAsTheyWere) {
  TextCodec codec;
  const std::string text = "a\xff é\n";
  const std::vector<uint16_t> ids = codec.Encode(text);
  EXPECT_EQ(ids.size(), text.size());
  EXPECT_EQ(codec.Decode(ids), text);
  EXPECT_EQ(codec.Decode(std::vector<uint16_t>{codec.end_of_text(), 'x', 300}), "x");
}

}  // namespace
}  // namespace dt::corpus
