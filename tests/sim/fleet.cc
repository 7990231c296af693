// fleet.cc: actions of agents, streams and their faults.
#include "tests/sim/fleet.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/detection_limits.h"
#include "common/limits.h"
#include "common/worker_level.h"

namespace dt::sim {
namespace {

constexpr size_t kPastStreams = 64;
constexpr size_t kPastReports = 4;  // of a stream, starting with its hello

}  // namespace

void Fleet::Begin(Coordinator& coordinator, Trainers& trainers) {
  coordinator_ = &coordinator;
  trainers_ = &trainers;
  for (int host = 0; host < options_.hosts; ++host) {
    for (int slot = 0; slot < options_.slots_per_host; ++slot) {
      Host worker;
      worker.host = absl::StrCat("host", host);
      worker.name = absl::StrCat(worker.host, "/", slot);
      worker.storage_id = options_.shared_storage ? "shared" : absl::StrCat("disk", host);
      workers_.push_back(std::move(worker));
    }
  }
  for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker) StartWorker(worker);
}

void Fleet::StartWorker(int worker) {
  Host& self = workers_[static_cast<size_t>(worker)];
  if (self.up) return;
  self.up = true;
  self.instance = 1 + dice_.Bits() / 2;
  self.refusals = 0;
  self.timer = absl::InfiniteDuration();
  AgentOptions options;
  options.hello.set_worker(self.name);
  options.hello.set_instance(self.instance);
  options.hello.set_host(self.host);
  options.hello.set_device("cpu");
  options.hello.set_level(kWorkerLevel);
  options.hello.set_rescues(true);
  options.hello.set_storage_id(self.storage_id);
  v1::Label& zone = *options.hello.add_labels();
  zone.set_key("zone");
  zone.set_value(self.host == "host0" ? "a" : "b");
  options.hello.set_data_address(absl::StrCat(worker));
  options.trainer_path = "dttrain";
  options.disconnect_grace = options_.disconnect_grace;
  self.agent = MakeAgent(std::move(options), scheduler_.Now());
  Feed(worker, TimePassed{});
  Connect(worker);
}

// The process dies with its trainer and everything that it had not reported.
void Fleet::StopWorker(int worker) {
  Host& self = workers_[static_cast<size_t>(worker)];
  if (!self.up) return;
  self.up = false;
  trainers_->Vanish(worker);
  if (self.stream != 0) Break(self.stream);
  self.stream = 0;
  const InstanceId instance = self.instance;
  scheduler_.After(dice_.Between(absl::Milliseconds(100), absl::Seconds(25)),
                   [this, worker, instance] {
                     if (workers_[static_cast<size_t>(worker)].instance == instance) {
                       StartWorker(worker);
                     }
                   });
}

void Fleet::Connect(int worker) {
  Host& self = workers_[static_cast<size_t>(worker)];
  absl::Duration backoff = limits::kReconnectFirst * std::min(1 << std::min(self.refusals, 5), 25);
  backoff = dice_.Between(backoff / 2, std::min(backoff, limits::kReconnectMax));
  ++self.refusals;
  scheduler_.After(backoff, [this, worker, instance = self.instance] {
    Host& again = workers_[static_cast<size_t>(worker)];
    if (!again.up || again.instance != instance || again.stream != 0) return;
    if (!coordinator_->up()) return Connect(worker);
    const StreamId id = ++next_stream_;
    streams_[id].worker = worker;
    again.stream = id;
    Feed(worker, StreamConnected{});
  });
}

void Fleet::Feed(int worker, AgentEvent event) {
  Host& self = workers_[static_cast<size_t>(worker)];
  if (!self.up) return;
  if (const absl::Duration still = network_.StillUntil(worker) - scheduler_.Now().steady;
      still > absl::ZeroDuration()) {
    // The event waits until the host goes on, behind those before it.
    scheduler_.After(still, [this, worker, instance = self.instance, event = std::move(event)] {
      if (workers_[static_cast<size_t>(worker)].instance == instance) Feed(worker, event);
    });
    return;
  }
  Actions actions = AgentStep(self.agent, std::move(event), scheduler_.Now());
  if (self.agent.buffer.Bytes() > limits::kWorkerBufferBytes) {
    checker_.Complain("8: a worker's buffer is over its bound");
  }
  const InstanceId instance = self.instance;
  for (AgentAction& action : actions) {
    if (!self.up || self.instance != instance) return;  // an action has ended the process
    Perform(worker, action);
  }
  if (self.up) Rearm(worker);
}

