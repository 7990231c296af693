// acts_test.cc: bodies of acts become the requests that dtctl sends; others are refused with a
// reason.
#include "coordinator/api/acts.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/api/api.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

absl::StatusOr<Act> ReadPosted(const std::string& path, const std::string& body,
                               const std::string& who = "") {
  const auto call = ReadApiCall("/api/v1/" + path, "", HttpMethod::kPost);
  EXPECT_TRUE(call.ok()) << call.status();
  return call.ok() ? ReadAct(*call, body, who) : call.status();
}

template <typename Request>
Request Get(const std::string& path, const std::string& body, const std::string& who = "") {
  const auto act = ReadPosted(path, body, who);
  EXPECT_TRUE(act.ok()) << act.status();
  const auto* request =
      act.ok() ? google::protobuf::DynamicCastToGenerated<Request>(&*act->request) : nullptr;
  if (request == nullptr) {
    ADD_FAILURE() << path << " is another request";
    return {};
  }
  return *request;
}

void ExpectActRefused(const std::string& path, const std::string& body,
                      const std::vector<std::string>& parts) {
  const auto act = ReadPosted(path, body);
  ASSERT_FALSE(act.ok()) << path << " " << body;
  EXPECT_TRUE(absl::IsInvalidArgument(act.status())) << act.status();
  for (const std::string& part : parts) {
    EXPECT_TRUE(absl::StrContains(act.status().message(), part)) << part << " in: " << act.status();
  }
}

TEST(ActsTest, ACopyIsASubmissionOfText) {
  const auto copy = Get<v1::SubmitRequest>(
      "experiments/12/copy",
      R"({"file_text": "version: 1", "dry_run": true, "request_id": "r", "who": "bob"})", "ann");
  EXPECT_EQ(copy.file_text(), "version: 1");
  EXPECT_TRUE(copy.dry_run());
  EXPECT_EQ(copy.request_id(), "r");
  EXPECT_EQ(copy.who(), "ann");
  ExpectActRefused("experiments/12/copy", "{}", {"file_text"});
  ExpectActRefused("experiments/12/copy", R"({"file_text": 1})", {"a text"});
  ExpectActRefused("experiments/12/copy", R"({"file_text": "a", "spec": {}})", {"'spec'"});
}

TEST(ActsTest, EachActIsTheRequestThatDtctlSends) {
  const auto pause = Get<v1::ChangeRequest>("experiments/12/pause", R"({"let_run": true})");
  EXPECT_EQ(pause.experiment(), 12u);
  EXPECT_TRUE(pause.pause().let_run());
  EXPECT_TRUE(Get<v1::ChangeRequest>("experiments/last/resume", "").has_resume());
  EXPECT_TRUE(Get<v1::ChangeRequest>("experiments/last/resume", "{}").last());
  const auto cancel =
      Get<v1::CancelRequest>("experiments/12/trials/3/cancel", R"({"reason": "wrong data"})");
  EXPECT_EQ(cancel.trial(), 3u);
  EXPECT_EQ(cancel.reason(), "wrong data");
  EXPECT_EQ(Get<v1::CancelRequest>("experiments/12/cancel", "{}").trial(), 0u);
  const auto retry = Get<v1::RetryRequest>("experiments/12/retry", R"({"failed": true})");
  EXPECT_TRUE(retry.failed());
  EXPECT_FALSE(retry.cancelled());
  const auto one = Get<v1::RetryRequest>("experiments/12/trials/3/retry", "{}");
  EXPECT_TRUE(one.failed() && one.cancelled() && one.trial() == 3);
  const auto mark = Get<v1::MarkWorkerRequest>(
      "workers/mark", R"({"worker": "gpu07/cuda:0", "drain": false, "reason": "new disk"})");
  EXPECT_EQ(mark.worker(), "gpu07/cuda:0");
  EXPECT_FALSE(mark.drain());
  const auto quota = Get<v1::SetQuotaRequest>("quotas", R"({"user": "ann", "slots": 0})");
  EXPECT_EQ(quota.user(), "ann");
  EXPECT_EQ(quota.slots(), 0u);
  EXPECT_FALSE(quota.removed());
  const auto none = Get<v1::SetQuotaRequest>("quotas", R"({"label": "a=b", "removed": true})");
  EXPECT_EQ(none.label(), "a=b");
  EXPECT_TRUE(none.removed());
}

