// rights.h: which role may call which method: the option `rights` of each rpc (rights.proto).
//
// Role:    pure. A method without the option is refused, so that a new method stays closed until
//          somebody decides.
// Errors:  PermissionDenied names the caller's role, the roles that are allowed, and how to get
//          one.
// Tests:   tests/coordinator/access/rights_test.cc compares the rights with the table of
//          docs/administration/security.md; tests/coordinator/rpc/door_test.cc calls every method
//          as every role.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "coordinator/access/roles.h"

namespace dt {

enum class Reach {
  kNone,
  kOwn,  // a person: their own experiments; a worker: the workers that its name covers
  kAll,
};
enum class Kept { kNo, kInAudit };  // whether an admitted call goes into the audit record

struct Right {
  std::string_view service;  // "Control"; "HTTP" for the port of the page
  std::string_view method;   // unique over all services
  Reach admin, submitter, observer, worker, joiner;
  Kept kept;
};

// Returns the rights of each method of each service, in the order of the .proto files, and of HTTP.
std::span<const Right> Rights();
// Returns nullptr if there is no such method.
const Right* FindRight(std::string_view method);
Reach ReachOf(const Right& right, Role role);

// Returns PermissionDenied or OK. OK may still mean kOwn.
absl::Status CheckMayCall(const Caller& caller, std::string_view method);
// Returns the user whose experiments alone this call may change; "" allows the experiments of all
// users.
std::string OnlyOf(const Caller& caller, std::string_view method);

}  // namespace dt
