#include "corpus/unicode.h"

#include <gtest/gtest.h>

#include <string>

#include "common/sha256.h"
#include "corpus/bpe.h"

namespace dt::corpus {
namespace {

// tools/unicode_ranges.py --check prints this hash for the classes in tiktoken's regular
// expressions, which it tests for each code point.
TEST(UnicodeTest, EveryCodePointHasTheClassThatTiktokenGivesIt) {
  const std::string table(reinterpret_cast<const char*>(CharClasses()), 0x110000);
  EXPECT_EQ(Sha256Hex(table), "ba830e7f669dd0fcc40141409e2c8be621eead74b1d0d659dc89185f117d69c8");
}

TEST(UnicodeTest, LettersAndNumbersOfUnicode15And16AreRecognised) {
  const CharClass* const classes = CharClasses();
  for (const uint32_t letter : {0x31350, 0x2EBF0, 0x1E4D0, 0xA7CB, 0xA7CD, 0x10D4A}) {
    EXPECT_EQ(classes[letter], CharClass::kLetter) << std::hex << letter;
  }
  for (const uint32_t number : {0x1E4F0, 0x1D2C0, 0x1CCF9}) {
    EXPECT_EQ(classes[number], CharClass::kNumber) << std::hex << number;
  }
  EXPECT_EQ(classes[0x10FFFF], CharClass::kOther);
  EXPECT_EQ(FirstPiece("x\xF0\xB1\x8D\x90y!"), 6u) << "an ideograph of 2022 among letters";
}

}  // namespace
}  // namespace dt::corpus
