#include "coordinator/http_flags.h"

#include "absl/strings/str_cat.h"
#include "common/address.h"
#include "common/status.h"

namespace dt {

absl::Status CheckHttp(const std::string& http, bool clear_text) {
  DT_RETURN_IF_ERROR(CheckHostAndPort("--http", http, PortZero::kAllowed));
  if (clear_text || IsLocalAddress(http)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--http '", http,
                                                 "' is not on this host: everyone who reaches it "
                                                 "could read every experiment, its file, losses "
                                                 "and logs, without TLS; give a loopback address "
                                                 "and run Prometheus or a proxy on this host, or "
                                                 "allow it with --http-clear-text"));
}

std::string WhyActsAreClosed(const std::string& http, const std::string& listen,
                             const TlsFiles& tls) {
  static constexpr char kInstead[] =
      ", so acting over HTTP needs a token (--auth=tokens); dtctl works as before";
  if (!IsLocalAddress(http)) return absl::StrCat("other hosts can reach --http", kInstead);
  if (!tls.None()) return absl::StrCat("--tls-ca requires certificates", kInstead);
  if (listen.rfind("unix", 0) == 0) {
    return absl::StrCat("a folder may protect the socket of --listen", kInstead);
  }
  return "";
}

}  // namespace dt
