// port.h: the switch's end of a host's cable.
//
// Role:      a device in the host's network namespace whose frames the switch reads and writes.
// Ownership: the descriptor. A device of kTap goes with it; the cable of kPacket is its maker's.
// Threads:   those of the switch: one.
// Errors:    IoError with the system's reason.
// Tests:     tests/hosts/lab_test.py, on both kinds
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace dt::hosts {

// kTap: the switch makes the device `lan0`. kPacket: the host has one end of a veth pair, `lan0`,
// and the switch reads the other one in its own namespace, for machines without /dev/net/tun.
enum class PortKind { kTap, kPacket };

inline constexpr char kDevice[] = "lan0";

class Port {
 public:
  // Opens the port of the host whose network namespace process `pid` has. `cable`: the switch's end
  // of a veth pair, for kPacket. The calling thread is back in its own namespace afterwards.
  static absl::StatusOr<Port> Open(PortKind kind, int pid, const std::string& cable);

  int fd() const { return fd_.get(); }
  // Returns the next frame, nullopt if there is none now. Errors: the host is gone.
  absl::StatusOr<std::optional<std::string>> Read();
  // Hands the host a frame. It is dropped if the host is gone or takes no more, as on a wire.
  void Write(const std::string& frame);

 private:
  Port(PortKind kind, UniqueFd fd) : kind_(kind), fd_(std::move(fd)) {}

  PortKind kind_;
  UniqueFd fd_;
};

}  // namespace dt::hosts
