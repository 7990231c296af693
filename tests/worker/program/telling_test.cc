// telling_test.cc: reports into frames, at a bounded rate.
#include "worker/program/telling.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "gtest/gtest.h"

namespace dt::program {
namespace {

class TellingTest : public ::testing::Test {
 protected:
  void Begin(Course course) {
    course.token = "t";
    telling_.emplace(std::move(course), now_);
  }
  void Take(const std::string& line) { Keep(telling_->Take(line, now_)); }
  void Advance(absl::Duration time) {
    now_.steady += time;
    Keep(telling_->Tend(now_));
  }
  void Keep(Telling::Said said) {
    for (const frames::FromTrainer& frame : said.frames) {
      if (const auto* row = std::get_if<frames::StepDone>(&frame)) rows_.push_back(row->row);
      if (const auto* eval = std::get_if<frames::Eval>(&frame)) evaluations_.push_back(*eval);
      if (const auto* live = std::get_if<frames::Progress>(&frame)) progress_ = *live;
    }
    complaints_.insert(complaints_.end(), said.complaints.begin(), said.complaints.end());
    if (said.saved) saved_.push_back(*said.saved);
  }
  std::vector<uint64_t> EvaluatedSteps() const {
    std::vector<uint64_t> steps;
    for (const frames::Eval& each : evaluations_) steps.push_back(each.step);
    return steps;
  }

  Instant now_{absl::Seconds(1000), 5'000};
  std::optional<Telling> telling_;
  std::vector<nlohmann::json> rows_;
  std::vector<frames::Eval> evaluations_;
  std::optional<frames::Progress> progress_;
  std::vector<std::string> complaints_;
  std::vector<SavedFolder> saved_;
};

TEST_F(TellingTest, ARowSaysWhatCameSinceTheRowBefore) {
  Begin({.resumed_step = 10});
  now_.steady += absl::Seconds(4);
  Take(R"({"step": 14, "loss": 2.5})");
  ASSERT_EQ(rows_.size(), 1u);
  EXPECT_EQ(rows_[0], (nlohmann::json{{"step", 14u},
                                      {"loss", 2.5},
                                      {"learning_rate", nullptr},
                                      {"grad_norm", nullptr},
                                      {"steps", 4.0},
                                      {"seconds", 4.0},
                                      {"wall_time_ms", 5'000}}));
}

TEST_F(TellingTest, AnEvaluationHasFieldsForKnownNamesAndMetricsForTheRest) {
  Begin({});
  Take(R"({"step": 5, "val_loss": 3.0, "loss": 3.5, "hellaswag_acc": 0.3, "accuracy": 0.9})");
  ASSERT_EQ(evaluations_.size(), 1u);
  EXPECT_EQ(evaluations_[0].loss, 3.0);
  EXPECT_EQ(evaluations_[0].train_loss, 3.5);
  EXPECT_EQ(evaluations_[0].hellaswag_acc, 0.3);
  EXPECT_EQ(evaluations_[0].metrics, (std::map<std::string, double>{{"accuracy", 0.9}}));
  Take(R"({"step": 6, "accuracy": 0.95})");
  EXPECT_TRUE(std::isnan(evaluations_[1].loss));
  EXPECT_EQ(progress_->step, 5u) << "live state waits a moment";
  Advance(absl::Seconds(1));
  EXPECT_EQ(progress_->step, 6u);
}

TEST_F(TellingTest, StepsRiseAndStayWithinTheTrial) {
  Begin({.resumed_step = 10, .steps = 20});
  for (const char* line : {R"({"step": 10, "loss": 1})", R"({"step": 3, "accuracy": 1})",
                           R"({"step": 21, "accuracy": 1})", R"({"checkpoint": "a", "step": 9})"}) {
    const size_t before = complaints_.size();
    Take(line);
    EXPECT_EQ(complaints_.size(), before + 1) << line;
  }
  Take(R"({"step": 10, "accuracy": 1})");
  EXPECT_EQ(evaluations_.size(), 1u) << "what it resumed from may be evaluated again";
  Take(R"({"step": 10, "accuracy": 1})");
  EXPECT_EQ(evaluations_.size(), 1u);
  EXPECT_TRUE(rows_.empty());
  EXPECT_TRUE(saved_.empty());
}

TEST_F(TellingTest, OfTooManyReportsTheNewestWaits) {
  Begin({});
  const int burst = limits::kProgramReportsBurst;
  for (int step = 1; step <= burst + 50; ++step) {
    Take(absl::StrCat(R"({"step": )", step, R"(, "accuracy": 1})"));
  }
  ASSERT_EQ(evaluations_.size(), static_cast<size_t>(burst));
  now_.steady = telling_->NextDeadline();
  Advance(absl::Seconds(1));
  ASSERT_EQ(evaluations_.size(), static_cast<size_t>(burst) + 1);
  EXPECT_EQ(evaluations_.back().step, static_cast<uint64_t>(burst) + 50);
  Keep(telling_->Finish(now_));
  ASSERT_EQ(complaints_.size(), 1u);
  EXPECT_EQ(complaints_[0].substr(0, 3), "49 ") << complaints_[0];
}

TEST_F(TellingTest, WhereASearchComparesNothingIsLeftOut) {
  Begin({.steps = 1000, .rungs = {250, 500}});
  for (int step = 1; step <= 1000; ++step) {
    Take(absl::StrCat(R"({"step": )", step, R"(, "accuracy": 1})"));
  }
  const std::vector<uint64_t> steps = EvaluatedSteps();
  EXPECT_EQ(std::count(steps.begin(), steps.end(), 250u), 1);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), 500u), 1);
  EXPECT_EQ(steps.size(), static_cast<size_t>(limits::kProgramReportsBurst) + 2);
}

TEST_F(TellingTest, ACheckpointIsOfTheNewestStepAndKnowsItsLoss) {
  Begin({});
  Take(R"({"step": 7, "val_loss": 1.5})");
  Take(R"({"checkpoint": "a"})");
  Take(R"({"checkpoint": "b", "step": 8})");
  ASSERT_EQ(saved_.size(), 2u);
  EXPECT_EQ(saved_[0].step, 7u);
  EXPECT_EQ(saved_[0].loss, 1.5);
  EXPECT_EQ(saved_[1].loss, std::nullopt);
}

TEST_F(TellingTest, AProgramThatErrsInEachLineDoesNotFillItsLog) {
  Begin({});
  for (int i = 0; i < 1000; ++i) Take("nonsense");
  EXPECT_LT(complaints_.size(), 30u);
}

TEST(RungStepsTest, SharesOfTheStepsAreRoundedUp) {
  EXPECT_EQ(RungSteps(100, {3, 9}, 0), (std::vector<uint64_t>{12, 34}));
  EXPECT_TRUE(RungSteps(0, {3}, 0).empty());
  EXPECT_EQ(RungSteps(100, {}, 0.25), (std::vector<uint64_t>{25, 50, 75})) << "of a population";
}

}  // namespace
}  // namespace dt::program
