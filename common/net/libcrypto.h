// libcrypto.h: libcrypto's objects, freed by their owners, and read from PEM text.
//
// Role:   for the sources of common/net alone.
// Errors: null if the text holds no such object; libcrypto's queue then has the reason.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace dt::internal {

template <typename T, void (*Free)(T*)>
struct Freed {
  void operator()(T* it) const { Free(it); }
};
inline void FreeBio(BIO* bio) { BIO_free(bio); }
using Bio = std::unique_ptr<BIO, Freed<BIO, FreeBio>>;
using Cert = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;

// REQUIRES: `text` outlives the result.
inline Bio BioOf(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

inline Cert ReadCert(const std::string& text) {
  return Cert(PEM_read_bio_X509(BioOf(text).get(), nullptr, nullptr, nullptr));
}

inline Key ReadKey(const std::string& text) {
  return Key(PEM_read_bio_PrivateKey(
      BioOf(text).get(), nullptr,
      [](char*, int, int, void*) { return 0; },  // never asks for a password on the terminal
      nullptr));
}

}  // namespace dt::internal
