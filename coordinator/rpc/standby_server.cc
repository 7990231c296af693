#include "coordinator/rpc/standby_server.h"

#include <chrono>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "common/net/standby.h"
#include "common/status.h"
#include "coordinator/rpc/server.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/health_check_service_interface.h"

namespace dt {
namespace {

class Refused final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refused(const std::string& reason) {
    Finish({grpc::StatusCode::UNAVAILABLE, absl::StrCat(kStandbySays, reason)});
  }
  void OnDone() override { delete this; }
};

}  // namespace

class StandbyServer::Refusals final : public grpc::CallbackGenericService {
 public:
  explicit Refusals(std::string reason) : reason_(std::move(reason)) {}
  void Set(std::string reason) {
    MutexLock lock(&mutex_);
    reason_ = std::move(reason);
  }
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    MutexLock lock(&mutex_);
    return new Refused(reason_);
  }

 private:
  Mutex mutex_;
  std::string reason_ ABSL_GUARDED_BY(mutex_);
};

StandbyServer::StandbyServer(std::unique_ptr<Acceptor> acceptor, std::string reason)
    : refusals_(std::make_unique<Refusals>(std::move(reason))), acceptor_(std::move(acceptor)) {}

absl::StatusOr<std::unique_ptr<StandbyServer>> StandbyServer::Start(const std::string& listen,
                                                                    const TlsFiles& tls,
                                                                    std::string reason) {
  DT_ASSIGN_OR_RETURN(auto credentials, MakeServerCredentials(tls, listen));
  DT_ASSIGN_OR_RETURN(auto acceptor, Acceptor::Listen(listen));
  auto server =
      std::unique_ptr<StandbyServer>(new StandbyServer(std::move(acceptor), std::move(reason)));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  ConfigureServer(builder, tls, Reflection::kOff, server->watch_, Streams::kIntercepted);
  builder.RegisterCallbackGenericService(server->refusals_.get());
  auto sink = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) return GrpcDidNotStart();
  server->server_->GetHealthCheckService()->SetServingStatus(false);
  server->acceptor_->Start(std::move(sink), server->watch_);
  return server;
}

StandbyServer::~StandbyServer() {
  if (server_ == nullptr) return;
  acceptor_->Stop();
  // Each call ends as soon as it arrives, so there is none to wait for.
  server_->Shutdown(std::chrono::system_clock::now());
}

void StandbyServer::SetReason(std::string reason) { refusals_->Set(std::move(reason)); }

}  // namespace dt
