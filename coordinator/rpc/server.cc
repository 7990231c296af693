// server.cc: the server's settings (docs give the reasons), start and stop.
#include "coordinator/rpc/server.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "common/limits.h"
#include "common/status.h"
#include "grpc/impl/codegen/grpc_types.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/impl/server_builder_option.h"
#include "grpcpp/server_builder.h"

namespace dt {
namespace {

// Removes the reflection that linking its library enables for every server of the process, where
// strangers could use it.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const std::unique_ptr<grpc::ServerBuilderPlugin>& plugin) {
      return plugin->name() == "proto_server_reflection";
    });
  }
};

}  // namespace

void ConfigureServer(grpc::ServerBuilder& builder, const TlsFiles& tls, Reflection reflection,
                     ConnectionWatch& watch, Streams streams) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits::kControlMessageBytes));
  builder.SetMaxSendMessageSize(static_cast<int>(limits::kControlMessageBytes));
  // A dead peer's socket is freed after eight seconds; leases, not this, decide about workers.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 3000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Clients ping every five seconds; a faster client is abusive, and its connection ends.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 4000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2);
  // The agents of one host may share a connection: one stream for each, and their calls.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 64);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8192);
  // Drops idle sockets that never speak.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10000);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  if (!tls.None()) {
    // Peers reconnect hourly and so show their newest certificate; streams get ten seconds to end.
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, 3600 * 1000);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 10 * 1000);
  }
  if (reflection == Reflection::kOff) builder.SetOption(std::make_unique<WithoutReflection>());
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(TellsOfCalls(watch, streams));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
}

absl::Status GrpcDidNotStart() {
  return absl::FailedPreconditionError(
      "gRPC did not start; its own message above says why (most often, a TLS file is not a "
      "certificate or not a key)");
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const ServerOptions& options,
                                                            Mailbox<Event>& mailbox,
                                                            ReaderThread& reader, CodeKeeper& code,
                                                            RpcStats& stats) {
  DT_ASSIGN_OR_RETURN(auto credentials, MakeServerCredentials(options.tls, options.listen));
  DT_ASSIGN_OR_RETURN(auto acceptor, Acceptor::Listen(options.listen));
  auto server = std::unique_ptr<RpcServer>(new RpcServer(options, mailbox, reader, code, stats));
  server->credentials_ = credentials;
  server->acceptor_ = std::move(acceptor);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  ConfigureServer(builder, options.tls,
                  IsLocalAddress(options.listen) ? Reflection::kOn : Reflection::kOff,
                  server->watch_, Streams::kTellThemselves);
  builder.RegisterService(&server->control_);
  builder.RegisterService(&server->fleet_);
  builder.RegisterService(&server->access_);
  auto sink = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) return GrpcDidNotStart();
  server->SetHealth(Health::kNotServing);
  server->pulse_ = std::make_unique<Pulse>(*server->server_);
  server->acceptor_->Start(std::move(sink), server->watch_);
  return server;
}

RpcServer::~RpcServer() {
  if (server_ != nullptr) Shutdown();
}

void RpcServer::SetHealth(Health health) {
  server_->GetHealthCheckService()->SetServingStatus(health == Health::kServing);
}

void RpcServer::Shutdown() {
  acceptor_->Stop();
  pulse_->Stop();
  fleet_.EndAll();
  control_.FailAll(absl::UnavailableError("the coordinator is stopping; try again in a moment"));
  server_->Shutdown(std::chrono::system_clock::now() +
                    absl::ToChronoSeconds(limits::kShutdownDrain));
}

}  // namespace dt
