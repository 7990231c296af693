// standby_server_test.cc: every call to a standby gets that answer.
#include "coordinator/rpc/standby_server.h"

#include <chrono>
#include <memory>
#include <string>

#include "common/unique_fd.h"
#include "dtrain/v1/control.grpc.pb.h"
#include "dtrain/v1/fleet.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "tests/testing/endless_header.h"
#include "tests/testing/loopback.h"

namespace dt {
namespace {

namespace v1 = ::dtrain::v1;

std::unique_ptr<grpc::ClientContext> Deadline() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  return context;
}

class StandbyServerTest : public ::testing::Test {
 protected:
  StandbyServerTest() {
    auto started = StandbyServer::Start("127.0.0.1:0", {}, "'alpha' leads");
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = std::move(*started);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
  }
  grpc::Status Ask() {
    v1::GetStatusResponse response;
    return v1::Control::NewStub(channel_)->GetStatus(Deadline().get(), {}, &response);
  }

  std::unique_ptr<StandbyServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(StandbyServerTest, CallsAreAnsweredWithTheLeader) {
  const grpc::Status told = Ask();
  EXPECT_EQ(told.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(told.error_message(), "this coordinator is a standby: 'alpha' leads");
  server_->SetReason("it takes over now");
  EXPECT_EQ(Ask().error_message(), "this coordinator is a standby: it takes over now");
}

TEST_F(StandbyServerTest, AWorkersStreamEndsWithTheSameWords) {
  const auto context = Deadline();
  const auto stream = v1::Fleet::NewStub(channel_)->Session(context.get());
  v1::WorkerReport report;
  report.mutable_hello()->set_worker("w0");
  stream->Write(report);
  v1::Orders orders;
  EXPECT_FALSE(stream->Read(&orders));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(StandbyServerTest, AHeaderThatNeverEndsIsCutOff) {
  const UniqueFd flood = testing::ConnectLoopback(server_->address());
  EXPECT_LT(testing::SendsUntilCutOff(flood), testing::kEndlessHeaderBytes);
  EXPECT_EQ(Ask().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(StandbyServerTest, AStandbysAddressIsFreeAfterItsEnd) {
  const std::string address = server_->address();
  EXPECT_FALSE(Ask().ok());
  server_.reset();
  const auto next = StandbyServer::Start(address, {}, "x");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ((*next)->address(), address);
}

}  // namespace
}  // namespace dt
