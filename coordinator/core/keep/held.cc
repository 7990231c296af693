#include "coordinator/core/keep/held.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/core/facts/drain_facts.h"

namespace dt {

bool IsHeld(const State& state, const std::string& worker) {
  if (state.durable.marks.empty()) return false;
  const WorkerMark* mark = FindMark(state.durable, worker);
  return mark != nullptr && (mark->drained || state.live.resting.contains(worker));
}

WorkerState StateOf(const State& state, const Worker& worker) {
  if (worker.presence == Presence::kLost) return WorkerState::kLost;
  if (worker.draining) return WorkerState::kDraining;
  const bool busy = worker.attempt != nullptr || !worker.foreign.empty();
  const WorkerMark* mark = FindMark(state.durable, worker.name);
  if (mark != nullptr && mark->drained) {
    return busy ? WorkerState::kDraining : WorkerState::kDrained;
  }
  if (state.live.resting.contains(worker.name)) return WorkerState::kQuarantined;
  return busy ? WorkerState::kBusy : WorkerState::kIdle;
}

std::string HeldText(const State& state, DeviceKind device) {
  std::map<std::string, int> drained;  // by who
  std::vector<std::string> quarantined;
  for (const auto& [name, mark] : state.durable.marks) {
    const Worker* worker = FindWorker(state.live, name);
    if (worker == nullptr || worker->presence == Presence::kLost || !IsHeld(state, name)) continue;
    if (DeviceKindOf(worker->hello.device()) != device) continue;
    if (mark.drained) {
      ++drained[mark.who];
    } else {
      quarantined.push_back(name);
    }
  }
  std::string text;
  for (const auto& [who, count] : drained) {
    absl::StrAppend(&text, ", ", count, " more drained by ", who);
  }
  if (quarantined.empty()) return text;
  absl::StrAppend(&text, ", ", quarantined.size(), " more quarantined ('dtctl worker undrain ",
                  quarantined.front(), "' lets it work again",
                  quarantined.size() == 1 ? ")" : "; 'dtctl get workers' lists them)");
  return text;
}

}  // namespace dt
