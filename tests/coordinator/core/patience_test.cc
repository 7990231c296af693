// patience_test.cc: the limits of detection, row by row.
#include "coordinator/core/model/patience.h"

#include <gtest/gtest.h>

namespace dt {
namespace {

using absl::Milliseconds;
using absl::Minutes;
using absl::Seconds;

constexpr absl::Duration kStep = Milliseconds(5);

TEST(PatienceTest, AGangWithoutProgressIsGivenTimeByItsStepsAndItsAnnouncedWork) {
  struct Row {
    const char* what;
    Signs shown;
    absl::Duration progress;
  };
  const Row rows[] = {
      {"no step yet", {.work = Work::kFirstStep}, limits::kHangFloor},
      {"a first step of a minute",
       {.work = Work::kFirstStep, .first_step = Minutes(1)},
       Minutes(20)},
      {"short steps", {.work = Work::kSteps, .longest_step = kStep}, Seconds(10)},
      {"short steps after a long first one",
       {.work = Work::kSteps, .first_step = Minutes(1), .longest_step = kStep},
       Seconds(10)},
      {"steps of 2 s", {.work = Work::kSteps, .longest_step = Seconds(2)}, Seconds(40)},
      {"steps of an hour", {.work = Work::kSteps, .longest_step = Minutes(60)}, Minutes(1200)},
      {"a row each 100 s",
       {.work = Work::kSteps, .longest_step = kStep, .longest_gap = Seconds(100)},
       Seconds(400)},
      {"a row each hour",
       {.work = Work::kSteps, .longest_step = kStep, .longest_gap = Minutes(60)},
       limits::kHangFloor},
      {"an evaluation before any step", {.work = Work::kEvaluates}, limits::kHangFloor},
      {"an evaluation", {.work = Work::kEvaluates, .longest_step = kStep}, Minutes(2)},
      {"an evaluation of long parts",
       {.work = Work::kEvaluates, .longest_step = kStep, .longest_part = Seconds(10)},
       Seconds(200)},
      {"an evaluation of a large model",
       {.work = Work::kEvaluates, .longest_step = Seconds(60)},
       Minutes(20)},
      {"a first save", {.work = Work::kPauses, .longest_step = kStep}, limits::kHangFloor},
      {"a first save after a short evaluation",
       {.work = Work::kPauses, .longest_step = kStep, .longest_pause = Milliseconds(20)},
       limits::kHangFloor},
      {"short saves",
       {.work = Work::kPauses, .longest_step = kStep, .longest_save = Milliseconds(20)},
       Minutes(2)},
      {"saves of 20 s",
       {.work = Work::kPauses, .longest_step = kStep, .longest_save = Seconds(20)},
       Seconds(400)},
      {"short saves and a pause of 10 s",
       {.work = Work::kPauses,
        .longest_step = kStep,
        .longest_pause = Seconds(10),
        .longest_save = Milliseconds(20)},
       Seconds(200)},
      {"saves of a minute",
       {.work = Work::kPauses, .longest_step = kStep, .longest_save = Minutes(1)},
       limits::kHangFloor},
      {"an older worker", {.longest_step = kStep}, limits::kHangFloor},
  };
  for (const Row& row : rows) EXPECT_EQ(PatienceOf(row.shown).progress, row.progress) << row.what;
}

TEST(PatienceTest, AWorkerIsGivenTimeByItsRoundTripAndItsOwnSilences) {
  struct Row {
    const char* what;
    Signs shown;
    absl::Duration silence;
  };
  const Row rows[] = {
      {"not measured", {}, limits::kLease},
      {"a host in the rack", {.round_trip = absl::Microseconds(200)}, Seconds(3)},
      {"another continent", {.round_trip = Milliseconds(200)}, Seconds(4)},
      {"a bad line", {.round_trip = Milliseconds(800)}, limits::kLease},
      {"a busy host",
       {.round_trip = Milliseconds(1), .longest_silence = Milliseconds(2500)},
       Seconds(5)},
      {"a host that was away",
       {.round_trip = Milliseconds(1), .longest_silence = Minutes(5)},
       limits::kLease},
      {"a lease that a client asked for", {.lease = Seconds(2)}, Seconds(2)},
      {"a short lease", {.lease = Seconds(2), .round_trip = Milliseconds(200)}, Seconds(2)},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(PatienceOf(row.shown).silence, row.silence) << row.what;
    EXPECT_EQ(PatienceOf(row.shown).alone, row.shown.lease) << row.what;
  }
}

TEST(PatienceTest, AWorkerWhoseStreamClosedIsGivenTimeForSomeRoundTrips) {
  EXPECT_EQ(PatienceOf({}).closed, Seconds(1));
  EXPECT_EQ(PatienceOf({.round_trip = Milliseconds(1)}).closed, Seconds(1));
  EXPECT_EQ(PatienceOf({.round_trip = Milliseconds(200)}).closed, Seconds(4));
  EXPECT_EQ(PatienceOf({.round_trip = Seconds(2)}).closed, limits::kLease);
  EXPECT_EQ(PatienceOf({.lease = Milliseconds(500)}).closed, Milliseconds(500));
}

TEST(PatienceTest, AGangThatStandsStillProvesItsWorkersForASmallNumberOfSteps) {
  EXPECT_EQ(PatienceOf({}).standstill, limits::kLease) << "no step is known";
  EXPECT_EQ(PatienceOf({.longest_step = kStep}).standstill, Seconds(3));
  EXPECT_EQ(PatienceOf({.longest_step = Milliseconds(300)}).standstill, Seconds(6));
  EXPECT_EQ(PatienceOf({.longest_step = Minutes(1)}).standstill, limits::kLease);
}

TEST(PatienceTest, HostsThatReachedEachOtherBeforeMeetWithinSeconds) {
  EXPECT_EQ(PatienceOf({}).rendezvous, Minutes(2));
  EXPECT_EQ(PatienceOf({.met = true}).rendezvous, Seconds(20));
}

}  // namespace
}  // namespace dt