void Fleet::Perform(int worker, AgentAction& action) {
  Host& self = workers_[static_cast<size_t>(worker)];
  if (std::holds_alternative<SpawnTrainer>(action)) {
    trainers_->Spawn(worker, self.storage_id);
  } else if (auto* frame = std::get_if<SendFrame>(&action)) {
    trainers_->Send(worker, frame->frame);
  } else if (std::holds_alternative<KillTrainer>(action)) {
    trainers_->Kill(worker);
  } else if (auto* report = std::get_if<SendReport>(&action)) {
    if (self.stream == 0) return;
    const StreamId stream = self.stream;
    const uint64_t session = self.agent.session;
    streams_[stream].session = session;
    SendUp(stream, report->report);
    scheduler_.After(absl::Milliseconds(1), [this, worker, session, instance = self.instance] {
      if (workers_[static_cast<size_t>(worker)].instance != instance) return;
      Feed(worker, ReportWritten{session});
    });
  } else if (auto* look = std::get_if<LookForCheckpoints>(&action)) {
    std::erase_if(look->registered, [this](const v1::CheckpointRef& ref) {
      const auto storage = trainers_->storages().find(ref.storage_id());
      return storage != trainers_->storages().end() && storage->second.contains(ref.path());
    });
    if (look->registered.empty()) return;
    scheduler_.After(absl::Milliseconds(1),
                     [this, worker, instance = self.instance, gone = std::move(*look)] {
                       if (workers_[static_cast<size_t>(worker)].instance != instance) return;
                       Feed(worker, CheckpointsGone{gone.token, gone.registered});
                     });
  } else if (const auto* check = std::get_if<CheckPeers>(&action)) {
    Answer(worker, *check);
  } else if (std::holds_alternative<ExitProcess>(action)) {
    StopWorker(worker);
  }
}

// The data address of a worker is its number.
void Fleet::Answer(int worker, const CheckPeers& check) {
  PeersChecked answer{check.number, {}};
  for (const std::string& address : check.addresses) {
    int other = 0;
    DT_CHECK(absl::SimpleAtoi(address.substr(0, address.find(':')), &other));
    const bool stands = network_.StillUntil(other) > scheduler_.Now().steady;
    if (stands || !network_.Reaches(worker, other)) answer.unreachable.push_back(address);
  }
  const absl::Duration takes =
      answer.unreachable.empty() ? absl::Milliseconds(1) : limits::kPeerAnswers;
  const InstanceId instance = workers_[static_cast<size_t>(worker)].instance;
  scheduler_.After(takes, [this, worker, instance, answer = std::move(answer)] {
    if (workers_[static_cast<size_t>(worker)].instance == instance) Feed(worker, answer);
  });
}

// Sets one timer for each process: an earlier deadline replaces it, a later one is found when it
// fires.
void Fleet::Rearm(int worker) {
  Host& self = workers_[static_cast<size_t>(worker)];
  const absl::Duration next = NextDeadline(self.agent);
  if (next >= self.timer) return;
  self.timer = next;
  const absl::Duration wait = std::max(absl::ZeroDuration(), next - scheduler_.Now().steady);
  scheduler_.After(wait, [this, worker, next, instance = self.instance] {
    Host& again = workers_[static_cast<size_t>(worker)];
    if (again.instance != instance || again.timer != next) return;
    again.timer = absl::InfiniteDuration();
    Feed(worker, TimePassed{});
  });
}

// ---- the wire ----

void Fleet::SendUp(StreamId id, const v1::WorkerReport& report) {
  Stream& stream = streams_[id];
  if (auto& begun = past_[id]; begun.size() < kPastReports) begun.push_back(report);
  if (past_.size() > kPastStreams) past_.erase(past_.begin());
  const absl::Duration now = scheduler_.Now().steady;
  stream.up_free = std::max(stream.up_free, now + Delay());
  const bool twice = !report.has_hello() && dice_.Chance(faults_.duplicates);
  for (int i = 0; i < (twice ? 2 : 1); ++i) {
    scheduler_.After(stream.up_free - now, [this, id, report] { ArriveUp(id, report); });
  }
}

void Fleet::ArriveUp(StreamId id, const v1::WorkerReport& report) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.coordinator_open) return;
  if (scheduler_.Now().steady > found->second.cut) return;
  ReportReceived received;
  received.stream = id;
  received.peer = workers_[static_cast<size_t>(found->second.worker)].host;
  received.report = report;
  if (faults_.lies > 0 && dice_.Chance(faults_.lies)) Falsify(received.report);
  coordinator_->Post({.what = std::move(received)});
}

// Changes a report to claims that no trainer can have caused. The worker's own items come again
// only if the stream breaks.
void Fleet::Falsify(v1::WorkerReport& report) {
  for (v1::AttemptStatus& status : *report.mutable_attempts()) {
    status.set_step(status.step() + (dice_.Chance(0.5) ? 1000 : ~uint64_t{0} / 2));
  }
  for (v1::Item& item : *report.mutable_items()) {
    if (item.has_evaluation()) item.mutable_evaluation()->set_step(1000);
  }
}

void Fleet::DeliverOrders(StreamId id, const v1::Orders& orders) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.worker_open) return;
  Stream& stream = found->second;
  Host& self = workers_[static_cast<size_t>(stream.worker)];
  self.refusals = 0;
  const absl::Duration now = scheduler_.Now().steady;
  stream.down_free = std::max(stream.down_free, now + Delay());
  const int times = dice_.Chance(faults_.duplicates) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    scheduler_.After(stream.down_free - now, [this, id, orders] {
      const auto again = streams_.find(id);
      if (again == streams_.end() || !again->second.worker_open) return;
      Feed(again->second.worker, OrdersReceived{again->second.session, orders});
    });
  }
}

