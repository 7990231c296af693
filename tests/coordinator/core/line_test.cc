// line_test.cc: which trial is first in line.
#include "coordinator/core/model/line.h"

#include <gtest/gtest.h>

namespace dt {
namespace {

Precedence Of(ExperimentId experiment, uint32_t held = 0, int32_t priority = 0) {
  return {.priority = priority, .held = held, .experiment = experiment};
}

TrialId FirstOf(const Line& line) {
  return line.First().has_value() ? line.First()->trial : TrialId{};
}

TEST(LineTest, TheExperimentWithTheFewestSlotsGoesFirstThenTheOlderOne) {
  Line line;
  line.Insert({1, 1}, Again::kNo, Of(1, 4), Gate::kOpen);
  line.Insert({2, 1}, Again::kNo, Of(2, 1), Gate::kOpen);
  line.Insert({3, 1}, Again::kNo, Of(3, 1), Gate::kOpen);
  EXPECT_EQ(FirstOf(line), (TrialId{2, 1}));
  line.Place(Of(2, 2), Gate::kOpen);
  EXPECT_EQ(FirstOf(line), (TrialId{3, 1}));
  EXPECT_EQ(line.Before(Of(1, 4)), 2u);
}

TEST(LineTest, ALargerPriorityGoesFirstWhateverItHolds) {
  Line line;
  line.Insert({1, 1}, Again::kNo, Of(1), Gate::kOpen);
  line.Insert({2, 1}, Again::kNo, Of(2, 9, 5), Gate::kOpen);
  line.Insert({3, 1}, Again::kNo, Of(3, 0, -5), Gate::kOpen);
  EXPECT_EQ(FirstOf(line), (TrialId{2, 1}));
  line.Erase({2, 1});
  EXPECT_EQ(FirstOf(line), (TrialId{1, 1}));
  line.Erase({1, 1});
  EXPECT_EQ(FirstOf(line), (TrialId{3, 1}));
}

TEST(LineTest, InAnExperimentTrialsThatRanBeforeGoFirstAndTheTicketLast) {
  Line line;
  line.Insert({1, kTicket}, Again::kNo, Of(1), Gate::kOpen);
  line.Insert({1, 2}, Again::kNo, Of(1), Gate::kOpen);
  line.Insert({1, 5}, Again::kYes, Of(1), Gate::kOpen);
  EXPECT_EQ(FirstOf(line), (TrialId{1, 5}));
  line.Erase({1, 5});
  EXPECT_EQ(FirstOf(line), (TrialId{1, 2}));
  line.Erase({1, 2});
  EXPECT_TRUE(IsTicket(FirstOf(line)));
}

TEST(LineTest, AClosedExperimentKeepsItsPlacesAndIsPassedOver) {
  Line line;
  line.Insert({1, 1}, Again::kNo, Of(1), Gate::kOpen);
  line.Insert({2, 1}, Again::kNo, Of(2), Gate::kOpen);
  line.Place(Of(1), Gate::kClosed);
  EXPECT_EQ(FirstOf(line), (TrialId{2, 1}));
  EXPECT_TRUE(line.Contains({1, 1}));
  line.Place(Of(1), Gate::kOpen);
  EXPECT_EQ(FirstOf(line), (TrialId{1, 1}));
}

TEST(LineTest, ErasingTwiceOrAMissingEntryIsNoError) {
  Line line;
  line.Insert({1, 1}, Again::kNo, Of(1), Gate::kOpen);
  line.Insert({1, 1}, Again::kNo, Of(1), Gate::kOpen);
  EXPECT_EQ(line.size(), 1u);
  EXPECT_FALSE(line.Erase({1, 2}));
  EXPECT_TRUE(line.Erase({1, 1}));
  EXPECT_FALSE(line.Erase({1, 1}));
  EXPECT_TRUE(line.empty());
  EXPECT_EQ(line.First(), std::nullopt);
}

TEST(LinesTest, AnExperimentGetsItsNewPlaceInEveryLineItStandsIn) {
  Lines lines;
  Shape small;
  Shape large;
  large.slots = 4;
  for (const Shape& shape : {small, large}) {
    for (const ExperimentId id : {1, 2}) {
      lines.Insert(shape, {id, static_cast<uint32_t>(shape.slots)}, Again::kNo, Of(id),
                   Gate::kOpen);
    }
  }
  lines.Place(Of(1, 3),
              [](const Shape& shape) { return shape.slots == 4 ? Gate::kClosed : Gate::kOpen; });
  EXPECT_EQ(FirstOf(*lines.Find(small)), (TrialId{2, 1}));
  lines.Erase(small, {2, 1});
  EXPECT_EQ(FirstOf(*lines.Find(small)), (TrialId{1, 1}));
  lines.Erase(large, {2, 4});
  EXPECT_EQ(lines.Find(large)->First(), std::nullopt) << "closed there";
  lines.Erase(small, {1, 1});
  EXPECT_EQ(lines.Find(small), nullptr) << "an empty line goes";
  EXPECT_EQ(lines.size(), 1u);
}

}  // namespace
}  // namespace dt
