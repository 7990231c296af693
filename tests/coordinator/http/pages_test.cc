// pages_test.cc: which path says what.
#include "coordinator/http/pages.h"

#include "absl/strings/match.h"
#include "common/version.h"
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

TEST_F(PagesTest, TheFirstPageSaysWhatThisIsAndLinksTheOthers) {
  const HttpAnswer answer = Get("/");
  EXPECT_EQ(answer.code, 200);
  EXPECT_TRUE(absl::StartsWith(answer.type, "text/html"));
  EXPECT_TRUE(absl::StrContains(answer.body, kVersion));
  for (const char* page : {"/metrics", "/healthz", "/readyz"}) {
    EXPECT_TRUE(absl::StrContains(answer.body, absl::StrCat("href=\"", page, "\""))) << page;
    EXPECT_NE(Get(page).code, 404) << page;
  }
  EXPECT_EQ(Get("/other").code, 404);
}

}  // namespace
}  // namespace dt
