// authority_test.cc: certificates from an authority, read back and verified as a TLS peer does.
#include "common/net/authority.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace dt {
namespace {

struct FreeX509 {
  void operator()(X509* it) const { X509_free(it); }
};
using Cert = std::unique_ptr<X509, FreeX509>;

Cert Read(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  Cert cert(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
  BIO_free(bio);
  return cert;
}

// Returns X509_V_OK, or the reason why a peer that trusts `authority` refuses `pem` for `purpose`.
int Verify(const std::string& pem, const std::string& authority, int purpose) {
  const Cert cert = Read(pem);
  const Cert trusted = Read(authority);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, trusted.get());
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, cert.get(), nullptr);
  X509_STORE_CTX_set_purpose(context, purpose);
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context), X509_V_FLAG_X509_STRICT);
  X509_verify_cert(context);
  const int error = X509_STORE_CTX_get_error(context);
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return error;
}

class AuthorityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = MakeAuthority("lab", kAuthorityDays);
    ASSERT_TRUE(made.ok()) << made.status();
    authority_ = *made;
  }
  CertificatePair Issue(const CertificateSubject& subject, int days = kCertificateDays) {
    const auto issued = IssueCertificate(authority_, subject, days);
    EXPECT_TRUE(issued.ok()) << issued.status();
    return issued.value_or(CertificatePair());
  }
  CertificatePair authority_;
};

TEST_F(AuthorityTest, AServersCertificateProvesTheAddressesItWasGivenAndNoClient) {
  const CertificatePair pair = Issue({"coordinator", "", {"alpha.example", "192.0.2.10", "::1"}});
  EXPECT_EQ(Verify(pair.cert, authority_.cert, X509_PURPOSE_SSL_SERVER), X509_V_OK);
  EXPECT_EQ(Verify(pair.cert, authority_.cert, X509_PURPOSE_SSL_CLIENT),
            X509_V_ERR_INVALID_PURPOSE);
  const Cert cert = Read(pair.cert);
  EXPECT_EQ(X509_check_host(cert.get(), "alpha.example", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_ip_asc(cert.get(), "192.0.2.10", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(cert.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_host(cert.get(), "beta.example", 0, 0, nullptr), 0);
}

TEST_F(AuthorityTest, AClientsCertificateHasItsRoleAndCannotPoseAsACoordinator) {
  const CertificatePair pair = Issue({"gpu07", "worker", {"gpu07.example"}});
  EXPECT_EQ(Verify(pair.cert, authority_.cert, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  EXPECT_EQ(Verify(pair.cert, authority_.cert, X509_PURPOSE_SSL_SERVER),
            X509_V_ERR_INVALID_PURPOSE);
  const Cert cert = Read(pair.cert);
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(cert.get(), NID_subject_alt_name, nullptr, nullptr));
  ASSERT_NE(names, nullptr);
  const GENERAL_NAME* first = sk_GENERAL_NAME_value(names, 0);
  ASSERT_EQ(first->type, GEN_URI);
  const auto* text = first->d.uniformResourceIdentifier;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                        static_cast<size_t>(ASN1_STRING_length(text))),
            "dtrain://worker/gpu07");
  GENERAL_NAMES_free(names);
}

TEST_F(AuthorityTest, AnotherAuthorityOfTheSameNameDoesNotCount) {
  const auto other = MakeAuthority("lab", kAuthorityDays);
  ASSERT_TRUE(other.ok());
  const CertificatePair pair = Issue({"ann", "admin", {}});
  EXPECT_NE(Verify(pair.cert, other->cert, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

TEST_F(AuthorityTest, AnIssuedCertificateCannotIssueOthers) {
  const CertificatePair ann = Issue({"ann", "admin", {}});
  const auto further = IssueCertificate(ann, {"bob", "admin", {}}, 1);
  EXPECT_EQ(further.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(AuthorityTest, NoCertificateOutlivesItsAuthority) {
  const auto brief = MakeAuthority("brief", 2);
  ASSERT_TRUE(brief.ok());
  const auto issued = IssueCertificate(*brief, {"ann", "observer", {}}, kCertificateDays);
  ASSERT_TRUE(issued.ok()) << issued.status();
  EXPECT_LE(issued->expires, brief->expires + 1);
  EXPECT_GT(issued->expires, std::time(nullptr) + 24 * 3600);
  const Cert cert = Read(issued->cert);
  EXPECT_EQ(ASN1_TIME_cmp_time_t(X509_get0_notAfter(cert.get()), issued->expires), 0);
}

TEST_F(AuthorityTest, NamesThatWouldBecomePathsOrFurtherNamesAreRefused) {
  for (const char* name : {"", "../x", "a/b", ".x", "-x", "a b", "a,URI:dtrain:"}) {
    EXPECT_EQ(IssueCertificate(authority_, {name, "observer", {}}, 1).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
  for (const char* host : {"", "a.example,URI:dtrain://admin/eve", "a.example:7600", "a b", "*"}) {
    EXPECT_EQ(IssueCertificate(authority_, {"ann", "observer", {host}}, 1).status().code(),
              absl::StatusCode::kInvalidArgument)
        << host;
  }
  EXPECT_FALSE(IssueCertificate(authority_, {"coordinator", "", {}}, 1).ok()) << "no address";
  EXPECT_FALSE(IssueCertificate(authority_, {"ann", "observer", {}}, 0).ok());
  EXPECT_FALSE(IssueCertificate(authority_, {"ann", "observer", {}}, 100000).ok());
}

TEST_F(AuthorityTest, AKeyOfAnotherAuthorityIsRefused) {
  const auto other = MakeAuthority("lab", 10);
  ASSERT_TRUE(other.ok());
  const auto issued =
      IssueCertificate({authority_.cert, other->key, 0}, {"ann", "observer", {}}, 1);
  EXPECT_EQ(issued.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dt
