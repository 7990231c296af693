// certificate_fuzz.cc: any bytes as the files of mutual TLS, and as an authority that is to sign:
// refused with a reason, or files that belong together.
//
// They are tried as PEM text, and, since almost none of that decodes, as the contents of a PEM
// block.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/escaping.h"
#include "common/net/authority.h"
#include "common/net/pem_files.h"
#include "tests/testing/temp_folder.h"

namespace {

constexpr int kDays = 30;

struct World {
  dt::testing::TempFolder folder{dt::testing::Medium::kMemory};
  dt::TlsFiles files{folder / "ca", folder / "cert", folder / "key"};
  dt::CertificatePair good = *dt::MakeAuthority("fuzz", kDays);

  // No file changes the result for the others.
  void Read(const std::string& ca, const std::string& cert, const std::string& key) const {
    for (const auto& [path, text] :
         {std::pair(files.ca, ca), {files.cert, cert}, {files.key, key}}) {
      std::ofstream(path, std::ios::binary)
          .write(text.data(), static_cast<std::streamsize>(text.size()));
    }
    const auto pem = dt::internal::ReadPemFiles(files);
    if (!pem.ok() && pem.status().message().empty()) std::abort();
    if (pem.ok() && (pem->ca != ca || pem->cert != cert || pem->key != key)) std::abort();
  }
  void Sign(const std::string& cert, const std::string& key) const {
    const auto issued = dt::IssueCertificate({cert, key}, {"gpu07", "worker", {}}, kDays);
    if (!issued.ok() && issued.status().message().empty()) std::abort();
  }
};

std::string Pem(const std::string& what, const std::string& content) {
  constexpr size_t kLine = 64;
  const std::string text = absl::Base64Escape(content);
  std::string pem = "-----BEGIN " + what + "-----\n";
  for (size_t at = 0; at < text.size(); at += kLine) pem += text.substr(at, kLine) + "\n";
  return pem + "-----END " + what + "-----\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const World world;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const dt::CertificatePair& good = world.good;
  const std::string wrapped = Pem("CERTIFICATE", bytes);
  for (const std::string& cert : {bytes, wrapped}) {
    world.Read(cert, good.cert, good.key);
    world.Read(good.cert, cert, good.key);
    world.Sign(cert, good.key);
  }
  for (const std::string& key : {bytes, Pem("PRIVATE KEY", bytes), Pem("EC PRIVATE KEY", bytes)}) {
    world.Read(good.cert, good.cert, key);
    world.Sign(good.cert, key);
  }
  return 0;
}
