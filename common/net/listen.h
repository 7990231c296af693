// listen.h: opens a listening socket on the address that a flag gives.
//
// Role:      used by gRPC's acceptor and the HTTP server.
// Ownership: the caller closes the socket, and removes `socket_path` when it is done.
// Errors:    InvalidArgument for an address that cannot be read; FailedPrecondition when it is
//            taken. Both name the flag and the address.
// Tests:     tests/common/net/listen_test.cc
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/files.h"

namespace dt {

struct Listening {
  UniqueFd fd;              // does not block
  std::string address;      // as clients can dial it, with the chosen port
  std::string socket_path;  // of a Unix socket
};

// Listens on `address`: host:port, [v6]:port or unix:/path; port 0 lets the system choose.
absl::StatusOr<Listening> Listen(const char* flag, const std::string& address);

}  // namespace dt
