// call_test.cc: the meaning of a path and a query, and the messages about invalid ones.
#include "coordinator/api/call.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/api/api.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

constexpr char kBase[] = "/api/v1/";

absl::StatusOr<ApiCall> Read(const std::string& path, const std::string& query = "") {
  return ReadApiCall(kBase + path, query);
}

void ExpectRefused(const std::string& path, const std::string& query,
                   const std::vector<std::string>& parts) {
  const auto call = Read(path, query);
  ASSERT_FALSE(call.ok()) << path << "?" << query;
  for (const std::string& part : parts) {
    EXPECT_TRUE(absl::StrContains(call.status().message(), part))
        << part << " in: " << call.status();
  }
}

TEST(ApiCallTest, APathNamesTheCallItsExperimentAndItsTrial) {
  const auto logs = Read("experiments/12/trials/3/logs");
  ASSERT_TRUE(logs.ok()) << logs.status();
  EXPECT_STREQ(logs->route->path, "/api/v1/experiments/{experiment}/trials/{trial}/logs");
  EXPECT_EQ(logs->experiment, 12u);
  EXPECT_EQ(logs->trial, 3u);
  EXPECT_EQ(logs->rank, -1);
  const auto last = Read("experiments/last");
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_STREQ(last->route->path, "/api/v1/experiments/{experiment}");
  EXPECT_TRUE(last->last);
}

TEST(ApiCallTest, OptionsAreDecodedAndEachIsChecked) {
  const auto logs = Read("experiments/1/trials/1/logs",
                         "grep=a%20b+%3C%zz&rank=2&tail=7&since=2025-11-21T07:40:12Z&page_token=9");
  ASSERT_TRUE(logs.ok()) << logs.status();
  EXPECT_EQ(logs->grep, "a b <%zz");
  EXPECT_EQ(logs->rank, 2);
  EXPECT_EQ(logs->tail, 7u);
  EXPECT_EQ(logs->since_wall_ms, 1763710812000);
  EXPECT_EQ(logs->page_token, "9");
  const auto listed = Read("experiments", "label=team=a&label=b==&archived=true&page_size=500");
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->labels.size(), 2u);
  EXPECT_EQ(listed->labels[1].value(), "=");
  EXPECT_TRUE(listed->archived);
  EXPECT_EQ(listed->page_size, 500);
  const auto curves = Read("experiments/1/curves", "trial=3,1,3&metric=loss,val_loss&points=9");
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_EQ(curves->trials, (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(curves->metrics, (std::vector<std::string>{"loss", "val_loss"}));
}

TEST(ApiCallTest, ARefusalNamesTheOptionTheValueAndTheAllowedValues) {
  ExpectRefused("experiment", "", {"/api/v1/experiment'", "/api/v1/experiments/{experiment}"});
  ExpectRefused("experiments/0", "", {"'0'", "number from 1"});
  ExpectRefused("experiments/-1", "", {"'-1'"});
  ExpectRefused("experiments/1/trials/99999", "", {"'99999'", "10000"});
  ExpectRefused("status", "page_size=1", {"'page_size'", "takes none"});
  ExpectRefused("experiments", "page_size=0", {"page_size", "'0'", "1 to 500"});
  ExpectRefused("experiments", "page_size=1e3", {"'1e3'"});
  ExpectRefused("experiments", "label=team", {"label", "'team'", "key=value"});
  ExpectRefused("experiments", "archived=yes", {"'yes'", "true or false"});
  ExpectRefused("experiments/1/trials", "state=dead", {"'dead'", "pending", "cancelled"});
  ExpectRefused("experiments/1/curves", "", {"trial=1,2"});
  ExpectRefused("experiments/1/curves", "trial=0", {"'0'", "1 to 10000"});
  ExpectRefused("experiments/1/curves", "trial=1&points=1", {"points", "'1'", "2 to 4000"});
  ExpectRefused("experiments/1/trials/1/logs", "since=yesterday", {"'yesterday'", "2025-"});
  ExpectRefused("experiments/1/trials/1/logs", absl::StrCat("grep=", std::string(300, 'x')),
                {"256 bytes"});
  // The message shows only the beginning of the value, without escape codes.
  ExpectRefused("experiments", absl::StrCat("archived=%1b[31m", std::string(5000, 'x')), {"\\x1b"});
}

TEST(ApiCallTest, AnOptionThatIsGivenTwiceIsRefusedUnlessSeveralMayBeMeant) {
  ExpectRefused("experiments", "page_size=1&page_size=2", {"page_size is given twice"});
  ExpectRefused("experiments", "archived=true&archived=true", {"archived is given twice"});
  ExpectRefused("experiments/1/curves", "trial=1&trial=2", {"trial is given twice", "commas"});
  EXPECT_TRUE(Read("experiments", "label=a=1&label=b=2").ok());
  EXPECT_TRUE(Read("experiments/1/trials", "state=failed&state=cancelled").ok());
}

TEST(ApiCallTest, AnActIsAskedWithPostAndReadingWithGet) {
  const auto cancel = ReadApiCall("/api/v1/experiments/12/trials/3/cancel", "", HttpMethod::kPost);
  ASSERT_TRUE(cancel.ok()) << cancel.status();
  EXPECT_STREQ(cancel->route->path, "/api/v1/experiments/{experiment}/trials/{trial}/cancel");
  EXPECT_EQ(cancel->trial, 3u);
  ExpectRefused("experiments/12/cancel", "", {"takes POST, not GET"});
  const auto read = ReadApiCall("/api/v1/experiments/12", "", HttpMethod::kPost);
  EXPECT_TRUE(absl::StrContains(read.status().message(), "takes GET, not POST"));
  const auto option = ReadApiCall("/api/v1/experiments/12/cancel", "reason=x", HttpMethod::kPost);
  EXPECT_TRUE(absl::StrContains(option.status().message(), "it takes none")) << option.status();
}

TEST(ApiCallTest, AnAnswerOfTooManyCurvesIsRefusedWithTheBoundBeforeItIsMade) {
  std::string trials = "trial=1";
  for (int i = 2; i <= 101; ++i) absl::StrAppend(&trials, ",", i);
  ExpectRefused("experiments/1/curves", trials, {"101 trials", "at most 100"});
  ExpectRefused("experiments/1/curves",
                trials.substr(0, trials.rfind(',')) + "&metric=a,b&points=4000",
                {"100 trials x 2 metrics x 4000 points", "250000"});
  std::string metrics = "trial=1&metric=m0";
  for (int i = 1; i <= 16; ++i) absl::StrAppend(&metrics, ",m", i);
  ExpectRefused("experiments/1/curves", metrics, {"17 metrics", "at most 16"});
}

}  // namespace
}  // namespace dt
