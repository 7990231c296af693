#include "coordinator/access/rights.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dtrain/v1/access.pb.h"
#include "dtrain/v1/control.pb.h"
#include "dtrain/v1/fleet.pb.h"
#include "dtrain/v1/rights.pb.h"
#include "google/protobuf/descriptor.h"

namespace dt {

namespace v1 = ::dtrain::v1;

namespace {

Reach ReachFrom(v1::Rights::Reach reach) {
  if (reach == v1::Rights::ALL) return Reach::kAll;
  return reach == v1::Rights::OWN ? Reach::kOwn : Reach::kNone;
}

std::vector<Right> ReadRights() {
  std::vector<Right> all;
  for (const google::protobuf::FileDescriptor* file :
       {v1::SubmitRequest::descriptor()->file(), v1::WorkerReport::descriptor()->file(),
        v1::AuditEntry::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor& service = *file->service(i);
      for (int k = 0; k < service.method_count(); ++k) {
        const google::protobuf::MethodDescriptor& method = *service.method(k);
        const v1::Rights& rights = method.options().GetExtension(v1::rights);
        all.push_back({service.name(), method.name(), ReachFrom(rights.admin()),
                       ReachFrom(rights.submitter()), ReachFrom(rights.observer()),
                       ReachFrom(rights.worker()), ReachFrom(rights.joiner()),
                       rights.audited() ? Kept::kInAudit : Kept::kNo});
      }
    }
  }
  // HTTP has no rpc.
  all.push_back({"HTTP", "GET", Reach::kAll, Reach::kAll, Reach::kAll, Reach::kNone, Reach::kNone,
                 Kept::kNo});
  return all;
}

}  // namespace

std::span<const Right> Rights() {
  static const auto* const rights = new std::vector<Right>(ReadRights());
  return *rights;
}

const Right* FindRight(std::string_view method) {
  const std::span<const Right> rights = Rights();
  const auto found = std::find_if(rights.begin(), rights.end(),
                                  [&](const Right& one) { return one.method == method; });
  return found == rights.end() ? nullptr : &*found;
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
