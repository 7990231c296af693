// certificates.h: certificates for one test: an authority, a server and a client, and a stranger (a
// client) and an impostor (a server) of another authority.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "common/net/authority.h"

namespace dt::testing {

struct CertificateFiles {
  std::string ca;
  std::string cert;
  std::string key;
  std::vector<std::string> Flags() const {
    return {"--tls-ca", ca, "--tls-cert", cert, "--tls-key", key};
  }
};

// Makes the files in `folder`. The client's certificate names no role, so a client may act as any
// worker.
class Certificates {
 public:
  explicit Certificates(std::string folder) : folder_(std::move(folder)) {
    const CertificatePair ours = Authority("ca");
    const CertificatePair theirs = Authority("other-ca");
    server_ = Issue("ca", ours, {.name = "server", .hosts = {"localhost", "127.0.0.1"}});
    client_ = Issue("ca", ours, {.name = "client", .role = "admin"});
    stranger_ = Issue("other-ca", theirs, {.name = "stranger", .role = "admin"});
    stranger_.ca = Path("ca.crt");  // it trusts the cluster's servers; they do not trust it
    impostor_ =
        Issue("other-ca", theirs, {.name = "impostor", .hosts = {"localhost", "127.0.0.1"}});
  }
  const CertificateFiles& server() const { return server_; }
  const CertificateFiles& client() const { return client_; }
  const CertificateFiles& stranger() const { return stranger_; }
  const CertificateFiles& impostor() const { return impostor_; }

 private:
  static constexpr int kDays = 2;

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  CertificatePair Write(const std::string& name, absl::StatusOr<CertificatePair> pair) {
    EXPECT_TRUE(pair.ok()) << pair.status();
    if (!pair.ok()) return {};
    std::ofstream(Path(name + ".crt")) << pair->cert;
    std::ofstream(Path(name + ".key")) << pair->key;
    return *std::move(pair);
  }
  CertificatePair Authority(const std::string& name) {
    return Write(name, MakeAuthority(name, kDays));
  }
  CertificateFiles Issue(const std::string& authority, const CertificatePair& by,
                         const CertificateSubject& subject) {
    Write(subject.name, IssueCertificate(by, subject, kDays));
    return {Path(authority + ".crt"), Path(subject.name + ".crt"), Path(subject.name + ".key")};
  }

  const std::string folder_;
  CertificateFiles server_;
  CertificateFiles client_;
  CertificateFiles stranger_;
  CertificateFiles impostor_;
};

}  // namespace dt::testing
