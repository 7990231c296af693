// state.h: everything the coordinator knows.
//
// Role:      DurableState is written by Apply alone and rebuilt from the journal; LiveState is
//            rebuilt from what workers report. Step reads both and writes the live one.
// Ownership: a value owned by the core thread; LiveAttempt has a stable address while it lives.
// Bounds:    10,000 trials and 1,000 workers stay far below 128 MiB: assignments and rarely read
//            messages are kept serialized.
// Tests:     tests/coordinator/
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/effects.h"
#include "coordinator/core/lifecycle.h"
#include "coordinator/core/placement.h"
#include "coordinator/core/queue.h"
#include "dtrain/v1/fleet.pb.h"
#include "dtrain/v1/model.pb.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

inline constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// ---- durable ----

struct GangMember {  // its rank is its place in the gang
  std::string worker;
  InstanceId instance = 0;
  std::string host;
  std::string device_name;
  int32_t local_rank = 0;
};

struct Attempt {
  AttemptToken token;
  AttemptState state = AttemptState::kAssigned;
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  int32_t deciding_rank = -1;
  std::vector<GangMember> members;
  std::optional<v1::CheckpointRef> resume;  // what the gang was told to resume from
  uint64_t resumed_step = 0;                // what it did resume from, once running
  uint64_t last_step = 0;                   // once ended
  std::string reason;                       // of the placement
  std::string message;                      // of the end
  int64_t started_wall_ms = 0;
  int64_t running_wall_ms = 0;
  int64_t ended_wall_ms = 0;
  bool ran = false;         // was running once: resumed_step counts
  bool progressed = false;  // registered a checkpoint beyond where it resumed
};

struct KnownCheckpoint {
  uint32_t attempt = 0;
  v1::CheckpointRef ref;
};

struct KnownEvaluation {
  uint32_t attempt = 0;
  uint64_t step = 0;
  double loss = kNotANumber;
};

// Ends of attempts that were followed by another, since the last progress; each is held against
// retries.max on its own, so that lost machines do not use up the budget of a crashing program.
struct Tries {
  uint32_t crashes = 0;
  uint32_t losses = 0;
};

// What training took, summed over rows; see v1::Pace.
struct Pace {
  double tokens = 0;
  double seconds = 0;
  double step_seconds = 0;
  double allreduce_seconds = 0;
  double comm_exposed_seconds = 0;
};

struct Trial {
  v1::TrialState state = v1::TRIAL_PENDING;
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  Tries tries;
  uint64_t target_steps = 0;       // 0: not known yet
  int64_t retry_after_ms = 0;      // backoff before the next attempt, from the last end
  int64_t ended_wall_ms = 0;       // 0: not ended
  std::string expanded;            // serialized v1::ExpandedTrial
  std::string prepared;            // serialized v1::Prepared of the newest attempt that had one
  double last_loss = kNotANumber;  // of last_row
  std::string last_row;            // serialized v1::StepRow, newest of the last ended attempt
  Pace pace;                       // of the ended attempts
  std::string message;             // of the end, or of the cancel
  std::vector<Attempt> attempts;   // by number, from 1
  std::vector<KnownCheckpoint> checkpoints;  // in order of registration
  std::vector<KnownEvaluation> evaluations;  // in order of arrival, thinned beyond a bound
};

struct Experiment {
  ExperimentId id = 0;
  std::string request_id;
  std::string request_digest;
  v1::ExperimentSpec spec;  // device frozen, seed chosen
  std::string file_name;
  std::string file_text;
  int64_t submitted_wall_ms = 0;
  int64_t ended_wall_ms = 0;  // of the trial that ended last; 0 while one has not ended
  bool cancel_requested = false;
  std::vector<Trial> trials;  // by number, from 1

  // Sums over `trials`, kept by Apply.
  uint32_t pending = 0;
  uint32_t active = 0;  // starting, running, stopping
  uint32_t finished = 0;
  uint32_t failed = 0;
  uint32_t cancelled = 0;
  uint32_t oom = 0;       // of failed
  uint32_t attempts = 0;  // ever started

  uint32_t Ended() const { return finished + failed + cancelled; }
  bool AllEnded() const { return pending + active == 0; }
};

