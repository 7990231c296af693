// receivers.h: whom the coordinator may tell over HTTP what comes of experiments.
//
// Role:    pure: names in, a verdict out. A submitter chooses the address, and the coordinator's
//          host reaches more than they do, so an admin says which hosts it may be.
// Errors:  PermissionDenied naming the host, those that are allowed, and who can change it.
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
  // Nobody.
  Receivers() = default;
  // HOST or HOST:PORT, over TLS; http://HOST[:PORT] in the clear. InvalidArgument names what is not
  // one.
  static absl::StatusOr<Receivers> Make(const std::vector<std::string>& hosts);
  // "": nobody is to be told, which is always right.
  absl::Status Admit(std::string_view url) const;

 private:
  std::vector<std::string> origins_;
};

}  // namespace dt
