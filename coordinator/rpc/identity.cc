#include "coordinator/rpc/identity.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "common/view.h"
#include "common/worker_name.h"

namespace dt {
namespace {

constexpr std::string_view kScheme = "dtrain://worker/";

// Returns whether `name` covers `worker`: a name covers itself and the slots below it.
bool Covers(std::string_view name, std::string_view worker) {
  return worker == name ||
         (worker.starts_with(name) && worker.substr(name.size()).starts_with('/'));
}

}  // namespace

absl::Status CheckMayBe(std::string_view worker,
                        const std::vector<std::string>& alternative_names) {
  // A call without a worker's name comes from a person; other rules apply to people.
  if (!worker.empty() && !IsWorkerName(worker)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", Printable(worker), "' cannot be a worker's name: it is ", kWorkerNameRule));
  }
  std::vector<std::string> bound;
  for (const std::string& name : alternative_names) {
    if (!name.starts_with(kScheme)) continue;
    bound.push_back(name.substr(kScheme.size()));
    if (Covers(bound.back(), worker)) return absl::OkStatus();
  }
  if (bound.empty()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("worker '", View(worker), "': the certificate that this process shows is for ",
                   absl::StrJoin(bound, ", "), "; start it with that --name, or issue another"));
}

absl::Status CheckTokenIsFor(std::string_view worker, const std::optional<Caller>& caller) {
  if (!caller || caller->token.empty()) return absl::OkStatus();
  if (caller->role != Role::kWorker && caller->role != Role::kJoiner) return absl::OkStatus();
  if (caller->name == "*" || Covers(caller->name, worker)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("worker '", View(worker), "': the token ", caller->token, " is for '",
                   caller->name, "'; start it with that --name, or make another with 'dtctl token ",
                   "create --role ", View(RoleWord(caller->role)), " --name ", View(worker), "'"));
}

}  // namespace dt
