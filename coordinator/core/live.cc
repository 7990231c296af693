#include "coordinator/core/live.h"

namespace dt {

const Worker* FindWorker(const LiveState& live, const std::string& name) {
  const auto found = live.worker_names.find(name);
  return found == live.worker_names.end() ? nullptr : &live.workers[found->second];
}

WorkerState StateOf(const Worker& worker) {
  if (worker.presence == Presence::kLost) return WorkerState::kLost;
  if (worker.draining) return WorkerState::kDraining;
  return worker.attempt != nullptr || !worker.foreign.empty() ? WorkerState::kBusy
                                                              : WorkerState::kIdle;
}

std::string_view Name(WorkerState state) {
  switch (state) {
    case WorkerState::kIdle:
      return "idle";
    case WorkerState::kBusy:
      return "busy";
    case WorkerState::kDraining:
      return "draining";
    case WorkerState::kLost:
      return "lost";
  }
  return "unknown";
}

}  // namespace dt