struct DurableState {
  JournalId journal_id = 0;
  ExperimentId next_experiment = 1;
  std::map<ExperimentId, Experiment> experiments;

  // Indices over `experiments`, kept by Apply.
  absl::flat_hash_map<std::string, ExperimentId> request_ids;
  absl::flat_hash_map<AttemptToken, AttemptId> tokens;
};

// Find may miss: nullptr.
const Experiment* FindExperiment(const DurableState& state, ExperimentId id);
const Trial* FindTrial(const DurableState& state, TrialId id);
const Attempt* FindAttempt(const DurableState& state, const AttemptId& id);
// REQUIRES: it exists.
const Experiment& GetExperiment(const DurableState& state, ExperimentId id);
const Trial& GetTrial(const DurableState& state, TrialId id);
// 0: none.
ExperimentId NewestExperiment(const DurableState& state);
v1::ExperimentState StateOf(const Experiment& experiment);

v1::ExpandedTrial ExpandedOf(const Trial& trial);
// What a trial needs, read from the specification without resolving all of it.
DemandClass DemandOf(const Experiment& experiment, const Trial& trial);
int64_t SeedOf(const Experiment& experiment, const Trial& trial);
// Whether the highest value of the experiment's metric is its best.
bool Maximizes(const Experiment& experiment);
// A row, evaluation or checkpoint of (attempt, step) counts unless a later attempt resumed before
// that step.
bool IsValid(const Trial& trial, uint32_t attempt, uint64_t step);
// The step the trial would go on from: of its newest valid checkpoint.
const KnownCheckpoint* NewestCheckpoint(const Trial& trial);
// The counters once `attempt` has ended so; progress empties them first.
Tries CountEnd(Tries tries, const Attempt& attempt, v1::Cause cause);
// Sums of `rows`, a row or a sum of rows.
Pace PaceOf(const v1::StepRow& rows);
Pace operator+(const Pace& a, const Pace& b);
struct LossSummary {
  double newest = kNotANumber;
  double lowest = kNotANumber;
  double highest = kNotANumber;
};
LossSummary ValidationLosses(const Trial& trial);

// ---- live ----

struct LiveAttempt;

enum class Presence : uint8_t {
  kConnected,  // has a stream
  kSilent,     // has none; its lease still runs
  kLost,       // its lease ran out
};

struct Worker {
  WorkerIndex index = kNoWorker;
  std::string name;
  InstanceId instance = 0;
  uint64_t session = 0;
  StreamId stream = 0;  // 0: none
  Presence presence = Presence::kLost;
  bool draining = false;
  v1::WorkerReport::TrainerState trainer = v1::WorkerReport::TRAINER_STATE_UNSPECIFIED;
  v1::Hello hello;  // of the newest stream; after a restart, only what the journal knows
  std::string peer;
  absl::Duration last_heard;   // steady time
  absl::Duration lease_timer;  // when the armed timer fires; may be before the lease ends
  absl::Duration forget_timer = absl::InfiniteDuration();
  uint64_t acked = 0;              // newest item of this instance that was taken
  LiveAttempt* attempt = nullptr;  // what its orders say; may be an ended attempt it has to leave
  int32_t rank = 0;                // in `attempt`
  std::vector<AttemptToken> foreign;        // reported, but not what its orders say: to be left
  std::vector<std::string> unknown_tokens;  // of those, the ones the journal does not know
  bool orders_due = false;
};

struct RankState {
  WorkerIndex worker = kNoWorker;         // kNoWorker: released its slot, or was lost
  v1::Cause end = v1::CAUSE_UNSPECIFIED;  // set once this rank has ended
  bool prepared = false;
  bool seen = false;  // its worker has reported it
  bool gone = false;  // its worker has left it, or was lost
  std::string data_fingerprint;
  std::string end_message;
  uint64_t evaluated_parts = 0, evaluation_parts = 0;  // 0 of 0: not within an evaluation
};

