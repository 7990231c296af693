#include "coordinator/access/roles.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/worker_name.h"

namespace dt {

std::string_view RoleWord(Role role) {
  switch (role) {
    case Role::kAdmin:
      return "admin";
    case Role::kSubmitter:
      return "submitter";
    case Role::kObserver:
      return "observer";
    case Role::kWorker:
      return "worker";
    case Role::kJoiner:
      return "joiner";
  }
  return "";
}

std::optional<Role> FindRole(std::string_view word) {
  for (const Role role : kRoles) {
    if (RoleWord(role) == word) return role;
  }
  return std::nullopt;
}

std::optional<Caller> CallerOfCertificate(const std::vector<std::string>& alternative_names) {
  for (const Role role : kRoles) {
    if (role == Role::kJoiner) continue;
    const std::string scheme = absl::StrCat("dtrain://", std::string(RoleWord(role)), "/");
    for (const std::string& name : alternative_names) {
      if (!name.starts_with(scheme) || name.size() == scheme.size()) continue;
      return Caller{role, CleanText(name.substr(scheme.size()), limits::kWhoBytes), ""};
    }
  }
  return std::nullopt;
}

absl::Status CheckTokenName(Role role, std::string_view name) {
  if (role == Role::kWorker && name == "*") return absl::OkStatus();
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) ||
           std::string_view("._-@:/").find(static_cast<char>(c)) != std::string_view::npos;
  });
  const bool of_worker = role == Role::kWorker || role == Role::kJoiner;
  if (of_worker && !name.empty() && !IsWorkerName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Printable(name), "' cannot be a worker's name: it is ", kWorkerNameRule));
  }
  if (plain && !name.empty() && name.size() <= limits::kWhoBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", Printable(name),
      "' cannot be the name of a token; use letters, digits and . _ - @ : /, ", "at most ",
      limits::kWhoBytes, role == Role::kWorker ? ", or * for any worker" : ""));
}

}  // namespace dt
