// sender_test.cc: notifications over real sockets, to receivers of every kind.
#include "coordinator/notify/sender.h"

#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "common/notice_limits.h"
#include "coordinator/notify/signature.h"
#include "tests/testing/await.h"
#include "tests/testing/fake_receiver.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

using ::dt::testing::Await;
using ::dt::testing::Certificates;
using ::dt::testing::FakeReceiver;
using ::dt::testing::TempFolder;
using Mood = FakeReceiver::Mood;

class SenderTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& allowed, const std::string& own = "",
             const std::string& ca = "", const std::string& key = "") {
    auto receivers = Receivers::Make(allowed);
    ASSERT_TRUE(receivers.ok()) << receivers.status();
    v1::Notify own_receiver;
    own_receiver.set_url(own);
    auto sender = Sender::Start({0xabc, *receivers, own_receiver, ca, key}, clock_,
                                [this](const Settled& settled) { return Take(settled); });
    ASSERT_TRUE(sender.ok()) << sender.status();
    sender_ = *std::move(sender);
  }
  void TearDown() override { sender_.reset(); }
  bool Take(const Settled& settled) {
    MutexLock lock(&mutex_);
    if (full_) return false;
    settled_[settled.number] = settled.outcome;
    return true;
  }
  void SetFull(bool full) {
    MutexLock lock(&mutex_);
    full_ = full;
  }
  void Tell(uint64_t number, const std::string& url, const std::string& form = "") {
    v1::Notice notice;
    notice.set_number(number);
    notice.set_event(v1::Notice::FAILED);
    notice.set_url(url);
    notice.set_form(form);
    notice.set_experiment(1);
    notice.set_trial(1);
    sender_->Tell(notice);
  }
  bool IsSettled(uint64_t number) {
    MutexLock lock(&mutex_);
    return settled_.contains(number);
  }
  bool AwaitOutcome(uint64_t number, v1::NoticeSettled::Outcome outcome) {
    if (!Await([&] { return IsSettled(number); })) return false;
    MutexLock lock(&mutex_);
    return settled_.at(number) == outcome;
  }

  SystemClock clock_;
  Mutex mutex_;
  bool full_ = false;
  std::map<uint64_t, v1::NoticeSettled::Outcome> settled_;
  std::unique_ptr<Sender> sender_;
};

TEST_F(SenderTest, ANoticeIsPostedAsJsonWithItsIdAndSettled) {
  FakeReceiver receiver;
  Start({receiver.Origin()});
  Tell(7, receiver.Url());
  ASSERT_TRUE(AwaitOutcome(7, v1::NoticeSettled::DELIVERED));
  const auto requests = receiver.Requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(requests[0].head.starts_with("POST /hook?token=secret HTTP/1.1"));
  EXPECT_NE(requests[0].head.find("Content-Type: application/json"), std::string::npos);
  EXPECT_NE(requests[0].head.find("Dtrain-Notice-Id: 0000000000000abc-7"), std::string::npos);
  EXPECT_EQ(requests[0].Json()["id"], "0000000000000abc-7");
  Tell(8, receiver.Url(), "slack");
  ASSERT_TRUE(AwaitOutcome(8, v1::NoticeSettled::DELIVERED));
  const auto slack = receiver.Requests().at(1).Json();
  EXPECT_EQ(slack.size(), 1u) << slack;
  EXPECT_TRUE(slack.contains("text")) << slack;
}

TEST_F(SenderTest, AFailingReceiverGetsTheSameNotificationAgain) {
  FakeReceiver receiver(Mood::kFails);
  Start({receiver.Origin()});
  Tell(1, receiver.Url());
  ASSERT_TRUE(receiver.AwaitRequests(1));
  EXPECT_FALSE(IsSettled(1));
  receiver.Become(Mood::kTakes);
  ASSERT_TRUE(AwaitOutcome(1, v1::NoticeSettled::DELIVERED));
  const auto requests = receiver.Requests();
  ASSERT_GE(requests.size(), 2u);
  for (const auto& request : requests) EXPECT_EQ(request.body, requests[0].body);
}

TEST_F(SenderTest, ARefusalIsTheEndOfThatNotice) {
  FakeReceiver receiver(Mood::kRefuses);
  Start({receiver.Origin()});
  Tell(1, receiver.Url());
  ASSERT_TRUE(AwaitOutcome(1, v1::NoticeSettled::FAILED));
  EXPECT_EQ(receiver.Requests().size(), 1u);
}

TEST_F(SenderTest, ARedirectionIsNotFollowed) {
  FakeReceiver receiver(Mood::kRedirects);
  Start({receiver.Origin()});
  Tell(1, receiver.Url());
  ASSERT_TRUE(AwaitOutcome(1, v1::NoticeSettled::FAILED));
  Tell(2, receiver.Url());
  ASSERT_TRUE(AwaitOutcome(2, v1::NoticeSettled::FAILED));
  for (const auto& request : receiver.Requests()) {
    EXPECT_EQ(request.head.find("/elsewhere"), std::string::npos);
  }
}

