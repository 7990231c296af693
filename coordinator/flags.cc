#include "coordinator/flags.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/address.h"
#include "common/status.h"
#include "common/version.h"
#include "coordinator/http_flags.h"

namespace dt {
namespace {

std::string DefaultStateDir() {
  if (const char* directory = std::getenv("STATE_DIRECTORY")) return directory;
  if (const char* state = std::getenv("XDG_STATE_HOME")) return absl::StrCat(state, "/dtrain");
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "." : home, "/.local/state/dtrain");
}

absl::Status CheckDatabase(const Flags& flags) {
  if (flags.database.file.empty() || !flags.accept_loss) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--accept-loss repairs a journal in a file, and with --database-file there is none; restore "
      "the database from a backup");
}

}  // namespace

void DescribeFlags(CLI::App& app, Flags& flags) {
  flags.state_dir = DefaultStateDir();
  app.add_option(
         "--listen", flags.listen,
         "Address for workers and dtctl: host:port, [v6]:port or unix:/path; with port 0 the "
         "system chooses")
      ->capture_default_str();
  app.add_option("--http", flags.http,
                 "Address of the page, /api/v1, /metrics, /healthz and /readyz: host:port")
      ->capture_default_str();
  app.add_flag("--http-clear-text", flags.http_clear_text,
               "Allow an --http address that other hosts can reach, without TLS. Everyone who "
               "reaches it can "
               "read; with --auth=tokens, everyone with a token");
  app.add_option("--state-dir", flags.state_dir, "Folder of the journal, on a local disk")
      ->capture_default_str();
  app.add_flag(
      "--accept-loss", flags.accept_loss,
      "Start although the journal is damaged or lacks acknowledged data: continue with the "
      "undamaged part, keep the damaged files aside and log what was dropped");
  app.add_option("--addresses-file", flags.addresses_file,
                 "File to write once calls are answered: {\"grpc\": ADDRESS, \"http\": ADDRESS}");
  app.add_option("--metrics-max-trials", flags.metrics_max_trials,
                 "Maximum number of trials with their own series in /metrics")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.add_option(
         "--auth", flags.auth,
         "none: everyone who reaches it may do everything; tokens: callers show a token or a "
         "certificate with a role. The first admin token is in STATE_DIR/admin.token")
      ->capture_default_str()
      ->check(CLI::IsMember({"none", "tokens"}));
  app.add_option("--tls-ca", flags.tls.ca,
                 "PEM file of the authority that signs clients' certificates");
  app.add_option("--tls-cert", flags.tls.cert, "PEM file of this server's certificate");
  app.add_option("--tls-key", flags.tls.key, "PEM file of the key of --tls-cert");
  DescribeDatabase(app, flags.database);
  DescribeNotify(app, flags.notify);
  DescribeProtection(app, flags.protection);
  app.set_version_flag("--version", absl::StrCat("dtcoord ", kVersion, " (", kRevision, ")"));
  app.footer(
      "Examples:\n"
      "  dtcoord\n"
      "      serves this machine, with its journal under ~/.local/state/dtrain\n"
      "  dtcoord --auth=tokens --listen 0.0.0.0:7600 --tls-ca ca.pem --tls-cert coord.pem "
      "--tls-key "
      "coord.key\n"
      "      serves other machines too, with certificates on both sides and the rights of their "
      "roles\n"
      "  dtcoord --listen unix:/run/dtrain/coord.sock --http 127.0.0.1:0 --addresses-file a.json\n"
      "  dtcoord --auth=tokens\n"
      "      requires a token from everyone; dtctl token create makes more\n"
      "  dtcoord check ~/.local/state/dtrain\n"
      "      checks whether the journal of a stopped coordinator, or a backup, is undamaged\n"
      "  dtcoord backup ~/.local/state/dtrain --output /backup/dtrain-2026-01-31\n"
      "      copies the journal while the coordinator runs");
}

absl::Status CheckFlags(const Flags& flags) {
  DT_RETURN_IF_ERROR(CheckAddress("--listen", flags.listen, PortZero::kAllowed));
  DT_RETURN_IF_ERROR(CheckHttp(flags.http, flags.http_clear_text));
  return CheckDatabase(flags);
}

}  // namespace dt
