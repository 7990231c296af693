// report_job_test.cc: reports and importance over HTTP, from a scripted core and rows in memory.
#include "coordinator/api/report_job.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/api_limits.h"
#include "common/draw.h"
#include "coordinator/api/api.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/coordinator/api/scripted_reader.h"
#include "tests/testing/experiments.h"

namespace dt {
namespace {

using nlohmann::json;

// An experiment whose results depend on the learning rate, answered in pages of 100 trials.
class CoreWithTrials {
 public:
  explicit CoreWithTrials(uint32_t trials) : trials_(trials) {}

  void Ask(ClientCall call, const Continuation& continuation) {
    if (FindRequest<v1::GetExperimentRequest>(call) != nullptr) {
      auto found = std::make_unique<v1::GetExperimentResponse>();
      found->mutable_summary()->set_experiment(12);
      found->mutable_summary()->set_name("<b>mine</b>");
      found->mutable_summary()->set_trials(trials_);
      found->mutable_summary()->set_metric("val_loss");
      found->mutable_summary()->set_goal("minimize");
      *found->mutable_spec() = OneTrial();
      for (const char* path : {"optimizer.lr", "optimizer.weight_decay"}) {
        v1::Parameter& parameter = *found->mutable_spec()->add_parameters();
        parameter.set_path(path);
        parameter.mutable_range()->set_min(0);
        parameter.mutable_range()->set_max(1);
      }
      return continuation(absl::OkStatus(), std::move(found));
    }
    if (const auto* list = FindRequest<v1::ListTrialsRequest>(call)) {
      return continuation(absl::OkStatus(), Page(*list));
    }
    if (const auto* explain = FindRequest<v1::ExplainTrialRequest>(call)) {
      ++explained;
      if (explain->trial() == failing) return continuation(absl::UnavailableError("no"), nullptr);
      auto response = std::make_unique<v1::ExplainTrialResponse>();
      *response->mutable_trial() = Trial(explain->trial());
      response->add_attempts()->set_attempt(1);
      return continuation(absl::OkStatus(), std::move(response));
    }
    continuation(absl::UnimplementedError("the test's core does not know this call"), nullptr);
  }

  uint32_t explained = 0;
  uint32_t failing = 0;  // this trial cannot be explained

 private:
  static v1::TrialSummary Trial(uint32_t number) {
    v1::TrialSummary trial;
    trial.set_experiment(12);
    trial.set_trial(number);
    trial.set_state(v1::TRIAL_FINISHED);
    trial.set_attempts(1);
    const double rate = DrawUnit({1, number});
    trial.set_metric_value(3 + rate);
    for (const auto& [path, value] : {std::pair{"optimizer.lr", rate},
                                      std::pair{"optimizer.weight_decay", DrawUnit({2, number})}}) {
      trial.add_assignments()->set_path(path);
      trial.mutable_assignments()->rbegin()->mutable_value()->set_number(value);
    }
    return trial;
  }
  std::unique_ptr<v1::ListTrialsResponse> Page(const v1::ListTrialsRequest& request) const {
    auto response = std::make_unique<v1::ListTrialsResponse>();
    uint32_t next = 1;
    EXPECT_TRUE(request.page_token().empty() || absl::SimpleAtoi(request.page_token(), &next));
    for (int i = 0; i < 100 && next <= trials_; ++i) *response->add_trials() = Trial(next++);
    if (next <= trials_) response->set_next_page_token(absl::StrCat(next));
    return response;
  }

