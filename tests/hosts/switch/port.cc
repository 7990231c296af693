#include "tests/hosts/switch/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "common/files.h"
#include "common/status.h"

namespace dt::hosts {
namespace {

// A frame of 1500 bytes with its header, and room for larger ones.
constexpr size_t kFrameBytesMax = 65536;

ifreq Named(const std::string& device) {
  ifreq request{};
  std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
  return request;
}

absl::Status Enter(const std::string& path) {
  const UniqueFd space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!space.valid() || ::setns(space.get(), CLONE_NEWNET) != 0) {
    return SystemError("enter the network namespace", path);
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenTap() {
  UniqueFd fd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return SystemError("open", "/dev/net/tun");
  ifreq request = Named(kDevice);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (::ioctl(fd.get(), TUNSETIFF, &request) != 0) return SystemError("make the device", kDevice);
  return fd;
}

// Makes the host compute checksums and cut segments itself, since nothing behind the switch does.
absl::Status RefuseUnfinishedFrames() {
  const UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const uint32_t what : {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_STXCSUM}) {
    ethtool_value off{.cmd = what, .data = 0};
    ifreq request = Named(kDevice);
    request.ifr_data = reinterpret_cast<char*>(&off);
    if (::ioctl(any.get(), SIOCETHTOOL, &request) != 0) {
      return SystemError("change the features of", kDevice);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenPacket(const std::string& cable) {
  UniqueFd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL)));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(cable.c_str()));
  if (!fd.valid() || address.sll_ifindex == 0 ||
      ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return SystemError("open the cable", cable);
  }
  return fd;
}

}  // namespace

absl::StatusOr<Port> Port::Open(PortKind kind, int pid, const std::string& cable) {
  const UniqueFd home(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!home.valid()) return SystemError("open", "/proc/self/ns/net");
  DT_RETURN_IF_ERROR(Enter(absl::StrCat("/proc/", pid, "/ns/net")));
  absl::StatusOr<UniqueFd> fd = UniqueFd();
  absl::Status ready;
  switch (kind) {
    case PortKind::kTap:
      fd = OpenTap();
      break;
    case PortKind::kPacket:
      ready = RefuseUnfinishedFrames();
      break;
  }
  if (::setns(home.get(), CLONE_NEWNET) != 0) return SystemError("come back from", "a namespace");
  DT_RETURN_IF_ERROR(ready);
  if (kind == PortKind::kPacket) fd = OpenPacket(cable);
  if (!fd.ok()) return fd.status();
  return Port(kind, *std::move(fd));
}

absl::StatusOr<std::optional<std::string>> Port::Read() {
  static char buffer[kFrameBytesMax];
  for (;;) {
    sockaddr_ll from{};
    socklen_t bytes_of_from = sizeof from;
    const ssize_t bytes = kind_ == PortKind::kTap
                              ? ::read(fd_.get(), buffer, sizeof buffer)
                              : ::recvfrom(fd_.get(), buffer, sizeof buffer, 0,
                                           reinterpret_cast<sockaddr*>(&from), &bytes_of_from);
    if (bytes < 0 && errno == EINTR) continue;
    // ENETDOWN: the host has not yet switched its device on.
    if (bytes < 0 && (errno == EAGAIN || errno == ENETDOWN)) return std::nullopt;
    if (bytes < 0) return SystemError("read frames of", kDevice);
    if (kind_ == PortKind::kPacket && from.sll_pkttype == PACKET_OUTGOING) continue;  // our own
    return std::string(buffer, bytes);
  }
}

void Port::Write(const std::string& frame) {
  while (::write(fd_.get(), frame.data(), frame.size()) < 0 && errno == EINTR) {
  }
}

}  // namespace dt::hosts
