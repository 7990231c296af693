// format_test.cc: numbers, times and untrusted text as users read them.
#include "report/words/format.h"

#include <limits>

#include "gtest/gtest.h"
#include "report/words/summary.h"

namespace dt::report {
namespace {

TEST(FormatTest, DurationsKeepTwoUnits) {
  EXPECT_EQ(FormatDuration(0), "0.0 s");
  EXPECT_EQ(FormatDuration(9.94), "9.9 s");
  EXPECT_EQ(FormatDuration(9.96), "10 s");
  EXPECT_EQ(FormatDuration(59.6), "1 min 00 s");
  EXPECT_EQ(FormatDuration(200), "3 min 20 s");
  EXPECT_EQ(FormatDuration(7500), "2 h 05 min");
  EXPECT_EQ(FormatDuration(90000), "1 d 1 h");
}

TEST(FormatTest, ElapsedTimeCountsFullSeconds) {
  EXPECT_EQ(FormatElapsed(0), "0 s");
  EXPECT_EQ(FormatElapsed(7), "7 s");
  EXPECT_EQ(FormatElapsed(200), FormatDuration(200));
}

TEST(FormatTest, AnUnknownValueIsADash) {
  EXPECT_EQ(FormatDuration(-1), kNone);
  EXPECT_EQ(FormatDuration(kUnknown), kNone);
  EXPECT_EQ(FormatLoss(kUnknown), kNone);
  EXPECT_EQ(FormatRatio(kUnknown), kNone);
  EXPECT_EQ(FormatRate(kUnknown), kNone);
  EXPECT_EQ(FormatLocalTime(0), kNone);
  EXPECT_GT(FormatLocalTime(1700000000000).size(), std::string("2023-11-14 22:13:20").size())
      << "says its zone";
}

TEST(FormatTest, RatesKeepThreeFigures) {
  EXPECT_EQ(FormatRate(950), "950");
  EXPECT_EQ(FormatRate(12345), "12.3k");
  EXPECT_EQ(FormatRate(38.2e6), "38.2M");
  EXPECT_EQ(FormatCount(10000), "10,000");
  EXPECT_EQ(FormatCount(999), "999");
}

TEST(FormatTest, VerySmallAndVeryLargeLossesUseExponents) {
  EXPECT_EQ(FormatLoss(3.01424), "3.0142");
  EXPECT_EQ(FormatLoss(1.25e-5), "1.250e-05");
  EXPECT_EQ(FormatLoss(0), "0.0000");
}

TEST(FormatTest, ExactNumbersReadBackTheSame) {
  for (const double value : {0.1, 1.0 / 3, 6e-4, 1e300, -2.5}) {
    EXPECT_EQ(std::stod(FormatExact(value)), value);
  }
  EXPECT_EQ(FormatExact(kUnknown), "nan");
}

TEST(FormatTest, DurationsAreReadWithTheirUnit) {
  EXPECT_EQ(*ParseDuration("90"), absl::Seconds(90));
  EXPECT_EQ(*ParseDuration("1.5h"), absl::Minutes(90));
  EXPECT_EQ(*ParseDuration("2d"), absl::Hours(48));
  EXPECT_EQ(*ParseDuration("250ms"), absl::Milliseconds(250));
  for (const char* wrong : {"", "soon", "-5s", "5 parsecs", "d"}) {
    EXPECT_EQ(ParseDuration(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(FormatTest, TablesHaveShortTimes) {
  EXPECT_EQ(FormatShort(-1), kNone);
  EXPECT_EQ(FormatShort(0.4), "0s");
  EXPECT_EQ(FormatShort(59.4), "59s");
  EXPECT_EQ(FormatShort(125), "2m05s");
  EXPECT_EQ(FormatShort(13 * 60 + 49), "14m");
  EXPECT_EQ(FormatShort(3599), "1h00m");
  EXPECT_EQ(FormatShort(7500), "2h05m");
  EXPECT_EQ(FormatShort(100 * 3600), "4d4h");
  EXPECT_EQ(FormatShort(1102.6 * 86400), "1102d");
}

TEST(FormatTest, ADurationHasEachUnitOnceLargestFirst) {
  EXPECT_EQ(*ParseDuration("1h30m"), absl::Minutes(90));
  EXPECT_EQ(*ParseDuration("1m30s500ms"), absl::Milliseconds(90500));
  for (const char* text : {"5m5m", "5s5m", "1h1h", "m", "5x"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(SummaryTest, StepsThatMayFollowAreUnknownOnlyUntilTheEnd) {
  v1::TrialSummary trial;
  trial.set_step(5);
  trial.set_state(v1::TRIAL_RUNNING);
  EXPECT_EQ(StepText(trial), "5/?");
  trial.set_state(v1::TRIAL_FINISHED);
  EXPECT_EQ(StepText(trial), "5");
}

TEST(SummaryTest, AProgramsReportedProgressIsShown) {
  v1::TrialSummary trial;
  trial.set_progress(0.4);
  EXPECT_EQ(StepText(trial), "40 %");
  EXPECT_EQ(Progress(trial), 0.4);
  trial.set_step(120);
  EXPECT_EQ(StepText(trial), "120, 40 %");
  trial.set_target_steps(200);
  EXPECT_EQ(StepText(trial), "120/200");
  EXPECT_EQ(Progress(trial), 0.4);
}

}  // namespace
}  // namespace dt::report
