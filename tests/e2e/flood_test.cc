// flood_test.cc: a header that never ends (CVE-2023-33953), sent to a coordinator with TLS by a
// client without a certificate and by one with a certificate.
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iostream>
#include <memory>

#include "tests/e2e/fleet_fixture.h"
#include "tests/testing/endless_header.h"
#include "tests/testing/loopback.h"

namespace dt {
namespace {

using testing::CertificateFiles;

constexpr size_t kMiB = 1 << 20;
// Memory that a client without a certificate may cost, and one with a certificate until it is cut
// off.
constexpr size_t kStrangerBytes = 16 * kMiB;
constexpr size_t kOwnBytes = 64 * kMiB;

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

class FloodTest : public ::testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);  // OpenSSL has no MSG_NOSIGNAL
    cluster_.StartCoordinator();
    EXPECT_TRUE(cluster_.Workers().empty()) << "the first call's cost is not the flood's";
    before_ = ResidentBytes();
  }
  size_t ResidentBytes() {
    std::ifstream in("/proc/" + std::to_string(cluster_.coordinator().pid()) + "/statm");
    size_t all = 0;
    size_t resident = 0;
    in >> all >> resident;
    EXPECT_GT(resident, 0u);
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }
  // Sends until the server cuts it off. `send` returns whether bytes were taken.
  template <typename Send>
  void Flood(Send send) {
    const std::string more = testing::EndlessHeaderMore();
    const absl::Time deadline = absl::Now() + absl::FromChrono(testing::kPatience);
    bool taken = send(testing::EndlessHeaderOpening());
    for (int frames = 0; taken && sent_ < testing::kEndlessHeaderBytes && absl::Now() < deadline;
         ++frames) {
      if (frames % 16 == 0) most_ = std::max(most_, ResidentBytes());
      taken = send(more);
      if (taken) sent_ += more.size();
    }
    most_ = std::max(most_, ResidentBytes());
    EXPECT_LT(sent_, testing::kEndlessHeaderBytes);
    EXPECT_LT(absl::Now(), deadline) << sent_ << " bytes were taken";
  }
  // Speaks TLS with `files`; an empty `files.cert` means no client certificate.
  void FloodOverTls(const CertificateFiles& files) {
    const std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
    if (!files.cert.empty()) {
      ASSERT_EQ(SSL_CTX_use_certificate_file(context.get(), files.cert.c_str(), SSL_FILETYPE_PEM),
                1);
      ASSERT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM), 1);
    }
    const unsigned char h2[] = {2, 'h', '2'};
    SSL_CTX_set_alpn_protos(context.get(), h2, sizeof(h2));
    const UniqueFd fd = testing::ConnectLoopback(cluster_.address());
    const std::unique_ptr<SSL, Free> ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), fd.get());
    ASSERT_EQ(SSL_connect(ssl.get()), 1);
    Flood([&ssl](const std::string& bytes) {
      return SSL_write(ssl.get(), bytes.data(), static_cast<int>(bytes.size())) ==
             static_cast<int>(bytes.size());
    });
  }
  void ExpectGrownByLess(size_t bytes) {
    ASSERT_GT(most_, 0u) << "the memory was never measured";
    EXPECT_LT(most_, before_ + bytes);
    std::cerr << "the coordinator grew by " << ((most_ - std::min(most_, before_)) >> 10)
              << " KiB; " << (sent_ >> 10) << " KiB were taken\n";
    EXPECT_TRUE(cluster_.Workers().empty()) << "others are served";
  }

  testing::Cluster cluster_{FakePrograms(), testing::Transport::kTls};
  size_t before_ = 0;
  size_t most_ = 0;
  size_t sent_ = 0;
};

TEST_F(FloodTest, AClearTextClientOfATlsPortIsCutOff) {
  const UniqueFd fd = testing::ConnectLoopback(cluster_.address());
  Flood([&fd](const std::string& bytes) {
    return send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes);
  });
  EXPECT_LT(sent_, kStrangerBytes) << "as much as sockets hold";
  ExpectGrownByLess(kStrangerBytes);
}

TEST_F(FloodTest, WithoutACertificateNothingIsTaken) {
  FloodOverTls({});
  EXPECT_LT(sent_, kStrangerBytes) << "as much as sockets hold";
  ExpectGrownByLess(kStrangerBytes);
}

TEST_F(FloodTest, WithACertificateTheConnectionIsCutOffAndOthersAreServed) {
  FloodOverTls(cluster_.certificates().client());
  EXPECT_GT(sent_, 0u) << "it is one of ours";
  ExpectGrownByLess(kOwnBytes);
}

}  // namespace
}  // namespace dt
