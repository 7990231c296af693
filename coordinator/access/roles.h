// roles.h: the roles of callers, and how a certificate names a role.
//
// Role:    pure.
// Errors:  Unauthenticated names what is missing and how to get it.
// Tests:   tests/coordinator/access/rights_test.cc
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dt {

// A joiner may become a worker once: its token is exchanged for a lasting worker's token of the
// same name.
enum class Role { kAdmin, kSubmitter, kObserver, kWorker, kJoiner };
inline constexpr std::array<Role, 5> kRoles = {Role::kAdmin, Role::kSubmitter, Role::kObserver,
                                               Role::kWorker, Role::kJoiner};

std::string_view RoleWord(Role role);  // "admin"
std::optional<Role> FindRole(std::string_view word);

// The caller, once identified.
struct Caller {
  Role role = Role::kObserver;
  std::string name;   // of a person, or of the workers it speaks for
  std::string token;  // the token's id; "": identified by a certificate
};

// Returns the caller named by a URI dtrain://ROLE/NAME among a certificate's alternative names. The
// first role of admin, submitter, observer, worker that has such a URI counts. Returns nullopt
// without such a URI. Joiners get no certificates, since a certificate cannot be used up.
std::optional<Caller> CallerOfCertificate(const std::vector<std::string>& alternative_names);

// Checks that a list can show the name and a certificate can hold it: letters, digits and . _ - @ :
// /, at most limits::kWhoBytes. The name of a worker's token may be "*", which stands for any
// worker.
absl::Status CheckTokenName(Role role, std::string_view name);

}  // namespace dt
