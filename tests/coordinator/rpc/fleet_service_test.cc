// fleet_service_test.cc: workers' streams over real sockets: their messages and their ends.
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "tests/testing/rpc_fixture.h"

namespace dt {
namespace {

class FleetServiceTest : public RpcTest {
 protected:
  void AwaitStreams(size_t count) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (server_->fleet().streams() != count && absl::Now() < deadline) std::this_thread::yield();
    ASSERT_EQ(server_->fleet().streams(), count);
  }
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerReport, v1::Orders>> OpenStream() {
    SetDeadline(contexts_.emplace_back());
    return fleet_->Session(&contexts_.back());
  }
  // Makes every stream behave as if this time had passed.
  void Pass(absl::Duration time) { server_->fleet().EndWaits(SystemClock().Now().steady + time); }

  std::deque<grpc::ClientContext> contexts_;
};

TEST_F(FleetServiceTest, AStreamBringsReportsInOrderTakesOrdersAndEndsWithItsClosing) {
  Serve();
  Script([&](Event& event, Publisher& publisher) {
    seen_.Add(Describe(event));
    if (const auto* received = std::get_if<ReportReceived>(&event.what)) {
      OrdersOut out;
      out.stream = received->stream;
      out.orders.set_acked_sequence(
          received->report.items().empty() ? 0 : received->report.items(0).sequence());
      publisher.SendOrders(std::move(out));
    }
  });
  const auto stream = OpenStream();
  v1::WorkerReport report = FirstReport();
  v1::Orders orders;
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    v1::Item& item = *report.add_items();
    item.set_sequence(sequence);
    item.set_attempt_token(std::string(16, 't'));
    item.mutable_running();
    ASSERT_TRUE(stream->Write(report));
    ASSERT_TRUE(stream->Read(&orders));
    EXPECT_EQ(orders.acked_sequence(), sequence);
    report.Clear();
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(seen_.WaitFor(4),
            (std::vector<std::string>{"report 1", "report 2", "report 3", "closed"}));
  EXPECT_EQ(server_->fleet().reports(), 3u);
}

TEST_F(FleetServiceTest, AStreamThatDoesNotIntroduceItselfIsEnded) {
  Serve();
  const auto stream = OpenStream();
  ASSERT_TRUE(stream->Write(v1::WorkerReport()));
  v1::Orders orders;
  EXPECT_FALSE(stream->Read(&orders));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(mailbox_.Size(), 0u);
}

TEST_F(FleetServiceTest, AMalformedReportEndsAnOpenStreamAndTheCoreLearnsIt) {
  Serve();
  Script([&](Event& event, Publisher&) { seen_.Add(Describe(event)); });
  const auto stream = OpenStream();
  ASSERT_TRUE(stream->Write(FirstReport()));
  v1::WorkerReport bad;
  bad.add_items()->set_sequence(1);  // without a token
  ASSERT_TRUE(stream->Write(bad));
  v1::Orders orders;
  EXPECT_FALSE(stream->Read(&orders));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(seen_.WaitFor(2), (std::vector<std::string>{"report 0", "closed"}));
}

TEST_F(FleetServiceTest, ReportsThatFindNoPlaceWaitAndNoneIsLost) {
  Serve();
  const auto stream = OpenStream();
  constexpr uint64_t kReports = 100;
  std::thread writer([&] {
    v1::WorkerReport report = FirstReport();
    for (uint64_t sequence = 1; sequence <= kReports; ++sequence) {
      v1::Item& item = *report.add_items();
      item.set_sequence(sequence);
      item.set_attempt_token(std::string(16, 't'));
      item.mutable_running();
      EXPECT_TRUE(stream->Write(report));
      report.Clear();
    }
    stream->WritesDone();
  });
  // No thread drains yet: the mailbox fills to its share for reports, and not beyond.
  const absl::Time deadline = absl::Now() + kPatience;
  while (mailbox_.Size() < 6 && absl::Now() < deadline) std::this_thread::yield();
  EXPECT_EQ(mailbox_.Size(), 6u);
  Script([&](Event& event, Publisher&) { seen_.Add(Describe(event)); });
  const std::vector<std::string> all = seen_.WaitFor(kReports + 1);
  writer.join();
  ASSERT_EQ(all.size(), kReports + 1);
  for (uint64_t i = 0; i < kReports; ++i) EXPECT_EQ(all[i], "report " + std::to_string(i + 1));
  EXPECT_EQ(all.back(), "closed");
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(FleetServiceTest, TheCoreEndsAStreamWithItsReason) {
  Serve();
  Script([&](Event& event, Publisher& publisher) {
    seen_.Add(Describe(event));
    if (const auto* received = std::get_if<ReportReceived>(&event.what)) {
      publisher.EndStream({received->stream, absl::AlreadyExistsError("held by 10.0.0.7")});
    }
  });
  const auto stream = OpenStream();
  ASSERT_TRUE(stream->Write(FirstReport()));
  v1::Orders orders;
  EXPECT_FALSE(stream->Read(&orders));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(status.error_message(), "held by 10.0.0.7");
  EXPECT_EQ(seen_.WaitFor(2).back(), "closed");
}

TEST_F(FleetServiceTest, AStreamOnWhichNothingComesIsEnded) {
  Serve();
  const auto stream = OpenStream();
  AwaitStreams(1);
  Pass(limits::kFirstReportDeadline - absl::Seconds(5));
  EXPECT_EQ(server_->fleet().streams(), 1u);
  Pass(limits::kFirstReportDeadline);
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NE(status.error_message().find("no report"), std::string::npos);
  AwaitStreams(0);
  EXPECT_EQ(mailbox_.Size(), 0u) << "the core never knew of it";
}

TEST_F(FleetServiceTest, AStreamThatHasReportedMayBeSilent) {
  Serve();
  Script([&](Event& event, Publisher&) { seen_.Add(Describe(event)); });
  const auto stream = OpenStream();
  ASSERT_TRUE(stream->Write(FirstReport()));
  seen_.WaitFor(1);
  Pass(limits::kFirstReportDeadline);
  EXPECT_EQ(server_->fleet().streams(), 1u) << "its lease decides, not this";
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(FleetServiceTest, AStreamBeyondTheBoundIsRefusedAndTheOthersGoOn) {
  streams_max_ = 2;
  Serve();
  AnswerStatus();
  grpc::ClientContext contexts[3];
  for (grpc::ClientContext& context : contexts) SetDeadline(context);
  auto first = fleet_->Session(&contexts[0]);
  AwaitStreams(1);
  auto second = fleet_->Session(&contexts[1]);
  AwaitStreams(2);
  auto third = fleet_->Session(&contexts[2]);
  EXPECT_EQ(third->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  AwaitStreams(2);
  first->WritesDone();
  EXPECT_TRUE(first->Finish().ok());
  AwaitStreams(1);
  grpc::ClientContext again;
  SetDeadline(again);
  auto fourth = fleet_->Session(&again);
  AwaitStreams(2);
  for (auto* stream : {second.get(), fourth.get()}) {
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
}

TEST_F(FleetServiceTest, APeerThatStopsReadingIsCutOffWhenItsStreamIsToEnd) {
  Serve();
  Script([&](Event& event, Publisher& publisher) {
    seen_.Add(Describe(event));
    const auto* received = std::get_if<ReportReceived>(&event.what);
    if (received == nullptr) return;
    OrdersOut out;
    out.stream = received->stream;
    // More than the connection takes while nobody reads.
    for (int i = 0; i < 64; ++i) out.orders.add_unknown_tokens(std::string(64 << 10, 't'));
    publisher.SendOrders(std::move(out));
    publisher.EndStream({received->stream, absl::AbortedError("superseded")});
    seen_.Add("ended");
  });
  const auto stream = OpenStream();
  ASSERT_TRUE(stream->Write(FirstReport()));
  seen_.WaitFor(2);
  EXPECT_EQ(server_->fleet().streams(), 1u) << "its last orders are on their way";
  Pass(limits::kStreamEndGrace);
  EXPECT_EQ(seen_.WaitFor(3).back(), "closed");
  AwaitStreams(0);
  contexts_.back().TryCancel();  // the client would wait for messages that it has not read
  stream->Finish();
}

}  // namespace
}  // namespace dt
