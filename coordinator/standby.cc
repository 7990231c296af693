#include "coordinator/standby.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/lead_limits.h"
#include "common/log/logging.h"
#include "common/service_manager.h"
#include "common/status.h"
#include "common/version.h"
#include "coordinator/addresses.h"
#include "coordinator/api/answers.h"
#include "coordinator/http/pages.h"
#include "coordinator/store/directory_lock.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

// Waits for `pause`. Returns true if a signal asks this process to stop.
bool AskedToStop(absl::Duration pause) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  const timespec left = absl::ToTimespec(pause);
  return sigtimedwait(&signals, nullptr, &left) > 0;
}

// Another process may lead by now, so this process must not send anything more.
void LoseLead(const absl::Status& why) {
  spdlog::critical("stopping at once: {}", std::string(why.message()));
  FinishLogging();
  std::_Exit(1);
}

}  // namespace

std::string OwnName() {
  std::array<char, 64> host = {};
  const bool known = gethostname(host.data(), host.size() - 1) == 0;
  // The database stores 63 bytes of it.
  return absl::StrCat("process ", getpid(), " on ", known ? host.data() : "a host");
}

Standby::Standby(StandbyOptions options)
    : options_(std::move(options)),
      metrics_(stats_, [] { return ReportCounts(); }),
      candidate_(options_.conninfo, OwnName()) {}

absl::StatusOr<std::unique_ptr<PostgresStore>> Standby::AwaitLead() {
  DT_RETURN_IF_ERROR(MakeFolders(options_.state_dir));
  DT_ASSIGN_OR_RETURN(DirectoryLock lock, LockStateDirectory(options_.state_dir));
  DT_ASSIGN_OR_RETURN(bool leads, candidate_.Look(clock_.Now().steady));
  while (!leads) {
    Tell(absl::StrCat("'", candidate_.leader(), "' leads"));
    if (http_ == nullptr) DT_RETURN_IF_ERROR(StartServers());
    if (AskedToStop(limits::kStandbyLook)) return std::unique_ptr<PostgresStore>();
    const auto looked = candidate_.Look(clock_.Now().steady);
    leads = looked.ok() && *looked;
    if (!looked.ok()) Tell(std::string(looked.status().message()));
    NotifyServiceManager("WATCHDOG=1");
  }
  if (http_ != nullptr) Tell("it takes over now");
  http_.reset();
  NotifyServiceManager("STATUS=");
  DT_ASSIGN_OR_RETURN(auto store,
                      PostgresStore::Lead(std::move(lock), candidate_.Take(),
                                          {options_.conninfo, kVersion, OwnName(), LoseLead}));
  spdlog::info("leading in term {}; {}", store->term(), store->place());
  return store;
}

absl::Status Standby::StartServers() {
  DT_ASSIGN_OR_RETURN(rpc_, StandbyServer::Start(options_.listen, options_.tls, Reason()));
  DT_ASSIGN_OR_RETURN(
      http_, HttpServer::Start(options_.http, [this](const auto& request, const auto& reply) {
        reply(Share(Answer(request)));
      }));
  // The system may have chosen ports; this process keeps them.
  options_.listen = rpc_->address();
  options_.http = http_->address();
  if (!options_.addresses_file.empty()) {
    DT_RETURN_IF_ERROR(WriteAddresses(options_.addresses_file, options_.listen, options_.http));
  }
  spdlog::info("dtcoord {} waits as a standby at {} and http://{}/", kVersion, options_.listen,
               options_.http);
  NotifyServiceManager("READY=1\nSTATUS=standby");
  return absl::OkStatus();
}

void Standby::Tell(std::string reason) {
  {
    MutexLock lock(&mutex_);
    if (reason == reason_) return;
    reason_ = reason;
  }
  spdlog::info("standby: {}", reason);
  if (rpc_ != nullptr) rpc_->SetReason(std::move(reason));
}

std::string Standby::Reason() const {
  MutexLock lock(&mutex_);
  return reason_;
}

HttpAnswer Standby::Answer(const HttpRequest& request) const {
  if (request.path == "/healthz" || request.path == "/metrics") {
    return AnswerPage(request.path, metrics_, [] { return absl::OkStatus(); });
  }
  const std::string text = absl::StrCat("standby: ", Reason());
  if (absl::StartsWith(request.path, "/api/")) return ErrorAnswer(absl::UnavailableError(text));
  return {503, absl::StrCat("not ready: ", text, "\n")};
}

}  // namespace dt
