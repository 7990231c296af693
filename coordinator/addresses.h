// addresses.h: the file with a coordinator's addresses, whose ports the system may have chosen.
//
// Errors: FailedPrecondition names the flag and the file.
// Tests:  tests/coordinator/dtcoord_test.cc
#pragma once

#include <string>

#include "absl/status/status.h"

namespace dt {

absl::Status WriteAddresses(const std::string& path, const std::string& grpc,
                            const std::string& http);

}  // namespace dt
