// credentials_test.cc: which connections may do without TLS.
#include "common/net/credentials.h"

#include "common/files.h"
#include "common/net/authority.h"
#include "common/net/pem_files.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

TEST(CredentialsTest, LoopbackAndUnixSocketsAreLocal) {
  for (const char* address : {"127.0.0.1:7600", "127.9.9.9:1", "localhost:7600", "LOCALHOST:0",
                              "[::1]:7600", "unix:/run/dtrain.sock", "unix-abstract:dtrain"}) {
    EXPECT_TRUE(IsLocalAddress(address)) << address;
  }
}

TEST(CredentialsTest, OtherHostsAndWildcardsAreNotLocal) {
  for (const char* address : {"0.0.0.0:7600", "[::]:7600", "10.0.0.5:7600", "gpu07:7600",
                              "127.0.0.1.example.org:7600", "localhost.example.org:7600", ""}) {
    EXPECT_FALSE(IsLocalAddress(address)) << address;
  }
}

TEST(CredentialsTest, ClearTextAcrossHostsIsRefusedOnBothSides) {
  const auto channel = MakeChannelCredentials(TlsFiles{}, "gpu07:7600");
  const auto server = MakeServerCredentials(TlsFiles{}, "0.0.0.0:7600");
  EXPECT_EQ(channel.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(MakeChannelCredentials(TlsFiles{}, "127.0.0.1:7600").ok());
  EXPECT_TRUE(MakeServerCredentials(TlsFiles{}, "unix:/run/dtrain.sock").ok());
}

TEST(CredentialsTest, SomeOfTheThreeFilesAreNotEnough) {
  const TlsFiles two{.ca = "ca.pem", .cert = "me.pem", .key = ""};
  const auto got = MakeChannelCredentials(two, "127.0.0.1:7600");
  EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CredentialsTest, FilesThatDoNotBelongTogetherWhileTheyAreReplacedChangeNothing) {
  const testing::TempFolder folder;
  const auto put = [&folder](const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(folder / name, text).ok());
  };
  const CertificatePair authority = *MakeAuthority("lab", 2);
  const auto issue = [&authority] {
    return *IssueCertificate(authority, {.name = "ann", .role = "admin"}, 2);
  };
  const CertificatePair old = issue();
  const CertificatePair fresh = issue();
  put("ca.crt", authority.cert);
  put("ann.crt", old.cert);
  put("ann.key", old.key);
  const auto files =
      internal::PemFiles::Open({folder / "ca.crt", folder / "ann.crt", folder / "ann.key"});
  ASSERT_TRUE(files.ok()) << files.status();
  put("ann.key", fresh.key);
  EXPECT_EQ((*files)->Newest(), (internal::Pem{authority.cert, old.cert, old.key}));
  put("ca.crt", "-----BEGIN half");
  put("ann.crt", fresh.cert);
  EXPECT_EQ((*files)->Newest(), (internal::Pem{authority.cert, old.cert, old.key}));
  put("ca.crt", authority.cert);
  EXPECT_EQ((*files)->Newest(), (internal::Pem{authority.cert, fresh.cert, fresh.key}));
  ASSERT_TRUE(RemoveAll(folder / "ann.crt").ok());
  EXPECT_EQ((*files)->Newest(), (internal::Pem{authority.cert, fresh.cert, fresh.key}));
}

TEST(CredentialsTest, AFileThatCannotBeReadIsNamed) {
  const TlsFiles absent{.ca = "/nonexistent/ca.pem", .cert = "c", .key = "k"};
  const auto got = MakeChannelCredentials(absent, "127.0.0.1:7600");
  EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(got.status().message()).find("/nonexistent/ca.pem"), std::string::npos);
}

}  // namespace
}  // namespace dt
