// api_test.cc: complete calls, against a scripted core and a reader in memory.
#include "coordinator/api/api.h"

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/coordinator/api/scripted_reader.h"
#include "tests/testing/experiments.h"

namespace dt {
namespace {

using nlohmann::json;

constexpr absl::Duration kPatience = absl::Seconds(20);

class SteppedClock final : public Clock {
 public:
  Instant Now() const override {
    MutexLock lock(&mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    MutexLock lock(&mutex_);
    now_.steady += by;
  }

 private:
  mutable Mutex mutex_;
  Instant now_ ABSL_GUARDED_BY(mutex_){absl::Seconds(1000), 0};
};

// Answers the core's calls at once: two experiments, the second with three trials.
class ScriptedCore {
 public:
  void Ask(const ClientCall& call, const Continuation& continuation) {
    ++asked;
    if (!refusal.ok()) return continuation(refusal, nullptr);
    if (FindRequest<v1::GetStatusRequest>(call) != nullptr) {
      auto response = std::make_unique<v1::GetStatusResponse>();
      response->set_experiments(2);
      return continuation(absl::OkStatus(), std::move(response));
    }
    if (const auto* request = FindRequest<v1::ListExperimentsRequest>(call)) {
      page_size = request->page_size();
      auto response = std::make_unique<v1::ListExperimentsResponse>();
      for (const uint64_t number : {1, 2}) *response->add_experiments() = Summary(number);
      return continuation(absl::OkStatus(), std::move(response));
    }
    if (const auto* request = FindRequest<v1::GetExperimentRequest>(call)) {
      auto response = std::make_unique<v1::GetExperimentResponse>();
      *response->mutable_summary() = Summary(request->last() ? 2 : request->experiment());
      *response->mutable_spec() = OneTrial();
      response->mutable_spec()->mutable_code()->set_digest("abc");
      response->set_file_name("x.yaml");
      response->set_file_text("name: x\n");
      return continuation(absl::OkStatus(), std::move(response));
    }
    if (const auto* request = FindRequest<v1::ListTrialsRequest>(call)) {
      return continuation(absl::OkStatus(), ListTrials(*request));
    }
    if (const auto* request = FindRequest<v1::ExplainTrialRequest>(call)) {
      auto response = std::make_unique<v1::ExplainTrialResponse>(explained);
      response->mutable_trial()->set_experiment(request->experiment());
      response->mutable_trial()->set_trial(request->trial());
      return continuation(absl::OkStatus(), std::move(response));
    }
    if (const auto* request = FindRequest<v1::ChangeRequest>(call)) {
      changes.push_back(*request);
      auto response = std::make_unique<v1::ChangeResponse>();
      response->set_experiment(request->experiment());
      response->set_changed(true);
      response->set_stopping(2);
      return continuation(absl::OkStatus(), std::move(response));
    }
    if (const auto* request = FindRequest<v1::SetQuotaRequest>(call)) {
      auto response = std::make_unique<v1::SetQuotaResponse>();
      response->set_changed(true);
      *response->mutable_quota() = quota = Quota(request->user(), request->slots());
      return continuation(absl::OkStatus(), std::move(response));
    }
    if (FindRequest<v1::ListQuotasRequest>(call) != nullptr) {
      auto response = std::make_unique<v1::ListQuotasResponse>();
      *response->add_quotas() = quota;
      return continuation(absl::OkStatus(), std::move(response));
    }
    continuation(absl::UnimplementedError("the test's core does not know this call"), nullptr);
  }

  absl::Status refusal;
  std::atomic<int> asked{0};
  int page_size = 0;
  std::vector<v1::ChangeRequest> changes;
  v1::ExplainTrialResponse explained;
  v1::QuotaSummary quota = Quota("bob", 1);

