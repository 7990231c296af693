// roles.h: the roles that a caller may have, and how a certificate says which.
//
// Role:    pure.
// Errors:  Unauthenticated naming what is missing and how to get it.
// Tests:   tests/coordinator/access/rights_test.cc
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dt {

// A joiner may become a worker, once: its token is exchanged for a lasting one of the same name.
enum class Role { kAdmin, kSubmitter, kObserver, kWorker, kJoiner };
inline constexpr std::array<Role, 5> kRoles = {Role::kAdmin, Role::kSubmitter, Role::kObserver,
                                               Role::kWorker, Role::kJoiner};

std::string_view RoleWord(Role role);  // "admin"
std::optional<Role> FindRole(std::string_view word);

// Who calls, once that is known.
struct Caller {
  Role role = Role::kObserver;
  std::string name;   // of a person, or of the workers it speaks for
  std::string token;  // its id; "": by a certificate
};

// The caller that a certificate with a URI dtrain://ROLE/NAME among its alternative names stands
// for: the first of admin, submitter, observer, worker that it has. None without such a name, and
// for a joiner: a certificate cannot be used up.
std::optional<Caller> CallerOfCertificate(const std::vector<std::string>& alternative_names);

// Letters, digits and . _ - @ : /, at most limits::kWhoBytes: what a list shows and a certificate
// may have. A worker's may be "*", which is any worker.
absl::Status CheckTokenName(Role role, std::string_view name);

}  // namespace dt