TEST(ActsTest, AClientsTrialIsAskedForReportedAndToldInJson) {
  const auto ask = Get<v1::AskTrialRequest>(
      "experiments/12/ask", R"({"asker": "00000000000000ff", "host": "a", "lease_seconds": 7.5})");
  EXPECT_EQ(ask.experiment(), 12u);
  EXPECT_EQ(ask.asker(), 255u);
  EXPECT_EQ(ask.host(), "a");
  EXPECT_EQ(ask.lease_seconds(), 7.5);
  const auto report = Get<v1::ReportTrialRequest>(
      "experiments/12/report",
      R"({"asker": "ffffffffffffffff", "attempt_token": "00ff", "step": 3,
          "metrics": {"val_loss": 0.5, "accuracy": null}})");
  EXPECT_EQ(report.asker(), UINT64_MAX);
  EXPECT_EQ(report.attempt_token(), std::string("\0\xff", 2));
  EXPECT_EQ(report.step(), 3u);
  ASSERT_EQ(report.metrics_size(), 2);
  EXPECT_EQ(report.metrics(0).name(), "val_loss");
  EXPECT_EQ(report.metrics(0).value(), 0.5);
  EXPECT_TRUE(std::isnan(report.metrics(1).value()));
  const auto tell = Get<v1::TellTrialRequest>(
      "experiments/12/tell", R"({"asker": "00000000000000ff", "attempt_token": "0011",
                                 "end": "given_back", "message": "later"})");
  EXPECT_EQ(tell.end(), v1::TellTrialRequest::GIVEN_BACK);
  EXPECT_EQ(tell.message(), "later");
}

TEST(ActsTest, AWrongFieldOfAClientsTrialIsRefusedWithItsForm) {
  ExpectActRefused("experiments/last/ask", "{}", {"the number of an experiment"});
  ExpectActRefused("experiments/1/ask", R"({"asker": 5})", {"asker is 5", "a text"});
  ExpectActRefused("experiments/1/ask", R"({"asker": "5"})", {"16 hex digits"});
  ExpectActRefused("experiments/1/ask", R"({"lease_seconds": "7"})", {"a number"});
  ExpectActRefused("experiments/1/report", R"({"attempt_token": "0"})", {"two a byte"});
  ExpectActRefused("experiments/1/report", R"({"attempt_token": "0g"})", {"two a byte"});
  ExpectActRefused("experiments/1/report", R"({"step": -1})", {"step is -1", "from 0"});
  ExpectActRefused("experiments/1/report", R"({"metrics": [1]})", {"an object of numbers"});
  ExpectActRefused("experiments/1/report", R"({"metrics": {"a": "1"}})", {"an object of numbers"});
  std::string many;
  for (int i = 0; i < 33; ++i) absl::StrAppend(&many, i == 0 ? "" : ", ", "\"m", i, "\": 1");
  ExpectActRefused("experiments/1/report", "{\"metrics\": {" + many + "}}",
                   {"33 entries", "at most 32"});
  ExpectActRefused("experiments/1/tell", R"({"end": "done"})",
                   {"one of finished, failed, given_back, pruned"});
}

TEST(ActsTest, AChangeIsOneFieldOfAnExperiment) {
  const auto change = [](const std::string& body) {
    return Get<v1::ChangeRequest>("experiments/1/change", body);
  };
  EXPECT_EQ(change(R"({"priority": -5})").priority(), -5);
  EXPECT_EQ(change(R"({"max_concurrent": 0})").max_concurrent(), 0u);
  EXPECT_EQ(change(R"({"max_concurrent": 0})").change_case(), v1::ChangeRequest::kMaxConcurrent);
  EXPECT_EQ(change(R"({"max_trials": 40})").max_trials(), 40u);
  EXPECT_EQ(change(R"({"max_gpus_total": 8})").max_gpus_total(), 8u);
  EXPECT_EQ(change(R"({"max_steps": 5000000000})").max_steps(), 5000000000);
  EXPECT_EQ(change(R"({"name": "b"})").name(), "b");
  EXPECT_EQ(change(R"({"note": ""})").change_case(), v1::ChangeRequest::kNote);
  EXPECT_TRUE(change(R"({"archived": true})").archived());
  const auto labels = change(R"({"labels": {"team": "a", "old": null}})").labels();
  ASSERT_EQ(labels.set_size(), 1);
  EXPECT_EQ(labels.set(0).value(), "a");
  EXPECT_EQ(labels.removed(0), "old");
}

