// loop.h: the one core thread: drain, step, hand over to the committer.
//
// Role:      joins the pure core to mailbox, store and publisher. The committer keeps their order:
//            nothing is sent before the changes that it reports are durable.
// Ownership: owns the State; borrows the rest, which must outlive Run.
// Threads:   Run on one thread; Heartbeat from any.
// Errors:    a failed commit ends Run with its status. Memory is then ahead of the disk, so the
//            process must exit and start again from the journal.
// Tests:     tests/coordinator/loop/loop_test.cc
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mailbox.h"
#include "coordinator/core/model/awake_clock.h"
#include "coordinator/core/model/event.h"
#include "coordinator/core/model/state.h"
#include "coordinator/loop/committer.h"
#include "coordinator/loop/publisher.h"
#include "coordinator/metrics/metrics_model.h"
#include "coordinator/store/store.h"

namespace dt {

// The loop's connections to its surroundings.
struct LoopPorts {
  Mailbox<Event>& mailbox;
  Store& store;
  Publisher& publisher;
  const Clock& clock;
  MetricsModel& metrics;
  // Takes a new scrape, at most once a second.
  std::function<void(std::shared_ptr<const MetricsScrape>)> show;
  // Takes a durable notice; must not block. Empty: no notices are sent.
  std::function<void(const v1::Notice&)> tell = {};
};

class CoreLoop {
 public:
  CoreLoop(State state, LoopPorts ports);

  // Takes turns until the mailbox is closed and empty and all effects are sent, or until a commit
  // fails. A failed commit closes the mailbox as well.
  absl::Status Run();

  // Drains once, waiting at most for `patience`, steps the events, and hands over the effects.
  absl::Status RunOnce(absl::Duration patience);
  // Waits until everything handed over is durable and sent.
  absl::Status Flush() { return committer_.Flush(); }

  // Returns the steady time of the loop's last turn.
  absl::Duration Heartbeat() const { return absl::Nanoseconds(heartbeat_ns_.load()); }

  const State& state() const { return state_; }

 private:
  // Returns how long the next drain may wait for events.
  absl::Duration LongestWait() const;
  std::vector<Effects> StepAll(std::vector<Event> events, Instant now);
  // Returns the answer of GetStatus if it changed since the last call, else nullptr.
  std::shared_ptr<const v1::GetStatusResponse> NewStatus();
  // Notes that a turn took so many events. Brings taken_until_ up to date.
  void NoteTaken(size_t events, absl::Duration now);

  // Events that waited at a time, and may hold signs of life.
  struct Backlog {
    absl::Duration at;
    size_t left = 0;
  };

  State state_;
  LoopPorts ports_;
  AwakeClock awake_;  // the core's time
  // Every event that arrived before this time has been taken, in the core's time. Only deadlines
  // before it are due: a report that waits here under load counts against nobody.
  absl::Duration taken_until_;
  std::optional<Backlog> backlog_;
  absl::Duration next_scrape_;  // steady time
  // Numbers that change with the last status; nullopt: none was made since the last scrape.
  std::optional<std::array<uint64_t, 4>> shown_;
  std::atomic<int64_t> heartbeat_ns_;
  Committer committer_;  // last: its thread uses the others
};

}  // namespace dt
