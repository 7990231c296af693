// reports_test.cc: turns reports into frames, at a bounded rate.
#include "worker/program/reports.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dt::program {
namespace {

using ::testing::HasSubstr;

class ReportsTest : public ::testing::Test {
 protected:
  void Begin(TrialInfo info) {
    info.token = "t";
    reports_.emplace(std::move(info), now_);
  }
  void Take(const std::string& line) { Keep(reports_->Take(line, now_)); }
  void Advance(absl::Duration time) {
    now_.steady += time;
    Keep(reports_->Tend(now_));
  }
  void Keep(Reports::Outgoing out) {
    for (const frames::FromTrainer& frame : out.frames) {
      if (const auto* row = std::get_if<frames::StepDone>(&frame)) rows_.push_back(row->row);
      if (const auto* eval = std::get_if<frames::Eval>(&frame)) evaluations_.push_back(*eval);
      if (const auto* live = std::get_if<frames::Progress>(&frame)) progress_ = *live;
    }
    complaints_.insert(complaints_.end(), out.complaints.begin(), out.complaints.end());
    if (out.saved) saved_.push_back(*out.saved);
  }
  std::vector<uint64_t> EvaluatedSteps() const {
    std::vector<uint64_t> steps;
    for (const frames::Eval& each : evaluations_) steps.push_back(each.step);
    return steps;
  }

