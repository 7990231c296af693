// acceptor.cc: sockets of an address, and the loop that accepts.
#include "coordinator/rpc/acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

constexpr int kBacklog = 4096;  // a fleet reconnects at once; the system's own limit caps it
constexpr int kSocketFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

struct Listening {
  int fd = -1;
  std::string address;
  std::string socket_path;
};

absl::Status CannotListen(const std::string& address, const char* doing) {
  return absl::FailedPreconditionError(absl::StrCat("cannot listen on ", address, ": ", doing, ": ",
                                                    std::strerror(errno),
                                                    "; give another --listen"));
}

absl::StatusOr<Listening> ListenUnix(const std::string& address) {
  const std::string path = address.substr(std::strlen("unix:"));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(name.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--listen ", address, ": a socket's path has 1 to ", sizeof(name.sun_path) - 1, " bytes"));
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  const auto* sockaddr_name = reinterpret_cast<const sockaddr*>(&name);
  const int fd = socket(AF_UNIX, kSocketFlags, 0);
  if (fd < 0) return CannotListen(address, "socket");
  // A socket that nobody listens on was left behind by a process that died.
  if (connect(fd, sockaddr_name, sizeof(name)) != 0 && errno == ECONNREFUSED) {
    unlink(path.c_str());
  }
  close(fd);
  const int listener = socket(AF_UNIX, kSocketFlags, 0);
  if (listener < 0) return CannotListen(address, "socket");
  if (bind(listener, sockaddr_name, sizeof(name)) != 0 || listen(listener, kBacklog) != 0) {
    close(listener);
    return CannotListen(address, "bind");
  }
  return Listening{listener, address, path};
}

absl::StatusOr<std::string> AddressOf(int fd, const std::string& host) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("getsockname: ", std::strerror(errno)));
  }
  const uint16_t port = name.ss_family == AF_INET6
                            ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                            : reinterpret_cast<const sockaddr_in&>(name).sin_port;
  return absl::StrCat(host, ":", ntohs(port));
}

absl::StatusOr<Listening> ListenTcp(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen '", address, "' is not host:port, [address]:port or unix:/path"));
  }
  const std::string host = address.substr(0, colon);
  std::string node = host;
  if (node.front() == '[' && node.back() == ']') node = node.substr(1, node.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(node.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen ", address, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  const int fd = socket(found->ai_family, kSocketFlags, 0);
  if (fd < 0) return CannotListen(address, "socket");
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, kBacklog) != 0) {
    absl::Status status = CannotListen(address, "bind");
    close(fd);
    return status;
  }
  auto actual = AddressOf(fd, host);
  if (!actual.ok()) {
    close(fd);
    return actual.status();
  }
  return Listening{fd, *std::move(actual), ""};
}

int OpenReserve() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Listen(const std::string& address) {
  DT_ASSIGN_OR_RETURN(Listening listening, absl::StartsWith(address, "unix:") ? ListenUnix(address)
                                                                              : ListenTcp(address));
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  auto acceptor = std::unique_ptr<Acceptor>(
      new Acceptor(listening.fd, wake, OpenReserve(), std::move(listening.address)));
  acceptor->socket_path_ = std::move(listening.socket_path);
  if (wake < 0) return CannotListen(address, "eventfd");
  return acceptor;
}

Acceptor::~Acceptor() {
  Stop();
  for (const int fd : {listener_, wake_, reserve_}) {
    if (fd >= 0) close(fd);
  }
  if (!socket_path_.empty()) unlink(socket_path_.c_str());
}

void Acceptor::Start(std::unique_ptr<Sink> sink) {
  sink_ = std::move(sink);
  thread_ = std::thread([this] { Run(); });
}

void Acceptor::Stop() {
  if (!thread_.joinable()) return;
  eventfd_write(wake_, 1);
  thread_.join();
}

void Acceptor::Run() {
  pollfd watched[] = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
  while (true) {
    // The listener is level-triggered: what one round leaves, the next one finds.
    const int ready = poll(watched, 2, 1000);
    if (ready < 0 && errno != EINTR) {
      spdlog::error("accepting connections: poll: {}", std::strerror(errno));
      return;
    }
    if (watched[1].revents != 0) return;
    if (ready > 0 && watched[0].revents != 0) AcceptAll();
  }
}

void Acceptor::AcceptAll() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      const int one = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));  // fails on Unix sockets: no use
      Sink::NewConnectionParameters connection;
      connection.listener_fd = listener_;
      connection.fd = fd;
      sink_->HandleNewConnection(&connection);
      continue;
    }
    const int reason = errno;
    if (reason == ECONNABORTED || reason == EINTR) continue;
    const bool exhausted =
        reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM;
    if (exhausted) Shed();
    return;  // or EAGAIN: all accepted
  }
}

// The newest connection is told at once, by being closed, instead of waiting in the backlog; the
// peer comes back with its backoff.
void Acceptor::Shed() {
  if (reserve_ >= 0) close(std::exchange(reserve_, -1));
  const int fd = accept(listener_, nullptr, nullptr);
  if (fd >= 0) close(fd);
  reserve_ = OpenReserve();
  // Without a reserve nothing can be shed: wait a little instead of spinning on a full table.
  if (fd < 0) poll(nullptr, 0, 50);
}

}  // namespace dt
