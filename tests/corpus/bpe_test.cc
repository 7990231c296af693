// bpe_test.cc: GPT-2's splitter and merges: by hand on small vocabularies, against a naive
// reference on random texts, and against the published counts on WikiText-2.
#include "corpus/bpe.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "common/sha256.h"
#include "tests/testing/shared_data.h"

namespace dt::corpus {
namespace {

using ::dt::testing::SharedData;

// Letters that merge in several ways; Ġ is the space.
constexpr char kSmall[] =
    "#version: 0.2\n"
    "a b\n"
    "b c\n"
    "a a\n"
    "ab c\n"
    "aa aa\n"
    "\xC4\xA0 a\n"
    "\xC4\xA0 ab\n"
    "c a\n"
    "ca ca\n"
    "\xC4\xA0 \xC4\xA0\n";

BpeVocabulary Small() {
  Result<BpeVocabulary> made = BpeVocabulary::Parse(kSmall, "small");
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}

std::vector<uint16_t> Encode(const BpeVocabulary& vocabulary, std::string_view text) {
  std::vector<uint16_t> ids;
  BpeEncoder(vocabulary).Append(text, ids);
  return ids;
}

std::vector<std::string> Pieces(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t bytes = FirstPiece(text);
    pieces.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return pieces;
}

using Texts = std::vector<std::string>;

// The definition: again and again the oldest merge there is, leftmost first.
class Reference {
 public:
  explicit Reference(const BpeVocabulary& vocabulary) {
    for (int id = 0; id + 1 < vocabulary.size(); ++id) {
      ids_[std::string(vocabulary.BytesOf(static_cast<uint16_t>(id)))] = static_cast<uint16_t>(id);
    }
  }
  std::vector<uint16_t> Encode(std::string_view text) const {
    std::vector<uint16_t> ids;
    for (const std::string& piece : Pieces(text)) {
      std::vector<std::string> parts;
      for (const char byte : piece) parts.emplace_back(1, byte);
      for (;;) {
        size_t best = parts.size();
        int rank = 1 << 20;
        for (size_t i = 0; i + 1 < parts.size(); ++i) {
          const auto found = ids_.find(parts[i] + parts[i + 1]);
          if (found != ids_.end() && found->second < rank && Merges(parts[i], parts[i + 1])) {
            best = i;
            rank = found->second;
          }
        }
        if (best == parts.size()) break;
        parts[best] += parts[best + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      }
      for (const std::string& part : parts) ids.push_back(ids_.at(part));
    }
    return ids;
  }
  // Only the pair a token was made from merges into it.
  void Allow(const std::string& left, const std::string& right) { pairs_.insert({left, right}); }

 private:
  bool Merges(const std::string& left, const std::string& right) const {
    return pairs_.contains({left, right});
  }
  std::map<std::string, uint16_t> ids_;
  std::set<std::pair<std::string, std::string>> pairs_;
};

Reference SmallReference(const BpeVocabulary& vocabulary) {
  Reference reference(vocabulary);
  for (const auto& [left, right] : std::vector<std::pair<std::string, std::string>>{{"a", "b"},
                                                                                    {"b", "c"},
                                                                                    {"a", "a"},
                                                                                    {"ab", "c"},
                                                                                    {"aa", "aa"},
                                                                                    {" ", "a"},
                                                                                    {" ", "ab"},
                                                                                    {"c", "a"},
                                                                                    {"ca", "ca"},
                                                                                    {" ", " "}}) {
    reference.Allow(left, right);
  }
  return reference;
}

// ---- the splitter ----

TEST(SplitTest, WordsTakeTheSpaceBeforeThem) {
  EXPECT_EQ(Pieces("Hello world  again"), (Texts{"Hello", " world", " ", " again"}));
  EXPECT_EQ(Pieces(" a1b2 3.5%"), (Texts{" a", "1", "b", "2", " 3", ".", "5", "%"}));
}

TEST(SplitTest, SevenContractionsInLowerCaseStandAlone) {
  EXPECT_EQ(Pieces("it's we're I'll I'd you've don't I'm"),
            (Texts{"it", "'s", " we", "'re", " I", "'ll", " I", "'d", " you", "'ve", " don", "'t",
                   " I", "'m"}));
  EXPECT_EQ(Pieces("IT'S 'sun ''s"), (Texts{"IT", "'", "S", " '", "sun", " ''", "s"}));
  EXPECT_EQ(Pieces("'r 'v 'l '"), (Texts{"'", "r", " '", "v", " '", "l", " '"}));
  EXPECT_EQ(Pieces("'"), (Texts{"'"}));
}

TEST(SplitTest, OfARunOfSpacesTheLastGoesToTheWord) {
  EXPECT_EQ(Pieces("a    b"), (Texts{"a", "   ", " b"}));
  EXPECT_EQ(Pieces("a\n\n\nb"), (Texts{"a", "\n\n", "\n", "b"}));
  EXPECT_EQ(Pieces("a\tb"), (Texts{"a", "\t", "b"}));
  EXPECT_EQ(Pieces("a \n"), (Texts{"a", " \n"}));
  EXPECT_EQ(Pieces("   "), (Texts{"   "}));
  EXPECT_EQ(Pieces(" "), (Texts{" "}));
}

TEST(SplitTest, EveryKindOfWhiteSpaceIsSpaceAndOnlyTheAsciiOneJoinsAWord) {
  for (const char* space : {"\t", "\n", "\v", "\f", "\r", "\xC2\x85", "\xC2\xA0", "\xE1\x9A\x80",
                            "\xE2\x80\x80", "\xE2\x80\x8A", "\xE2\x80\xA8", "\xE2\x80\xA9",
                            "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"}) {
    const std::string s = space;
    EXPECT_EQ(Pieces("a" + s + "b"), (Texts{"a", s, "b"}));
    EXPECT_EQ(Pieces("a " + s + s + "b"), (Texts{"a", " " + s, s, "b"}));
  }
  // Zero width space and the separators of ASCII are none.
  EXPECT_EQ(Pieces("a\xE2\x80\x8B"), (Texts{"a", "\xE2\x80\x8B"}));
  EXPECT_EQ(Pieces("a\x1C"), (Texts{"a", "\x1C"}));
}

TEST(SplitTest, LettersAndNumbersOfEveryScriptAre) {
  EXPECT_EQ(Pieces("\xD0\x9F\xD1\x80 \xE4\xB8\xAD\xE6\x96\x87\xC2\xB2\xE2\x85\xA7!"),
            (Texts{"\xD0\x9F\xD1\x80", " \xE4\xB8\xAD\xE6\x96\x87", "\xC2\xB2\xE2\x85\xA7", "!"}));
  EXPECT_EQ(Pieces("\xF0\x9F\x98\x80x"), (Texts{"\xF0\x9F\x98\x80", "x"}));
}

TEST(SplitTest, BytesThatAreNoUtf8AreOtherCharacters) {
  EXPECT_EQ(Pieces("a\xFF\xC3"), (Texts{"a", "\xFF\xC3"}));
  EXPECT_EQ(Pieces("\xC0\xA0z"), (Texts{"\xC0\xA0", "z"}));          // overlong space
  EXPECT_EQ(Pieces("\xED\xA0\x80 "), (Texts{"\xED\xA0\x80", " "}));  // a surrogate
  EXPECT_EQ(Pieces("\xF5\x80"), (Texts{"\xF5\x80"}));
}

TEST(SplitTest, ACutAtASafeEndChangesNothing) {
  std::mt19937 random(7);
  const Texts parts = {"a", "b'", "s", " ", "\n", "1", "\xC2\xA0", "\xD0\xB6", "\xFF", "'ll", "."};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) text += parts[random() % parts.size()];
    const size_t cut = SafeEnd(text);
    if (cut == 0) continue;
    Texts halves = Pieces(std::string_view(text).substr(0, cut));
    for (const std::string& piece : Pieces(std::string_view(text).substr(cut))) {
      halves.push_back(piece);
    }
    EXPECT_EQ(halves, Pieces(text)) << text << " cut at " << cut;
  }
  EXPECT_EQ(SafeEnd("no place"), 2u);
  EXPECT_EQ(SafeEnd("noplace"), 0u);
  EXPECT_EQ(SafeEnd("  x"), 0u);
}

// ---- the merges ----

TEST(BpeTest, OlderMergesComeFirst) {
  const BpeVocabulary small = Small();
  const auto text_of = [&small](std::string_view text) {
    Texts texts;
    for (const uint16_t id : Encode(small, text)) texts.emplace_back(small.BytesOf(id));
    return texts;
  };
  EXPECT_EQ(text_of("abc"), (Texts{"abc"}));  // a b, then ab c
  EXPECT_EQ(text_of("bcab"), (Texts{"bc", "ab"}));
  EXPECT_EQ(text_of("aaa"), (Texts{"aa", "a"}));  // of equal merges the left one
  EXPECT_EQ(text_of("aaaaa"), (Texts{"aaaa", "a"}));
  EXPECT_EQ(text_of("x ab"), (Texts{"x", " ab"}));
}

TEST(BpeTest, RandomTextsAreEncodedAsTheDefinitionSays) {
  const BpeVocabulary small = Small();
  const Reference reference = SmallReference(small);
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    const size_t length = 1 + random() % 40;
    for (size_t i = 0; i < length; ++i) text += "aaabbcc ."[random() % 9];
    ASSERT_EQ(Encode(small, text), reference.Encode(text)) << text;
  }
}

