// notifications_test.cc: which receivers get which notifications, and that a restart forgets none.
#include "coordinator/core/run/notifications.h"

#include <set>
#include <string>

#include "common/notice_limits.h"
#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/model/notice_word.h"
#include "spec/notify.h"
#include "tests/testing/core_fixture.h"

namespace dt {
namespace {

constexpr char kUrl[] = "https://hooks.example/secret";

class NoticingTest : public CoreTest {
 protected:
  static v1::ExperimentSpec WithNotify(const std::vector<std::string>& events = {}) {
    v1::ExperimentSpec spec = OneTrial();
    spec.mutable_notify()->set_url(kUrl);
    for (const std::string& event : events) spec.mutable_notify()->add_events(event);
    return spec;
  }
  static v1::ExperimentSpec Trials(v1::ExperimentSpec spec, int count) {
    std::vector<v1::Value> seeds;
    for (int i = 1; i <= count; ++i) seeds.push_back(IntegerValue(i));
    return Sweep(std::move(spec), "seed", seeds);
  }
  const std::map<uint64_t, v1::Notice>& Waiting() const { return state_.durable.notices; }
  std::vector<v1::Notice::Event> Events() const {
    std::vector<v1::Notice::Event> events;
    for (const auto& [number, notice] : Waiting()) events.push_back(notice.event());
    return events;
  }
  // Ends the trial on w0 with this cause.
  void End(v1::Cause cause) {
    SendItems("w0", {Ended("w0", cause)});
    Leave("w0");
    Heartbeat("w0");
  }
  void FinishWith(double loss) {
    Train({"w0"});
    SendItems("w0", {Evaluation("w0", 100, loss)});
    End(v1::CAUSE_FINISHED);
  }
  using Events_ = std::vector<v1::Notice::Event>;
};

TEST_F(NoticingTest, AnEndCausesOneNotificationWithTheBestTrialInItsCommit) {
  AddWorker("w0");
  const ExperimentId id = Submit(WithNotify());
  Train({"w0"});
  SendItems("w0", {Evaluation("w0", 100, 2.5)});
  EXPECT_TRUE(Waiting().empty());
  SendItems("w0", {Ended("w0", v1::CAUSE_FINISHED)});
  ASSERT_EQ(Events(), Events_{v1::Notice::FINISHED});
  const v1::Notice& notice = Waiting().begin()->second;
  EXPECT_EQ(notice.number(), 1u);
  EXPECT_EQ(notice.url(), kUrl);
  EXPECT_EQ(notice.experiment(), id);
  EXPECT_EQ(notice.state(), "finished");
  EXPECT_EQ(notice.trial(), 1u);
  EXPECT_EQ(notice.value(), 2.5);
  EXPECT_EQ(notice.message(), "1 finished, 0 failed, 0 cancelled");
  const auto& records = last_.records;
  EXPECT_TRUE(std::any_of(records.begin(), records.end(), [](const v1::Record& record) {
    return record.has_trial_ended();
  })) << "in one transaction";
  Leave("w0");
  Advance(absl::Minutes(1));
  EXPECT_EQ(Waiting().size(), 1u);
}

TEST_F(NoticingTest, AFailedTrialIsNotifiedAndThenTheExperiment) {
  AddWorker("w0");
  Submit(WithNotify());
  Train({"w0"});
  End(v1::CAUSE_OOM);
  ASSERT_EQ(Events(), (Events_{v1::Notice::FAILED, v1::Notice::FINISHED}));
  const v1::Notice& failed = Waiting().begin()->second;
  EXPECT_EQ(failed.cause(), "oom");
  EXPECT_EQ(failed.trial(), 1u);
  EXPECT_EQ(failed.message(), "because of oom");
  EXPECT_FALSE(failed.has_value());
}

TEST_F(NoticingTest, OnlyATrialThatLeadsAtItsEndIsTheBest) {
  AddWorker("w0");
  Submit(Trials(WithNotify({"best"}), 3));
  FinishWith(2.0);
  FinishWith(3.0);
  FinishWith(1.0);
  ASSERT_EQ(Events(), (Events_{v1::Notice::BEST, v1::Notice::BEST}));
  EXPECT_EQ(Waiting().rbegin()->second.value(), 1.0);
  EXPECT_EQ(Waiting().rbegin()->second.trial(), 3u);
}

TEST_F(NoticingTest, WithoutAReceiverNothingIsSent) {
  AddWorker("w0");
  Submit(OneTrial());
  Train({"w0"});
  End(v1::CAUSE_OOM);
  Submit(WithNotify({"best"}));
  Train({"w0"});
  End(v1::CAUSE_OOM);
  EXPECT_TRUE(Waiting().empty());
  EXPECT_EQ(state_.durable.next_notice, 1u);
}

TEST_F(NoticingTest, ACancelledExperimentIsNotifiedAndARetriedOneAgain) {
  const ExperimentId id = Submit(WithNotify({"finished"}));
  Cancel(id);
  ASSERT_EQ(Events(), Events_{v1::Notice::FINISHED});
  EXPECT_EQ(Waiting().begin()->second.state(), "cancelled");
  EXPECT_EQ(Waiting().begin()->second.trial(), 0u);
  Cancel(id);
  EXPECT_EQ(Waiting().size(), 1u);
  v1::RetryRequest request;
  request.set_experiment(id);
  request.set_cancelled(true);
  ASSERT_TRUE(Call<v1::RetryResponse>(request).ok());
  Cancel(id);
  EXPECT_EQ(Waiting().size(), 2u);
}

TEST_F(NoticingTest, TheCoordinatorsOwnReceiverGetsEveryExperiment) {
  state_.live.own_receiver.set_url("https://hooks.example/own");
  state_.live.own_receiver.mutable_events()->Assign(spec::NoticeWords().begin(),
                                                    spec::NoticeWords().end());
  state_.live.own_receiver.set_form("slack");
  AddWorker("w0");
  Submit(OneTrial());
  FinishWith(1.0);
  ASSERT_EQ(Events(), (Events_{v1::Notice::BEST, v1::Notice::FINISHED}));
  EXPECT_EQ(Waiting().begin()->second.url(), "");
  EXPECT_EQ(Waiting().begin()->second.form(), "slack");
  Submit(WithNotify({"finished"}));
  FinishWith(1.0);
  EXPECT_EQ(Waiting().size(), 5u) << "both receivers, each by a number of its own";
  state_.live.own_receiver.clear_events();
  state_.live.own_receiver.add_events("failed");
  Submit(OneTrial());
  FinishWith(1.0);
  EXPECT_EQ(Waiting().size(), 5u) << "it asks for failures alone";
}

TEST_F(NoticingTest, ATrialWithoutAStepIsNotifiedOncePerAttempt) {
  AddWorker("w0");
  v1::ExperimentSpec spec = WithNotify({"stalled"});
  *spec.mutable_base()->mutable_run() = "train";
  spec.mutable_base()->clear_data();
  spec.clear_explicit_paths();
  Submit(spec);
  Follow("w0");
  for (auto& [token, status] : workers_.at("w0").holding) {
    status.set_phase(v1::AttemptStatus::TRAINING);
    status.mutable_prepared()->set_data_fingerprint("");
  }
  Heartbeat("w0");
  SendItems("w0", {Prepared("w0", 0), Running("w0")});
  Advance(limits::kStalled + absl::Minutes(1));
  EXPECT_TRUE(Waiting().empty()) << "it never reported a step, so its silence means nothing";
  auto& status = workers_.at("w0").holding.begin()->second;
  status.set_step(5);
  status.mutable_latest()->set_step(5);
  Heartbeat("w0");
  Advance(2 * limits::kStalled + absl::Minutes(1));
  ASSERT_EQ(Events(), Events_{v1::Notice::STALLED});
  EXPECT_NE(Waiting().begin()->second.message().find("since step 5"), std::string::npos);
  Advance(3 * limits::kStalled);
  EXPECT_EQ(Waiting().size(), 1u);
}

TEST_F(NoticingTest, ANoticeWaitsAcrossRestartsUntilItIsSettledAndNumbersGoOn) {
  Cancel(Submit(WithNotify()));
  Cancel(Submit(WithNotify()));
  const auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(HashOf(loaded->state), HashOf(state_.durable));
  Feed({.what = NoticeDone{1, v1::NoticeSettled::DELIVERED}});
  ASSERT_EQ(last_.records.size(), 1u);
  EXPECT_TRUE(last_.records[0].has_notice_settled());
  Feed({.what = NoticeDone{1, v1::NoticeSettled::DELIVERED}});
  EXPECT_TRUE(last_.NothingDurable()) << "it is settled already";
  RestartCoordinator();
  ASSERT_EQ(Waiting().size(), 1u);
  EXPECT_EQ(Waiting().begin()->first, 2u);
  Feed({.what = NoticeDone{2, v1::NoticeSettled::FAILED}});
  EXPECT_TRUE(Waiting().empty());
  EXPECT_EQ(state_.live.notices_failed, 1u);
  Cancel(Submit(WithNotify()));
  EXPECT_EQ(Waiting().begin()->first, 3u);
}

TEST_F(NoticingTest, AReceiverThatIsFullLosesNoticesAndOthersDoNot) {
  for (size_t i = 0; i < limits::kNoticesPerReceiver + 3; ++i) {
    Cancel(Submit(WithNotify({"finished"})));
  }
  EXPECT_EQ(Waiting().size(), limits::kNoticesPerReceiver);
  EXPECT_EQ(state_.live.notices_dropped, 3u);
  v1::ExperimentSpec other = WithNotify({"finished"});
  other.mutable_notify()->set_url("https://hooks.example/other");
  Cancel(Submit(other));
  EXPECT_EQ(Waiting().size(), limits::kNoticesPerReceiver + 1);
}

TEST_F(NoticingTest, AReceiverThatTookOneHasRoomForOneAlsoAfterASnapshot) {
  for (size_t i = 0; i < limits::kNoticesPerReceiver; ++i) Cancel(Submit(WithNotify({"finished"})));
  auto loaded = LoadSnapshot(SaveSnapshot(state_.durable, {}));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->state.notices_of, state_.durable.notices_of);
  Feed({.what = NoticeDone{1, v1::NoticeSettled::DELIVERED}});
  Cancel(Submit(WithNotify({"finished"})));
  EXPECT_EQ(state_.live.notices_dropped, 0u);
  Cancel(Submit(WithNotify({"finished"})));
  EXPECT_EQ(state_.live.notices_dropped, 1u);
}

TEST(NoticeWordTest, AFileMayAskForEachEventByItsWord) {
  std::set<std::string> words;
  for (int event = 1; event < v1::Notice::Event_ARRAYSIZE; ++event) {
    words.insert(WordOf(static_cast<v1::Notice::Event>(event)));
  }
  EXPECT_EQ(words, std::set<std::string>(spec::NoticeWords().begin(), spec::NoticeWords().end()));
}

TEST_F(NoticingTest, TheAddressIsInNoAnswer) {
  v1::SubmitRequest submit;
  *submit.mutable_spec() = WithNotify();
  submit.mutable_spec()->mutable_base()->mutable_train()->set_max_steps(100);
  submit.set_file_text("notify:\n  url: https://hooks.example/secret\n");
  ASSERT_TRUE(Call<v1::SubmitResponse>(submit).ok());
  v1::GetExperimentRequest request;
  request.set_experiment(1);
  const auto found = Call<v1::GetExperimentResponse>(request);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->SerializeAsString().find("secret"), std::string::npos);
  EXPECT_EQ(found->spec().notify().url(), "https://hooks.example/...");
  EXPECT_EQ(found->file_text(), "notify:\n  url: https://hooks.example/...\n");
}

}  // namespace
}  // namespace dt
