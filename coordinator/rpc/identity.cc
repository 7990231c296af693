#include "coordinator/rpc/identity.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/view.h"

namespace dt {
namespace {

constexpr std::string_view kScheme = "dtrain://worker/";

}  // namespace

absl::Status CheckMayBe(std::string_view worker,
                        const std::vector<std::string>& alternative_names) {
  std::vector<std::string> bound;
  for (const std::string& name : alternative_names) {
    if (!name.starts_with(kScheme)) continue;
    bound.push_back(name.substr(kScheme.size()));
    const bool slot_of =
        worker.starts_with(bound.back()) && worker.substr(bound.back().size()).starts_with('/');
    if (worker == bound.back() || slot_of) return absl::OkStatus();
  }
  if (bound.empty()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("worker '", View(worker), "': the certificate that this process shows is for ",
                   absl::StrJoin(bound, ", "), "; start it with that --name, or issue another"));
}

}  // namespace dt
