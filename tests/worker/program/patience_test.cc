// patience_test.cc: when a silent program counts as hung.
#include "worker/program/patience.h"

#include "gtest/gtest.h"

namespace dt::program {
namespace {

using absl::Hours;
using absl::Minutes;
using absl::Seconds;

constexpr absl::Duration kStart = Hours(1);

// Reports `count` times, one each `pause`, and returns the time of the last.
absl::Duration ReportTimes(Patience& patience, int count, absl::Duration pause) {
  absl::Duration now = kStart;
  for (int i = 0; i < count; ++i) {
    now += pause;
    patience.NoteTurn(now);
    patience.NoteReport(now);
  }
  return now;
}

TEST(PatienceTest, WithoutALimitNothingIsOverdue) {
  for (const char* report : {"never", "", "no time"}) {
    Patience patience(TimeoutsOf(report, 0), kStart);
    EXPECT_EQ(patience.Deadline(), absl::InfiniteDuration()) << report;
    ReportTimes(patience, 100, Seconds(1));
    EXPECT_EQ(patience.Deadline(), absl::InfiniteDuration()) << report;
  }
}

TEST(PatienceTest, ATimeCountsFromEachReportWhateverIsPrinted) {
  Patience patience(TimeoutsOf("5m", 0), kStart);
  EXPECT_EQ(patience.Deadline(), absl::InfiniteDuration()) << "the start has no limit";
  const absl::Duration last = ReportTimes(patience, 1, Seconds(10));
  patience.NoteOutput(last + Minutes(4));
  EXPECT_EQ(patience.Deadline(), last + Minutes(5));
  EXPECT_EQ(patience.Overdue(last + Minutes(5) - Seconds(1)), "");
  EXPECT_EQ(patience.Overdue(last + Minutes(5)), "no report for 5m, which is timeout.report");
}

TEST(PatienceTest, TheStartHasALimitOfItsOwn) {
  Patience patience(TimeoutsOf("never", 60), kStart);
  EXPECT_EQ(patience.Deadline(), kStart + Minutes(1));
  EXPECT_EQ(patience.Overdue(kStart + Minutes(1)),
            "no report within 1m of its start, which is timeout.start");
  ReportTimes(patience, 1, Seconds(10));
  EXPECT_EQ(patience.Deadline(), absl::InfiniteDuration());
}

TEST(PatienceTest, AutoKnowsNothingBeforeTenReports) {
  Patience patience(TimeoutsOf("auto", 0), kStart);
  ReportTimes(patience, kReportsBeforeAuto - 1, Seconds(1));
  EXPECT_EQ(patience.Deadline(), absl::InfiniteDuration());
}

TEST(PatienceTest, AutoAllowsTwoMinutesAtLeastAndTwentyOfItsLongestPauses) {
  Patience quick(TimeoutsOf("auto", 0), kStart);
  absl::Duration last = ReportTimes(quick, kReportsBeforeAuto, Seconds(1));
  EXPECT_EQ(quick.Deadline(), last + kSilenceLeast);
  Patience slow(TimeoutsOf("auto", 0), kStart);
  last = ReportTimes(slow, kReportsBeforeAuto, Seconds(30));
  EXPECT_EQ(slow.Deadline(), last + Minutes(10));
  EXPECT_NE(slow.Overdue(last + Minutes(10)).find("no output for 10m, 20 times its longest pause"),
            std::string::npos)
      << slow.Overdue(last + Minutes(10));
}

TEST(PatienceTest, OutputShowsLifeToAuto) {
  Patience patience(TimeoutsOf("auto", 0), kStart);
  const absl::Duration last = ReportTimes(patience, kReportsBeforeAuto, Seconds(1));
  patience.NoteOutput(last + Minutes(1));
  EXPECT_EQ(patience.Deadline(), last + Minutes(1) + kSilenceLeast);
}

TEST(PatienceTest, WhatTheProgramWaitsForUsIsNotItsSilence) {
  Patience patience(TimeoutsOf("1m", 0), kStart);
  const absl::Duration last = ReportTimes(patience, 1, Seconds(1));
  patience.NoteWait(last + Seconds(50));
  EXPECT_EQ(patience.Deadline(), last + Seconds(110));
}

TEST(PatienceTest, AStandstillOfTheHostCountsAgainstNobody) {
  Patience patience(TimeoutsOf("1m", 0), kStart);
  const absl::Duration last = ReportTimes(patience, 1, Seconds(1));
  const absl::Duration woken = last + Hours(8);
  patience.NoteTurn(woken);
  EXPECT_EQ(patience.Overdue(woken), "");
  EXPECT_EQ(patience.Deadline(), woken + Minutes(1));
}

}  // namespace
}  // namespace dt::program
