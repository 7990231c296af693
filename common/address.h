// address.h: the form of the programs' addresses: "host:port", "[v6]:port", "unix:/path"; several
// with commas between them.
//
// Role:   one check for every flag that takes one, before gRPC sees it: gRPC takes a port of 70000
//         for 4464 and a name without a port for port 443.
// Errors: InvalidArgument naming the flag, the text and the form.
// Tests:  tests/common/address_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dt {

enum class PortZero {
  kRefused,  // the address is dialled
  kAllowed,  // the address is listened on: the system chooses the port
};
absl::Status CheckAddress(std::string_view flag, std::string_view address, PortZero zero);
// Checks an address of a protocol that has no Unix sockets: HTTP.
absl::Status CheckHostAndPort(std::string_view flag, std::string_view address, PortZero zero);

struct HostAndPort {
  std::string host, port;
};
// Returns the parts of "host:port", an IPv6 address without its brackets. Without a colon the port
// is "".
HostAndPort SplitHostAndPort(std::string_view address);

// Returns one address, or the addresses of several coordinators that take turns, in the order in
// which to try them.
absl::StatusOr<std::vector<std::string>> SplitAddresses(std::string_view flag,
                                                        std::string_view addresses);

}  // namespace dt
