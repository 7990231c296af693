// bpe_test.cc: GPT-2's splitter and merges: by hand on small vocabularies, against a naive
// reference on random texts, and against the published counts on WikiText-2.
#include "corpus/bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "common/sha256.h"
#include "tests/corpus/bpe_reference.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/temp_folder.h"

namespace dt::corpus {
namespace {

using ::dt::testing::SharedData;
using ::dt::testing::Slurp;

#ifdef DTRAIN_SANITIZE
constexpr size_t kLineBytes = 10'000'000;  // a sanitizer takes twenty times as long
#else
constexpr size_t kLineBytes = 100'000'000;
#endif

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
  absl::StatusOr<BpeVocabulary> made = BpeVocabulary::Parse(kSmall, "small");
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

std::vector<uint16_t> Encode(BpeEncoder& encoder, std::string_view text) {
  std::vector<uint16_t> ids;
  encoder.Append(text, ids);
  return ids;
}
// Encodes with a new encoder, whose 4 MiB take longer than a short text.
std::vector<uint16_t> Encode(const BpeVocabulary& vocabulary, std::string_view text) {
  BpeEncoder encoder(vocabulary);
  return Encode(encoder, text);
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

std::vector<uint16_t> ByDefinition(const BpeReference& reference, std::string_view text) {
  std::vector<uint16_t> ids;
  for (const std::string& piece : Pieces(text)) {
    const std::vector<uint16_t> more = reference.Encode(piece);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

// Returns runs, single bytes and repeated pairs of few distinct bytes, as a single piece could have
// them.
std::string FewBytes(std::mt19937& random, std::string_view bytes, size_t size) {
  std::string text;
  while (text.size() < size) {
    const std::string one(1, bytes[random() % bytes.size()]);
    const std::string two = one + bytes[random() % bytes.size()];
    switch (random() % 4) {
      case 0:
        text += one;
        break;
      case 1:
        text += std::string(random() % 90, one[0]);
        break;
      default:
        for (size_t i = random() % 20; i > 0; --i) text += two;
    }
  }
  return text.substr(0, size);
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

TEST(SplitTest, TheLastOfARunOfSpacesGoesToTheWord) {
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
    std::string twice = "a ";
    twice.append(s).append(s).append("b");
    EXPECT_EQ(Pieces(twice), (Texts{"a", " " + s, s, "b"}));
  }
  // A zero-width space and ASCII's separators do not count as white space.
  EXPECT_EQ(Pieces("a\xE2\x80\x8B"), (Texts{"a", "\xE2\x80\x8B"}));
  EXPECT_EQ(Pieces("a\x1C"), (Texts{"a", "\x1C"}));
}

TEST(SplitTest, LettersAndNumbersOfEveryScriptAreRecognised) {
  EXPECT_EQ(Pieces("\xD0\x9F\xD1\x80 \xE4\xB8\xAD\xE6\x96\x87\xC2\xB2\xE2\x85\xA7!"),
            (Texts{"\xD0\x9F\xD1\x80", " \xE4\xB8\xAD\xE6\x96\x87", "\xC2\xB2\xE2\x85\xA7", "!"}));
  EXPECT_EQ(Pieces("\xF0\x9F\x98\x80x"), (Texts{"\xF0\x9F\x98\x80", "x"}));
}

TEST(SplitTest, InvalidUtf8CountsAsOtherCharacters) {
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
  EXPECT_EQ(text_of("aaa"), (Texts{"aa", "a"}));  // of equal merges the left one comes first
  EXPECT_EQ(text_of("aaaaa"), (Texts{"aaaa", "a"}));
  EXPECT_EQ(text_of("x ab"), (Texts{"x", " ab"}));
}

TEST(BpeTest, RandomTextsAreEncodedAsTheDefinitionSays) {
  const BpeVocabulary small = Small();
  const BpeReference reference(kSmall, small);
  BpeEncoder encoder(small);
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    const size_t length = 1 + random() % 40;
    for (size_t i = 0; i < length; ++i) text += "aaabbcc ."[random() % 9];
    ASSERT_EQ(Encode(encoder, text), ByDefinition(reference, text)) << text;
  }
}

// Vocabularies that no training would make: tokens that no text reaches, paths that end nowhere.
TEST(BpeTest, RandomMergesGiveTheDefinitionsEncoding) {
  std::mt19937 random(19);
  for (int round = 0; round < 400; ++round) {
    const std::string letters = round % 2 == 0 ? "ab" : "abc";
    std::vector<std::string> tokens;
    for (const char letter : letters) tokens.emplace_back(1, letter);
    std::string merges = "#version: 0.2\n";
    for (size_t left = 1 + random() % 40; left > 0; --left) {
      const std::string& a = tokens[random() % tokens.size()];
      const std::string& b = tokens[random() % tokens.size()];
      const std::string made = a + b;
      if (made.size() > 24 || std::count(tokens.begin(), tokens.end(), made) > 0) continue;
      merges.append(a).append(" ").append(b).append("\n");
      tokens.push_back(made);
    }
    if (tokens.size() == letters.size()) continue;  // a vocabulary needs merges
    const absl::StatusOr<BpeVocabulary> vocabulary = BpeVocabulary::Parse(merges, "random");
    ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
    const BpeReference reference(merges, *vocabulary);
    BpeEncoder encoder(*vocabulary);
    for (int i = 0; i < 60; ++i) {
      const size_t size = 1 + random() % (i % 6 == 0 ? 300 : 40);
      std::string text = FewBytes(random, letters, size);
      if (i % 2 == 0) std::shuffle(text.begin(), text.end(), random);
      ASSERT_EQ(Encode(encoder, text), reference.Encode(text)) << text << "\n" << merges;
    }
  }
}

TEST(BpeTest, EveryTextDecodesToItself) {
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

TEST(BpeTest, ALineOfAHundredMegabytesIsEncoded) {
  const BpeVocabulary small = Small();
  const std::string line(kLineBytes, 'a');
  const std::vector<uint16_t> ids = Encode(small, line);
  EXPECT_EQ(ids.size(), line.size() / 4);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), ids[0]), std::ssize(ids));
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
    const absl::StatusOr<BpeVocabulary> read = BpeVocabulary::Parse(text, "v");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), kDataError);
    EXPECT_NE(read.status().message().find(place), std::string::npos) << read.status();
  }
}