void Fleet::LoseOnWorkerSide(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.worker_open) return;
  found->second.worker_open = false;
  const int worker = found->second.worker;
  Host& self = workers_[static_cast<size_t>(worker)];
  if (!self.up || self.stream != id) return;
  self.stream = 0;
  Feed(worker, StreamLost{});
  if (self.up) Connect(worker);
}

// Breaks the connection. Each side notices at its own time; some of the messages on the way still
// arrive.
void Fleet::Break(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const absl::Duration now = scheduler_.Now().steady;
  const absl::Duration late = dice_.Between(absl::ZeroDuration(), absl::Seconds(3));
  found->second.cut = std::min(found->second.cut, now + late);
  const Host& self = workers_[static_cast<size_t>(found->second.worker)];
  if (self.up && self.stream == id) {
    scheduler_.After(dice_.Between(absl::ZeroDuration(), absl::Seconds(2)),
                     [this, id] { LoseOnWorkerSide(id); });
  } else {
    found->second.worker_open = false;
  }
  scheduler_.After(late + dice_.Between(absl::Milliseconds(1), absl::Seconds(12)), [this, id] {
    const auto again = streams_.find(id);
    if (again == streams_.end()) return;
    if (again->second.coordinator_open) coordinator_->Post({.what = StreamClosed{id}});
    again->second.coordinator_open = false;
  });
}

void Fleet::TakeStreamEnd(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  found->second.coordinator_open = false;
  scheduler_.After(Delay(), [this, id] { LoseOnWorkerSide(id); });
}

void Fleet::LoseCoordinator() {
  for (auto& [id, stream] : streams_) {
    if (!stream.coordinator_open) continue;
    stream.coordinator_open = false;
    scheduler_.After(dice_.Between(absl::Milliseconds(1), absl::Seconds(2)),
                     [this, id = id] { LoseOnWorkerSide(id); });
  }
}

// ---- faults ----

std::optional<StreamId> Fleet::PickStream() {
  std::vector<StreamId> open;
  for (const Host& worker : workers_) {
    if (worker.up && worker.stream != 0) open.push_back(worker.stream);
  }
  if (open.empty()) return std::nullopt;
  return open[dice_.Pick(open.size())];
}

void Fleet::BreakOneStream() {
  if (const auto stream = PickStream()) Break(*stream);
}

void Fleet::ClogOneStream() {
  const auto picked = PickStream();
  if (!picked.has_value()) return;
  Stream& stream = streams_[*picked];
  const absl::Duration until =
      scheduler_.Now().steady + dice_.Between(absl::Milliseconds(100), absl::Seconds(14));
  if (dice_.Chance(0.7)) stream.up_free = std::max(stream.up_free, until);
  if (dice_.Chance(0.7)) stream.down_free = std::max(stream.down_free, until);
}

void Fleet::CrashOneWorker() { StopWorker(static_cast<int>(dice_.Pick(workers_.size()))); }

void Fleet::DrainOneWorker() { Feed(static_cast<int>(dice_.Pick(workers_.size())), Terminate{}); }

void Fleet::ReplayAnOldStream() {
  if (past_.empty() || !coordinator_->up()) return;
  const auto old = std::next(past_.begin(), static_cast<std::ptrdiff_t>(dice_.Pick(past_.size())));
  const auto known = streams_.find(old->first);
  const StreamId id = ++next_stream_;
  streams_[id].worker = known->second.worker;
  streams_[id].worker_open = false;  // answers go nowhere
  const bool other_journal = dice_.Chance(0.3);
  absl::Duration when = absl::ZeroDuration();
  for (v1::WorkerReport report : old->second) {
    if (other_journal) report.set_journal_id(report.journal_id() + 1);
    when += Delay();
    scheduler_.After(when, [this, id, report] { ArriveUp(id, report); });
  }
  when += dice_.Between(absl::Milliseconds(1), absl::Seconds(12));
  scheduler_.After(when, [this, id] {
    Stream& stream = streams_[id];
    if (stream.coordinator_open) coordinator_->Post({.what = StreamClosed{id}});
    stream.coordinator_open = false;
  });
}

void Fleet::CutOneWay(int host, bool up, absl::Duration time) {
  const absl::Duration until = scheduler_.Now().steady + time;
  for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker) {
    const Host& self = workers_[static_cast<size_t>(worker)];
    if (network_.HostOf(worker) != host || self.stream == 0) continue;
    Stream& stream = streams_[self.stream];
    absl::Duration& free = up ? stream.up_free : stream.down_free;
    free = std::max(free, until);
    // Keepalive gives up after eight seconds.
    scheduler_.After(absl::Seconds(8), [this, id = self.stream, until] {
      if (scheduler_.Now().steady < until && faults_.one_way_cuts > 0) Break(id);
    });
  }
}

void Fleet::Heal() {
  for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker) StartWorker(worker);
  for (auto& [id, stream] : streams_) {
    const absl::Duration now = scheduler_.Now().steady;
    stream.up_free = std::min(stream.up_free, now);
    stream.down_free = std::min(stream.down_free, now);
  }
}

}  // namespace dt::sim
