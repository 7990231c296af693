#include "coordinator/rpc/connection_watch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/access_limits.h"
#include "grpcpp/server_context.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

constexpr uint8_t kEstablished = 1;  // TCP_ESTABLISHED, missing in linux/tcp.h

// Returns an address in one form for the kernel and gRPC: "192.0.2.1 40000", "2001:db8::1 40000".
// An IPv4 address that came through an IPv6 socket gets the IPv4 form.
std::string KeyOf(const in6_addr& address, uint16_t port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    inet_ntop(AF_INET, &address.s6_addr[12], text, sizeof(text));
  } else {
    inet_ntop(AF_INET6, &address, text, sizeof(text));
  }
  return absl::StrCat(text, " ", port);
}

// Returns "" for a socket that is not TCP.
std::string KeyOf(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "";
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
    return absl::StrCat(text, " ", ntohs(v4.sin_port));
  }
  if (peer.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
    return KeyOf(v6.sin6_addr, ntohs(v6.sin6_port));
  }
  return "";
}

// Returns the same form for "ipv4:192.0.2.1:40000" and "ipv6:%5B2001:db8::1%25eth0%5D:40000"; ""
// for others.
std::string KeyOf(std::string_view peer) {
  std::string text = absl::StrReplaceAll(
      std::string(peer), {{"%5B", "["}, {"%5D", "]"}, {"%5b", "["}, {"%5d", "]"}, {"%25", "%"}});
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port)) return "";
  text.resize(colon);
  in6_addr v6{};
  if (absl::StartsWith(text, "ipv4:")) return absl::StrCat(text.substr(5), " ", port);
  if (!absl::StartsWith(text, "ipv6:[") || text.back() != ']') return "";
  text = text.substr(6, text.size() - 7);
  text.resize(std::min(text.find('%'), text.size()));  // drops the interface
  if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return "";
  return KeyOf(v6, static_cast<uint16_t>(port));
}

class CallTeller final : public grpc::experimental::Interceptor {
 public:
  CallTeller(ConnectionWatch& watch, grpc::experimental::ServerRpcInfo* info)
      : watch_(watch), info_(info) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::POST_RECV_INITIAL_METADATA)) {
      call_.emplace(watch_, info_->server_context()->peer());
    }
    const bool message = methods->QueryInterceptionHookPoint(Hook::POST_RECV_MESSAGE);
    if (message && call_.has_value()) call_->NoteMessage();
    methods->Proceed();
  }

 private:
  ConnectionWatch& watch_;
  grpc::experimental::ServerRpcInfo* const info_;
  std::optional<WatchedCall> call_;  // once its headers have come
};

class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  Factory(ConnectionWatch& watch, Streams streams) : watch_(watch), streams_(streams) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    using Type = grpc::experimental::ServerRpcInfo::Type;
    const bool tells = streams_ == Streams::kTellThemselves && info->type() == Type::BIDI_STREAMING;
    if (tells) return nullptr;
    return new CallTeller(watch_, info);  // owned by gRPC from here on
  }

 private:
  ConnectionWatch& watch_;
  const Streams streams_;
};

}  // namespace

WatchedCall::WatchedCall(ConnectionWatch& watch, std::string_view peer)
    : connections_(watch.Find(peer)) {
  for (const auto& each : connections_) {
    ++each->open;
    ++each->steps;
  }
}

WatchedCall::~WatchedCall() {
  for (const auto& each : connections_) --each->open;
}

void ConnectionWatch::Add(int fd) {
  Watched watched;
  watched.peer = KeyOf(fd);
  if (watched.peer.empty()) return;
  watched.fd = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!watched.fd.valid()) return;  // no descriptor is left: the next connections are shed anyway
  watched.progress = std::make_shared<Progress>();
  const MutexLock lock(&mutex_);
  all_.push_back(std::move(watched));
}

std::vector<std::shared_ptr<ConnectionWatch::Progress>> ConnectionWatch::Find(
    std::string_view peer) {
  std::vector<std::shared_ptr<Progress>> found;
  const std::string key = KeyOf(peer);
  const MutexLock lock(&mutex_);
  for (const Watched& watched : all_) {
    if (watched.peer == key) found.push_back(watched.progress);
  }
  return found;
}

bool ConnectionWatch::Stays(Watched& watched, Look look) {
  if (look == Look::kBetween && !watched.suspect) return true;
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(watched.fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  // gRPC shuts a connection down before it closes it, so our duplicate descriptor keeps none open.
  if (info.tcpi_state != kEstablished) return false;
  const uint64_t steps = watched.progress->steps.load();
  const uint64_t received = info.tcpi_bytes_received;
  if (steps != watched.steps) watched.settled = received;
  watched.steps = steps;
  if (look == Look::kSecond) {
    // Earlier bytes stay counted, so a flood cannot hide by pausing for a second.
    const uint64_t came = received - watched.received;
    if (came < limits::kQuietBytesReceived)
      watched.settled = std::min(watched.settled + came, received);
    watched.received = received;
  }
  const bool open = watched.progress->open.load() > 0;
  const uint64_t most = open ? limits::kCallBytesReceived : limits::kHeaderBytesReceived;
  const uint64_t unsettled = received - watched.settled;
  watched.suspect = steps == 0 || unsettled > limits::kHeaderBytesReceived / 4;
  if (unsettled <= most) return true;
  spdlog::warn(
      "a connection from {} is cut off: it sent {} KiB without completing a {}; the limit is "
      "{} KiB",
      watched.peer, unsettled >> 10, open ? "message" : "call", most >> 10);
  // Unlike shutdown(), this resets the connection at once and drops the bytes that gRPC has not
  // read.
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  if (connect(watched.fd.get(), &nowhere, sizeof(nowhere)) != 0) {
    shutdown(watched.fd.get(), SHUT_RDWR);
  }
  return false;
}

void ConnectionWatch::Sweep() {
  const MutexLock lock(&mutex_);
  std::erase_if(all_, [](Watched& watched) { return !Stays(watched, Look::kSecond); });
}

void ConnectionWatch::SweepSuspects() {
  const MutexLock lock(&mutex_);
  std::erase_if(all_, [](Watched& watched) { return !Stays(watched, Look::kBetween); });
}

size_t ConnectionWatch::size() const {
  const MutexLock lock(&mutex_);
  return all_.size();
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> TellsOfCalls(
    ConnectionWatch& watch, Streams streams) {
  return std::make_unique<Factory>(watch, streams);
}

}  // namespace dt