// ---- GPT-2's own vocabulary ----

class Gpt2Test : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto path = SharedData("gpt2/vocab.bpe");
    if (!path) GTEST_SKIP() << "no ../shared/data/gpt2/vocab.bpe here";
    merges_ = Slurp(*path);
    absl::StatusOr<BpeVocabulary> read = BpeVocabulary::Open(*path);
    ASSERT_TRUE(read.ok()) << read.status();
    vocabulary_ = std::make_unique<BpeVocabulary>(*std::move(read));
  }
  std::string merges_;
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
    const std::string text = Slurp(*path);
    const std::vector<uint16_t> ids = Encode(*vocabulary_, text);
    EXPECT_EQ(ids.size(), known.tokens) << known.file;
    const std::string bytes(reinterpret_cast<const char*>(ids.data()), ids.size() * 2);
    EXPECT_EQ(Sha256Hex(bytes).substr(0, 16), known.sha) << known.file;
    EXPECT_EQ(vocabulary_->Decode(ids), text);
  }
}

TEST_F(Gpt2Test, HostilePiecesAreEncodedAsTheDefinitionSays) {
  const BpeReference reference(merges_, *vocabulary_);
  BpeEncoder encoder(*vocabulary_);
  std::mt19937 random(23);
  for (const char* bytes : {"-",
                            "=",
                            " ",
                            "*",
                            "-=",
                            "-=*_#",
                            " \n",
                            " \t\xC2\xA0",
                            "\xC3\x83\xC2\x82",
                            "\xC3\x83\x82",
                            "a",
                            "ab",
                            "in",
                            "aeiounst",
                            "0",
                            "01",
                            "0123456789",
                            "\xFF\xFE",
                            "\xE3\x81\x82\xE3\x83",
                            ".'",
                            "x-= *"}) {
    for (int round = 0; round < 60; ++round) {
      std::string text = FewBytes(random, bytes, 1 + random() % (round % 10 == 0 ? 1500 : 150));
      if (round % 3 == 0) std::shuffle(text.begin(), text.end(), random);
      ASSERT_EQ(Encode(encoder, text), ByDefinition(reference, text)) << text;
    }
  }
  for (int round = 0; round < 1500; ++round) {  // random bytes, few or many different ones
    std::string bytes;
    for (size_t i = 1 + random() % 6; i > 0; --i) bytes += static_cast<char>(random());
    const std::string text = FewBytes(random, bytes, 1 + random() % 100);
    ASSERT_EQ(Encode(encoder, text), ByDefinition(reference, text)) << text;
  }
}

TEST_F(Gpt2Test, LinesOfAHundredMegabytesAreEncoded) {
  const struct {
    const char* repeated;
    size_t token_bytes;
  } lines[] = {{"-", 64}, {"a", 4}, {"\xC3\x83\xC3\x82", 128}};
  for (const auto& [repeated, token_bytes] : lines) {
    std::string line;
    while (line.size() < kLineBytes) line += repeated;
    const std::vector<uint16_t> ids = Encode(*vocabulary_, line);
    EXPECT_EQ(ids.size(), line.size() / token_bytes) << repeated;
    EXPECT_EQ(vocabulary_->BytesOf(ids[0]).size(), token_bytes);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), ids[0]), std::ssize(ids)) << repeated;
  }
}

}  // namespace
}  // namespace dt::corpus
