#include "common/net/token.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/access_limits.h"
#include "common/files.h"
#include "common/text.h"

namespace dt {
namespace {

constexpr std::string_view kPrefix = "dtr_";
constexpr size_t kDigits = 64;

}  // namespace

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
