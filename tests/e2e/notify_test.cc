// notify_test.cc: receivers are notified of the ends of experiments, also when the coordinator dies
// between the commit and the delivery.
#include <set>

#include "common/files.h"
#include "tests/e2e/fleet_fixture.h"
#include "tests/testing/fake_receiver.h"

namespace dt {
namespace {

using testing::FakeReceiver;
using Mood = FakeReceiver::Mood;

class NotifyTest : public FleetTest {
 protected:
  static v1::ExperimentSpec Telling(const FakeReceiver& receiver) {
    v1::ExperimentSpec spec = Training(20).spec();
    spec.mutable_notify()->set_url(receiver.Url());
    return spec;
  }
};

TEST_F(NotifyTest, AKillBetweenCommitAndDeliveryLosesNoNoticeAndRepeatsItUnderItsId) {
  FakeReceiver receiver(Mood::kHangs);
  cluster_.SetCoordinatorFlags({"--notify-to", receiver.Origin()});
  Start({"w0"});
  const uint64_t experiment = cluster_.Submit(Telling(receiver));
  ASSERT_TRUE(cluster_.AwaitEnd(experiment));
  // The notification was sent, so it was committed; its delivery is not confirmed.
  ASSERT_TRUE(receiver.AwaitRequests(1));
  cluster_.KillCoordinator();
  receiver.Become(Mood::kTakes);
  cluster_.StartCoordinator();
  ASSERT_TRUE(receiver.AwaitRequests(2));
  std::set<std::string> ids;
  for (const auto& request : receiver.Requests()) {
    const auto body = request.Json();
    EXPECT_EQ(body["event"], "finished");
    EXPECT_EQ(body["experiment"]["id"], std::to_string(experiment));
    EXPECT_EQ(body["state"], "finished");
    ids.insert(body["id"].get<std::string>());
  }
  EXPECT_EQ(ids.size(), 1u);
  // After a confirmed delivery, a stop and a start send nothing again.
  const uint64_t next = cluster_.Submit(Telling(receiver));
  ASSERT_TRUE(cluster_.AwaitEnd(next));
  ASSERT_TRUE(receiver.AwaitRequests(3));
  EXPECT_FALSE(ids.contains(receiver.Requests()[2].Json()["id"]));
  const std::string log = testing::Slurp(cluster_.folder() / "coordinator.log");
  EXPECT_EQ(log.find("secret"), std::string::npos) << log;
}

TEST_F(NotifyTest, AForbiddenReceiverIsRefusedAndTheCoordinatorsOwnGetsAll) {
  FakeReceiver own;
  FakeReceiver other;
  const std::string file = cluster_.folder() / "own-url";
  ASSERT_TRUE(WriteFileAtomically(file, own.Url() + "\n").ok());
  cluster_.SetCoordinatorFlags(
      {"--notify-url-file", file, "--notify-events", "finished", "--notify-form", "slack"});
  Start({"w0"});
  v1::SubmitRequest request;
  *request.mutable_spec() = Telling(other);
  request.set_request_id("refused");
  v1::SubmitResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + testing::kPatience);
  const grpc::Status refused = cluster_.control().Submit(&context, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED) << refused.error_message();
  EXPECT_NE(refused.error_message().find("--notify-to"), std::string::npos);
  EXPECT_EQ(refused.error_message().find("secret"), std::string::npos);

  ASSERT_TRUE(cluster_.AwaitEnd(cluster_.Submit(Training(20).spec())));
  ASSERT_TRUE(own.AwaitRequests(1));
  const auto told = own.Requests().at(0).Json();  // and not first the one about the best trial
  EXPECT_EQ(told.size(), 1u) << told;
  EXPECT_NE(told["text"].get<std::string>().find("ended finished"), std::string::npos) << told;
  EXPECT_TRUE(other.Requests().empty());
}

}  // namespace
}  // namespace dt
