// memory_store.h: a Store in memory, for tests and the simulator.
//
// Role:    keeps commits as bytes, so that every record is serialized and parsed as with a disk;
//          fails on request.
// Threads: thread-compatible, like the real one.
#pragma once

#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/check.h"
#include "coordinator/store/store.h"

namespace dt {

class MemoryStore : public Store {
 public:
  absl::Status Replay(JournalPlace& place,
                      const std::function<absl::Status(const v1::Record&)>& visit) override {
    v1::Record record;
    while (place.sequence < static_cast<int64_t>(journal_.size())) {
      DT_CHECK(record.ParseFromString(journal_[static_cast<size_t>(place.sequence)]));
      if (absl::Status status = visit(record); !status.ok()) return status;
      ++place.sequence;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<StoredSnapshot> ReadSnapshot(int64_t below) override {
    const auto after = snapshots_.lower_bound(below);
    return after == snapshots_.begin() ? StoredSnapshot() : std::prev(after)->second;
  }
  void PutSnapshot(StoredSnapshot snapshot) {
    const int64_t sequence = snapshot.place.sequence;
    snapshots_[sequence] = std::move(snapshot);
    if (snapshots_.size() > 2) snapshots_.erase(snapshots_.begin());
  }

  absl::StatusOr<std::vector<AckToStore>> ReadAcks() override {
    std::vector<AckToStore> acks;
    for (const auto& [touched, life] : acks_touched_) {
      acks.push_back({life.first, life.second, acks_.at(life).sequence});
    }
    return acks;
  }

  absl::StatusOr<uint64_t> ReadNewestStep(const AttemptId& attempt) override {
    const auto found = newest_steps_.find(attempt);
    return found == newest_steps_.end() ? 0 : found->second;
  }
  ExperimentId NewestExperiment() const override { return 0; }  // this store loses no experiment

  absl::Status Commit(const Batch& batch) override {
    if (commits_left_ == 0) return absl::UnavailableError("the test's disk is broken");
    if (commits_left_ > 0) --commits_left_;
    ++commits_;
    for (const v1::Record* record : batch.records) journal_.push_back(record->SerializeAsString());
    for (const ChunkToStore* chunk : batch.chunks) {
      chunks_.push_back(*chunk);
      newest_steps_[chunk->attempt] = chunk->last_step;
    }
    for (const LogToStore* log : batch.logs) logs_.push_back(*log);
    for (const AckToStore& ack : batch.acks) Touch({ack.worker, ack.instance}, ack.sequence);
    for (const ExperimentId experiment : batch.deletions) {
      std::erase_if(chunks_, [&](const ChunkToStore& chunk) {
        return chunk.attempt.trial.experiment == experiment;
      });
      std::erase_if(
          logs_, [&](const LogToStore& log) { return log.attempt.trial.experiment == experiment; });
    }
    return absl::OkStatus();
  }

  // Fails every Commit after the next `commits`; a Commit that fails keeps nothing.
  void BreakAfter(int commits) { commits_left_ = commits; }

  int commits() const { return commits_; }
  size_t records() const { return journal_.size(); }
  const std::vector<ChunkToStore>& chunks() const { return chunks_; }
  const std::vector<LogToStore>& logs() const { return logs_; }

 private:
  using Life = std::pair<std::string, InstanceId>;
  struct Ack {
    uint64_t sequence = 0;
    int64_t touched = 0;
  };
  void Touch(const Life& life, uint64_t sequence) {
    Ack& ack = acks_[life];
    acks_touched_.erase(ack.touched);
    ack = {sequence, ++touches_};
    acks_touched_[ack.touched] = life;
  }

  std::vector<std::string> journal_;
  std::map<int64_t, StoredSnapshot> snapshots_;
  std::vector<ChunkToStore> chunks_;
  std::map<AttemptId, uint64_t> newest_steps_;
  std::vector<LogToStore> logs_;
  std::map<Life, Ack> acks_;
  std::map<int64_t, Life> acks_touched_;  // in the order of their last writes
  int64_t touches_ = 0;
  int commits_ = 0;
  int commits_left_ = -1;  // -1: no limit
};

}  // namespace dt
