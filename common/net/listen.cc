#include "common/net/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace dt {
namespace {

constexpr int kBacklog = 4096;  // a fleet reconnects at once; the system's own limit applies too
constexpr int kSocketFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

struct Wanted {
  const char* flag;
  const std::string& address;
};

absl::Status CannotListen(const Wanted& wanted, const char* doing) {
  return absl::FailedPreconditionError(absl::StrCat("cannot listen on ", wanted.address, ": ",
                                                    doing, ": ", std::strerror(errno),
                                                    "; give another ", wanted.flag));
}

absl::StatusOr<Listening> ListenUnix(const Wanted& wanted) {
  const std::string path = wanted.address.substr(std::strlen("unix:"));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(name.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(wanted.flag, " ", wanted.address,
                                                   ": a socket's path has 1 to ",
                                                   sizeof(name.sun_path) - 1, " bytes"));
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  const auto* sockaddr_name = reinterpret_cast<const sockaddr*>(&name);
  // A socket without a listener was left behind by a process that died.
  const UniqueFd probe(socket(AF_UNIX, kSocketFlags, 0));
  if (!probe.valid()) return CannotListen(wanted, "socket");
  if (connect(probe.get(), sockaddr_name, sizeof(name)) != 0 && errno == ECONNREFUSED) {
    unlink(path.c_str());
  }
  UniqueFd listener(socket(AF_UNIX, kSocketFlags, 0));
  if (!listener.valid()) return CannotListen(wanted, "socket");
  if (bind(listener.get(), sockaddr_name, sizeof(name)) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return CannotListen(wanted, "bind");
  }
  return Listening{std::move(listener), wanted.address, path};
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

absl::StatusOr<Listening> ListenTcp(const Wanted& wanted) {
  const size_t colon = wanted.address.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(wanted.flag, " '", wanted.address, "' is not host:port or [address]:port"));
  }
  const std::string host = wanted.address.substr(0, colon);
  std::string node = host;
  if (node.front() == '[' && node.back() == ']') node = node.substr(1, node.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(node.c_str(), wanted.address.c_str() + colon + 1, &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(wanted.flag, " ", wanted.address, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  UniqueFd listener(socket(found->ai_family, kSocketFlags, 0));
  if (!listener.valid()) return CannotListen(wanted, "socket");
  const int one = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (bind(listener.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return CannotListen(wanted, "bind");
  }
  DT_ASSIGN_OR_RETURN(std::string actual, AddressOf(listener.get(), host));
  return Listening{std::move(listener), std::move(actual), ""};
}

}  // namespace

absl::StatusOr<Listening> Listen(const char* flag, const std::string& address) {
  const Wanted wanted{flag, address};
  return absl::StartsWith(address, "unix:") ? ListenUnix(wanted) : ListenTcp(wanted);
}

}  // namespace dt
