// options.h: the parameters of one simulated run; drawn from its seed, so that runs differ in kind
// and not only in chance.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "tests/sim/scheduler.h"

namespace dt::sim {

// Frequencies of faults. Rates are per simulated second of the complete world, or per occasion.
struct Faults {
  double stream_breaks = 0;        // per second
  double worker_crashes = 0;       // per second
  double trainer_crashes = 0;      // per second
  double coordinator_kills = 0;    // per second
  double kills_at_commit = 0;      // per drained batch
  double clogs = 0;                // per second: a stream stands still for some time
  double duplicates = 0;           // per message
  double old_streams = 0;          // per second: the beginning of a past stream arrives again
  double drains = 0;               // per second: a worker gets SIGTERM
  double bad_starts = 0;           // per trainer start or attempt: it fails, or runs out of memory
  double stuck_in_collective = 0;  // per broken gang: a rank that hangs until it is killed
  double lies = 0;                 // per report: a worker reports steps that never happened
  bool broken_worker = false;      // every trainer of the first worker crashes
  double stalls = 0;               // per second: the coordinator stands still for up to a minute
  double lost_journals = 0;        // per second: another database is served for some time
  double clients = 0;              // per step of a client: it dies, an answer is lost, and others
  double pair_cuts = 0;            // per second: two hosts do not reach each other for some time
  double one_way_cuts = 0;         // per second: a host sends, or receives, nothing for some time
  double suspensions = 0;          // per second: a host stands still for some time
  double slow_commits = 0;         // per second: commits take seconds for some time
  double long_saves = 0;           // per save but the first: it takes up to 50 s
  absl::Duration delay = absl::Milliseconds(5);  // upper bound for a message
};

// A fault planted in the harness, to show that the checker can fail.
enum class Canary {
  kNone,
  kForgottenAck,  // the coordinator takes items again that it has already taken
  kLostRecord,    // a commit drops a record that it reported as durable
  kEarlyReply,    // replies leave before their commit
  kEarlyOrders,   // orders leave before their commit
};

// The moment of a run's one kill: instead of a commit, or after it and before anything was sent.
enum class Boundary { kBeforeCommit, kAfterCommit };

struct Options {
  uint64_t seed = 0;
  uint64_t wall_seed = 0;
  int hosts = 2;
  int slots_per_host = 2;
  bool shared_storage = false;
  int experiments = 2;
  int trials_least = 1;
  int trials_most = 4;
  int retries_least = 0;
  int gang_most = 3;
  absl::Duration safety = absl::Seconds(90);  // faults happen until then; afterwards all must end
                                              // well
  absl::Duration disconnect_grace = absl::Seconds(20);
  Faults faults;
  double searches = 0;  // share of experiments with a sampler, a ladder or stop rules
  int search_trials_most = 12;
  double scheduling = 0;  // share of experiments with a priority, a share or requests about workers
  double quotas = 0.1;    // at each look, with scheduling: an admin sets a quota
  double elastic = 0;     // share of experiments whose gangs shrink and grow
  double layers = 0;      // share of experiments whose gangs share layers in pairs
  int clients = 0;        // number of clients that run trials; 0: nobody submits a study for them
  bool meddle = true;     // users cancel and retry
  bool prompt = false;    // nothing fails: cancels must be carried out within two seconds
  // Messages arrive: of a gang that broke, nobody may work on for longer than this.
  absl::Duration torn_down_within = absl::InfiniteDuration();
  Canary canary = Canary::kNone;
  uint64_t killed_at = 0;  // number of the batch; 0: none
  Boundary boundary = Boundary::kAfterCommit;
};

// Gangs need two hosts, and each host has one slot more than it can give in pairs.
inline void ShareLayers(Options& options) {
  options.hosts = 3;
  options.slots_per_host = 3;
  options.gang_most = 4;
  options.layers = 0.7;
}

// Hosts and the lines between them fail in every way, and gangs span them.
inline void FailBetweenHosts(Options& options) {
  options.hosts = 3;
  options.slots_per_host = 2;
  options.gang_most = 3;
  options.layers = 0;
  options.faults.pair_cuts = 0.05;
  options.faults.one_way_cuts = 0.05;
  options.faults.suspensions = 0.03;
  options.faults.slow_commits = 0.03;
  options.faults.long_saves = 0.1;
}

// Nothing fails but the lines between hosts, and saves take long: steps are even, so the limits for
// gangs that stand still are short.
inline void CutPairs(Options& options) {
  FailBetweenHosts(options);
  options.clients = 0;
  options.faults = Faults{};
  options.faults.pair_cuts = 0.05;
  options.faults.long_saves = 0.3;
}

// Clients run the trials of two studies, beside the workers.
inline void AddClients(Options& options) {
  options.clients = 1 + static_cast<int>(options.seed % 5);
  options.faults.clients = options.seed % 4 == 0 ? 0 : 0.1;
}

inline Options Draw(uint64_t seed) {
  Dice dice(seed ^ 0x9E3779B97F4A7C15ull);
  Options options;
  options.seed = seed;
  options.wall_seed = seed;
  options.hosts = dice.Between(1, 3);
  options.slots_per_host = dice.Between(1, 3);
  options.shared_storage = dice.Chance(0.3);
  options.experiments = dice.Between(1, 3);
  options.trials_most = dice.Between(1, 5);
  options.gang_most = dice.Between(1, 3);
  options.safety = absl::Seconds(dice.Between(30, 100));
  options.disconnect_grace = absl::Seconds(dice.Between(5, 60));
  Faults& faults = options.faults;
  const auto some = [&dice](double rate) { return dice.Chance(0.5) ? 0 : rate; };
  faults.stream_breaks = some(0.3);
  faults.worker_crashes = some(0.05);
  faults.trainer_crashes = some(0.05);
  faults.coordinator_kills = some(0.05);
  faults.kills_at_commit = some(0.002);
  faults.clogs = some(0.1);
  faults.duplicates = some(0.1);
  faults.old_streams = some(0.1);
  faults.drains = some(0.01);
  faults.bad_starts = some(0.03);
  faults.stuck_in_collective = some(0.1);
  faults.delay = absl::Milliseconds(dice.Chance(0.5) ? 5 : dice.Between(5, 1500));
  faults.lost_journals = some(0.02);
  faults.lies = some(0.02);
  options.searches = dice.Chance(0.5) ? 0 : 0.7;
  options.scheduling = dice.Chance(0.4) ? 0 : 0.7;
  options.elastic = dice.Chance(0.6) ? 0 : 0.6;
  if (seed % 5 == 3) ShareLayers(options);
  return options;
}

// Several experiments each want one slot more until their last trial has started, and the fleet
// loses no slot: their shares can be compared.
inline void Crowd(Options& options) {
  options.faults = Faults{};
  options.hosts = 2;
  options.slots_per_host = 2;
  options.experiments = 3;
  options.trials_least = 15;
  options.trials_most = 25;
  options.safety = absl::Seconds(20);  // all are submitted in the first half of this time
  options.gang_most = 1;
  options.searches = 0.6;
  options.search_trials_most = 25;
  options.scheduling = 0;
  options.elastic = 0;
}

// A single search on one slot, so that results come in one order, whatever the coordinator missed.
inline void Alone(Options& options) {
  options.faults = Faults{};
  options.hosts = 1;
  options.slots_per_host = 1;
  options.experiments = 1;
  options.gang_most = 1;
  options.searches = 1;
  options.search_trials_most = 14;
  options.scheduling = 0;
  options.elastic = 0;
  options.meddle = false;
  options.disconnect_grace = absl::Seconds(60);
  options.safety = absl::Seconds(10);
}

// Lets gangs lose ranks, hang and be saved by those that are left, while reports are late.
inline void BreakGangs(Options& options) {
  options.faults = Faults{};
  options.faults.trainer_crashes = 0.3;
  options.faults.worker_crashes = 0.02;
  options.faults.stuck_in_collective = 0.5;
  options.faults.clogs = 0.4;
  options.experiments = 4;
  options.meddle = false;
  options.searches = 0;
  options.clients = 0;
  options.scheduling = 0;
  options.quotas = 0;
  options.elastic = 0;
  options.layers = 0;
  options.hosts = 3;
  options.slots_per_host = 2;
  options.gang_most = 4;
  options.retries_least = 3;
  options.safety = absl::Seconds(200);
}

// Lets pairs of ranks hold a replica together, and mostly live long enough to save it.
inline void ShareReplicas(Options& options) {
  options.layers = 1;
  options.faults.stuck_in_collective = 0.1;
}

}  // namespace dt::sim
