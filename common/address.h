// address.h: how the programs' addresses are written: "host:port", "[v6]:port", "unix:/path"; several
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
  kRefused,  // an address to dial
  kAllowed,  // an address to listen on: the system chooses
};
absl::Status CheckAddress(std::string_view flag, std::string_view address, PortZero zero);
// Without Unix sockets, for what speaks HTTP.
absl::Status CheckHostAndPort(std::string_view flag, std::string_view address, PortZero zero);

// One address, or several of coordinators that take turns, to be tried in this order.
absl::StatusOr<std::vector<std::string>> SplitAddresses(std::string_view flag,
                                                        std::string_view addresses);

}  // namespace dt
