// world.h: a coordinator, its workers, their trainers and some users, until everything has ended.
//
// Role: one simulated run: a time of faults, then a time without, in which every trial must end.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/clients.h"
#include "tests/sim/coordinator.h"
#include "tests/sim/fleet.h"
#include "tests/sim/network.h"
#include "tests/sim/options.h"

namespace dt::sim {

struct Outcome {
  std::string violation;  // "" if all went well
  std::string history;    // a hash of all decisions
  absl::Duration simulated;
  size_t finished = 0;
  size_t ended_otherwise = 0;
  size_t returned = 0;  // attempts that gave back borrowed slots
  size_t attempts = 0;
  size_t taken_over = 0;       // how often a member of a population took over
  size_t marked = 0;           // workers that are drained or in quarantine at the end
  size_t shares_compared = 0;  // steps after which experiments had to hold equal numbers of slots
  uint64_t rows = 0;
  std::vector<std::string> decisions;  // of searches (decisions.h)
  uint64_t batches = 0;                // number of batches that the coordinator decided
  Clients::Counts clients;
};

class World {
 public:
  explicit World(const Options& options);
  Outcome Run();

 private:
  // An experiment that a user submits until it is acknowledged.
  struct PlannedSubmit {
    v1::SubmitRequest request;
    ExperimentId experiment = 0;  // 0: no answer yet
  };

  void PlanSubmits();
  void PlanStudies();
  void Plan(v1::ExperimentSpec spec, absl::Duration when);
  void DrawSizes(v1::ExperimentSpec& spec);
  void ShareLayers(v1::Spec& base);
  int Slots() const { return options_.hosts * options_.slots_per_host; }
  void DrawWorkers(v1::Resources& resources);
  v1::ExperimentSpec Searching(v1::ExperimentSpec spec);
  void Submit(size_t planned);
  void TakeSubmitted(size_t planned, const Reply& reply);
  void Meddle();
  void ChangeOne(ExperimentId experiment);
  void OpenGates();
  void MarkOne();
  void SetQuota();
  void Mark(const std::string& worker, bool drain);
  void DeleteWhenEnded(ExperimentId experiment);
  void Every(absl::Duration period, std::function<void()> what);
  void InjectFaults();
  void FailBetweenHosts(double share);
  void Heal();
  bool AllEnded() const;
  void CheckOrphans();
  void CheckCancels();
  void WatchOrphans();

  Options options_;
  Faults faults_;
  Scheduler scheduler_;
  Dice dice_;
  Dice quota_dice_;    // separate dice, so that a run without quotas does not change
  Dice network_dice_;  // likewise
  Network network_;
  Checker checker_;
  Fleet fleet_;
  Trainers trainers_;
  Coordinator coordinator_;
  Clients clients_;
  std::vector<PlannedSubmit> planned_;
  bool healed_ = false;
  // The time at which a token with a process at work was first seen to be over.
  std::map<std::pair<int, std::string>, absl::Duration> orphans_;
  // The time at which a trial that is being cancelled was first seen with a process at work.
  std::map<TrialId, absl::Duration> dying_;
};

}  // namespace dt::sim
