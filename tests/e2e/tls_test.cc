// tls_test.cc: certificates on both sides, and the refusal of strangers.
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "common/files.h"
#include "common/net/credentials.h"
#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

class TlsTest : public ::testing::Test {
 protected:
  grpc::StatusCode StatusOf(v1::Control::Stub& control, bool patient = false) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + testing::kPatience);
    context.set_wait_for_ready(patient);
    v1::GetStatusResponse response;
    return control.GetStatus(&context, v1::GetStatusRequest(), &response).error_code();
  }

  // Returns whether it serves its own clients. Waits for the connection, since a busy machine may
  // need more than one try.
  bool ServesItsClients() {
    return StatusOf(*cluster_.ControlWith(cluster_.certificates().client()), true) ==
           grpc::StatusCode::OK;
  }

  static v1::ExperimentSpec Training() {
    spec::ExperimentBuilder builder;
    builder.Set("train.max_steps", "20")
        .Set("data.train", "step_ms=1")
        .Set("resources.device", "cpu");
    return builder.spec();
  }

  // Replaces the certificates in place by another authority's: every new connection needs those.
  void ReplaceCertificates() {
    const testing::TempFolder folder;
    const testing::Certificates fresh(folder.path());
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      const std::string text = testing::Slurp(entry.path());
      ASSERT_TRUE(
          WriteFileAtomically(cluster_.folder() / entry.path().filename().string(), text).ok());
    }
  }

  Cluster cluster_{FakePrograms(), testing::Transport::kTls};
};

TEST_F(TlsTest, WorkersAndClientsWithCertificatesAreServed) {
  cluster_.StartCoordinator();
  cluster_.StartWorker("w0");
  const uint64_t experiment = cluster_.Submit(Training());
  EXPECT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
}

TEST_F(TlsTest, StrangersAreKeptOut) {
  cluster_.StartCoordinator();
  // Through the cluster, which calls again if the machine stood still while it connected.
  EXPECT_TRUE(cluster_.Workers().empty());
  const auto stranger = cluster_.ControlWith(cluster_.certificates().stranger());
  EXPECT_EQ(StatusOf(*stranger), grpc::StatusCode::UNAVAILABLE);
  testing::CertificateFiles nobody = cluster_.certificates().client();
  nobody.cert = nobody.key = "/dev/null";
  const auto anonymous = cluster_.ControlWith(nobody);
  EXPECT_EQ(StatusOf(*anonymous), grpc::StatusCode::UNAVAILABLE);
  // The last flag counts: this worker has another authority's certificate.
  cluster_.StartWorker("stranger", cluster_.certificates().stranger().Flags());
  cluster_.StartWorker("w0");
  ASSERT_TRUE(cluster_.AwaitTrial(cluster_.Submit(Training()), 1, v1::TRIAL_FINISHED));
  ASSERT_EQ(cluster_.Workers().size(), 1u);
  EXPECT_EQ(cluster_.Workers()[0].worker(), "w0");
  EXPECT_TRUE(cluster_.worker("stranger").Running()) << "it goes on trying";
}

TEST_F(TlsTest, WorkersGoOnWhileEveryCertificateIsReplacedAndComeBackWithTheNewOnes) {
  cluster_.StartCoordinator();
  cluster_.StartWorker("w0");
  constexpr uint64_t kSteps = 1200;
  spec::ExperimentBuilder builder;
  builder.Set("train.max_steps", std::to_string(kSteps))
      .Set("data.train", "step_ms=5")
      .Set("resources.device", "cpu");
  const uint64_t experiment = cluster_.Submit(builder.spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 1));
  const std::string peer = cluster_.Workers()[0].peer();  // includes the port of its connection
  const auto old = cluster_.ControlWith(cluster_.certificates().client());
  ASSERT_EQ(StatusOf(*old, true), grpc::StatusCode::OK);

  ReplaceCertificates();
  EXPECT_TRUE(ServesItsClients());
  EXPECT_EQ(StatusOf(*old), grpc::StatusCode::OK) << "open connections go on";
  const uint64_t step = cluster_.Trial(experiment).step();
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, std::min(step + 20, kSteps)))
      << "the trial goes on";
  ASSERT_EQ(cluster_.Workers().size(), 1u);
  EXPECT_EQ(cluster_.Workers()[0].peer(), peer) << "on the connection that it began with";

  cluster_.KillCoordinator();
  cluster_.StartCoordinator();
  ASSERT_TRUE(cluster_.AwaitWorkers(1)) << "with the new ones it comes back";
  EXPECT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  EXPECT_EQ(cluster_.Trial(experiment).attempts(), 1u);
}

// Under the label `long`.
TEST_F(TlsTest, ReplacedEachHalfMinuteForThreeQuartersOfAnHourCertificatesDropNoStream) {
  constexpr int kRotations = 90;  // connections are renewed after an hour, plus or minus a tenth
  constexpr uint64_t kStepsEach = 600;  // of 50 ms
  cluster_.StartCoordinator();
  cluster_.StartWorker("w0");
  spec::ExperimentBuilder builder;
  builder.Set("train.max_steps", std::to_string(kStepsEach * (kRotations + 1)))
      .Set("data.train", "step_ms=50")
      .Set("resources.device", "cpu");
  const uint64_t experiment = cluster_.Submit(builder.spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 1));
  const std::string peer = cluster_.Workers()[0].peer();
  for (int i = 1; i <= kRotations; ++i) {
    ReplaceCertificates();
    ASSERT_TRUE(ServesItsClients()) << "after " << i;
    ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, kStepsEach * static_cast<uint64_t>(i),
                                   std::chrono::minutes(2)))
        << "after " << i;
    ASSERT_EQ(cluster_.Workers().at(0).peer(), peer) << "after " << i;
  }
  EXPECT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED, std::chrono::minutes(2)));
  EXPECT_EQ(cluster_.Trial(experiment).attempts(), 1u);
}

TEST_F(TlsTest, AKeyOfAnotherCertificateIsRefusedAtTheStart) {
  const testing::CertificateFiles& server = cluster_.certificates().server();
  testing::CertificateFiles mixed = server;
  mixed.key = cluster_.certificates().client().key;
  std::vector<std::string> command = {DTCOORD,
                                      "--listen",
                                      "127.0.0.1:0",
                                      "--http",
                                      "127.0.0.1:0",
                                      "--state-dir",
                                      cluster_.folder() / "state"};
  for (const std::string& flag : mixed.Flags()) command.push_back(flag);
  testing::ChildProcess coordinator(command, cluster_.folder() / "mixed.log");
  const auto status = coordinator.AwaitExit();
  ASSERT_TRUE(status && WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), 2);

  const TlsFiles wrong{mixed.ca, mixed.cert, mixed.key};
  const absl::Status refused = MakeChannelCredentials(wrong, "gpu07:7600").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(refused.message());
  EXPECT_NE(message.find(mixed.cert), std::string::npos) << message;
  EXPECT_NE(message.find(mixed.key), std::string::npos) << message;
  const TlsFiles right{server.ca, server.cert, server.key};
  EXPECT_TRUE(MakeChannelCredentials(right, "gpu07:7600").ok());
}

TEST_F(TlsTest, AddressesOfOtherHostsNeedCertificates) {
  testing::ChildProcess coordinator({DTCOORD, "--listen", "0.0.0.0:0", "--http", "127.0.0.1:0",
                                     "--state-dir", cluster_.folder() / "state"},
                                    cluster_.folder() / "open.log");
  const auto status = coordinator.AwaitExit();
  ASSERT_TRUE(status);
  EXPECT_NE(*status, 0);
}

}  // namespace
}  // namespace dt
