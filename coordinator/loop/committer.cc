// committer.cc: takes waiting turns, commits them once, publishes them.
#include "coordinator/loop/committer.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/core/model/lifecycle.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

// Bounds each wait; events wake the waiter earlier.
constexpr absl::Duration kLook = absl::Minutes(1);

// Returns whether somebody may have to look into this end.
bool Alarms(const v1::Record& record) {
  if (!record.has_attempt_ended()) return false;
  const v1::Cause cause = record.attempt_ended().cause();
  // A preemption, or a person's act.
  if (cause == v1::CAUSE_PREEMPTED || record.attempt_ended().uncharged()) return false;
  switch (ConsequenceOf(cause)) {
    case Consequence::kFinishes:
    case Consequence::kCancels:
      return false;
    case Consequence::kFails:
    case Consequence::kRetriesCrash:
    case Consequence::kRetriesLoss:
      return true;
  }
  return false;
}

void Log(const Effects& effects) {
  auto level = spdlog::level::info;
  for (const v1::Record& record : effects.records) {
    if (Alarms(record)) level = spdlog::level::warn;
    if (!record.has_experiment_submitted()) continue;
    const v1::ExperimentSubmitted& submitted = record.experiment_submitted();
    // A search that proposes trials as results arrive has none yet.
    const auto there = static_cast<uint32_t>(submitted.trials_size());
    spdlog::info("experiment {} submitted: {}, {} trials", submitted.experiment(),
                 CleanText(submitted.spec().name(), limits::kNameBytes),
                 std::max(there, submitted.planned_trials()));
  }
  for (const std::string& line : effects.log_lines) spdlog::log(level, "{}", line);
}

}  // namespace

Batch MakeBatch(const std::vector<TurnEffects>& turns) {
  Batch batch;
  std::map<std::pair<std::string, InstanceId>, uint64_t> acks;
  for (const TurnEffects& turn : turns) {
    for (const Effects& effects : turn.effects) {
      for (const v1::Record& record : effects.records) batch.records.push_back(&record);
      for (const ChunkToStore& chunk : effects.chunks) batch.chunks.push_back(&chunk);
      for (const LogToStore& log : effects.logs) batch.logs.push_back(&log);
      for (const AckToStore& ack : effects.acks) {
        uint64_t& highest = acks[{ack.worker, ack.instance}];
        highest = std::max(highest, ack.sequence);
      }
      batch.deletions.insert(batch.deletions.end(), effects.deletions.begin(),
                             effects.deletions.end());
    }
  }
  for (auto& [key, sequence] : acks) batch.acks.push_back({key.first, key.second, sequence});
  return batch;
}

Committer::Committer(Store& store, Publisher& publisher, const Clock& clock,
                     std::function<void()> failed, std::function<void(const v1::Notice&)> tell)
    : store_(store),
      publisher_(publisher),
      clock_(clock),
      failed_(std::move(failed)),
      tell_(std::move(tell)),
      thread_([this] { Run(); }) {}

Committer::~Committer() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

absl::Status Committer::Hand(TurnEffects turn) {
  MutexLock lock(&mutex_);
  while (status_.ok() && waiting_events_ >= limits::kCommitEvents) {
    changed_.WaitFor(&mutex_, kLook);
  }
  if (!status_.ok()) return status_;
  if (turn.effects.empty() && !turn.then && turn.status == nullptr) return absl::OkStatus();
  if (waiting_.empty()) waiting_since_ = clock_.Now().steady;
  waiting_events_ += turn.effects.size();
  waiting_.push_back(std::move(turn));
  changed_.NotifyAll();
  return absl::OkStatus();
}

absl::Status Committer::Flush() {
  MutexLock lock(&mutex_);
  while (status_.ok() && (busy_ || !waiting_.empty())) changed_.WaitFor(&mutex_, kLook);
  return status_;
}

absl::Duration Committer::UnsentSince() {
  MutexLock lock(&mutex_);
  return std::min(waiting_since_, busy_since_);
}

std::vector<absl::Duration> Committer::TakeTimes() {
  MutexLock lock(&mutex_);
  return std::exchange(times_, {});
}

void Committer::Run() {
  while (true) {
    std::vector<TurnEffects> turns;
    {
      MutexLock lock(&mutex_);
      busy_ = false;
      busy_since_ = absl::InfiniteDuration();
      changed_.NotifyAll();
      while (waiting_.empty() && !stopping_) changed_.WaitFor(&mutex_, kLook);
      if (stopping_) return;
      turns.swap(waiting_);
      busy_since_ = std::exchange(waiting_since_, absl::InfiniteDuration());
      waiting_events_ = 0;
      busy_ = true;
      changed_.NotifyAll();
    }
    // A leader that lost the lead may answer from old state.
    absl::Status status = store_.ConfirmLead();
    if (status.ok()) {
      AnswerFirst(turns);
      status = CommitTurns(turns);
    }
    if (!status.ok()) {
      {
        MutexLock lock(&mutex_);
        status_ = std::move(status);
        changed_.NotifyAll();
      }
      return failed_();
    }
    Publish(turns);
    size_t bytes = 0;
    for (const TurnEffects& turn : turns) bytes += turn.bytes;
    if (bytes > 0) publisher_.ResumeReads(bytes);
  }
}

void Committer::AnswerFirst(std::vector<TurnEffects>& turns) {
  for (TurnEffects& turn : turns) {
    for (Effects& effects : turn.effects) {
      if (!effects.NothingDurable()) return;
      for (Reply& reply : effects.replies) publisher_.Answer(std::move(reply));
      effects.replies.clear();
    }
  }
}

absl::Status Committer::CommitTurns(const std::vector<TurnEffects>& turns) {
  bool durable = false;
  for (const TurnEffects& turn : turns) {
    for (const Effects& effects : turn.effects) durable = durable || !effects.NothingDurable();
  }
  if (!durable) return absl::OkStatus();
  const absl::Duration start = clock_.Now().steady;
  DT_RETURN_IF_ERROR(store_.Commit(MakeBatch(turns)));
  MutexLock lock(&mutex_);
  times_.push_back(clock_.Now().steady - start);
  return absl::OkStatus();
}

void Committer::Publish(std::vector<TurnEffects>& turns) {
  // First, so that a caller who was answered sees its change.
  for (TurnEffects& turn : turns) {
    if (turn.status != nullptr) publisher_.ShowStatus(std::move(turn.status));
  }
  // Orders are complete: of several for one stream, only the last one counts.
  absl::flat_hash_map<StreamId, OrdersOut*> newest;
  for (TurnEffects& turn : turns) {
    for (Effects& effects : turn.effects) {
      for (Reply& reply : effects.replies) publisher_.Answer(std::move(reply));
      for (OrdersOut& orders : effects.orders) newest[orders.stream] = &orders;
      Log(effects);
      if (!tell_) continue;
      for (const v1::Record& record : effects.records) {
        if (record.has_notice_raised()) tell_(record.notice_raised().notice());
      }
    }
  }
  for (TurnEffects& turn : turns) {
    for (Effects& effects : turn.effects) {
      for (OrdersOut& orders : effects.orders) {
        if (newest[orders.stream] == &orders) publisher_.SendOrders(std::move(orders));
      }
      for (StreamEnd& end : effects.stream_ends) publisher_.EndStream(std::move(end));
    }
    if (turn.then) turn.then();
  }
}

}  // namespace dt
