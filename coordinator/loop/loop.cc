// loop.cc: the order of things: step every event, commit once, then publish.
#include "coordinator/loop/loop.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/version.h"
#include "coordinator/core/apply.h"
#include "coordinator/core/recover.h"
#include "coordinator/core/step.h"
#include "coordinator/core/submit.h"
#include "coordinator/loop/entropy.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

constexpr absl::Duration kSnapshotEvery = absl::Seconds(1);

// References into `effects`, which must not move before the commit.
Batch MakeBatch(const std::vector<Effects>& effects) {
  Batch batch;
  std::map<std::pair<std::string, InstanceId>, uint64_t> acks;
  for (const Effects& of_event : effects) {
    for (const v1::Record& record : of_event.records) batch.records.push_back(&record);
    for (const ChunkToStore& chunk : of_event.chunks) batch.chunks.push_back(&chunk);
    for (const LogToStore& log : of_event.logs) batch.logs.push_back(&log);
    for (const AckToStore& ack : of_event.acks) {
      uint64_t& highest = acks[{ack.worker, ack.instance}];
      highest = std::max(highest, ack.sequence);
    }
    batch.deletions.insert(batch.deletions.end(), of_event.deletions.begin(),
                           of_event.deletions.end());
  }
  for (auto& [key, sequence] : acks) batch.acks.push_back({key.first, key.second, sequence});
  return batch;
}

}  // namespace

absl::StatusOr<State> Restore(Store& store, const Clock& clock,
                              const std::function<void(const State&, const v1::Record&)>& visited) {
  State state;
  DT_RETURN_IF_ERROR(store.Replay([&](const v1::Record& record) {
    DT_RETURN_IF_ERROR(Apply(state.durable, record));
    visited(state, record);
    return absl::OkStatus();
  }));
  if (state.durable.journal_id == 0) {
    v1::Record record;
    record.set_wall_time_ms(clock.Now().wall_ms);
    // 0 stands for "none yet" in the messages.
    record.mutable_journal_created()->set_journal_id(std::max<uint64_t>(1, FreshEntropy()[0]));
    record.mutable_journal_created()->set_program_version(kVersion);
    DT_RETURN_IF_ERROR(Apply(state.durable, record));
    Batch batch;
    batch.records.push_back(&record);
    DT_RETURN_IF_ERROR(store.Commit(batch));
  }
  DT_ASSIGN_OR_RETURN(const std::vector<AckToStore> acks, store.ReadAcks());
  LoadAcks(state, acks);
  Recover(state, clock.Now());  // leases begin now, however long the replay took
  return state;
}

CoreLoop::CoreLoop(State state, LoopPorts ports)
    : state_(std::move(state)),
      ports_(std::move(ports)),
      next_snapshot_(ports_.clock.Now().steady),
      heartbeat_ns_(absl::ToInt64Nanoseconds(next_snapshot_)) {}

absl::Status CoreLoop::Run() {
  while (true) {
    DT_RETURN_IF_ERROR(RunOnce(absl::Now() + Patience()));
    if (ports_.mailbox.Closed() && ports_.mailbox.Size() == 0) return absl::OkStatus();
  }
}

absl::Duration CoreLoop::Patience() const {
  const absl::Duration now = ports_.clock.Now().steady;
  const absl::Duration next = std::min(NextDeadline(state_), next_snapshot_);
  return std::clamp(next - now, absl::ZeroDuration(), kSnapshotEvery);
}

absl::Status CoreLoop::RunOnce(absl::Time deadline) {
  std::vector<Event> events = ports_.mailbox.Drain(limits::kDrainEvents, deadline);
  size_t bytes = 0;
  for (const Event& event : events) bytes += event.bytes;
  ports_.publisher.ResumeReads(bytes);

  const Instant now = ports_.clock.Now();
  heartbeat_ns_.store(absl::ToInt64Nanoseconds(now.steady));
  StepAll(std::move(events), now);
  DT_RETURN_IF_ERROR(Commit());
  Publish();
  effects_.clear();
  if (now.steady >= next_snapshot_) {
    next_snapshot_ = now.steady + kSnapshotEvery;
    ShowMetrics();
  }
  return absl::OkStatus();
}

void CoreLoop::StepAll(std::vector<Event> events, Instant now) {
  if (NextDeadline(state_) <= now.steady) events.push_back(Event{Tick{}, FreshEntropy()});
  if (events.empty()) return;
  effects_.reserve(events.size());
  for (Event& event : events) effects_.push_back(Step(state_, std::move(event), now));
  ports_.metrics.ObserveCycle(ports_.clock.Now().steady - now.steady);
}

absl::Status CoreLoop::Commit() {
  if (std::all_of(effects_.begin(), effects_.end(),
                  [](const Effects& effects) { return effects.NothingDurable(); })) {
    return absl::OkStatus();
  }
  const absl::Duration start = ports_.clock.Now().steady;
  DT_RETURN_IF_ERROR(ports_.store.Commit(MakeBatch(effects_)));
  ports_.metrics.ObserveCommit(ports_.clock.Now().steady - start);
  for (const Effects& effects : effects_) ports_.metrics.CountCommitted(state_, effects);
  return absl::OkStatus();
}

void CoreLoop::Publish() {
  ports_.publisher.SetAutoDevice(AutoDevice(state_.live));
  // Orders are whole: of several for one stream in this turn, only the last says anything.
  absl::flat_hash_map<StreamId, OrdersOut*> newest;
  for (Effects& effects : effects_) {
    for (Reply& reply : effects.replies) ports_.publisher.Answer(std::move(reply));
    for (OrdersOut& orders : effects.orders) newest[orders.stream] = &orders;
    for (const std::string& line : effects.log_lines) spdlog::info("{}", line);
  }
  for (Effects& effects : effects_) {
    for (OrdersOut& orders : effects.orders) {
      if (newest[orders.stream] == &orders) ports_.publisher.SendOrders(std::move(orders));
    }
    for (StreamEnd& end : effects.stream_ends) ports_.publisher.EndStream(std::move(end));
  }
}

void CoreLoop::ShowMetrics() {
  ports_.show(ports_.metrics.TakeSnapshot(state_, ports_.clock.Now()));
}

}  // namespace dt
