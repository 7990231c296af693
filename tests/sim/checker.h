// checker.h: the invariants of ARCHITECTURE.md, checked after every event, whatever fails.
//
// A violation begins with the number of its invariant in that list.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/core/model/effects.h"
#include "coordinator/core/model/state.h"
#include "tests/sim/detection_checker.h"
#include "tests/sim/drains_checker.h"
#include "tests/sim/fairness_checker.h"
#include "tests/sim/rescue_checker.h"
#include "tests/sim/schedule_checker.h"
#include "tests/sim/trainers.h"
#include "tests/testing/memory_store.h"

namespace dt::sim {

// The workers' behaviour in a run: nothing that honest workers report may be left out.
enum class Workers { kHonest, kLie };

class Checker {
 public:
  explicit Checker(Workers workers) : workers_(workers) {}

  // Returns the first violation; "" while everything holds.
  const std::string& violation() const { return violation_; }
  // Keeps the first complaint; ignores "".
  void Complain(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  // Checks 1, 2, 4, 6, 8, 10, 12, 14 and 17 after every Step, before its commit.
  void AfterStep(const State& state, const Effects& effects, absl::Duration now);
  // Notes that the coordinator has restarted and measures durations from now.
  void NoteRestart(const State& state) {
    Complain(schedule_.TakeRestart(state));
    detection_.TakeRestart();
    rescue_.TakeRestart();
  }
  // Checks 3, 6, 10 and 11 on the facts that a commit added.
  void AfterCommit(const State& state, const std::vector<Effects>& batch, const Storages& storages);
  // Checks 4 on orders that leave, for their items and for the attempts that they name.
  void CheckOrders(const Worker& worker, const v1::Orders& orders, MemoryStore& store);
  // Notes the answer to a submission, for 4.
  void NoteAcknowledged(ExperimentId experiment, uint32_t trials) {
    acknowledged_[experiment] = trials;
  }
  // Returns whether the experiment's deletion is durable.
  bool Deleted(ExperimentId experiment) const { return deleted_.contains(experiment); }
  // Checks 2, that every acknowledged submission is there with each trial in one state, and 5, that
  // replay gives the same. `hash`: of the state in memory at the last commit.
  void CheckReplayed(const DurableState& replayed, const std::string& hash);
  // Checks 2 and 6 to the end, once nothing fails any more and all has ended.
  void AtTheEnd(const State& state, const Trainers& trainers);

  uint64_t rows_stored() const { return rows_stored_; }
  // Returns the number of steps after which the shares of experiments were compared.
  size_t shares_compared() const { return fairness_.compared(); }

 private:
  struct Seen {
    v1::TrialState state = v1::TRIAL_PENDING;
    uint32_t attempts = 0;
  };

  void CheckRecord(const v1::Record& record);
  void CheckLeases(const State& state);
  void CheckBounds(const State& state);
  void CheckSteps(const State& state);  // for any report of a worker
  void CheckRequeues(const Experiment& experiment);
  void CheckRowsOf(TrialId id, const Trial& trial, uint64_t dropped);
  void CheckEdits(const v1::Record& record);
  void CheckSaving(const State& state);

  const Workers workers_;
  ScheduleChecker schedule_;
  FairnessChecker fairness_;
  std::string violation_;
  std::map<TrialId, Seen> seen_;
  std::set<std::string> started_;                 // tokens of attempts whose start is durable
  std::map<AttemptId, std::set<uint64_t>> rows_;  // steps stored
  std::map<AttemptId, std::set<uint64_t>> evaluated_;
  std::map<ExperimentId, uint32_t> acknowledged_;
  std::set<ExperimentId> deleted_;
  std::set<ExperimentId> studies_;  // experiments with trials in clients
  std::set<ExperimentId> paused_;
  std::set<AttemptId> asked_;  // asked to save and end
  DrainsChecker drains_;
  DetectionChecker detection_;
  RescueChecker rescue_;
  uint64_t rows_stored_ = 0;
};

}  // namespace dt::sim
