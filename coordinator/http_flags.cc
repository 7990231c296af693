#include "coordinator/http_flags.h"

#include "absl/strings/str_cat.h"
#include "common/address.h"
#include "common/status.h"

namespace dt {

absl::Status CheckHttp(const std::string& http, bool clear_text) {
  DT_RETURN_IF_ERROR(CheckHostAndPort("--http", http, PortZero::kAllowed));
  if (clear_text || IsLocalAddress(http)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--http '", http,
                                                 "' is not on this host: whoever reaches it would "
                                                 "read every experiment, its file, losses and "
                                                 "logs, without TLS; give a loopback address, "
                                                 "with Prometheus or a proxy beside it, or allow "
                                                 "it with --http-clear-text"));
}

std::string WhyActsAreClosed(const std::string& http, const std::string& listen,
                             const TlsFiles& tls) {
  static constexpr char kInstead[] =
      ": acting over HTTP takes a token then, with --auth=tokens; dtctl acts as it always does";
  if (!IsLocalAddress(http)) return absl::StrCat("--http is reached by other hosts", kInstead);
  if (!tls.None()) return absl::StrCat("--tls-ca asks for certificates", kInstead);
  if (listen.rfind("unix", 0) == 0) {
    return absl::StrCat("--listen is a socket that a folder may guard", kInstead);
  }
  return "";
}

}  // namespace dt
