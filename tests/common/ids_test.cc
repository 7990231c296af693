// ids_test.cc: ids as users write them.
#include "common/ids.h"

#include <gtest/gtest.h>

namespace dt {
namespace {

TEST(SelectorTest, ReadsExperimentsTrialsAndTheNewest) {
  EXPECT_EQ(ParseSelector("12")->experiment, 12u);
  EXPECT_EQ(ParseSelector("12/3")->trial, 3u);
  EXPECT_TRUE(ParseSelector("last")->last);
  EXPECT_EQ(ParseSelector("last/7")->trial, 7u);
}

TEST(SelectorTest, RefusesTextThatNamesNothing) {
  for (const char* wrong :
       {"", "0", "x", "12/", "12/0", "12/3/4", "-1", "12 ", "99999999999999999999", "last/x"}) {
    const auto selector = ParseSelector(wrong);
    ASSERT_FALSE(selector.ok()) << wrong;
    EXPECT_EQ(selector.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(SelectorTest, AnAttemptIsOfATrialWhichIsNamed) {
  const auto attempt = ParseSelector("12/3#1");
  EXPECT_EQ(attempt.status().message(), "'12/3#1' is an attempt of a trial; write 12/3");
  for (const char* wrong : {"12#1", "12/x#1", "#1"}) {
    EXPECT_NE(ParseSelector(wrong).status().message().find("names no experiment or trial"),
              std::string_view::npos)
        << wrong;
  }
}

TEST(AttemptTokenTest, SurvivesBothSpellings) {
  AttemptToken token;
  for (size_t i = 0; i < token.bytes.size(); ++i) token.bytes[i] = static_cast<uint8_t>(17 * i);
  EXPECT_EQ(*AttemptToken::FromHex(token.ToHex()), token);
  EXPECT_EQ(*AttemptToken::FromBytes(token.ToBytes()), token);
}

TEST(AttemptTokenTest, RefusesOtherLengthsAndLetters) {
  EXPECT_FALSE(AttemptToken::FromBytes("short").ok());
  EXPECT_FALSE(AttemptToken::FromHex("00").ok());
  EXPECT_FALSE(AttemptToken::FromHex(std::string(32, 'g')).ok());
}

TEST(IdsTest, PrintsAsPeopleWriteThem) {
  EXPECT_EQ(ToString(TrialId{12, 3}), "12/3");
  EXPECT_EQ(ToString(AttemptId{{12, 3}, 2}), "12/3#2");
}

}  // namespace
}  // namespace dt