 private:
  static v1::QuotaSummary Quota(const std::string& user, uint32_t slots) {
    v1::QuotaSummary quota;
    quota.set_user(user);
    quota.set_slots(slots);
    quota.set_held(1);
    quota.set_set_wall_ms(1763710812000);
    return quota;
  }
  static v1::ExperimentSummary Summary(uint64_t number) {
    v1::ExperimentSummary summary;
    summary.set_experiment(number);
    summary.set_name("<script>alert(1)</script>\xe2\x80\xae");
    summary.set_priority(static_cast<int32_t>(number));
    summary.set_pending(3);
    summary.set_best_value(std::numeric_limits<double>::quiet_NaN());
    summary.set_eta_seconds(-1);
    return summary;
  }
  static std::unique_ptr<v1::ListTrialsResponse> ListTrials(const v1::ListTrialsRequest& request) {
    auto response = std::make_unique<v1::ListTrialsResponse>();
    const uint64_t experiment = request.last() ? 2 : request.experiment();
    response->set_experiment(experiment);
    for (uint32_t number = 1; number <= 3; ++number) {
      if (request.trial() != 0 && request.trial() != number) continue;
      v1::TrialSummary& trial = *response->add_trials();
      trial.set_experiment(experiment);
      trial.set_trial(number);
      trial.set_state(v1::TRIAL_PENDING);
      trial.set_attempts(1);
      trial.set_waiting("no slot is free");
      trial.set_eta_seconds(-1);
    }
    return response;
  }
};

class ApiTest : public ::testing::Test {
 protected:
  ~ApiTest() override {
    work_.Stop();
    heavy_.Stop();
  }

  HttpAnswer Get(const std::string& path, const std::string& query = "") {
    return Ask({"/api/v1/" + path, query, ""});
  }
  HttpAnswer Post(const std::string& path, const std::string& body,
                  const std::string& type = "application/json") {
    HttpRequest request{"/api/v1/" + path, "", ""};
    request.method = HttpMethod::kPost;
    request.content_type = type;
    request.body = body;
    return Ask(request);
  }
  HttpAnswer Ask(const HttpRequest& request) {
    auto waiting = std::make_shared<Waiting>();
    api_.Answer(request, [waiting](const SharedAnswer& answer) {
      MutexLock lock(&waiting->mutex);
      waiting->answers.push_back(*answer);
      waiting->changed.NotifyAll();
    });
    const absl::Time deadline = absl::Now() + kPatience;
    MutexLock lock(&waiting->mutex);
    while (waiting->answers.empty() && absl::Now() < deadline) {
      waiting->changed.WaitFor(&waiting->mutex, deadline - absl::Now());
    }
    if (waiting->answers.empty()) {
      ADD_FAILURE() << request.path << " was not answered";
      return {};
    }
    return waiting->answers.front();
  }
  v1::SubmitResponse Submitted(v1::SubmitRequest request) {
    v1::SubmitResponse response;
    response.set_experiment(request.dry_run() ? 0 : 3);
    response.add_expanded();
    response.add_diagnostics()->set_line(7);
    submitted_.push_back(std::move(request));
    return response;
  }
  json GetJson(const std::string& path, const std::string& query = "") {
    const HttpAnswer answer = Get(path, query);
    EXPECT_EQ(answer.code, 200) << answer.body;
    return json::parse(answer.body, nullptr, false);
  }

