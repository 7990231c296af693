// queue.h: trials that wait for slots, by demand class, first come first served.
//
// Role:  pure data. An experiment at its max_concurrent is closed: its trials keep their places but
//        are passed over, at a cost that does not depend on their number.
// Cost:  O(log trials) an operation.
// Tests: tests/coordinator/core/queue_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "common/ids.h"

namespace dt {

enum class Gate { kOpen, kClosed };

// In place of a trial's number: a ticket, for the trial that an experiment's search will propose
// when its turn has come and slots are found. It comes after the trials that wait.
inline constexpr uint32_t kTicket = UINT32_MAX;
inline bool IsTicket(TrialId id) { return id.trial == kTicket; }

class WaitingTrials {
 public:
  // `gate` says whether the trial's experiment may start another trial now.
  void Insert(TrialId trial, Gate gate);
  // False: it was not here.
  bool Erase(TrialId trial);
  void SetGate(ExperimentId experiment, Gate gate);

  bool Contains(TrialId trial) const;
  // The first trial, by (experiment, trial), of an open experiment.
  std::optional<TrialId> Head() const;
  size_t size() const { return size_; }

 private:
  absl::btree_map<ExperimentId, absl::btree_set<uint32_t>> trials_;
  absl::btree_set<ExperimentId> open_;  // of those in trials_
  size_t size_ = 0;
};

}  // namespace dt
