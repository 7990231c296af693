#include "coordinator/core/facts/network_figures.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

namespace dt {
namespace {

constexpr char kSharedMemory[] = "shared_memory";

// Returns whether ranks along an axis are on several hosts. Ranks that share a layer are
// neighbours, then ranks that share a copy.
bool Spans(const plan::StepSize& step, Axis axis, int64_t slots_of_host) {
  const int64_t layer = step.tensor;
  switch (axis) {
    case Axis::kTensor:
      return layer > slots_of_host;
    case Axis::kShard:
      return layer * plan::RanksAlong(step, Axis::kShard) > slots_of_host;
    case Axis::kPipeline:
    case Axis::kEnds:
      return layer * step.ranks * step.stages > slots_of_host;
    case Axis::kData:
    case Axis::kReplicate:
    case Axis::kWorld:
      break;
  }
  return layer * step.ranks > slots_of_host;
}

}  // namespace

NetworkFigures::NetworkFigures(const DurableState& state, const std::string& device_name,
                               int64_t slots_of_host)
    : slots_of_host_(slots_of_host) {
  NetworkKey first;
  first.device_name = device_name;
  // The key is ordered by device first and by size last.
  for (auto it = state.figures.lower_bound(first);
       it != state.figures.end() && it->first.device_name == device_name; ++it) {
    const auto& [key, known] = *it;
    Curve& curve = curves_[{key.several_hosts, key.ranks, key.op, key.over == kSharedMemory}];
    curve.times.push_back({static_cast<double>(key.bytes), known.figure.seconds()});
    if (known.by.experiment < curve.newest) continue;
    curve.newest = known.by.experiment;
    curve.wall_ms = known.wall_ms;
  }
  for (auto& [key, curve] : curves_) {
    std::sort(curve.times.begin(), curve.times.end(),
              [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  }
}

const NetworkFigures::Curve* NetworkFigures::Find(const plan::StepSize& step,
                                                  const plan::Message& message) const {
  const bool several = Spans(step, message.axis, slots_of_host_);
  const int64_t ranks = plan::RanksAlong(step, message.axis);
  const std::string op(WordOf(message.op));
  const auto shared = curves_.find({several, ranks, op, true});
  if (message.in_memory && shared != curves_.end()) return &shared->second;
  const auto over_backend = curves_.find({several, ranks, op, false});
  if (over_backend != curves_.end()) return &over_backend->second;
  // Messages between two stages take no longer than if more stages send at once.
  if (message.axis != Axis::kPipeline && message.axis != Axis::kEnds) return nullptr;
  const auto of_more = std::find_if(curves_.begin(), curves_.end(), [&](const auto& each) {
    const auto& [across, between, what, in_memory] = each.first;
    return across == several && between > ranks && what == op && !in_memory;
  });
  return of_more == curves_.end() ? nullptr : &of_more->second;
}

std::optional<NetworkFigures::Answer> NetworkFigures::SecondsOf(const plan::ModelSize& model,
                                                                const plan::StepSize& step,
                                                                double bucket_bytes) const {
  std::set<ExperimentId> from;
  int64_t newest = 0;
  const auto seconds = plan::SecondsFor(plan::Messages(model, step, bucket_bytes),
                                        [&](const plan::Message& message) {
                                          const Curve* curve = Find(step, message);
                                          if (curve == nullptr) return plan::MeasuredTimes();
                                          from.insert(curve->newest);
                                          newest = std::max(newest, curve->wall_ms);
                                          return curve->times;
                                        });
  if (!seconds) return std::nullopt;
  const std::string when =
      absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixMillis(newest), absl::UTCTimeZone());
  return Answer{*seconds, absl::StrCat("what ", from.size() == 1 ? "experiment " : "experiments ",
                                       absl::StrJoin(from, ", "), " measured of the network, ",
                                       from.size() == 1 ? "" : "the newest ", "on ", when)};
}

}  // namespace dt