// An attempt whose members may still hold slots.
struct LiveAttempt {
  AttemptId id;
  AttemptToken token;
  v1::Spec spec;  // resolved
  std::vector<RankState> ranks;
  std::string store_address;
  bool ended = false;       // its end is recorded: members are to leave
  bool cancelling = false;  // members are to be killed
  bool saving = false;      // a member's worker shuts down: members are to save and stop
  uint32_t holders = 0;     // ranks whose worker still has it as its attempt
  uint64_t step = 0;        // newest known
  absl::Duration started;
  absl::Duration prepared_at = absl::InfiniteDuration();  // all ranks
  absl::Duration running_at = absl::InfiniteDuration();
  absl::Duration last_progress;
  absl::Duration longest_step;
  absl::Duration settle_at = absl::InfiniteDuration();  // a symptom waits for its cause until then
  absl::Duration absent_since = absl::InfiniteDuration();  // rank 0's worker does not hold it
  absl::Duration timer = absl::InfiniteDuration();         // when the armed timer fires
  std::optional<v1::StepRow> latest;                       // newest logged step
  double seconds_per_step = kNotANumber;                   // smoothed, for display
  Pace pace;                                               // of the rows taken
};

struct LiveExperiment {
  absl::btree_set<uint32_t> active;  // trials that are starting, running or stopping
};

// Why a pending trial is not in its queue.
struct ParkedTrial {
  enum class Why : uint8_t { kBackoff, kStorageAbsent, kStorageBusy };
  Why why = Why::kBackoff;
  absl::Duration until;
  std::string storage_id;
};

struct RememberedAck {
  InstanceId instance = 0;
  uint64_t sequence = 0;
  absl::Duration heard;  // steady time; of one that the store knows, of the start
};

struct Timer {
  enum class Kind : uint8_t { kLease, kForget, kAttempt, kParked, kAcks };
  absl::Duration at;  // steady time
  Kind kind = Kind::kLease;
  WorkerIndex worker = kNoWorker;  // kLease, kForget
  AttemptId attempt;               // kAttempt; of kParked only the trial
  // Spelt out: absl::Duration has no <=> of its own, and `auto` would silently delete this one.
  std::strong_ordering operator<=>(const Timer&) const = default;
};

struct LiveState {
  int64_t started_wall_ms = 0;
  absl::Duration lease_floor;  // no lease runs out before this

  std::deque<Worker> workers;  // by WorkerIndex; places of forgotten ones are used again
  std::vector<WorkerIndex> unused_workers;
  absl::btree_map<std::string, WorkerIndex> worker_names;
  absl::flat_hash_map<StreamId, WorkerIndex> streams;
  // Acknowledgements of instances that do not hold their worker's name now, by name; of one name in
  // the order in which they were last heard of.
  absl::flat_hash_map<std::string, std::vector<RememberedAck>> acks;
  absl::Duration acks_timer = absl::InfiniteDuration();  // when old ones are looked for
  std::vector<WorkerIndex> orders_due;

  SlotPool pools[kDeviceKinds];
  absl::btree_map<DemandClass, WaitingTrials> queues;
  absl::btree_map<TrialId, ParkedTrial> parked;
  absl::btree_map<std::string, absl::btree_set<TrialId>> waiting_for_storage;
  // Waited long enough for their newest checkpoint's storage: an older one, or none, will do.
  absl::btree_set<TrialId> without_storage;
  bool placement_due = false;

  absl::flat_hash_map<AttemptToken, std::unique_ptr<LiveAttempt>> attempts;
  absl::btree_map<ExperimentId, LiveExperiment> experiments;
  absl::btree_set<Timer> timers;

  uint64_t dropped_rows = 0;  // that workers counted as dropped from full buffers
};

struct State {
  DurableState durable;
  LiveState live;
};

// What the store knows of acknowledgements, of one worker in the order in which they came; call
// before Recover.
void LoadAcks(State& state, const std::vector<AckToStore>& acks);

// The attempt that holds or is leaving slots, or nullptr.
const LiveAttempt* FindLiveAttempt(const State& state, TrialId id);
const Worker* FindWorker(const LiveState& live, const std::string& name);

// Workers as metrics and lists count them.
enum class WorkerState : uint8_t { kIdle, kBusy, kDraining, kLost };
WorkerState StateOf(const Worker& worker);
std::string_view Name(WorkerState state);  // "idle"

}  // namespace dt
