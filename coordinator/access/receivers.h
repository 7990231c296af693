// receivers.h: the hosts that the coordinator may send notices about experiments to, over HTTP.
//
// Role:    pure: takes names, returns a verdict. A submitter chooses the address, and the
//          coordinator's host can reach more hosts than the submitter can. So an admin lists the
//          hosts that are allowed.
// Errors:  PermissionDenied names the host, the allowed hosts, and who can change them.
// Tests:   tests/coordinator/access/receivers_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dt {

class Receivers {
 public:
  // Allows no host.
  Receivers() = default;
  // Takes HOST or HOST:PORT for TLS, and http://HOST[:PORT] for plain HTTP. Returns InvalidArgument
  // with the name that is neither.
  static absl::StatusOr<Receivers> Make(const std::vector<std::string>& hosts);
  // Checks the host of `url`. "" means that no notice is wanted, and is always allowed.
  absl::Status Admit(std::string_view url) const;

 private:
  std::vector<std::string> origins_;
};

}  // namespace dt
