// certificates.h: throw-away certificates, made by openssl at test time: an authority, a server, a
// client, and a client of another authority.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/child_process.h"

namespace dt::testing {

struct CertificateFiles {
  std::string ca;
  std::string cert;
  std::string key;
  std::vector<std::string> Flags() const {
    return {"--tls-ca", ca, "--tls-cert", cert, "--tls-key", key};
  }
};

// Makes files in `folder` with the program `openssl`.
class Certificates {
 public:
  Certificates(std::string openssl, std::string folder)
      : openssl_(std::move(openssl)), folder_(std::move(folder)) {
    MakeAuthority("ca");
    MakeAuthority("other-ca");
    server_ = Issue("ca", "server");
    client_ = Issue("ca", "client");
    stranger_ = Issue("other-ca", "stranger");
    stranger_.ca = Path("ca.crt");  // it knows whom it calls; they do not know it
  }
  const CertificateFiles& server() const { return server_; }
  const CertificateFiles& client() const { return client_; }
  const CertificateFiles& stranger() const { return stranger_; }

 private:
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), openssl_);
    ChildProcess process(arguments, Path("openssl.log"));
    const auto status = process.AwaitExit();
    EXPECT_TRUE(status.has_value() && *status == 0)
        << "openssl " << arguments[1] << "; see " << Path("openssl.log");
  }
  void MakeAuthority(const std::string& name) {
    Run({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=" + name, "-keyout", Path(name + ".key"), "-out",
         Path(name + ".crt")});
  }
  CertificateFiles Issue(const std::string& authority, const std::string& name) {
    Run({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
         "/CN=" + name, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
         Path(name + ".key"), "-out", Path(name + ".csr")});
    Run({"x509", "-req", "-in", Path(name + ".csr"), "-CA", Path(authority + ".crt"), "-CAkey",
         Path(authority + ".key"), "-CAcreateserial", "-days", "2", "-copy_extensions", "copyall",
         "-out", Path(name + ".crt")});
    return {Path(authority + ".crt"), Path(name + ".crt"), Path(name + ".key")};
  }

  const std::string openssl_;
  const std::string folder_;
  CertificateFiles server_;
  CertificateFiles client_;
  CertificateFiles stranger_;
};

}  // namespace dt::testing