  Instant now_{absl::Seconds(1000), 5'000};
  std::optional<Reports> reports_;
  std::vector<nlohmann::json> rows_;
  std::vector<frames::Eval> evaluations_;
  std::optional<frames::Progress> progress_;
  std::vector<std::string> complaints_;
  std::vector<SavedFolder> saved_;
};

TEST_F(ReportsTest, ARowCoversTheTimeSinceTheLastRow) {
  Begin({.resumed_step = 10});
  now_.steady += absl::Seconds(4);
  Take(R"({"step": 14, "loss": 2.5})");
  Advance(absl::Seconds(1));
  ASSERT_EQ(rows_.size(), 1u);
  EXPECT_EQ(rows_[0], (nlohmann::json{{"step", 14u},
                                      {"loss", 2.5},
                                      {"learning_rate", nullptr},
                                      {"grad_norm", nullptr},
                                      {"steps", 4.0},
                                      {"seconds", 4.0},
                                      {"wall_time_ms", 5'000}}));
}

TEST_F(ReportsTest, AnEvaluationHasFieldsForKnownNamesAndMetricsForTheRest) {
  Begin({});
  Take(R"({"step": 5, "val_loss": 3.0, "loss": 3.5, "hellaswag_acc": 0.3, "accuracy": 0.9})");
  Take(R"({"step": 6, "accuracy": 0.95})");
  ASSERT_EQ(evaluations_.size(), 1u) << "more of a step may follow, until the next";
  EXPECT_EQ(evaluations_[0].loss, 3.0);
  EXPECT_EQ(evaluations_[0].train_loss, 3.5);
  EXPECT_EQ(evaluations_[0].hellaswag_acc, 0.3);
  EXPECT_EQ(evaluations_[0].metrics, (std::map<std::string, double>{{"accuracy", 0.9}}));
  EXPECT_EQ(progress_->step, 5u) << "live state waits a moment";
  Advance(absl::Seconds(1));
  EXPECT_TRUE(std::isnan(evaluations_[1].loss));
  EXPECT_EQ(progress_->step, 6u);
}

TEST_F(ReportsTest, ALineWithTheMetricIsAnEvaluationWhateverItsName) {
  for (const char* name :
       {"loss", "learning_rate", "tokens", "val_loss", "hellaswag_acc", "mine"}) {
    Begin({.metric = name});
    evaluations_.clear();
    Take(absl::StrCat(R"({"step": 1, ")", name, R"(": 0.5})"));
    Take(absl::StrCat(R"({"step": 2, ")", name, R"(": NaN})"));
    Keep(reports_->Finish(now_));
    ASSERT_EQ(EvaluatedSteps(), (std::vector<uint64_t>{1, 2})) << name;
    const std::string line = frames::ToLine(frames::FromTrainer(evaluations_[1]));
    const auto read = frames::ParseFromTrainer(line);
    const auto& eval = std::get<frames::Eval>(std::get<frames::FromTrainer>(read));
    const bool told = name == std::string("loss")            ? eval.train_loss.has_value()
                      : name == std::string("hellaswag_acc") ? eval.hellaswag_acc.has_value()
                                                             : eval.metrics.contains(name);
    EXPECT_TRUE(told) << name << ": that it was said, and no number: " << line;
  }
}

TEST_F(ReportsTest, AMetricThatIsAColumnMakesRowsToo) {
  Begin({.metric = "loss"});
  Take(R"({"step": 1, "loss": 2, "learning_rate": 0.1})");
  Take(R"({"step": 2, "loss": 1})");
  Keep(reports_->Finish(now_));
  EXPECT_EQ(rows_.size(), 2u) << "for the curves";
  EXPECT_EQ(evaluations_.size(), 2u);
}

TEST_F(ReportsTest, ALossBesideOtherNumbersMakesRowsToo) {
  for (const char* metric : {"loss", "accuracy", "val_loss"}) {
    Begin({.metric = metric});
    rows_.clear();
    evaluations_.clear();
    Take(R"({"step": 1, "loss": 2, "accuracy": 0.5, "val_loss": 3, "seconds": 60})");
    Take(R"({"step": 2, "accuracy": 0.6})");
    Take(R"({"step": 3, "loss": 1, "learning_rate": 0.1, "accuracy": 0.7})");
    Keep(reports_->Finish(now_));
    EXPECT_EQ(evaluations_.size(), 3u) << metric;
    ASSERT_EQ(rows_.size(), 2u) << metric;
    EXPECT_EQ(rows_[0]["loss"], 2);
    EXPECT_EQ(rows_[0]["seconds"], 0.0) << "the time between two rows is measured";
    EXPECT_EQ(rows_[1]["step"], 3u);
    EXPECT_EQ(rows_[1]["steps"], 2.0);
    EXPECT_EQ(rows_[1]["learning_rate"], 0.1);
  }
}

TEST_F(ReportsTest, AProgramThatReportsRowsGetsNoneFromItsEvaluations) {
  Begin({.metric = "val_loss"});
  Take(R"({"step": 0, "loss": 5, "val_loss": 5})");
  Advance(absl::Seconds(1));
  Take(R"({"step": 0, "loss": 4})");
  Take(R"({"step": 1, "loss": 3})");
  Take(R"({"step": 2, "loss": 2, "val_loss": 2})");
  Take(R"({"step": 2, "loss": 1})");
  Keep(reports_->Finish(now_));
  std::vector<uint64_t> steps;
  for (const nlohmann::json& row : rows_) steps.push_back(row["step"]);
  EXPECT_EQ(steps, (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(rows_[0]["loss"], 5) << "the row of step 0 was sent";
  EXPECT_EQ(rows_[2]["loss"], 1);
  EXPECT_EQ(EvaluatedSteps(), (std::vector<uint64_t>{0, 2}));
}

TEST_F(ReportsTest, StepsRiseAndStayWithinTheTrial) {
  Begin({.resumed_step = 10, .steps = 20});
  for (const char* line : {R"({"step": 10, "loss": 1})", R"({"step": 3, "accuracy": 1})",
                           R"({"step": 21, "accuracy": 1})", R"({"checkpoint": "a", "step": 9})"}) {
    const size_t before = complaints_.size();
    Take(line);
    EXPECT_EQ(complaints_.size(), before + 1) << line;
  }
  Take(R"({"step": 10, "accuracy": 1})");
  Keep(reports_->Finish(now_));
  EXPECT_EQ(evaluations_.size(), 1u) << "its resumed step may be evaluated again";
  EXPECT_TRUE(rows_.empty());
  EXPECT_TRUE(saved_.empty());
}

TEST_F(ReportsTest, AProgramThatLoadedALittleOlderSaveCatchesUpWithoutAHint) {
  Begin({.resumed_step = 100});
  for (const int step : {51, 80, 100}) Take(absl::StrCat("{\"step\": ", step, ", \"loss\": 1}"));
  for (const int step : {60, 90}) Take(absl::StrCat("{\"step\": ", step, ", \"accuracy\": 1}"));
  EXPECT_EQ(complaints_.size(), 1u);
  EXPECT_EQ(reports_->Hint(Reports::When::kEnded, {}), "");
  Take(R"({"step": 101, "loss": 1})");
  Keep(reports_->Finish(now_));
  EXPECT_EQ(rows_.size(), 1u);
  EXPECT_TRUE(evaluations_.empty());
}

TEST_F(ReportsTest, AProgramThatBeginsAgainAfterAResumeGetsAHint) {
  Begin({.resumed_step = 100});
  Take(R"({"step": 5, "loss": 1})");
  EXPECT_THAT(reports_->Hint(Reports::When::kEnded, {}), HasSubstr("the program began again"));
}

TEST_F(ReportsTest, StepZeroIsAStep) {
  Begin({});
  Take(R"({"step": 0, "loss": 4})");
  Take(R"({"step": 0, "val_loss": 4})");
  Take(R"({"step": 1, "loss": 3})");
  Keep(reports_->Finish(now_));
  ASSERT_EQ(rows_.size(), 2u);
  EXPECT_EQ(rows_[0]["steps"], 1.0);
  EXPECT_EQ(rows_[1]["steps"], 1.0);
  EXPECT_EQ(EvaluatedSteps(), std::vector<uint64_t>{0});
  EXPECT_TRUE(complaints_.empty()) << complaints_[0];
}

TEST_F(ReportsTest, LinesOfOneStepAreOneReport) {
  Begin({.metric = "accuracy"});
  Take(R"({"step": 1, "train_acc": 0.1, "x": 1})");
  Take(R"({"step": 1, "accuracy": 0.2, "x": 2})");
  Take(R"({"step": 1, "loss": 3})");
  Take(R"({"step": 1, "learning_rate": 0.5})");
  Advance(absl::Seconds(1));
  ASSERT_EQ(evaluations_.size(), 1u);
  EXPECT_EQ(evaluations_[0].metrics,
            (std::map<std::string, double>{{"train_acc", 0.1}, {"accuracy", 0.2}, {"x", 2}}))
      << "the later value is meant";
  ASSERT_EQ(rows_.size(), 1u);
  EXPECT_EQ(rows_[0]["loss"], 3);
  EXPECT_EQ(rows_[0]["learning_rate"], 0.5);
  EXPECT_TRUE(complaints_.empty());
}

TEST_F(ReportsTest, LaterReportsOfASentStepAreSentToo) {
  Begin({.rungs = {2}, .metric = "accuracy"});
  Take(R"({"step": 2, "train_acc": 0.1})");
  Advance(absl::Minutes(1));
  ASSERT_EQ(evaluations_.size(), 1u) << "rare reports do not wait for the next step";
  Take(R"({"step": 2, "accuracy": 0.2, "train_acc": 0.3})");
  Advance(absl::Seconds(1));
  ASSERT_EQ(evaluations_.size(), 2u);
  EXPECT_EQ(evaluations_[1].metrics, (std::map<std::string, double>{{"accuracy", 0.2}}));
  EXPECT_EQ(complaints_.size(), 1u) << "the first value of train_acc has gone";
}

TEST_F(ReportsTest, TheNewestOfTooManyReportsWaits) {
  Begin({});
  const int burst = limits::kProgramReportsBurst;
  for (int step = 1; step <= burst + 50; ++step) {
    Take(absl::StrCat(R"({"step": )", step, R"(, "accuracy": 1})"));
  }
  ASSERT_EQ(evaluations_.size(), static_cast<size_t>(burst));
  now_.steady = reports_->NextDeadline();
  Advance(absl::Seconds(1));
  ASSERT_EQ(evaluations_.size(), static_cast<size_t>(burst) + 1);
  EXPECT_EQ(evaluations_.back().step, static_cast<uint64_t>(burst) + 50);
  Keep(reports_->Finish(now_));
  ASSERT_EQ(complaints_.size(), 1u);
  EXPECT_EQ(complaints_[0].substr(0, 3), "49 ") << complaints_[0];
}

TEST_F(ReportsTest, NothingIsLeftOutAtStepsThatASearchCompares) {
  Begin({.steps = 1000, .rungs = {250, 500}});
  for (int step = 1; step <= 1000; ++step) {
    Take(absl::StrCat(R"({"step": )", step, R"(, "accuracy": 1})"));
  }
  Keep(reports_->Finish(now_));
  const std::vector<uint64_t> steps = EvaluatedSteps();
  EXPECT_EQ(std::count(steps.begin(), steps.end(), 250u), 1);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), 500u), 1);
  EXPECT_EQ(steps.size(), static_cast<size_t>(limits::kProgramReportsBurst) + 3);
}

TEST_F(ReportsTest, LinesWithoutTheMetricCostThoseWithItNothing) {
  Begin({.steps = 3000, .rungs = {1000, 2000}, .metric = "accuracy"});
  // Twenty with the metric, below the limit of the rate, amid a flood of others.
  for (int step = 1; step <= 3000; ++step) {
    Take(absl::StrCat(R"({"step": )", step, R"(, "batch_time": 1})"));
    Take(absl::StrCat(R"({"step": )", step, R"(, "loss": 1})"));
    if (step % 150 == 0) Take(absl::StrCat(R"({"step": )", step, R"(, "accuracy": 1})"));
    if (step % 10 == 0) Advance(absl::Milliseconds(10));
  }
  Keep(reports_->Finish(now_));
  std::vector<uint64_t> with;
  uint64_t before = 0;
  for (const frames::Eval& each : evaluations_) {
    EXPECT_LE(before, each.step);
    before = each.step;
    if (each.metrics.contains("accuracy")) with.push_back(each.step);
  }
  ASSERT_EQ(with.size(), 20u);
  EXPECT_EQ(with.front(), 150u);
  EXPECT_EQ(with.back(), 3000u);
}

TEST_F(ReportsTest, OnlyALineWithTheMetricPassesARung) {
  Begin({.steps = 10'000, .rungs = {5000}, .metric = "accuracy"});
  for (int step = 1; step < 5000; ++step) {
    Take(absl::StrCat(R"({"step": )", step, R"(, "accuracy": 1})"));
  }
  Take(R"({"step": 5000, "other": 1})");
  Take(R"({"step": 5001, "accuracy": 1})");
  for (int step = 5002; step <= 6000; ++step) {
    Take(absl::StrCat(R"({"step": )", step, R"(, "accuracy": 1})"));
  }
  const std::vector<uint64_t> steps = EvaluatedSteps();
  EXPECT_EQ(std::count(steps.begin(), steps.end(), 5001u), 1);
}

TEST_F(ReportsTest, ALeftOutFieldIsReportedOnceByItsName) {
  Begin({.metric = "accuracy"});
  for (int step = 1; step <= 5; ++step) {
    Take(absl::StrCat(R"({"step": )", step, R"(, "accuracy": 1, "phase": "train"})"));
  }
  Keep(reports_->Finish(now_));
  EXPECT_EQ(evaluations_.size(), 5u);
  ASSERT_EQ(complaints_.size(), 1u);
  EXPECT_NE(complaints_[0].find("'phase' is left out"), std::string::npos) << complaints_[0];
  EXPECT_NE(reports_->Hint(Reports::When::kRunning, {}).find("'phase' is left out"),
            std::string::npos);
}

TEST_F(ReportsTest, EpochsAmongStepsAreLeftOutAndReported) {
  Begin({.metric = "accuracy"});
  Take(R"({"step": 100, "loss": 1})");
  Take(R"({"epoch": 1, "accuracy": 0.5})");
  Take(R"({"checkpoint": "c", "step": 100})");
  EXPECT_EQ(saved_.size(), 1u);
  ASSERT_EQ(complaints_.size(), 1u);
  EXPECT_NE(complaints_[0].find("give step in each"), std::string::npos) << complaints_[0];
  EXPECT_NE(reports_->Hint(Reports::When::kEnded, {}).find("give step in each"), std::string::npos);
}

TEST_F(ReportsTest, AMissingReportOrMetricCausesANote) {
  using When = Reports::When;
  Begin({.metric = "accuracy"});
  EXPECT_EQ(reports_->Hint(When::kRunning, {}), "");
  EXPECT_EQ(reports_->Hint(When::kEnded, {}).find("it reported nothing; to show"), 0u);
  const NearMiss near{"step 3: acc 0.5", "it is text", true};
  EXPECT_EQ(reports_->Hint(When::kRunning, near),
            "it has reported nothing yet; nearly a report was \"step 3: acc 0.5\": it is text");
  Take(R"({"step": 1, "acc": 0.5, "loss": 2})");
  EXPECT_EQ(reports_->Hint(When::kEnded, {}),
            "it never reported accuracy, by which trials are compared; it reported acc, loss");
  Take(R"({"step": 2, "accuracy": 0.5})");
  EXPECT_EQ(reports_->Hint(When::kEnded, near), "");
}

TEST_F(ReportsTest, AMetricThatNeverWasANumberCausesANote) {
  using When = Reports::When;
  Begin({.metric = "accuracy"});
  Take(R"({"step": 1, "accuracy": NaN})");
  Take(R"({"step": 2, "accuracy": Infinity})");
  EXPECT_EQ(reports_->Hint(When::kRunning, {}),
            "each accuracy so far is NaN or infinite, which counts as the worst");
  EXPECT_EQ(reports_->Hint(When::kEnded, {}),
            "each accuracy that it reported is NaN or infinite, which counts as the worst");
  Take(R"({"step": 3, "accuracy": 0.5})");
  EXPECT_EQ(reports_->Hint(When::kEnded, {}), "");
}

TEST_F(ReportsTest, AResumedProgramMayHaveReportedBefore) {
  Begin({.resumed_step = 5, .metric = "accuracy"});
  EXPECT_EQ(reports_->Hint(Reports::When::kEnded, {}), "");
  Take(R"({"step": 6, "other": 0.5})");
  EXPECT_EQ(reports_->Hint(Reports::When::kEnded, {}), "");
}

TEST_F(ReportsTest, ACheckpointIsOfTheNewestStepAndKnowsItsLossAndTheMetric) {
  Begin({.metric = "accuracy"});
  Take(R"({"step": 7, "val_loss": 1.5})");
  Take(R"({"step": 7, "accuracy": 0.5})");
  Take(R"({"checkpoint": "a"})");
  Take(R"({"checkpoint": "b", "step": 8})");
  ASSERT_EQ(saved_.size(), 2u);
  EXPECT_EQ(saved_[0].step, 7u);
  EXPECT_EQ(saved_[0].loss, 1.5);
  EXPECT_EQ(saved_[0].metric, 0.5);
  EXPECT_EQ(saved_[1].loss, std::nullopt);
}

TEST_F(ReportsTest, ACheckpointWithoutAStepOfItsOwnWaitsForALaterStep) {
  Begin({});
  for (const char* line :
       {R"({"step": 0, "val_loss": 3})", R"({"checkpoint": "a"})", R"({"step": 7, "val_loss": 2})",
        R"({"checkpoint": "b"})", R"({"checkpoint": "c"})", R"({"checkpoint": "d"})"}) {
    Take(line);
  }
  ASSERT_EQ(saved_.size(), 1u);
  EXPECT_EQ(saved_[0].folder, "b");
  EXPECT_EQ(complaints_.size(), 1u) << "they are no fault of the program";
  EXPECT_EQ(reports_->Hint(Reports::When::kEnded, {}), "");
}

TEST_F(ReportsTest, AProgramThatErrsInEachLineDoesNotFillItsLog) {
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