TEST(BpeTest, EveryTextComesBack) {
  const BpeVocabulary small = Small();
  std::mt19937 random(13);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (size_t i = random() % 60; i > 0; --i) text += static_cast<char>(random() & 0xFF);
    EXPECT_EQ(small.Decode(Encode(small, text)), text);
  }
}

TEST(BpeTest, AnEncoderThatRemembersWordsEncodesAsAFreshOne) {
  const BpeVocabulary small = Small();
  BpeEncoder old(small);
  std::mt19937 random(17);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (size_t i = random() % 50; i > 0; --i) text += "abc  '"[random() % 6];
    std::vector<uint16_t> ids = {42};
    old.Append(text, ids);
    std::vector<uint16_t> fresh = {42};
    BpeEncoder(small).Append(text, fresh);
    ASSERT_EQ(ids, fresh) << text;
  }
}

TEST(BpeTest, ALineOfManyMegabytesIsEncoded) {
  const BpeVocabulary small = Small();
  const std::string line(size_t{16} << 20, 'a');
  const std::vector<uint16_t> ids = Encode(small, line);
  EXPECT_EQ(ids.size(), line.size() / 4);
}

TEST(BpeTest, FilesThatAreNoVocabularyAreRefusedAtTheirLine) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", ":1:"},
      {"a b\n", ":1:"},
      {"#version: 0.2\n", "0 merges"},
      {"#version: 0.2\na b\nab\n", ":3:"},
      {"#version: 0.2\na b\nab zz\n", ":3:"},
      {"#version: 0.2\na b\na b\n", ":3:"},
      {"#version: 0.2\na \xE4\xB8\xAD\n", ":2:"}};
  for (const auto& [text, place] : wrong) {
    const Result<BpeVocabulary> read = BpeVocabulary::Parse(text, "v");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::kData);
    EXPECT_NE(read.error().message.find(place), std::string::npos) << read.error().message;
  }
}