  struct Waiting {
    Mutex mutex;
    CondVar changed;
    std::vector<HttpAnswer> answers ABSL_GUARDED_BY(mutex);
  };
  ScriptedCore core_;
  ScriptedReader reader_;
  SteppedClock clock_;
  ReaderThread work_{reader_};
  ReaderThread heavy_{reader_};
  HttpGate gate_{nullptr, {}};
  std::vector<v1::SubmitRequest> submitted_;
  NoticeFacts notices_{3, 120, 2, 0, {{"https://hooks.example", "it answers 500"}}};
  ApiFacts facts_{"127.0.0.1:7601", [this] { return notices_; }};
  Api api_{[this](ClientCall call, const Continuation& then) { core_.Ask(std::move(call), then); },
           [this](auto request, const auto& done) { done({}, Submitted(std::move(request))); },
           work_,
           heavy_,
           clock_,
           gate_,
           facts_};
};

TEST_F(ApiTest, AListHasTheWordsOfDtctlAndUnknownIsNull) {
  const HttpAnswer answer = Get("experiments", "page_size=7");
  EXPECT_EQ(core_.page_size, 7);
  EXPECT_EQ(answer.type, "application/json; charset=utf-8");
  EXPECT_FALSE(answer.etag.empty());
  const json list = json::parse(answer.body);
  EXPECT_EQ(list["apiVersion"], "dtrain/v1");
  EXPECT_EQ(list["kind"], "ExperimentList");
  ASSERT_EQ(list["items"].size(), 2u);
  EXPECT_EQ(list["items"][0]["id"], "1");
  EXPECT_TRUE(list["items"][0]["best_value"].is_null());
  EXPECT_TRUE(list["items"][0]["eta_seconds"].is_null());
  EXPECT_TRUE(list["next_page_token"].is_null());
  // Hostile text stays as it is, and the character that reverses direction is escaped.
  EXPECT_EQ(list["items"][0]["name"], "<script>alert(1)</script>\xe2\x80\xae");
  EXPECT_NE(answer.body.find("\\u202e"), std::string::npos);
}

TEST_F(ApiTest, TheProcessAddsItsAddressToTheStatus) {
  EXPECT_EQ(GetJson("status")["http_address"], "127.0.0.1:7601");
  EXPECT_EQ(GetJson("status")["started_at"], "1969-12-31T23:43:20.000Z");
  clock_.Advance(absl::Seconds(2));  // the wall clock was set back by as much, so only steady time
                                     // moves
  EXPECT_EQ(GetJson("status")["started_at"], "1969-12-31T23:43:18.000Z");
}

TEST_F(ApiTest, TheSameQuestionIsAskedOnceASecond) {
  GetJson("status");
  GetJson("status");
  EXPECT_EQ(core_.asked, 1);
  clock_.Advance(absl::Seconds(2));
  GetJson("status");
  EXPECT_EQ(core_.asked, 2);
}

TEST_F(ApiTest, AnErrorOfTheCoreIsJsonWithItsCodeAndNotKept) {
  core_.refusal = absl::NotFoundError("experiment 9 does not exist");
  const HttpAnswer answer = Get("experiments/9");
  EXPECT_EQ(answer.code, 404);
  const json error = json::parse(answer.body);
  EXPECT_EQ(error["kind"], "Error");
  EXPECT_EQ(error["code"], "not_found");
  EXPECT_EQ(error["message"], "experiment 9 does not exist");
  core_.refusal = absl::OkStatus();
  EXPECT_EQ(Get("experiments/9").code, 200);
  core_.refusal = absl::ResourceExhaustedError("busy");
  EXPECT_EQ(Get("workers").code, 429);
  core_.refusal = absl::UnavailableError("stopping");
  EXPECT_EQ(Get("workers").code, 503);
  EXPECT_EQ(Get("nothing").code, 404);
  EXPECT_EQ(Get("experiments", "page_size=-1").code, 400);
}

TEST_F(ApiTest, AnActIsDoneEachTimeAndAnsweredAsDtctlPrintsIt) {
  for (int i = 0; i < 2; ++i) {
    const HttpAnswer answer = Post("experiments/2/pause", R"({"let_run": true})");
    EXPECT_EQ(answer.code, 200) << answer.body;
    EXPECT_EQ(answer.etag, "");
    const json said = json::parse(answer.body);
    EXPECT_EQ(said["kind"], "Changed");
    EXPECT_EQ(said["changed"], true);
    EXPECT_EQ(said["stopping"], 2);
  }
  ASSERT_EQ(core_.changes.size(), 2u);
  EXPECT_TRUE(core_.changes[0].pause().let_run());
}

TEST_F(ApiTest, AQuotaIsSetAndShownAsDtctlPrintsIt) {
  const HttpAnswer answer = Post("quotas", R"({"user": "ann", "slots": 8})");
  EXPECT_EQ(answer.code, 200) << answer.body;
  const json set = json::parse(answer.body);
  EXPECT_EQ(set["kind"], "Quota");
  EXPECT_EQ(set["changed"], true);
  const json list = GetJson("quotas");
  EXPECT_EQ(list["kind"], "QuotaList");
  ASSERT_EQ(list["items"].size(), 1u);
  for (const json& quota : {set, list["items"][0]}) {
    EXPECT_EQ(quota["user"], "ann");
    EXPECT_EQ(quota["slots"], 8);
    EXPECT_EQ(quota["held"], 1);
    EXPECT_EQ(quota["set_at"], "2025-11-21T07:40:12.000Z");
    EXPECT_EQ(quota["set_time"], quota["set_at"]) << "its former name";
  }
  EXPECT_EQ(Post("quotas", R"({"user": "ann"})").code, 400);
}

TEST_F(ApiTest, ACopyIsSubmittedWithTheCodeOfItsExperiment) {
  const HttpAnswer checked =
      Post("experiments/2/copy", R"({"file_text": "version: 1\n", "dry_run": true})");
  EXPECT_EQ(checked.code, 200) << checked.body;
  const json said = json::parse(checked.body);
  EXPECT_EQ(said["kind"], "Submitted");
  EXPECT_EQ(said["experiment"], 0);
  EXPECT_EQ(said["diagnostics"][0]["line"], 7);
  EXPECT_FALSE(said.contains("expanded"));
  const HttpAnswer done = Post("experiments/last/copy", R"({"file_text": "version: 1\n"})");
  EXPECT_EQ(json::parse(done.body)["experiment"], 3) << done.body;
  EXPECT_EQ(Post("experiments/2/copy", "{}").code, 400);
  ASSERT_EQ(submitted_.size(), 2u);
  EXPECT_TRUE(submitted_[0].dry_run());
  EXPECT_FALSE(submitted_[1].dry_run());
  for (const v1::SubmitRequest& request : submitted_) {
    EXPECT_EQ(request.file_text(), "version: 1\n");
    EXPECT_EQ(request.file_name(), "x.yaml");
    EXPECT_EQ(request.spec().code().digest(), "abc");
    EXPECT_FALSE(request.spec().has_base());
  }
  core_.refusal = absl::NotFoundError("experiment 9 does not exist");
  EXPECT_EQ(Post("experiments/9/copy", R"({"file_text": "version: 1\n"})").code, 404);
  EXPECT_EQ(submitted_.size(), 2u);
}

TEST_F(ApiTest, AnActThatIsRefusedSaysWhyWithTheCodeOfItsKind) {
  EXPECT_EQ(Post("experiments/2/pause", "{}", "text/plain").code, 400);
  EXPECT_EQ(Post("experiments/2/pause", "[]").code, 400);
  EXPECT_EQ(Post("experiments/2", "{}").code, 400);
  EXPECT_EQ(Post("experiments/2/nothing", "{}").code, 404);
  EXPECT_TRUE(core_.changes.empty());
  core_.refusal = absl::FailedPreconditionError("experiment 2 has ended");
  const HttpAnswer answer = Post("experiments/2/pause", "{}");
  EXPECT_EQ(answer.code, 409);
  EXPECT_EQ(json::parse(answer.body)["message"], "experiment 2 has ended");
  core_.refusal = absl::PermissionDeniedError("it was submitted by ann");
  EXPECT_EQ(Post("experiments/2/pause", "{}").code, 403);
}

TEST_F(ApiTest, CurvesOfSeveralTrialsComeInOneAnswer) {
  for (uint64_t step = 1; step <= 5; ++step) reader_.AddRow(step, 1.23456789012);
  const json list = GetJson("experiments/last/curves", "trial=1,3&metric=loss&points=100");
  ASSERT_EQ(list["items"].size(), 2u);
  const json& second = list["items"][1];
  EXPECT_EQ(second["id"], "2/3");
  EXPECT_EQ(second["complete"], true);
  EXPECT_EQ(second["metrics"]["loss"]["steps"], json({1, 2, 3, 4, 5}));
  EXPECT_EQ(second["metrics"]["loss"]["values"][0], 1.234568);
}

TEST_F(ApiTest, EvaluationsComeAsTheyAreTheNewestLast) {
  for (uint64_t step = 1; step <= 9; ++step) reader_.AddEvaluation(step, 1);
  reader_.AddRow(1, 1);
  const json list = GetJson("experiments/2/trials/1/evaluations", "tail=2");
  ASSERT_EQ(list["items"].size(), 2u);
  EXPECT_EQ(list["items"][1]["step"], 9);
  EXPECT_EQ(list["items"][1]["metrics"][0]["name"], "accuracy");
}

TEST_F(ApiTest, LogsHaveATokenForTheNextPage) {
  reader_.AddLine("hello <b>world</b>");
  const json list = GetJson("experiments/2/trials/1/logs");
  ASSERT_EQ(list["items"].size(), 1u);
  EXPECT_EQ(list["items"][0]["text"], "hello <b>world</b>");
  EXPECT_EQ(list["next_page_token"], "1");
  EXPECT_EQ(list["left_out"], 0);
}

TEST_F(ApiTest, ATrialThatHungHasTheInnermostFramesOfItsLog) {
  EXPECT_EQ(GetJson("experiments/2/trials/2")["hang"], nullptr);
  v1::AttemptSummary& attempt = *core_.explained.add_attempts();
  attempt.set_attempt(1);
  attempt.set_cause(v1::CAUSE_HANG);
  attempt.set_ended_wall_ms(1763710812000);
  for (const char* line :
       {"dtrain: it hangs; what its processes are doing:", "dtrain: process 8 (a) runs",
        "dtrain:   Thread 1 (LWP 8):", "dtrain:   #0  0x1 in poll ()"}) {
    reader_.AddLine(line);
  }
  const json hang = GetJson("experiments/2/trials/1")["hang"];
  EXPECT_EQ(hang["attempt"], 1);
  const json& process = hang["ranks"][0]["processes"][0];
  EXPECT_EQ(process["doing"], "process 8 (a) runs");
  EXPECT_EQ(process["frames"], json({"poll ()"}));
}

TEST_F(ApiTest, TheQueueListsWaitingTrialsInOrderWithReasons) {
  const json queue = GetJson("queue");
  EXPECT_EQ(queue["pending"], 6);
  ASSERT_EQ(queue["items"].size(), 6u);
  EXPECT_EQ(queue["items"][0]["id"], "2/1");
  EXPECT_EQ(queue["items"][0]["waiting"], "no slot is free");
}

TEST_F(ApiTest, NotificationsShowWaitingOnesAndFailingReceivers) {
  const json notices = GetJson("notices");
  EXPECT_EQ(notices["waiting"], 3);
  EXPECT_EQ(notices["delivered"], 120);
  EXPECT_EQ(notices["failed"], 2);
  EXPECT_EQ(notices["failing"][0]["receiver"], "https://hooks.example");
  EXPECT_EQ(notices["failing"][0]["why"], "it answers 500");
}

TEST_F(ApiTest, ATrialsFileIsOneThatCanBeSubmitted) {
  const json file = GetJson("experiments/2/trials/3/file");
  EXPECT_EQ(file["id"], "2/3");
  EXPECT_NE(file["text"].get<std::string>().find("version: 1"), std::string::npos);
}

}  // namespace
}  // namespace dt
