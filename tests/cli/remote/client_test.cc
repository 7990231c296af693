// client_test.cc: the advice to a user when no coordinator answers.
#include "cli/remote/client.h"

#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/net/standby.h"
#include "common/net/token.h"
#include "common/sha256.h"

namespace dt::cli {
namespace {

// Expects `part` in the hint for gRPC's message, as gRPC wraps it.
void ExpectHint(const std::string& cause, Protection protection, const std::string& part) {
  const std::string message =
      "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:7600: " + cause;
  const std::string hint = UnreachableHint(message, protection);
  EXPECT_NE(hint.find(part), std::string::npos) << hint;
}

TEST(ClientTest, IfNothingListensTheAdviceIsToStartACoordinator) {
  ExpectHint("Connection refused", Protection::kNone, "start one here with 'dtctl up'");
}

TEST(ClientTest, AtTheMetricsAddressTheAdviceIsToUseTheOtherAddress) {
  ExpectHint("Failed parsing HTTP/2", Protection::kNone, "not its --http");
}

TEST(ClientTest, AClosedConnectionPointsToTls) {
  ExpectHint("Socket closed", Protection::kNone, "give --tls-ca");
  ExpectHint("Socket closed", Protection::kTls, "that it has TLS at all");
  ExpectHint("Ssl handshake failed", Protection::kTls, "check --tls-ca");
}

TEST(ClientTest, IfTheCertificateLacksTheNameTheAdviceIsToChangeTheName) {
  ExpectHint("Peer name localhost is not in peer certificate", Protection::kTls,
             "dial a name or address that the coordinator's certificate has");
}

// Serves one service on loopback.
template <typename Service>
class Served : public Service {
 public:
  Served() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~Served() override { server_->Shutdown(); }
  const std::string& address() const { return address_; }

 private:
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// Answers that it is a standby for so many calls; then it leads.
class FakeStandby final : public Served<v1::Control::Service> {
 public:
  explicit FakeStandby(int refusals) : refusals_(refusals) {}
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusResponse*) override {
    if (refusals_-- <= 0) return grpc::Status::OK;
    return {grpc::StatusCode::UNAVAILABLE, absl::StrCat(kStandbySays, "'alpha' leads")};
  }

 private:
  std::atomic<int> refusals_;
};

// Makes tokens, and loses its first answers.
class FakeAccess final : public Served<v1::Access::Service> {
 public:
  explicit FakeAccess(int lost) : lost_(lost) {}
  grpc::Status CreateToken(grpc::ServerContext*, const v1::CreateTokenRequest* request,
                           v1::CreateTokenResponse*) override {
    made_.push_back(request->hash());
    if (lost_-- <= 0) return grpc::Status::OK;
    return {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  }
  // REQUIRES: no call is under way.
  const std::vector<std::string>& made() const { return made_; }

 private:
  int lost_;
  std::vector<std::string> made_;
};

class AddressesTest : public ::testing::Test {
 protected:
  absl::Status Ask(const std::string& addresses) {
    auto client = Client::Make({addresses, {}}, interrupt_);
    if (!client.ok()) return client.status();
    return (*client)->GetStatus().status();
  }
  Interrupt interrupt_;
  // No process listens there.
  const std::string nobody_ = "127.0.0.1:1";
};

TEST_F(AddressesTest, AnAddressThatIsSilentOrAStandbyLeadsToTheNext) {
  FakeStandby standby(1000), leader(0);
  EXPECT_TRUE(Ask(nobody_ + "," + standby.address() + "," + leader.address()).ok());
  EXPECT_TRUE(Ask(leader.address() + "," + nobody_).ok());
}

TEST_F(AddressesTest, AllAddressesAreAskedAgainWhileOneIsAStandby) {
  FakeStandby standby(2);
  EXPECT_TRUE(Ask(standby.address() + "," + nobody_).ok());
}

TEST_F(AddressesTest, ASingleRoundIsEnoughIfNoAddressAnswers) {
  const absl::Status told = Ask(nobody_ + ",127.0.0.1:2");
  EXPECT_EQ(told.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(told.message().find("start one here"), absl::string_view::npos) << told;
}

TEST_F(AddressesTest, AStandbyAloneIsNotWaitedFor) {
  FakeStandby standby(1000);
  const absl::Status told = Ask(standby.address());
  EXPECT_NE(told.message().find("'alpha' leads; name the leader's address"),
            absl::string_view::npos)
      << told;
}

TEST_F(AddressesTest, ALostAnswerToATokenRequestGivesTheSameTokenAtTheNextAddress) {
  FakeAccess loses(1), answers(0);
  auto client = Client::Make({loses.address() + "," + answers.address(), {}}, interrupt_);
  ASSERT_TRUE(client.ok()) << client.status();
  v1::CreateTokenRequest request;
  request.set_role("submitter");
  request.set_name("ann");
  const auto made = (*client)->CreateToken(request);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE(IsToken(made->token()));
  const std::vector<std::string> hash = {Sha256Hex(made->token())};
  EXPECT_EQ(loses.made(), hash);
  EXPECT_EQ(answers.made(), hash);
  // Another request makes another token.
  const auto other = (*client)->CreateToken(request);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE(other->token(), made->token());
}

}  // namespace
}  // namespace dt::cli