TEST_F(SenderTest, HangingRefusingAndEndlessReceiversDelayNoOther) {
  FakeReceiver hangs(Mood::kHangs);
  FakeReceiver endless(Mood::kEndless);
  FakeReceiver head(Mood::kLongHead);
  FakeReceiver good;
  std::string gone;
  { gone = FakeReceiver().Origin(); }
  Start({hangs.Origin(), endless.Origin(), head.Origin(), good.Origin(), gone});
  Tell(1, hangs.Url());
  Tell(2, endless.Url());
  Tell(3, gone + "/hook");
  Tell(4, head.Url());
  Tell(5, good.Url());
  ASSERT_TRUE(AwaitOutcome(5, v1::NoticeSettled::DELIVERED));
  // Its status came before the endless head: the receiver has the notification.
  ASSERT_TRUE(AwaitOutcome(4, v1::NoticeSettled::DELIVERED));
  EXPECT_TRUE(endless.AwaitRequests(2)) << "it was cut off, and is tried again";
  EXPECT_FALSE(IsSettled(1));
  EXPECT_FALSE(IsSettled(2));
  EXPECT_FALSE(IsSettled(3));
}

TEST_F(SenderTest, AForbiddenReceiverGetsNothingWhateverTheNotification) {
  FakeReceiver receiver;
  Start({});
  Tell(1, receiver.Url());
  ASSERT_TRUE(AwaitOutcome(1, v1::NoticeSettled::FAILED));
  Tell(2, "");
  ASSERT_TRUE(AwaitOutcome(2, v1::NoticeSettled::FAILED)) << "it has no receiver of its own";
  EXPECT_TRUE(receiver.Requests().empty());
}

TEST_F(SenderTest, TheCoordinatorsOwnReceiverNeedNotBeAllowed) {
  FakeReceiver receiver;
  Start({}, receiver.Url());
  Tell(1, "");
  ASSERT_TRUE(AwaitOutcome(1, v1::NoticeSettled::DELIVERED));
}

TEST_F(SenderTest, AnUnsettledDeliveryIsSettledLaterAndNotSentTwice) {
  FakeReceiver receiver;
  SetFull(true);
  Start({receiver.Origin()});
  Tell(1, receiver.Url());
  ASSERT_TRUE(receiver.AwaitRequests(1));
  SetFull(false);
  ASSERT_TRUE(AwaitOutcome(1, v1::NoticeSettled::DELIVERED));
  EXPECT_EQ(receiver.Requests().size(), 1u);
}

TEST_F(SenderTest, WithAKeyTheBodyIsSigned) {
  FakeReceiver receiver;
  Start({receiver.Origin()}, "", "", "a key of sixteen or more bytes");
  Tell(1, receiver.Url());
  ASSERT_TRUE(AwaitOutcome(1, v1::NoticeSettled::DELIVERED));
  const auto requests = receiver.Requests();
  ASSERT_EQ(requests.size(), 1u);
  const std::string line = absl::StrCat(
      "\r\nDtrain-Signature: ", SignatureOf("a key of sixteen or more bytes", requests[0].body),
      "\r\n");
  EXPECT_NE(requests[0].head.find(line), std::string::npos) << requests[0].head;
}

TEST_F(SenderTest, AFailingReceiverIsNamedWithoutItsSecretUntilItAccepts) {
  FakeReceiver receiver(Mood::kFails);
  Start({receiver.Origin()});
  EXPECT_TRUE(sender_->Failing().empty());
  Tell(1, receiver.Url());
  ASSERT_TRUE(Await([&] { return !sender_->Failing().empty(); }));
  const auto failing = sender_->Failing();
  EXPECT_EQ(failing[0].receiver, receiver.Origin() + "/...");
  EXPECT_NE(failing[0].why.find("500"), std::string::npos) << failing[0].why;
  receiver.Become(Mood::kTakes);
  ASSERT_TRUE(AwaitOutcome(1, v1::NoticeSettled::DELIVERED));
  EXPECT_TRUE(sender_->Failing().empty());
}

TEST_F(SenderTest, OverTlsTheCertificateIsVerified) {
  TempFolder folder;
  const Certificates certificates(folder.path());
  FakeReceiver known(Mood::kTakes, &certificates.server());
  Start({known.Origin()}, "", certificates.server().ca);
  Tell(1, known.Url());
  ASSERT_TRUE(AwaitOutcome(1, v1::NoticeSettled::DELIVERED));
  // Another authority signed its certificate: nothing is sent.
  FakeReceiver impostor(Mood::kTakes, &certificates.impostor());
  FakeReceiver good;
  Start({impostor.Origin(), good.Origin()}, "", certificates.server().ca);
  Tell(2, impostor.Url());
  Tell(3, good.Url());
  ASSERT_TRUE(AwaitOutcome(3, v1::NoticeSettled::DELIVERED));
  sender_.reset();
  EXPECT_TRUE(impostor.Requests().empty());
  EXPECT_FALSE(IsSettled(2));
}

TEST_F(SenderTest, AnEndCutsOffDeliveriesUnderWay) {
  FakeReceiver receiver(Mood::kHangs);
  Start({receiver.Origin()});
  Tell(1, receiver.Url());
  ASSERT_TRUE(receiver.AwaitRequests(1));
  const absl::Duration begun = clock_.Now().steady;
  sender_.reset();
  EXPECT_LT(clock_.Now().steady - begun, limits::kNotifyTimeout / 2);
  EXPECT_FALSE(IsSettled(1));
}

}  // namespace
}  // namespace dt
