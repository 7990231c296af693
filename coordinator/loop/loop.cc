// loop.cc: drains events, steps them, and hands the effects to the committer.
#include "coordinator/loop/loop.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/core/answer/queries.h"
#include "coordinator/core/calls/submit.h"
#include "coordinator/core/step.h"
#include "coordinator/loop/entropy.h"

namespace dt {
namespace {

constexpr absl::Duration kScrapeEvery = absl::Seconds(1);

}  // namespace

CoreLoop::CoreLoop(State state, LoopPorts ports)
    : state_(std::move(state)),
      ports_(std::move(ports)),
      awake_(ports_.clock.Now().steady),
      taken_until_(awake_.now()),
      next_scrape_(awake_.now()),
      heartbeat_ns_(absl::ToInt64Nanoseconds(next_scrape_)),
      // Closing the mailbox wakes the core thread, which then finds the failure.
      committer_(
          ports_.store, ports_.publisher, ports_.clock, [this] { ports_.mailbox.Close(); },
          ports_.tell) {}

absl::Status CoreLoop::Run() {
  while (true) {
    DT_RETURN_IF_ERROR(RunOnce(LongestWait()));
    if (ports_.mailbox.Closed() && ports_.mailbox.Size() == 0) return Flush();
  }
}

absl::Duration CoreLoop::LongestWait() const {
  const absl::Duration now = ports_.clock.Now().steady;
  const absl::Duration next = std::min(NextDeadline(state_) + awake_.missed(), next_scrape_);
  return std::clamp(next - now, absl::ZeroDuration(), limits::kAwakePulse);
}

absl::Status CoreLoop::RunOnce(absl::Duration patience) {
  std::vector<Event> events = ports_.mailbox.Drain(limits::kDrainEvents, patience);
  TurnEffects turn;
  for (const Event& event : events) turn.bytes += event.bytes;
  // The mailbox has free places now; the committer frees the bytes later.
  ports_.publisher.ResumeReads(0);

  const Instant real = ports_.clock.Now();
  const Instant now = awake_.At(real, committer_.UnsentSince());
  heartbeat_ns_.store(absl::ToInt64Nanoseconds(real.steady));
  turn.effects = StepAll(std::move(events), now);
  turn.status = NewStatus();
  ports_.publisher.SetAutoDevice(AutoDevice(state_.live));
  for (const Effects& effects : turn.effects) ports_.metrics.CountTurn(state_, effects);
  for (const absl::Duration took : committer_.TakeTimes()) ports_.metrics.ObserveCommit(took);
  if (real.steady >= next_scrape_) {
    next_scrape_ = real.steady + kScrapeEvery;
    shown_.reset();
    // The scrape is shown once the records that it counts are durable.
    turn.then = [this, scrape = ports_.metrics.TakeScrape(state_, now)] { ports_.show(scrape); };
  }
  return committer_.Hand(std::move(turn));
}

std::shared_ptr<const v1::GetStatusResponse> CoreLoop::NewStatus() {
  // Counting a thousand workers takes longer than a turn; these change when they come and go.
  const LiveState& live = state_.live;
  const std::array<uint64_t, 4> now = {state_.durable.experiments.size(), live.worker_names.size(),
                                       live.streams.size(), live.worker_losses};
  if (shown_ == now) return nullptr;
  shown_ = now;
  return std::make_shared<const v1::GetStatusResponse>(
      *Query(state_, v1::GetStatusRequest(), awake_.now()));
}

void CoreLoop::NoteTaken(size_t events, absl::Duration now) {
  const size_t waiting = ports_.mailbox.Size();
  if (waiting == 0) {
    taken_until_ = now;
    backlog_.reset();
    return;
  }
  if (backlog_.has_value() && backlog_->left > events) {
    backlog_->left -= events;
    return;
  }
  if (backlog_.has_value()) taken_until_ = backlog_->at;
  // Up to half of each drain are control calls, which overtake reports.
  backlog_ = {.at = now, .left = 2 * waiting};
}

std::vector<Effects> CoreLoop::StepAll(std::vector<Event> events, Instant now) {
  const absl::Duration start = ports_.clock.Now().steady;
  NoteTaken(events.size(), now.steady);
  const bool ticks = NextDeadline(state_) <= taken_until_;
  std::vector<Effects> effects;
  if (events.empty() && !ticks) return effects;
  effects.reserve(events.size() + 1);
  for (Event& event : events) effects.push_back(Step(state_, std::move(event), now));
  if (ticks) {
    effects.push_back(Step(state_, Event{Tick{}, FreshEntropy()}, {taken_until_, now.wall_ms}));
  }
  ports_.metrics.ObserveCycle(ports_.clock.Now().steady - start);
  return effects;
}

}  // namespace dt
