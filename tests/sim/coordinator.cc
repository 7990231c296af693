// coordinator.cc: drains, steps, commits and publishes like the real loop, and may die in between.
#include "tests/sim/coordinator.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "common/check.h"
#include "common/limits.h"
#include "common/sha256.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/facts/hash.h"
#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/run/recover.h"

namespace dt::sim {
namespace {

constexpr JournalId kJournal = 0xD7;
constexpr JournalId kOtherJournal = 0xE7;
constexpr size_t kEventsPerDrain = 8;
constexpr int kCommitsPerSnapshot = 40;
// A hash of all durable state takes long: with one at each commit, hashes were a quarter of a run.
// A restart is compared with the commit before it if that has one.
constexpr int kCommitsPerHash = 4;
constexpr double kReplayChecked = 0.02;  // of commits; also checked after every crash and at the
                                         // end

}  // namespace

Coordinator::Coordinator(Scheduler& scheduler, Dice& dice, const Options& options, Checker& checker,
                         const Trainers& trainers, Ports ports)
    : scheduler_(scheduler),
      dice_(dice),
      options_(options),
      checker_(checker),
      trainers_(trainers),
      ports_(std::move(ports)),
      slow_dice_(options.seed) {
  for (MemoryStore* store : {&store_, &other_}) {
    v1::Record created;
    created.mutable_journal_created()->set_journal_id(store == &store_ ? kJournal : kOtherJournal);
    Batch batch;
    batch.records.push_back(&created);
    DT_CHECK(store->Commit(batch).ok());
    DurableState durable;
    DT_CHECK(Apply(durable, created).ok());
    (store == &store_ ? committed_ : other_committed_) = HashOf(durable);
  }
  Start();
  if (options_.faults.stalls > 0) StandStillLater();
}

void Coordinator::StandStillLater() {
  const absl::Duration mean = absl::Seconds(1 / options_.faults.stalls);
  scheduler_.After(dice_.Between(absl::ZeroDuration(), 2 * mean), [this] {
    if (options_.faults.stalls > 0) StandStillNow();  // it will be healed at some time
  });
}

void Coordinator::StandStillNow() {
  still_until_ = scheduler_.Now().steady + dice_.Between(absl::Seconds(1), absl::Seconds(60));
  StandStillLater();
}

DurableState Coordinator::Replay() {
  DurableState durable;
  JournalPlace place;
  // Use a snapshot every second time: it must make no difference.
  const StoredSnapshot stored = *store_.ReadSnapshot(std::numeric_limits<int64_t>::max());
  if (++replays_ % 2 == 0 && stored.place.sequence > 0) {
    auto loaded = LoadSnapshot(stored.parts);
    if (!loaded.ok()) checker_.Complain("5: " + std::string(loaded.status().message()));
    durable = std::move(loaded->state);
    place = stored.place;
  }
  const absl::Status status =
      store_.Replay(place, [&durable](const v1::Record& record) { return Apply(durable, record); });
  if (!status.ok()) checker_.Complain(std::string("5: ") + std::string(status.message()));
  return durable;
}

void Coordinator::Start() {
  state_ = std::make_unique<State>();
  state_->durable = Replay();
  if (!lost_ && committed_) checker_.CheckReplayed(state_->durable, *committed_);
  LoadAcks(*state_, *store_.ReadAcks());
  DT_CHECK_OK(LoadNewestSteps(
      *state_, [this](const AttemptId& attempt) { return store_.ReadNewestStep(attempt); }));
  Recover(*state_, scheduler_.Now());
  awake_ = AwakeClock(scheduler_.Now().steady);
  checker_.NoteRestart(*state_);
  Wake();
}

void Coordinator::Kill() {
  if (!up()) return;
  state_.reset();
  inbox_.clear();
  unsent_.clear();
  unsent_since_ = absl::InfiniteDuration();
  waiting_.clear();
  drain_due_ = false;
  wake_at_ = absl::InfiniteDuration();
  const int life = ++life_;
  ports_.died();
  scheduler_.After(dice_.Between(absl::Milliseconds(50), absl::Seconds(20)), [this, life] {
    if (life == life_) Start();
  });
}

void Coordinator::LoseJournal() {
  if (!up() || lost_) return;
  const auto swap = [this] {
    Kill();
    std::swap(store_, other_);
    std::swap(committed_, other_committed_);
    lost_ = !lost_;
  };
  swap();
  scheduler_.After(dice_.Between(absl::Seconds(1), absl::Seconds(40)), swap);
}

void Coordinator::Post(Event event) {
  if (!up()) return;
  event.entropy = {dice_.Bits(), dice_.Bits()};
  inbox_.push_back(std::move(event));
  if (drain_due_) return;
  drain_due_ = true;
  scheduler_.After(dice_.Between(absl::Microseconds(50), absl::Milliseconds(5)),
                   [this, life = life_] {
                     if (life == life_ && up()) Drain();
                   });
}

void Coordinator::Wake() {
  const absl::Duration now = scheduler_.Now().steady;
  const absl::Duration next =
      std::min(NextDeadline(*state_) + awake_.missed(), now + limits::kAwakePulse);
  if (next >= wake_at_) return;
  wake_at_ = next;
  scheduler_.After(std::max(absl::ZeroDuration(), next - now), [this, next, life = life_] {
    if (life != life_ || !up() || wake_at_ != next) return;
    wake_at_ = absl::InfiniteDuration();
    Post({.what = Tick{}});
  });
}

void Coordinator::Drain() {
  const absl::Duration still = still_until_ - scheduler_.Now().steady;
  if (still > absl::ZeroDuration()) {
    scheduler_.After(still, [this, life = life_] {
      if (life == life_ && up()) Drain();
    });
    return;
  }
  drain_due_ = false;
  const Instant now = awake_.At(scheduler_.Now(), unsent_since_);
  std::vector<Effects> batch;
  while (!inbox_.empty() && batch.size() < kEventsPerDrain) {
    Event event = std::move(inbox_.front());
    inbox_.pop_front();
    if (options_.canary == Canary::kForgottenAck) ForgetAck(event);
    batch.push_back(Step(*state_, std::move(event), now));
    checker_.AfterStep(*state_, batch.back(), now.steady);
  }
  Hand(std::move(batch));
  if (!up()) return;
  if (!inbox_.empty() && !drain_due_) {
    drain_due_ = true;
    scheduler_.After(absl::Microseconds(50), [this, life = life_] {
      if (life == life_ && up()) Drain();
    });
  }
  Wake();
}

// Commits and publishes the decisions; while commits are slow, together with those that are made
// until the disk is done.
void Coordinator::Hand(std::vector<Effects> batch) {
  const bool busy = unsent_since_ < absl::InfiniteDuration();
  const absl::Duration now = scheduler_.Now().steady;
  if (!busy && now >= slow_until_) return Finish(std::move(batch));
  std::move(batch.begin(), batch.end(), std::back_inserter(unsent_));
  if (busy) return;
  unsent_since_ = now;
  scheduler_.After(slow_dice_.Between(absl::Milliseconds(100), absl::Seconds(6)),
                   [this, life = life_] {
                     if (life != life_ || !up()) return;
                     unsent_since_ = absl::InfiniteDuration();
                     Finish(std::exchange(unsent_, {}));
                     if (up()) Wake();
                   });
}

void Coordinator::Finish(std::vector<Effects> batch) {
  const double kill = options_.faults.kills_at_commit;
  const bool due = ++batches_ == options_.killed_at;
  if (due && options_.boundary == Boundary::kBeforeCommit) return Kill();
  if (dice_.Chance(kill)) return Kill();  // the batch is lost
  if (options_.canary == Canary::kEarlyReply && dice_.Chance(0.5)) {
    Publish(batch);
    return Kill();
  }
  if (options_.canary == Canary::kEarlyOrders && dice_.Chance(0.5)) {
    for (Effects& effects : batch) effects.replies.clear();
    Publish(batch);
    return Kill();
  }
  Commit(batch);
  if (due) return Kill();
  if (dice_.Chance(kill)) return Kill();  // durable, but nothing was sent
  Publish(batch);
}

void Coordinator::Commit(const std::vector<Effects>& effects) {
  Batch batch;
  std::map<std::pair<std::string, InstanceId>, uint64_t> acks;
  for (const Effects& each : effects) {
    for (const v1::Record& record : each.records) batch.records.push_back(&record);
    for (const ChunkToStore& chunk : each.chunks) batch.chunks.push_back(&chunk);
    for (const LogToStore& log : each.logs) batch.logs.push_back(&log);
    for (const AckToStore& ack : each.acks) acks[{ack.worker, ack.instance}] = ack.sequence;
    for (const ExperimentId id : each.deletions) batch.deletions.push_back(id);
  }
  for (const auto& [key, sequence] : acks) batch.acks.push_back({key.first, key.second, sequence});
  if (options_.canary == Canary::kLostRecord && !batch.records.empty() && dice_.Chance(0.1)) {
    batch.records.pop_back();
  }
  DT_CHECK(store_.Commit(batch).ok());
  if (++commits_ % kCommitsPerSnapshot == 0) {
    store_.PutSnapshot({{static_cast<int64_t>(store_.records()), ""}, SaveSnapshot(Replay(), {})});
  }
  for (const Effects& each : effects) {
    for (v1::Record record : each.records) {
      ports_.committed(record);
      record.clear_wall_time_ms();
      // After a restart, it is computed from the wall clock. It is only displayed and affects no
      // decision.
      if (record.has_attempt_ended()) record.mutable_attempt_ended()->clear_trained_ms();
      history_ = Sha256Hex(history_ + record.SerializeAsString());
    }
  }
  committed_.reset();
  if (options_.killed_at > 0 || commits_ % kCommitsPerHash == 0) {
    committed_ = HashOf(state_->durable);
  }
  checker_.AfterCommit(*state_, effects, trainers_.storages());
  if (dice_.Chance(kReplayChecked)) CheckReplay();
}

void Coordinator::CheckReplay() {
  if (!lost_) checker_.CheckReplayed(Replay(), HashOf(state_->durable));
}

std::vector<v1::Record> Coordinator::Journal() {
  std::vector<v1::Record> journal;
  JournalPlace place;
  DT_CHECK_OK(store_.Replay(place, [&journal](const v1::Record& record) {
    journal.push_back(record);
    return absl::OkStatus();
  }));
  return journal;
}

void Coordinator::Publish(std::vector<Effects>& batch) {
  for (Effects& effects : batch) {
    for (const Reply& reply : effects.replies) {
      const auto found = waiting_.find(reply.id);
      if (found == waiting_.end()) continue;
      const Answered answered = std::move(found->second);
      waiting_.erase(found);
      answered(reply);
    }
    for (const OrdersOut& out : effects.orders) {
      const auto stream = state_->live.streams.find(out.stream);
      if (stream != state_->live.streams.end()) {
        checker_.CheckOrders(state_->live.workers[stream->second], out.orders, store_);
      }
      ports_.send_orders(out.stream, out.orders);
    }
    for (const StreamEnd& end : effects.stream_ends) ports_.end_stream(end.stream);
  }
}

// Acts as if the coordinator had never seen the report's items.
void Coordinator::ForgetAck(const Event& event) {
  const auto* received = std::get_if<ReportReceived>(&event.what);
  if (received == nullptr || received->report.items().empty()) return;
  const auto stream = state_->live.streams.find(received->stream);
  if (stream == state_->live.streams.end()) return;
  Worker& worker = state_->live.workers[stream->second];
  worker.acked = std::min(worker.acked, received->report.items(0).sequence() - 1);
}

}  // namespace dt::sim
