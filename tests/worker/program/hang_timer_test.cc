// hang_timer_test.cc: when a silent program counts as hung.
#include "worker/program/hang_timer.h"

#include "gtest/gtest.h"

namespace dt::program {
namespace {

using absl::Hours;
using absl::Minutes;
using absl::Seconds;

constexpr absl::Duration kStart = Hours(1);

// Reports `count` times, one each `pause`, and returns the time of the last.
absl::Duration ReportTimes(HangTimer& hang_timer, int count, absl::Duration pause) {
  absl::Duration now = kStart;
  for (int i = 0; i < count; ++i) {
    now += pause;
    hang_timer.NoteTurn(now);
    hang_timer.NoteReport(now);
  }
  return now;
}

TEST(HangTimerTest, WithoutALimitNothingIsOverdue) {
  for (const char* report : {"never", "", "no time"}) {
    HangTimer hang_timer(TimeoutsOf({.report = report}), kStart);
    EXPECT_EQ(hang_timer.Deadline(), absl::InfiniteDuration()) << report;
    ReportTimes(hang_timer, 100, Seconds(1));
    EXPECT_EQ(hang_timer.Deadline(), absl::InfiniteDuration()) << report;
  }
}

TEST(HangTimerTest, ATimeCountsFromEachReportWhateverIsPrinted) {
  HangTimer hang_timer(TimeoutsOf({.report = "5m"}), kStart);
  EXPECT_EQ(hang_timer.Deadline(), absl::InfiniteDuration()) << "the start has no limit";
  const absl::Duration last = ReportTimes(hang_timer, 1, Seconds(10));
  hang_timer.NoteOutput(last + Minutes(4));
  EXPECT_EQ(hang_timer.Deadline(), last + Minutes(5));
  EXPECT_EQ(hang_timer.Overdue(last + Minutes(5) - Seconds(1)), "");
  EXPECT_EQ(hang_timer.Overdue(last + Minutes(5)), "no report for 5m, which is timeout.report");
}

TEST(HangTimerTest, TheStartHasALimitOfItsOwn) {
  HangTimer hang_timer(TimeoutsOf({.report = "never", .start_seconds = 60}), kStart);
  EXPECT_EQ(hang_timer.Deadline(), kStart + Minutes(1));
  EXPECT_EQ(hang_timer.Overdue(kStart + Minutes(1)),
            "no report within 1m of its start, which is timeout.start");
  ReportTimes(hang_timer, 1, Seconds(10));
  EXPECT_EQ(hang_timer.Deadline(), absl::InfiniteDuration());
}

TEST(HangTimerTest, AutoKnowsNothingBeforeTenReports) {
  HangTimer hang_timer(TimeoutsOf({.report = "auto"}), kStart);
  ReportTimes(hang_timer, kReportsBeforeAuto - 1, Seconds(1));
  EXPECT_EQ(hang_timer.Deadline(), absl::InfiniteDuration());
}

TEST(HangTimerTest, AutoAllowsTwoMinutesAtLeastAndTwentyOfItsLongestPauses) {
  HangTimer quick(TimeoutsOf({.report = "auto"}), kStart);
  absl::Duration last = ReportTimes(quick, kReportsBeforeAuto, Seconds(1));
  EXPECT_EQ(quick.Deadline(), last + kSilenceLeast);
  HangTimer slow(TimeoutsOf({.report = "auto"}), kStart);
  last = ReportTimes(slow, kReportsBeforeAuto, Seconds(30));
  EXPECT_EQ(slow.Deadline(), last + Minutes(10));
  EXPECT_NE(slow.Overdue(last + Minutes(10)).find("no output for 10m, 20 times its longest pause"),
            std::string::npos)
      << slow.Overdue(last + Minutes(10));
}

TEST(HangTimerTest, OutputShowsLifeToAuto) {
  HangTimer hang_timer(TimeoutsOf({.report = "auto"}), kStart);
  const absl::Duration last = ReportTimes(hang_timer, kReportsBeforeAuto, Seconds(1));
  hang_timer.NoteOutput(last + Minutes(1));
  EXPECT_EQ(hang_timer.Deadline(), last + Minutes(1) + kSilenceLeast);
}

TEST(HangTimerTest, WhatTheProgramWaitsForUsIsNotItsSilence) {
  HangTimer hang_timer(TimeoutsOf({.report = "1m"}), kStart);
  const absl::Duration last = ReportTimes(hang_timer, 1, Seconds(1));
  hang_timer.NoteWait(last + Seconds(50));
  EXPECT_EQ(hang_timer.Deadline(), last + Seconds(110));
}

TEST(HangTimerTest, AStandstillOfTheHostCountsAgainstNobody) {
  HangTimer hang_timer(TimeoutsOf({.report = "1m"}), kStart);
  const absl::Duration last = ReportTimes(hang_timer, 1, Seconds(1));
  const absl::Duration woken = last + Hours(8);
  hang_timer.NoteTurn(woken);
  EXPECT_EQ(hang_timer.Overdue(woken), "");
  EXPECT_EQ(hang_timer.Deadline(), woken + Minutes(1));
}

}  // namespace
}  // namespace dt::program
