// client_test.cc: what a person is told to do where no coordinator answers.
#include "cli/remote/client.h"

#include <gtest/gtest.h>

namespace dt::cli {
namespace {

// A part of the hint for gRPC's words, as it wraps them.
void ExpectHint(const std::string& cause, Protection protection, const std::string& part) {
  const std::string message =
      "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:7600: " + cause;
  const std::string hint = UnreachableHint(message, protection);
  EXPECT_NE(hint.find(part), std::string::npos) << hint;
}

TEST(ClientTest, WhereNothingListensACoordinatorIsToBeStarted) {
  ExpectHint("Connection refused", Protection::kNone, "start one here with 'dtctl up'");
}

TEST(ClientTest, WhereTheMetricsAreServedTheOtherAddressIsWanted) {
  ExpectHint("Failed parsing HTTP/2", Protection::kNone, "not its --http");
}

TEST(ClientTest, AClosedConnectionHasToDoWithTls) {
  ExpectHint("Socket closed", Protection::kNone, "give --tls-ca");
  ExpectHint("Socket closed", Protection::kTls, "that it has TLS at all");
  ExpectHint("Ssl handshake failed", Protection::kTls, "check --tls-ca");
}

TEST(ClientTest, ANameThatTheCertificateLacksIsTheNameToChange) {
  ExpectHint("Peer name localhost is not in peer certificate", Protection::kTls,
             "dial a name or address that the coordinator's certificate has");
}

}  // namespace
}  // namespace dt::cli
