#include "common/net/token.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/access_limits.h"
#include "common/check.h"
#include "common/files.h"
#include "common/text.h"

namespace dt {
namespace {

constexpr std::string_view kPrefix = "dtr_";
constexpr size_t kDigits = 64;

}  // namespace

std::string FreshToken() {
  std::array<char, kDigits / 2> bits{};
  size_t have = 0;
  while (have < bits.size()) {
    const ssize_t got = getrandom(bits.data() + have, bits.size() - have, 0);
    DT_CHECK(got > 0 || errno == EINTR);
    if (got > 0) have += static_cast<size_t>(got);
  }
  return absl::StrCat(std::string(kPrefix),
                      absl::BytesToHexString(absl::string_view(bits.data(), bits.size())));
}

bool IsToken(std::string_view text) {
  return text.size() == kPrefix.size() + kDigits && text.starts_with(kPrefix) &&
         std::all_of(text.begin() + kPrefix.size(), text.end(), [](unsigned char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

absl::StatusOr<std::string> ReadTokenFile(std::string_view flag, const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, limits::kTokenFileBytes);
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(flag), ": ", std::string(text.status().message()),
                     "; name the file that 'dtctl token create' printed its token into"));
  }
  std::string token(absl::StripAsciiWhitespace(*text));
  if (IsToken(token)) return token;
  return absl::InvalidArgumentError(absl::StrCat(std::string(flag), ": ", Printable(path),
                                                 " does not hold a token, which is dtr_ and 64 hex "
                                                 "digits; make one with 'dtctl token create'"));
}

void AddToken(const std::string& token, grpc::ClientContext& context) {
  if (!token.empty()) context.AddMetadata("authorization", absl::StrCat("Bearer ", token));
}

}  // namespace dt
