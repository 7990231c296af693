// pulse_test.cc: other threads learn whether the threads that serve streams still answer.
#include "coordinator/rpc/pulse.h"

#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "tests/testing/rpc_fixture.h"

namespace dt {
namespace {

TEST_F(RpcTest, AServerThatAnswersHasAPulse) {
  Serve();
  const absl::Duration first = server_->pulse().Last();
  EXPECT_TRUE(server_->pulse().WaitForTest(first, kPatience));
}

// A health service that blocks, as when every thread of gRPC is stuck.
class StuckHealth final : public grpc::CallbackGenericService {
 public:
  explicit StuckHealth(absl::Notification& go_on) : go_on_(go_on) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    go_on_.WaitForNotificationWithTimeout(kPatience);
    class Ended : public grpc::ServerGenericBidiReactor {
     public:
      Ended() { Finish(grpc::Status::OK); }
      void OnDone() override { delete this; }
    };
    return new Ended();
  }

 private:
  absl::Notification& go_on_;
};

TEST(PulseTest, AServerWhoseThreadsStandStillHasNoPulse) {
  absl::Notification go_on;
  StuckHealth stuck(go_on);
  grpc::EnableDefaultHealthCheckService(false);
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&stuck);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  {
    Pulse pulse(*server);
    const absl::Duration began = pulse.Last();
    EXPECT_FALSE(pulse.WaitForTest(began, 3 * limits::kPulseEvery));
    go_on.Notify();
    EXPECT_TRUE(pulse.WaitForTest(began, kPatience));
  }
  server->Shutdown();
}

}  // namespace
}  // namespace dt
