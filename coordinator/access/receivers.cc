#include "coordinator/access/receivers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/url.h"

namespace dt {

absl::StatusOr<Receivers> Receivers::Make(const std::vector<std::string>& hosts) {
  Receivers receivers;
  for (const std::string& host : hosts) {
    const bool whole = host.find("://") != std::string::npos;
    const absl::StatusOr<Url> url = ParseUrl(whole ? host : absl::StrCat("https://", host));
    if (!url.ok() || !url->rest.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--notify-to '", host, "' ",
                       url.ok() ? "has a path" : std::string(url.status().message()),
                       "; write HOST or HOST:PORT, or http://HOST for one without TLS"));
    }
    receivers.origins_.push_back(OriginOf(*url));
  }
  return receivers;
}

absl::Status Receivers::Admit(std::string_view url) const {
  if (url.empty()) return absl::OkStatus();
  const absl::StatusOr<Url> parsed = ParseUrl(url);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("notify.url ", std::string(parsed.status().message())));
  }
  if (parsed->rest == kHiddenRest) {
    return absl::InvalidArgumentError(
        "notify.url is shortened, as a coordinator shows it; write the complete address, or leave "
        "notify out");
  }
  const std::string origin = OriginOf(*parsed);
  if (std::find(origins_.begin(), origins_.end(), origin) != origins_.end()) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "notify.url is at ", origin, ", and this coordinator may notify ",
      origins_.empty() ? "no host" : absl::StrCat("only ", absl::StrJoin(origins_, ", ")),
      "; its operator can allow a host with dtcoord --notify-to HOST; or leave notify out"));
}

}  // namespace dt
