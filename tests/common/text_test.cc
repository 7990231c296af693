// text_test.cc: cleaning and cutting.
#include "common/text.h"

#include <gtest/gtest.h>

#include <string_view>
#include <tuple>

namespace dt {
namespace {

TEST(TextTest, MalformedUtf8IsReplacedByteByByte) {
  EXPECT_EQ(CleanText("gr\xc3\xbc\xc3\x9f", 100), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(CleanText("a\xff\xc0\xaf", 100), "a???");
  EXPECT_EQ(CleanText("\xed\xa0\x80", 100), "???") << "a surrogate";
  EXPECT_EQ(CleanText("ab\xc3", 100), "ab?") << "an unfinished character";
}

TEST(TextTest, ACutNeverGoesThroughACharacter) {
  EXPECT_EQ(CleanText("ab\xc3\xbc", 3), "ab");
  EXPECT_EQ(CleanText("ab\xc3\xbc", 4), "ab\xc3\xbc");
  EXPECT_EQ(CleanText("abc", 0), "");
  const std::string text = "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\xff z";
  for (size_t bytes = 0; bytes <= text.size(); ++bytes) {
    EXPECT_LE(CleanText(text, bytes).size(), bytes);
    EXPECT_TRUE(IsUtf8(CleanText(text, bytes))) << bytes;
  }
}

TEST(TextTest, ACharacterIsItsCodePointAndAStrayByteIsOneByItself) {
  const auto shown = [](std::string_view text) {
    const Character first = FirstCharacter(text);
    return std::tuple(first.code_point, first.bytes, first.well_formed);
  };
  EXPECT_EQ(shown("az"), std::tuple(0x61u, 1u, true));
  EXPECT_EQ(shown("\xc3\xbcz"), std::tuple(0xFCu, 2u, true));
  EXPECT_EQ(shown("\xe2\x82\xac"), std::tuple(0x20ACu, 3u, true));
  EXPECT_EQ(shown("\xf0\x9f\x98\x80"), std::tuple(0x1F600u, 4u, true));
  EXPECT_EQ(shown("\xed\xa0\x80"), std::tuple(0xEDu, 1u, false)) << "a surrogate";
  EXPECT_EQ(shown("\xc3"), std::tuple(0xC3u, 1u, false));
}

TEST(TextTest, Utf8IsDistinguishedFromOtherBytes) {
  for (const char* good : {"", "plain", "gr\xc3\xbc\xc3\x9f", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad :
       {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
}

TEST(TextTest, SpaceAroundATextIsTrimmed) {
  EXPECT_EQ(Trimmed(" \ta b\r"), "a b");
  EXPECT_EQ(Trimmed(" \t\r"), "");
  EXPECT_EQ(Trimmed("\n"), "\n") << "no line has one";
}

TEST(TextTest, YamlTextIsPlainOnlyIfEveryReaderTakesItForText) {
  for (const char* plain : {"quickstart", "a/b-c.d", "/data", "_x", "two words"}) {
    EXPECT_TRUE(IsPlainYaml(plain)) << plain;
  }
  for (const char* quoted : {"", "1", "-1", "Yes", "null", "NaN", "a: b", "a#b", " a", "a ", "[a]",
                             "a,b", "\xc3\xbc", "a\nb", "*a", "~"}) {
    EXPECT_FALSE(IsPlainYaml(quoted)) << quoted;
  }
  EXPECT_EQ(QuotedYaml("a\"b\\c\n\x1b\xc3\xbc"), "\"a\\\"b\\\\c\\n\\x1b\xc3\xbc\"");
}

TEST(TextTest, SizesHaveThreeFigures) {
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(10.5 * 1024 * 1024), "10.5 MiB");
  EXPECT_EQ(FormatBytes(700.0 * 1024 * 1024), "700 MiB");
  EXPECT_EQ(FormatBytes(0x1p60), "1024 PiB");
  EXPECT_EQ(FormatBytes(-1), "-");
}

TEST(TextTest, EscapedCharactersTakeThreeBytesInATrailer) {
  EXPECT_EQ(PercentEncodedBytes("plain text."), 11u);
  EXPECT_EQ(PercentEncodedBytes("5%\n"), 7u);
  EXPECT_EQ(PercentEncodedBytes("\xc3\xbc"), 6u);
}

TEST(TextTest, ControlCharactersAreShownAndNotSent) {
  EXPECT_EQ(Printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(Printable("a\nb\tc"), "a b\tc");
  EXPECT_EQ(Printable("a\nb", Newlines::kKeep), "a\nb");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m")
      << "the one-character escape of Latin-1";
  EXPECT_EQ(Printable("größe 大"), "größe 大");
  EXPECT_EQ(Printable("a\xe2\x80\xae"
                      "b\xe2\x81\xa6"),
            "a\\u202eb\\u2066")
      << "turns the text around";
  EXPECT_EQ(Printable("\x9b"
                      "2J\xff\xc3"),
            "\\x9b2J\\xff\\xc3")
      << "no UTF-8";
  EXPECT_EQ(Printable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b") << "a longer form of U+001B";
}

TEST(TextTest, SizesAreBytesOrHaveAUnitOfPowersOf1024) {
  EXPECT_EQ(ParseBytes("2147483648"), 2147483648u);
  EXPECT_EQ(ParseBytes("512K"), 512u << 10);
  EXPECT_EQ(ParseBytes("700Mi"), 700u << 20);
  EXPECT_EQ(ParseBytes("2G"), uint64_t{2} << 30);
  for (const char* bad :
       {"", "-1", " 1", "1 G", "G", "1T", "2GB", "1.5G", "17179869184G", "18446744073709551616"}) {
    EXPECT_EQ(ParseBytes(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace dt
