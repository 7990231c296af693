// listen.h: a listening socket for an address that a flag names.
//
// Role:      shared by what listens: gRPC's acceptor and the HTTP server.
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
  std::string address;      // as clients may dial it, with the port that was chosen
  std::string socket_path;  // of a Unix socket
};

// `address` is host:port, [v6]:port or unix:/path; port 0 lets the system choose.
absl::StatusOr<Listening> Listen(const char* flag, const std::string& address);

}  // namespace dt
