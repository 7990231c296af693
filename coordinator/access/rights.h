// rights.h: the one table of who may call what.
//
// Role:    pure. A method that has no row is refused: a new one is closed until somebody decides.
// Errors:  PermissionDenied naming the role that the caller has, those that may, and how to get
//          one.
// Tests:   tests/coordinator/access/rights_test.cc, which reads the services' descriptors;
//          tests/coordinator/rpc/door_test.cc calls every method as every role.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "coordinator/access/roles.h"

namespace dt {

enum class Reach {
  kNone,
  kOwn,  // of a person: their own experiments; of a worker: what its name speaks for
  kAll,
};
enum class Kept { kNo, kInAudit };  // whether a call that was let through is recorded

struct Right {
  std::string_view service;  // "Control"; "HTTP" for the port of the page
  std::string_view method;   // unique over all services
  Reach admin, submitter, observer, worker, joiner;
  Kept kept;
};

std::span<const Right> Rights();
// nullptr where there is no row.
const Right* FindRight(std::string_view method);
Reach ReachOf(const Right& right, Role role);

// Errors: PermissionDenied. OK may still mean kOwn.
absl::Status CheckMayCall(const Caller& caller, std::string_view method);
// Whose experiments alone a call of this method may change; "": anybody's.
std::string OnlyOf(const Caller& caller, std::string_view method);

}  // namespace dt