  const uint32_t trials_;
};

HttpAnswer Answer(CoreWithTrials& core, ScriptedReader& reader, const std::string& what,
                  const std::string& query = "") {
  const auto call = ReadApiCall("/api/v1/experiments/12/" + what, query);
  EXPECT_TRUE(call.ok()) << call.status();
  HttpAnswer answer;
  int answers = 0;
  const ReportJob job = what == "report" ? ReportJob::kReport : ReportJob::kImportance;
  GatherExperiment(
      [&core](ClientCall one, const Continuation& then) { core.Ask(std::move(one), then); }, *call,
      job,
      [&](const absl::StatusOr<ExperimentPtr>& whole) {
        ++answers;
        answer = whole.ok() ? AnswerReportJob(reader, *call, job, **whole)
                            : HttpAnswer{0, std::string(whole.status().message())};
      });
  EXPECT_EQ(answers, 1);
  return answer;
}

TEST(WholeTest, ImportanceEqualsDtctls) {
  CoreWithTrials core(250);
  ScriptedReader reader;
  const HttpAnswer answer = Answer(core, reader, "importance");
  EXPECT_EQ(answer.code, 200) << answer.body;
  const json list = json::parse(answer.body);
  EXPECT_EQ(list["kind"], "ImportanceList");
  EXPECT_EQ(list["items"][0]["parameters"], json({"optimizer.lr"}));
  EXPECT_GT(list["items"][0]["share"], 0.8);
  EXPECT_TRUE(absl::StrContains(list["note"].get<std::string>(), "250 trials")) << list["note"];
  EXPECT_EQ(core.explained, 0u);
  EXPECT_EQ(reader.calls, 0);
}

TEST(WholeTest, TooFewTrialsAreAnsweredWithTheNumberNeeded) {
  CoreWithTrials core(3);
  ScriptedReader reader;
  const HttpAnswer answer = Answer(core, reader, "importance");
  EXPECT_EQ(answer.code, 200);
  const json list = json::parse(answer.body);
  EXPECT_TRUE(list["items"].empty());
  EXPECT_TRUE(absl::StrContains(list["note"].get<std::string>(), "12")) << list["note"];
}

TEST(WholeTest, AReportIsOneFileWithEveryTrialItsAttemptsAndRows) {
  CoreWithTrials core(120);
  ScriptedReader reader;
  for (uint64_t step = 1; step <= 50; ++step) reader.AddRow(step, 4);
  const HttpAnswer html = Answer(core, reader, "report");
  EXPECT_EQ(html.type, "text/html; charset=utf-8");
  EXPECT_EQ(html.file_name, "experiment-12.html");
  EXPECT_TRUE(absl::StrContains(html.body, "12/120") || absl::StrContains(html.body, "120"));
  EXPECT_TRUE(absl::StrContains(html.body, "&lt;b&gt;mine"));
  EXPECT_FALSE(absl::StrContains(html.body, "<b>mine"));
  EXPECT_EQ(core.explained, 120u);
  const HttpAnswer csv = Answer(core, reader, "report", "format=csv");
  EXPECT_EQ(csv.file_name, "experiment-12.csv");
  EXPECT_EQ(std::count(csv.body.begin(), csv.body.end(), '\n'), 121);
  EXPECT_EQ(Answer(core, reader, "report", "format=md").file_name, "experiment-12.md");
}

TEST(WholeTest, ATooLargeReportIsRefusedInAdvanceNamingTheCommand) {
  CoreWithTrials core(limits::kApiReportTrials + 1);
  ScriptedReader reader;
  const HttpAnswer answer = Answer(core, reader, "report");
  EXPECT_EQ(answer.code, 0);
  EXPECT_TRUE(absl::StrContains(answer.body, "dtctl report 12 -o report.html")) << answer.body;
  EXPECT_EQ(core.explained, 0u);
}

TEST(WholeTest, AFailedAnswerOfTheCoreFailsTheReportOnce) {
  CoreWithTrials core(120);
  core.failing = 7;
  ScriptedReader reader;
  const HttpAnswer answer = Answer(core, reader, "report");
  EXPECT_EQ(answer.code, 0);
  EXPECT_EQ(answer.body, "no");
  EXPECT_EQ(core.explained, static_cast<uint32_t>(limits::kApiReportAsks));
}

}  // namespace
}  // namespace dt
