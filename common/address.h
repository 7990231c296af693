// address.h: how the programs' addresses are written: "host:port", "[v6]:port", "unix:/path".
//
// Role:   one check for every flag that takes one, before gRPC sees it: gRPC takes a port of 70000
//         for 4464 and a name without a port for port 443.
// Errors: InvalidArgument naming the flag, the text and the form.
// Tests:  tests/common/address_test.cc
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace dt {

enum class PortZero {
  kRefused,  // an address to dial
  kAllowed,  // an address to listen on: the system chooses
};
absl::Status CheckAddress(std::string_view flag, std::string_view address, PortZero zero);
// Without Unix sockets, for what speaks HTTP.
absl::Status CheckHostAndPort(std::string_view flag, std::string_view address, PortZero zero);

}  // namespace dt
