// step.cc: one event in, effects out.
#include "coordinator/core/step.h"

#include <utility>
#include <variant>

#include "common/check.h"
#include "common/limits.h"
#include "coordinator/core/apply.h"
#include "coordinator/core/turn.h"

namespace dt {
namespace {

void On(Turn& turn, ClientCall& call) { OnClientCall(turn, call); }
void On(Turn& turn, ReportReceived& received) { OnReport(turn, received); }
void On(Turn& turn, StreamClosed& closed) { OnStreamClosed(turn, closed.stream); }
void On(Turn& turn, Tick&) { OnTick(turn); }

}  // namespace

void Journal(Turn& turn, v1::Record record) {
  record.set_wall_time_ms(turn.now.wall_ms);
  const absl::Status status = Apply(turn.durable(), record);
  DT_CHECK_OK(status);
  turn.effects.records.push_back(std::move(record));
}

Effects Step(State& state, Event&& event, Instant now) {
  Turn turn{.state = state, .now = now, .entropy = event.entropy, .effects = {}};
  std::visit([&turn](auto& what) { On(turn, what); }, event.what);
  const bool ticks = std::holds_alternative<Tick>(event.what);
  PlacePending(turn, ticks ? limits::kPlacementsPerTick : limits::kPlacementsPerEvent);
  PublishOrders(turn);
  return std::move(turn.effects);
}

absl::Duration NextDeadline(const State& state) {
  if (state.live.placement_due) return -absl::InfiniteDuration();
  const auto& timers = state.live.timers;
  return timers.empty() ? absl::InfiniteDuration() : timers.begin()->at;
}

}  // namespace dt
