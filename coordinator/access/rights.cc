#include "coordinator/access/rights.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace dt {
namespace {

constexpr Reach kNone = Reach::kNone, kOwn = Reach::kOwn, kAll = Reach::kAll;

constexpr Right kRights[] = {
    // service, method, admin, submitter, observer, worker, joiner
    {"Control", "Submit", kAll, kOwn, kNone, kNone, kNone, Kept::kInAudit},
    {"Control", "PutCode", kAll, kAll, kNone, kNone, kNone, Kept::kNo},
    {"Control", "Plan", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Control", "Cancel", kAll, kOwn, kNone, kNone, kNone, Kept::kInAudit},
    {"Control", "Retry", kAll, kOwn, kNone, kNone, kNone, Kept::kInAudit},
    {"Control", "Change", kAll, kOwn, kNone, kNone, kNone, Kept::kInAudit},
    {"Control", "Delete", kAll, kOwn, kNone, kNone, kNone, Kept::kInAudit},
    {"Control", "MarkWorker", kAll, kNone, kNone, kNone, kNone, Kept::kInAudit},
    {"Control", "SetQuota", kAll, kNone, kNone, kNone, kNone, Kept::kInAudit},
    {"Control", "ListQuotas", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Control", "ListExperiments", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Control", "GetExperiment", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Control", "ListTrials", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Control", "ListWorkers", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Control", "ListCheckpoints", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Control", "ExplainTrial", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Control", "ReadMetrics", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Control", "ReadLogs", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Control", "GetStatus", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
    {"Fleet", "Session", kNone, kNone, kNone, kOwn, kNone, Kept::kNo},
    {"Fleet", "GetCode", kAll, kAll, kAll, kOwn, kNone, Kept::kNo},
    {"Access", "CreateToken", kAll, kNone, kNone, kNone, kNone, Kept::kInAudit},
    {"Access", "ListTokens", kAll, kNone, kNone, kNone, kNone, Kept::kNo},
    {"Access", "RevokeToken", kAll, kNone, kNone, kNone, kNone, Kept::kInAudit},
    {"Access", "ListAudit", kAll, kNone, kNone, kNone, kNone, Kept::kNo},
    {"Access", "Join", kNone, kNone, kNone, kNone, kOwn, Kept::kInAudit},
    {"HTTP", "GET", kAll, kAll, kAll, kNone, kNone, Kept::kNo},
};

}  // namespace

std::span<const Right> Rights() { return kRights; }

const Right* FindRight(std::string_view method) {
  const auto* found = std::find_if(std::begin(kRights), std::end(kRights),
                                   [&](const Right& one) { return one.method == method; });
  return found == std::end(kRights) ? nullptr : found;
}

Reach ReachOf(const Right& right, Role role) {
  switch (role) {
    case Role::kAdmin:
      return right.admin;
    case Role::kSubmitter:
      return right.submitter;
    case Role::kObserver:
      return right.observer;
    case Role::kWorker:
      return right.worker;
    case Role::kJoiner:
      return right.joiner;
  }
  return Reach::kNone;
}

absl::Status CheckMayCall(const Caller& caller, std::string_view method) {
  const Right* right = FindRight(method);
  if (right != nullptr && ReachOf(*right, caller.role) != Reach::kNone) return absl::OkStatus();
  std::vector<std::string> may;
  for (const Role role : kRoles) {
    if (right != nullptr && ReachOf(*right, role) != Reach::kNone) may.emplace_back(RoleWord(role));
  }
  return absl::PermissionDeniedError(absl::StrCat(
      std::string(method),
      may.empty() ? " is open to no role"
                  : absl::StrCat(" needs the role ", absl::StrJoin(may, " or ")),
      ", but '", caller.name, "' has the role ", std::string(RoleWord(caller.role)),
      may.empty() ? ""
                  : absl::StrCat("; an admin makes a token with 'dtctl token create --role ",
                                 may.back(), " --name ", caller.name, "'")));
}

std::string OnlyOf(const Caller& caller, std::string_view method) {
  const Right* right = FindRight(method);
  return right != nullptr && ReachOf(*right, caller.role) == Reach::kOwn ? caller.name : "";
}

}  // namespace dt