// ---- GPT-2's own vocabulary ----

class Gpt2Test : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto path = SharedData("gpt2/vocab.bpe");
    if (!path) GTEST_SKIP() << "no ../shared/data/gpt2/vocab.bpe here";
    Result<BpeVocabulary> read = BpeVocabulary::Open(*path);
    ASSERT_TRUE(read.ok()) << read.error().message;
    vocabulary_ = std::make_unique<BpeVocabulary>(*std::move(read));
  }
  std::unique_ptr<BpeVocabulary> vocabulary_;
};

TEST_F(Gpt2Test, HasTheKnownIds) {
  EXPECT_EQ(vocabulary_->size(), 50257);
  EXPECT_EQ(vocabulary_->end_of_text(), 50256);
  EXPECT_EQ(Encode(*vocabulary_, "Hello, world!\n"),
            (std::vector<uint16_t>{15496, 11, 995, 0, 198}));
  EXPECT_EQ(Encode(*vocabulary_, "    return x"),
            (std::vector<uint16_t>{220, 220, 220, 1441, 2124}));
}

TEST_F(Gpt2Test, WikiText2HasThePublishedTokens) {
  struct Known {
    const char* file;
    size_t tokens;
    const char* sha;
  };
  for (const Known& known : {Known{"wikitext-2/train.txt", 2448382, "72800bcbc07a134a"},
                             Known{"wikitext-2/valid.txt", 258659, "17bc83b54d943c68"},
                             Known{"wikitext-2/test.txt", 295877, "33d3634d89dfb45a"}}) {
    const auto path = SharedData(known.file);
    if (!path) GTEST_SKIP() << "no " << known.file << " here";
    std::ifstream file(*path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::vector<uint16_t> ids = Encode(*vocabulary_, text);
    EXPECT_EQ(ids.size(), known.tokens) << known.file;
    const std::string bytes(reinterpret_cast<const char*>(ids.data()), ids.size() * 2);
    EXPECT_EQ(Sha256Hex(bytes).substr(0, 16), known.sha) << known.file;
    EXPECT_EQ(vocabulary_->Decode(ids), text);
  }
}

}  // namespace
}  // namespace dt::corpus
