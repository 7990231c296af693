#include "coordinator/notify/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"

namespace dt {

std::string SignatureOf(const std::string& key, const std::string& body) {
  if (key.empty()) return "";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(body.data()), body.size(), digest.data(), &size);
  DT_CHECK(made != nullptr);
  const absl::string_view bytes(reinterpret_cast<const char*>(digest.data()), size);
  return absl::StrCat("sha256=", absl::BytesToHexString(bytes));
}

}  // namespace dt
