// gate_test.cc: rights to act over HTTP: with tokens, without, and from another site's page.
#include "coordinator/api/gate.h"

#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

const std::vector<std::string_view> kActs = {"Cancel", "MarkWorker", "SetQuota"};

HttpRequest ActRequest() {
  HttpRequest request{"/api/v1/experiments/1/pause", "", ""};
  request.method = HttpMethod::kPost;
  request.host = "localhost:7601";
  request.content_type = "application/json";
  return request;
}

// Returns a request as the browser sends it from the coordinator's own page.
HttpRequest FromOwnPage() {
  HttpRequest request = ActRequest();
  request.origin = "http://localhost:7601";
  request.fetch_site = "same-origin";
  return request;
}

void ExpectRefused(const HttpGate& gate, const HttpRequest& request, absl::StatusCode code,
                   const std::string& part) {
  const auto caller = gate.AdmitActor(request, "Change");
  EXPECT_EQ(caller.status().code(), code) << caller.status();
  EXPECT_TRUE(absl::StrContains(caller.status().message(), part)) << caller.status();
}

TEST(OpenGateTest, LocalRequestsMayActWithoutAUsersName) {
  const HttpGate gate(nullptr, {});
  for (const HttpRequest& request : {ActRequest(), FromOwnPage()}) {
    const auto caller = gate.AdmitActor(request, "Cancel");
    ASSERT_TRUE(caller.ok()) << caller.status();
    EXPECT_FALSE(caller->has_value());
  }
  HttpRequest utf8 = ActRequest();
  utf8.content_type = "Application/JSON; charset=utf-8";
  EXPECT_TRUE(gate.AdmitActor(utf8, "Cancel").ok());
}

TEST(OpenGateTest, APageFromElsewhereThatTheBrowserHasOpenMayNot) {
  const HttpGate gate(nullptr, {});
  // The types that a form, or a request without a browser's preflight, can send.
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded",
                           "multipart/form-data; boundary=x", "text/plain; application/json"}) {
    HttpRequest request = FromOwnPage();
    request.content_type = type;
    ExpectRefused(gate, request, absl::StatusCode::kInvalidArgument, "application/json");
  }
  for (const char* origin :
       {"http://elsewhere.example", "https://localhost:7601", "http://localhost:8888", "null",
        "http://localhost:7601.elsewhere.example", "http://127.0.0.1:7601"}) {
    HttpRequest request = ActRequest();
    request.origin = origin;
    ExpectRefused(gate, request, absl::StatusCode::kPermissionDenied, origin);
  }
  for (const char* site : {"cross-site", "same-site", "none"}) {
    HttpRequest request = ActRequest();
    request.fetch_site = site;
    ExpectRefused(gate, request, absl::StatusCode::kPermissionDenied, site);
  }
}

TEST(OpenGateTest, RequestsThroughAProxyMayNotAct) {
  const HttpGate gate(nullptr, {});
  HttpRequest request = FromOwnPage();
  request.forwarded = "10.0.0.7";
  ExpectRefused(gate, request, absl::StatusCode::kPermissionDenied, "--auth=tokens");
}

TEST(OpenGateTest, IfGrpcNeedsACertificateNobodyActsAndTheReasonIsGiven) {
  const HttpGate gate(nullptr, {.acts_closed = "--tls-ca requires certificates"});
  ExpectRefused(gate, FromOwnPage(), absl::StatusCode::kPermissionDenied, "certificates");
  EXPECT_TRUE(gate.AdmitReader(ActRequest()).ok());
  const api::Json access = gate.Access(ActRequest(), kActs);
  EXPECT_EQ(access["actions"], "closed");
  EXPECT_EQ(access["reason"], "--tls-ca requires certificates");
  EXPECT_TRUE(access["may"].empty());
}

class DoorGateTest : public ::testing::Test {
 protected:
  DoorGateTest() {
    auto door = Door::Open(folder_ / "state", clock_);
    EXPECT_TRUE(door.ok()) << door.status();
    door_ = *std::move(door);
    std::ifstream file(folder_ / "state/admin.token");
    std::getline(file, token_);
  }
  static HttpRequest With(const std::string& authorization) {
    HttpRequest request = ActRequest();
    request.authorization = authorization;
    return request;
  }

  testing::TempFolder folder_;
  SystemClock clock_;
  std::unique_ptr<Door> door_;
  std::string token_;
};

TEST_F(DoorGateTest, OnLoopbackActingNeedsATokenAndReadingDoesNot) {
  const HttpGate gate(door_.get(), {.readers_show_token = false});
  EXPECT_TRUE(gate.AdmitReader(ActRequest()).ok());
  ExpectRefused(gate, FromOwnPage(), absl::StatusCode::kUnauthenticated, "token");
  ExpectRefused(gate, With("Bearer dtr_1"), absl::StatusCode::kUnauthenticated, "token");
  const auto caller = gate.AdmitActor(With("Bearer " + token_), "Cancel");
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ((*caller)->name, "admin");
}

// A browser sends a stored login by itself, whichever page asks.
TEST_F(DoorGateTest, ALoginThatABrowserSendsByItselfIsForReadingAlone) {
  const HttpGate gate(door_.get(), {.readers_show_token = true});
  const std::string basic = "Basic " + absl::Base64Escape("any:" + token_);
  EXPECT_TRUE(gate.AdmitReader(With(basic)).ok());
  EXPECT_FALSE(gate.AdmitReader(ActRequest()).ok());
  ExpectRefused(gate, With(basic), absl::StatusCode::kUnauthenticated, "token");
}

TEST_F(DoorGateTest, AccessNamesTheTokensRights) {
  const HttpGate gate(door_.get(), {});
  const api::Json stranger = gate.Access(ActRequest(), kActs);
  EXPECT_EQ(stranger["actions"], "token");
  EXPECT_TRUE(stranger["name"].is_null());
  EXPECT_TRUE(stranger["may"].empty());
  const api::Json wrong = gate.Access(With("Bearer nothing"), kActs);
  EXPECT_TRUE(absl::StrContains(wrong["reason"].get<std::string>(), "dtr_")) << wrong;
  const api::Json admin = gate.Access(With("Bearer " + token_), kActs);
  EXPECT_EQ(admin["role"], "admin");
  EXPECT_EQ(admin["may"]["Cancel"], "all");
  EXPECT_EQ(admin["may"]["MarkWorker"], "all");
  EXPECT_EQ(admin["may"]["SetQuota"], "all");
}

}  // namespace
}  // namespace dt
