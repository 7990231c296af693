#include "coordinator/core/facts/network_facts.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "common/limits.h"

namespace dt {
namespace {

// Returns "H100", or each name once if the gang has several kinds.
std::string DeviceNameOf(const Attempt& attempt) {
  std::set<std::string> names;
  for (const GangMember& member : attempt.members) names.insert(member.device_name);
  return absl::StrJoin(names, " + ");
}

}  // namespace

void KeepFigure(DurableState& state, const Attempt& attempt, TrialId by,
                const v1::NetworkFigure& figure, int64_t wall_ms) {
  state.figures[KeyOf(DeviceNameOf(attempt), figure)] = {figure, by, wall_ms};
  if (state.figures.size() <= limits::kNetworkFigures) return;
  state.figures.erase(
      std::min_element(state.figures.begin(), state.figures.end(),
                       [](const auto& a, const auto& b) { return a.second.by < b.second.by; }));
}

}  // namespace dt
