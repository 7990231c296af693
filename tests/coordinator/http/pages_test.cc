// pages_test.cc: the answer to each path.
#include "coordinator/http/pages.h"

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/version.h"
#include "coordinator/http/page_files.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

class PagesTest : public ::testing::Test {
 protected:
  HttpAnswer Get(std::string_view path) {
    return AnswerPage(path, metrics_, [this] { return health_; });
  }

  RpcStats stats_;
  Metrics metrics_{stats_, [] { return ReportCounts{}; }};
  absl::Status health_;
};

TEST_F(PagesTest, MetricsAreInPrometheusFormat) {
  const HttpAnswer answer = Get("/metrics");
  EXPECT_EQ(answer.type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_TRUE(absl::StrContains(answer.body, "dtrain_ready 0\n"));
  metrics_.SetReadiness(Metrics::Readiness::kReady);
  EXPECT_TRUE(absl::StrContains(Get("/metrics").body, "dtrain_ready 1\n"));
}

TEST_F(PagesTest, ReadinessFollowsTheMetrics) {
  EXPECT_EQ(Get("/readyz").code, 503);
  metrics_.SetReadiness(Metrics::Readiness::kReady);
  EXPECT_EQ(Get("/readyz").code, 200);
}

TEST_F(PagesTest, HealthSaysWhyItFails) {
  EXPECT_EQ(Get("/healthz").code, 200);
  health_ = absl::UnavailableError("the core loop is late");
  EXPECT_EQ(Get("/healthz").code, 503);
  EXPECT_EQ(Get("/healthz").body, "the core loop is late\n");
}

TEST_F(PagesTest, TheFirstPageSaysWhichVersionThisIsAndLinksTheOthers) {
  const HttpAnswer answer = Get("/");
  EXPECT_EQ(answer.code, 200);
  EXPECT_TRUE(absl::StartsWith(answer.type, "text/html"));
  EXPECT_TRUE(absl::StrContains(answer.body, kVersion));
  EXPECT_FALSE(absl::StrContains(answer.body, "@VERSION@"));
  for (const char* page : {"/metrics", "/healthz", "/readyz"}) {
    EXPECT_TRUE(absl::StrContains(answer.body, absl::StrCat("href=\"", page, "\""))) << page;
    EXPECT_NE(Get(page).code, 404) << page;
  }
  EXPECT_EQ(Get("/other").code, 404);
  EXPECT_EQ(Get("/page/../pages.cc").code, 404);
}

TEST_F(PagesTest, EveryFileThatTheFirstPageAndItsModulesNameIsServed) {
  std::vector<std::string> paths = {"/"};
  const std::regex named("(?:src|href)=\"(/page/[^\"]+)\"|from \"\\./([^\"]+)\"");
  for (size_t i = 0; i < paths.size(); ++i) {
    const HttpAnswer answer = Get(paths[i]);
    EXPECT_EQ(answer.code, 200) << paths[i];
    EXPECT_FALSE(answer.etag.empty()) << paths[i];
    for (std::sregex_iterator it(answer.body.begin(), answer.body.end(), named), end; it != end;
         ++it) {
      const std::string path = (*it)[1].matched ? (*it)[1].str() : "/page/" + (*it)[2].str();
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    }
  }
  EXPECT_EQ(paths.size(), PageFiles().size()) << "a file of the page is named by none";
  EXPECT_TRUE(absl::StartsWith(Get("/page/app.js").type, "text/javascript"));
  EXPECT_TRUE(absl::StartsWith(Get("/page/style.css").type, "text/css"));
}

// The answers' policy would refuse some of these, and others would read data as markup.
TEST_F(PagesTest, ThePageHasNothingInlineNothingFromElsewhereAndReadsNoMarkup) {
  for (const PageFile& file : PageFiles()) {
    const std::string text(file.text);
    for (const char* banned :
         {"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "<style",
          " style=\"", "onclick=\"", "javascript:"}) {
      EXPECT_FALSE(absl::StrContains(text, banned)) << banned << " in " << file.name;
    }
    // An SVG names its format so; nothing is loaded from there.
    const std::string others = absl::StrReplaceAll(text, {{"http://www.w3.org/2000/svg", ""}});
    EXPECT_FALSE(absl::StrContains(others, "://")) << file.name;
  }
  EXPECT_FALSE(std::regex_search(Get("/").body, std::regex("<script(?![^>]* src=)")));
}

}  // namespace
}  // namespace dt
