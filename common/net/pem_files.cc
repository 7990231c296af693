#include "common/net/pem_files.h"

#include <openssl/err.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net/libcrypto.h"
#include "common/status.h"

namespace dt::internal {
namespace {

absl::StatusOr<std::string> ReadPem(std::string_view flag, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.str().find("-----BEGIN ") == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(flag), " ", path,
                                                   file ? ": not a PEM file" : ": cannot be read",
                                                   "; give a PEM file that this user may read"));
  }
  return text.str();
}

// gRPC would take any two files, then close every connection without a reason.
absl::Status CheckPair(const TlsFiles& files, const Pem& pem) {
  const Cert cert = ReadCert(pem.cert);
  const Key key = ReadKey(pem.key);
  ERR_clear_error();
  if (cert == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-cert ", files.cert, " holds no certificate that can be read"));
  }
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--tls-key ", files.key, " holds no private key that can be read without a password"));
  }
  if (X509_check_private_key(cert.get(), key.get()) == 1) return absl::OkStatus();
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("--tls-key ", files.key,
                                                 " is not the key of the certificate --tls-cert ",
                                                 files.cert, "; give the two of one pair"));
}

}  // namespace

absl::StatusOr<Pem> ReadPemFiles(const TlsFiles& files) {
  if (files.ca.empty() || files.cert.empty() || files.key.empty()) {
    return absl::InvalidArgumentError(
        "mutual TLS needs all of --tls-ca, --tls-cert and --tls-key; give the missing ones or "
        "none");
  }
  Pem pem;
  DT_ASSIGN_OR_RETURN(pem.ca, ReadPem("--tls-ca", files.ca));
  if (ReadCert(pem.ca) == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        absl::StrCat("--tls-ca ", files.ca, " holds no certificate that can be read"));
  }
  DT_ASSIGN_OR_RETURN(pem.cert, ReadPem("--tls-cert", files.cert));
  DT_ASSIGN_OR_RETURN(pem.key, ReadPem("--tls-key", files.key));
  DT_RETURN_IF_ERROR(CheckPair(files, pem));
  return pem;
}

absl::StatusOr<std::unique_ptr<PemFiles>> PemFiles::Open(const TlsFiles& files) {
  std::unique_ptr<PemFiles> opened(new PemFiles(files));
  MutexLock lock(&opened->mutex_);
  opened->seen_ = opened->Look();
  DT_ASSIGN_OR_RETURN(opened->pem_, ReadPemFiles(files));
  return opened;
}

PemFiles::Stamps PemFiles::Look() const {
  Stamps stamps;
  const std::array<const std::string*, 3> paths = {&files_.ca, &files_.cert, &files_.key};
  for (size_t i = 0; i < paths.size(); ++i) {
    struct stat info {};
    if (stat(paths[i]->c_str(), &info) != 0) continue;
    constexpr int64_t kSecond = 1'000'000'000;
    stamps[i].of = {static_cast<int64_t>(info.st_ino), static_cast<int64_t>(info.st_dev),
                    static_cast<int64_t>(info.st_size),
                    info.st_mtim.tv_sec * kSecond + info.st_mtim.tv_nsec};
  }
  return stamps;
}

Pem PemFiles::Newest() {
  MutexLock lock(&mutex_);
  // Look at the stamps before reading: a change meanwhile is noticed the next time.
  const Stamps now = Look();
  if (now == seen_) return pem_;
  absl::StatusOr<Pem> read = ReadPemFiles(files_);
  if (!read.ok()) return pem_;
  seen_ = now;
  pem_ = *std::move(read);
  return pem_;
}

}  // namespace dt::internal