TEST(ActsTest, TheTokensUserOverrulesTheBodysUser) {
  const std::string body = R"({"who": "eve"})";
  EXPECT_EQ(Get<v1::CancelRequest>("experiments/1/cancel", body, "ann").who(), "ann");
  EXPECT_EQ(Get<v1::CancelRequest>("experiments/1/cancel", body).who(), "eve");
  EXPECT_EQ(Get<v1::MarkWorkerRequest>("workers/mark", R"({"worker": "w"})", "ann").who(), "ann");
  const std::string quota = R"({"user": "eve", "slots": 1, "who": "eve"})";
  EXPECT_EQ(Get<v1::SetQuotaRequest>("quotas", quota, "ann").who(), "ann");
}

TEST(ActsTest, ARefusalNamesTheFieldTheValueAndTheAllowedValues) {
  for (const char* body : {"[]", "1", "{", "{\"a\":\xff}", "null"}) {
    ExpectActRefused("experiments/1/pause", body, {"not a JSON object"});
  }
  ExpectActRefused("experiments/1/pause", R"({"letrun": true})", {"'letrun'", "let_run"});
  ExpectActRefused("experiments/1/pause", R"({"let_run": 1})", {"let_run is 1", "true or false"});
  ExpectActRefused("experiments/1/change", "{}", {"the body has none of", "priority"});
  ExpectActRefused("experiments/1/change", R"({"note": "a", "name": "b"})",
                   {"give one change at a time"});
  ExpectActRefused("experiments/1/change", R"({"priority": 1.5})", {"priority is 1.5", "integer"});
  ExpectActRefused("experiments/1/change", R"({"priority": 4000000000})", {"2147483647"});
  ExpectActRefused("experiments/1/change", R"({"max_trials": -1})", {"max_trials is -1", "from 0"});
  ExpectActRefused("experiments/1/change", R"({"max_steps": 18446744073709551615})", {"max_steps"});
  ExpectActRefused("experiments/1/change", R"({"labels": {"a": 1}})", {"labels", "null"});
  ExpectActRefused("experiments/1/cancel", R"({"reason": ["x"]})", {"reason", "a text"});
  ExpectActRefused("quotas", R"({"user": "ann"})", {"no slots"});
  ExpectActRefused("quotas", R"({"user": "ann", "slots": -1})", {"slots is -1", "from 0"});
  ExpectActRefused("quotas", R"({"user": "a", "slots": 1, "removed": true})",
                   {"removed and slots"});
  // The message shows only the beginning of the value.
  const auto act =
      ReadPosted("experiments/1/change", "{\"priority\": \"" + std::string(60'000, 'x') + "\"}");
  EXPECT_LT(act.status().message().size(), 200u);
}

// Depth does not matter.
TEST(ActsTest, ADeepBodyIsRefusedAsAnyOther) {
  ExpectActRefused("experiments/1/change",
                   "{\"note\": " + std::string(30'000, '[') + std::string(30'000, ']') + "}",
                   {"deeper than 64"});
  ExpectActRefused("experiments/1/change",
                   "{\"labels\": " + std::string(30'000, '[') + std::string(30'000, ']') + "}",
                   {"deeper than 64"});
  ExpectActRefused("experiments/1/change", std::string(60'000, '['), {"deeper than 64"});
  // Brackets within a string do not nest.
  const std::string note(1'000, '[');
  EXPECT_EQ(Get<v1::ChangeRequest>("experiments/1/change", R"({"note": "\")" + note + "\"}").note(),
            "\"" + note);
}

}  // namespace
}  // namespace dt
