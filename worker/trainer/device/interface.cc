// interface.cc: uses getifaddrs(3).
#include "worker/trainer/device/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>

namespace dt::trainer {

std::string InterfaceOf(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  const bool is_four = inet_pton(AF_INET, host.c_str(), &four) == 1;
  if (!is_four && inet_pton(AF_INET6, host.c_str(), &six) != 1) return "";
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "";
  std::string name;
  for (const ifaddrs* one = all; one != nullptr && name.empty(); one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = one->ifa_addr->sa_family;
    const bool same =
        (is_four && family == AF_INET &&
         reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr == four.s_addr) ||
        (!is_four && family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, &six,
                     sizeof(six)) == 0);
    if (same) name = one->ifa_name;
  }
  freeifaddrs(all);
  return name;
}

}  // namespace dt::trainer
