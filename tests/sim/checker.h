// checker.h: what must hold after every event, whatever fails (the invariants of ARCHITECTURE.md).
//
// The number that a violation begins with is the one of the list there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/core/effects.h"
#include "coordinator/core/state.h"
#include "tests/sim/fairness_checker.h"
#include "tests/sim/marks_checker.h"
#include "tests/sim/schedule_checker.h"
#include "tests/sim/trainers.h"
#include "tests/testing/memory_store.h"

namespace dt::sim {

// What workers of a run do: of those that tell the truth nothing may be left out.
enum class Workers { kHonest, kLie };

class Checker {
 public:
  explicit Checker(Workers workers) : workers_(workers) {}

  // The first thing that did not hold; "" while everything does.
  const std::string& violation() const { return violation_; }
  // "" is no complaint.
  void Complain(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  // After every Step, before its commit: 1, 2, 4, 6, 8, 12, 14.
  void AfterStep(const State& state, const Effects& effects, absl::Duration now);
  // The coordinator has begun anew, and measures durations from now.
  void NoteRestart(const State& state) { Complain(schedule_.TakeRestart(state)); }
  // After a commit: 3, 6, 10, 11 on what it added.
  void AfterCommit(const State& state, const std::vector<Effects>& batch, const Storages& storages);
  // As orders leave: 4 for items, and for attempts that they name.
  void CheckOrders(const Worker& worker, const v1::Orders& orders, MemoryStore& store);
  // A person has an answer: 4 for submissions.
  void NoteAcknowledged(ExperimentId experiment, uint32_t trials) {
    acknowledged_[experiment] = trials;
  }
  // Its deletion is durable.
  bool Deleted(ExperimentId experiment) const { return deleted_.contains(experiment); }
  // 2: every acknowledged submission is there, each trial in one state. 5: replay gives the same.
  // `hash`: of the state in memory at the last commit.
  void CheckReplayed(const DurableState& replayed, const std::string& hash);
  // When nothing fails any more and all has ended: 2 and 6 to the end.
  void AtTheEnd(const State& state, const Trainers& trainers);

  uint64_t rows_stored() const { return rows_stored_; }
  // After how many steps the shares of experiments were compared.
  size_t shares_compared() const { return fairness_.compared(); }

 private:
  struct Seen {
    v1::TrialState state = v1::TRIAL_PENDING;
    uint32_t attempts = 0;
  };

  void CheckRecord(const v1::Record& record);
  void CheckLeases(const State& state);
  void CheckBounds(const State& state);
  void CheckSteps(const State& state);  // whatever a worker says
  void CheckRequeues(const Experiment& experiment);
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
  std::set<ExperimentId> paused_;
  std::set<AttemptId> asked_;  // to save and end
  MarksChecker marks_;
  uint64_t rows_stored_ = 0;
};

}  // namespace dt::sim
