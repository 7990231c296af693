#include "coordinator/core/model/names.h"

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "coordinator/core/model/line.h"

namespace dt {

std::string TrialText(TrialId id) {
  return IsTicket(id) ? absl::StrCat("the next trial of experiment ", id.experiment)
                      : absl::StrCat("trial ", ToString(id));
}

std::string PausedText(const Experiment& experiment) {
  if (!experiment.paused_why.empty()) {
    return absl::StrCat("experiment is paused: ", experiment.paused_why);
  }
  return absl::StrCat("experiment is paused by ", experiment.paused_by);
}

std::string WhoOf(const std::string& named) {
  // Lists, histories and logs show it on one line.
  std::string who = CleanText(Printable(CleanText(named, limits::kWhoBytes)), limits::kWhoBytes);
  return who.empty() ? "somebody" : who;
}

}  // namespace dt
