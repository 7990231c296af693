// step.cc: takes one event and returns its effects.
#include "coordinator/core/step.h"

#include <utility>
#include <variant>

#include "common/limits.h"
#include "coordinator/core/calls/calls.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/run/alarms.h"
#include "coordinator/core/run/drains.h"
#include "coordinator/core/run/live_attempts.h"
#include "coordinator/core/run/notifications.h"
#include "coordinator/core/run/reports.h"
#include "coordinator/core/run/schedule.h"
#include "coordinator/core/run/searching.h"

namespace dt {
namespace {

void Take(Turn& turn, ClientCall& call) { AnswerCall(turn, call); }
void Take(Turn& turn, ReportReceived& received) { TakeReport(turn, received); }
void Take(Turn& turn, StreamClosed& closed) { TakeStreamClosed(turn, closed.stream); }
void Take(Turn& turn, NoticeDone& done) { SettleNotice(turn, done); }
void Take(Turn& turn, Tick&) { FireTimers(turn); }

}  // namespace

Effects Step(State& state, Event&& event, Instant now) {
  Turn turn{.state = state, .now = now, .entropy = event.entropy, .effects = {}};
  state.live.event_at = now.steady;
  state.live.event_wall_ms = now.wall_ms;
  std::visit([&turn](auto& what) { Take(turn, what); }, event.what);
  JudgeEnds(turn);
  TendMarks(turn);
  const bool ticks = std::holds_alternative<Tick>(event.what);
  PlacePending(turn, ticks ? limits::kPlacementsPerTick : limits::kPlacementsPerEvent);
  RaiseNotices(turn);
  PublishOrders(turn);
  FreeLeft(turn.live());
  return std::move(turn.effects);
}

absl::Duration NextDeadline(const State& state) {
  if (state.live.placement_due) return -absl::InfiniteDuration();
  const auto& timers = state.live.timers;
  return timers.empty() ? absl::InfiniteDuration() : timers.begin()->at;
}

}  // namespace dt
