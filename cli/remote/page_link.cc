#include "cli/remote/page_link.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/view/words.h"
#include "common/net/credentials.h"

namespace dt::cli {
namespace {

// Returns "host" of "host:port" or "[v6]:port", with its brackets.
std::string_view HostOf(std::string_view address) { return address.substr(0, address.rfind(':')); }

bool IsUnix(std::string_view address) { return address.substr(0, 5) == "unix:"; }

bool IsEveryHost(std::string_view host) {
  return host == "0.0.0.0" || host == "[::]" || host == "*" || host.empty();
}

}  // namespace

PageLink PageLinkOf(std::string_view http, std::string_view dialled, uint64_t experiment) {
  const size_t colon = http.rfind(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view first = dialled.substr(0, dialled.find(','));
  const bool here = IsLocalAddress(first);
  std::string host(HostOf(http));
  PageLink link;
  if (IsEveryHost(host)) {
    // The page is reachable wherever the coordinator's other port is.
    host = IsUnix(first) ? "127.0.0.1" : std::string(HostOf(first));
  } else {
    link.elsewhere = !here && IsLocalAddress(http);
  }
  link.url =
      absl::StrCat("http://", host, std::string(http.substr(colon)), "/#/experiments/", experiment);
  return link;
}

std::string PageLinkText(const PageLink& link) {
  return absl::StrCat(Printable(link.url), link.elsewhere ? " on the coordinator's host" : "");
}

}  // namespace dt::cli
