#include "coordinator/rpc/connection_watch.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/access_limits.h"
#include "grpcpp/server_context.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

constexpr uint8_t kEstablished = 1;  // TCP_ESTABLISHED, which linux/tcp.h lacks

// "" where it is not of TCP.
std::string PortOf(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "";
  if (peer.ss_family == AF_INET) {
    return absl::StrCat(ntohs(reinterpret_cast<const sockaddr_in&>(peer).sin_port));
  }
  if (peer.ss_family == AF_INET6) {
    return absl::StrCat(ntohs(reinterpret_cast<const sockaddr_in6&>(peer).sin6_port));
  }
  return "";
}

class CallTeller final : public grpc::experimental::Interceptor {
 public:
  CallTeller(ConnectionWatch& watch, grpc::experimental::ServerRpcInfo* info)
      : watch_(watch), info_(info) {}
  ~CallTeller() override {
    for (const auto& each : connections_) --each->open;
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::POST_RECV_INITIAL_METADATA)) {
      connections_ = watch_.Find(info_->server_context()->peer());
      for (const auto& each : connections_) {
        ++each->open;
        ++each->steps;
      }
    }
    if (methods->QueryInterceptionHookPoint(Hook::POST_RECV_MESSAGE)) {
      for (const auto& each : connections_) ++each->steps;
    }
    methods->Proceed();
  }

 private:
  ConnectionWatch& watch_;
  grpc::experimental::ServerRpcInfo* const info_;
  std::vector<std::shared_ptr<ConnectionWatch::Progress>> connections_;
};

class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(ConnectionWatch& watch) : watch_(watch) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new CallTeller(watch_, info);  // gRPC's from then on
  }

 private:
  ConnectionWatch& watch_;
};

}  // namespace

void ConnectionWatch::Add(int fd) {
  Watched watched;
  watched.port = PortOf(fd);
  if (watched.port.empty()) return;
  watched.fd = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!watched.fd.valid()) return;  // no descriptor is left: the next ones are shed anyway
  watched.progress = std::make_shared<Progress>();
  const MutexLock lock(&mutex_);
  all_.push_back(std::move(watched));
}

std::vector<std::shared_ptr<ConnectionWatch::Progress>> ConnectionWatch::Find(
    std::string_view peer) {
  std::vector<std::shared_ptr<Progress>> found;
  const std::string_view port = peer.substr(peer.rfind(':') + 1);
  const MutexLock lock(&mutex_);
  for (const Watched& watched : all_) {
    if (watched.port == port) found.push_back(watched.progress);
  }
  return found;
}

bool ConnectionWatch::Look(Watched& watched) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(watched.fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  // gRPC shuts a connection down before it closes it, so that our descriptor keeps none open.
  if (info.tcpi_state != kEstablished) return false;
  const uint64_t steps = watched.progress->steps.load();
  const uint64_t received = info.tcpi_bytes_received;
  const bool quiet = received - watched.received < limits::kQuietBytesReceived;
  if (steps != watched.steps || quiet) watched.settled = received;
  watched.steps = steps;
  watched.received = received;
  const bool open = watched.progress->open.load() > 0;
  const uint64_t most = open ? limits::kCallBytesReceived : limits::kHeaderBytesReceived;
  if (received - watched.settled <= most) return true;
  spdlog::warn(
      "a connection from port {} is cut off: it sent {} KiB without completing a {}; at most {} "
      "KiB "
      "are taken",
      watched.port, (received - watched.settled) >> 10, open ? "message" : "call", most >> 10);
  // Unlike shutdown() this resets it at once, and drops what the kernel has for gRPC to read.
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  if (connect(watched.fd.get(), &nowhere, sizeof(nowhere)) != 0) {
    shutdown(watched.fd.get(), SHUT_RDWR);
  }
  return false;
}

void ConnectionWatch::Sweep() {
  const MutexLock lock(&mutex_);
  std::erase_if(all_, [](Watched& watched) { return !Look(watched); });
}

size_t ConnectionWatch::size() const {
  const MutexLock lock(&mutex_);
  return all_.size();
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> TellsOfCalls(
    ConnectionWatch& watch) {
  return std::make_unique<Factory>(watch);
}

}  // namespace dt
