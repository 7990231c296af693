// live.h: the state that follows from workers' reports: streams, leases, running attempts, queues
// and timers.
//
// Role:      written by Step, rebuilt by Recover and by reports of workers; never journalled.
// Ownership: a value, part of State; LiveAttempt has a stable address while it lives.
// Tests:     tests/coordinator/core/
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "common/limits.h"
#include "coordinator/core/model/durable.h"
#include "coordinator/core/model/event.h"
#include "coordinator/core/model/line.h"
#include "coordinator/core/model/live_search.h"
#include "coordinator/core/model/patience.h"
#include "coordinator/core/model/placement.h"
#include "dtrain/v1/fleet.pb.h"
#include "dtrain/v1/model.pb.h"

namespace dt {

struct LiveAttempt;

// Two hosts, the smaller name first.
using HostPair = std::pair<std::string, std::string>;

enum class Presence : uint8_t {
  kConnected,  // has a stream
  kSilent,     // has no stream; its lease still runs
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
  absl::Duration last_heard;  // steady time
  // When its stream closed, unless this coordinator closed it, as after a silence.
  absl::Duration closed_at = absl::InfiniteDuration();
  absl::Duration longest_silence;            // between two reports, of late
  std::optional<absl::Duration> round_trip;  // the longest of late; nullopt: not measured
  uint64_t ping = 0;                         // number of the newest question
  bool ping_open = false;                    // it was not answered yet
  absl::Duration pinged_at = -absl::InfiniteDuration();
  absl::Duration lease = limits::kLease;
  absl::Duration lease_timer;  // when the armed timer fires; may be before the lease ends
  absl::Duration forget_timer = absl::InfiniteDuration();
  uint64_t acked = 0;                       // newest item taken from this instance
  LiveAttempt* attempt = nullptr;           // by its orders; may be an ended one that it must leave
  int32_t rank = 0;                         // in `attempt`
  std::vector<AttemptToken> foreign;        // reported, but not in its orders: it must leave them
  std::vector<std::string> unknown_tokens;  // the part of these that the journal does not know
  bool orders_due = false;
  uint64_t doubted = 0;  // number of its reports that could not be true
  // Since when the slot is free for everybody, steady time.
  absl::Duration idle_since = -absl::InfiniteDuration();
};

struct RankState {
  WorkerIndex worker = kNoWorker;         // kNoWorker: the slot is released or lost
  v1::Cause end = v1::CAUSE_UNSPECIFIED;  // set once this rank has ended
  bool prepared = false;
  bool seen = false;  // the worker has reported it
  bool gone = false;  // the worker has left it, or was lost
  std::string data_fingerprint;
  std::string end_message;
  uint64_t evaluated_parts = 0, evaluation_parts = 0;  // 0 of 0: not in an evaluation
  bool pauses = false;        // doing something that may take longer than a step
  bool tells_pauses = false;  // the version of its worker reports pauses
  // Step of the state, or of its part of a replica, that this rank keeps since a collective failed,
  // and the hash of its parameters; 0: not computed.
  std::optional<uint64_t> holds;
  uint64_t holds_hash = 0;
  bool saves = false;   // its trainer was ordered to save that state
  std::string meet_at;  // where the ranks of its replica can meet; "": it does not wait for them
};

// How a rank ended.
struct RankEnd {
  int32_t rank = 0;  // -1: no rank
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  std::string message;
  uint64_t step = 0;
  bool died = false;  // the process ended without a word
};

// The gang is broken, and survivors save the state before the attempt ends.
struct Rescue {
  RankEnd end;           // the end of the attempt
  absl::Duration until;  // bound on all its waits together, steady time
  int32_t saver = -1;    // the first rank of the replica that is saved; -1: not chosen yet
};

// Phases of a live attempt, each with its time limits.
struct Preparing {  // the ranks read data and make the model
  absl::Duration since;
};
struct Connecting {  // all ranks are prepared
  absl::Duration since;
  bool joined = false;  // since then they make the model and read their state
};
struct Training {
  absl::Duration last_progress;
  // As in Signs.
  absl::Duration first_step, longest_step, longest_gap, longest_part, longest_pause, longest_save;
  // Lengths of the newest steps, the newest first. One counts for longest_step once two others
  // have followed it.
  std::array<absl::Duration, 2> newest_steps = {};
  // The longest step as the trainer measured it, but that of the first row; zero: no row came yet.
  absl::Duration longest_row;
  absl::Duration last_step = -absl::InfiniteDuration();  // time of the newest reported step
};
// Returns the longest step but the first, as the trainer measured it; zero: it is not known yet.
// Before the first rows it is what heartbeats show: the longest of those that enough others
// followed, else the longest of the newest. Both may seem longer than they were.
absl::Duration LongestStep(const Training& training);
struct Settling {  // a symptom was reported: its cause may follow until then
  absl::Duration until;
};
struct Cancelling {};  // members are being killed; each leaves or is lost within its lease
struct Leaving {};     // the end is recorded; members leave within their leases
using Phase = std::variant<Preparing, Connecting, Training, Settling, Cancelling, Leaving>;

// A question to the hosts of a gang that makes no progress: do they reach each other?
struct PeerQuestion {
  uint64_t number = 0;  // 0: not asked
  absl::Duration until = absl::InfiniteDuration();
  std::vector<int32_t> open;  // ranks that did not answer yet; the first of each host is asked
  std::set<HostPair> cut;     // of which one does not reach the other
  bool asks_all = false;      // every host is asked, and for every other one
  bool complete = false;      // all of these have answered
};

// Attempt whose members may still hold slots. Only AddLiveAttempt (run/live_attempts.h) makes it.
// It is freed at the end of the Step in which the last member let go.
struct LiveAttempt {
  LiveAttempt(const AttemptId& its_id, const Attempt& recorded, Phase begins)
      : id(its_id),
        token(recorded.token),
        ranks(recorded.members.size()),
        step(recorded.resumed_step),
        phase(begins) {}

  template <typename Which>
  bool Is() const {
    return std::holds_alternative<Which>(phase);
  }
  // Returns whether its end is neither recorded nor certain.
  bool Open() const { return !Is<Cancelling>() && !Is<Leaving>(); }
  // Returns whether its members leave their slots, now or once it has saved.
  bool AboutToLeave() const { return !Open() || saving; }
  // Enters the phase. Aborts if the move is not allowed: that is a bug.
  void Enter(Phase next);
  // Returns when it is checked, steady time; infinite if leases bound it.
  absl::Duration Deadline() const;
  // Notes that a rank makes the program's environment, which bounds its own time: no hang.
  void NoteEnvironment(absl::Duration now);
  // Returns when it is checked for a stall, steady time.
  absl::Duration StallLook() const;

  const AttemptId id;
  const AttemptToken token;
  v1::Spec spec;  // resolved
  std::vector<RankState> ranks;
  std::string store_address;
  bool saving = false;  // a worker shuts down: members save and stop
  std::optional<Rescue> rescue;
  uint32_t holders = 0;  // ranks whose worker still has this attempt
  uint64_t step = 0;     // newest known
  Phase phase;
  absl::Duration started =
      -absl::InfiniteDuration();  // default: before the start of the coordinator
  // Neither preempted nor resized before this time.
  absl::Duration protected_until = -absl::InfiniteDuration();
  absl::Duration may_grow_at = -absl::InfiniteDuration();  // not before, as the size changed lately
  // When it was last checked for a stall, and whether one was notified. Infinite: nobody asked.
  absl::Duration stall_looked = absl::InfiniteDuration();
  bool stall_told = false;
  absl::Duration absent_since =
      absl::InfiniteDuration();  // since when rank 0's worker does not hold it
  bool met = false;              // when it was placed, its hosts were known to reach each other
  bool met_noted = false;        // its steps were noted as a proof of that
  PeerQuestion question;
  absl::Duration timer = absl::InfiniteDuration();  // when the armed timer fires
  std::optional<v1::StepRow> latest;                // newest logged step
  double seconds_per_step = kNotANumber;            // smoothed
  double progress = 0;                              // reported by a program, 0 to 1
  std::string hint;                                 // from reports of rank 0
  absl::Duration training_since;  // since when it trains, as far as the clock tells
  v1::Pace pace;                  // of the rows taken
};

// Returns what the gang has shown of itself. What it does now follows from all ranks.
Signs SignsOf(const LiveAttempt& attempt);

struct LiveExperiment {
  absl::btree_set<uint32_t> active;  // trials that are starting, running or stopping
  uint32_t held = 0;                 // slots of their gangs
  int32_t priority = 0;              // LiveState::running counts it under this
};

// Progress of an experiment's trials; see keep/progress.h.
struct ExperimentProgress {
  struct OfTrial {
    uint64_t done = 0;           // of its target, in parts of kWholeTrial; 0 while it runs
    double value = kNotANumber;  // of the experiment's metric, as far as durable
    bool infeasible = false;     // breaks a constraint, so that it is not ranked
    search::Costs costs;         // if it is a candidate for the Pareto front; otherwise empty
    // Rungs where it counts as the worst, and whether it went on there. A retry takes them back.
    std::vector<std::pair<uint32_t, bool>> worst_at;
    bool operator==(const OfTrial& other) const {
      return done == other.done && worst_at == other.worst_at && infeasible == other.infeasible &&
             costs == other.costs &&
             (value == other.value || (value != value) == (other.value != other.value));
    }
  };
  // Numbers of trials that were entered at a rung, over all brackets.
  struct OfRung {
    uint32_t gone_on = 0;
    uint32_t ended = 0;
    bool operator==(const OfRung&) const = default;
  };
  std::vector<OfTrial> trials;  // by number, from 1, up to the last with an event
  uint64_t done = 0;            // sum over `trials`
  double trained_seconds = 0;   // of trials that finished and reported their time
  uint32_t trained = 0;
  int64_t took_ms = 0;  // sum over finished trials: their last attempts
  uint32_t took = 0;
  absl::btree_set<std::pair<double, uint32_t>> ranked;  // by cost; ties: smaller number first
  absl::btree_set<uint32_t> front;   // trials on the Pareto front, with several objectives
  uint32_t infeasible = 0;           // trials that break a constraint
  std::map<uint32_t, OfRung> rungs;  // decisions by rung, from 1
};

// Newest steps that were taken from an attempt; they never go back. 0: none.
struct ReportedSteps {
  uint64_t row = 0;
  bool first_row = false;  // the row of step 0, which `row` 0 cannot show
  // Since the start of the coordinator; the trial has those from before.
  uint64_t checkpoint = 0;
};

// Slots collected for the first trial in line, which needs more than are free. Others get them only
// on loan.
struct Reservation {
  TrialId holder;  // may be a ticket
  Shape shape;
  std::string host;        // where all slots are; "": anywhere
  std::string storage_id;  // one slot must see it; "": none
  SlotPool slots;          // the collected ones; a busy one is lent
  // After a start workers come back one by one: a fleet that is too small counts only from here.
  absl::Duration patient_until = -absl::InfiniteDuration();
  // A hold (place/elastic.h) keeps slots for the next size of a gang that saves, until this time. A
  // gang that makes room loses its hold only to a larger priority than its own, other than the
  // trial that it makes room for. A gang that grows gives way to all.
  absl::Duration held_until = absl::InfiniteDuration();
  bool grows = false;
  TrialId made_for;

  bool IsHold() const { return held_until < absl::InfiniteDuration(); }
  bool Whole() const { return slots.free() >= static_cast<size_t>(shape.slots); }
};

// Pending trial that is not in its line, and why.
struct ParkedTrial {
  enum class Why : uint8_t { kBackoff, kStorageAbsent, kStorageBusy };
  Why why = Why::kBackoff;
  absl::Duration until;
  std::string storage_id;
};

struct RememberedAck {
  InstanceId instance = 0;
  uint64_t sequence = 0;
  absl::Duration heard;  // steady time; the start, if only the store knows it
};

struct Timer {
  enum class Kind : uint8_t { kLease, kForget, kAttempt, kParked, kAcks, kRest, kLook };
  absl::Duration at;  // steady time
  Kind kind = Kind::kLease;
  WorkerIndex worker = kNoWorker;  // kLease, kForget
  AttemptId attempt;               // kAttempt; for kParked only the trial
  // Written out: absl::Duration has no <=>, and `auto` would silently delete this one.
  std::strong_ordering operator<=>(const Timer&) const = default;
};

// Returns the pools that always exist: one per kind of device.
std::map<Constraint, SlotPool> BasePools();

// How long running gangs are left alone. An operator may set it.
struct GangProtection {
  absl::Duration protect = limits::kProtectFirst;  // doubles after each stop
  absl::Duration grow_after = limits::kGrowAfter;
  absl::Duration resize_every = limits::kResizeEvery;
};

// The newest report of all workers, and the newest one of another host.
struct NewestHeard {
  WorkerIndex worker = kNoWorker;
  absl::Duration at = -absl::InfiniteDuration();
  absl::Duration elsewhere = -absl::InfiniteDuration();
};

struct LiveState {
  GangProtection protection;
  absl::Duration lease_floor;  // no lease ends before this

  std::deque<Worker> workers;  // by WorkerIndex; places are used again
  std::vector<WorkerIndex> unused_workers;
  absl::btree_map<std::string, WorkerIndex> worker_names;
  absl::flat_hash_map<StreamId, WorkerIndex> streams;
  // Acknowledgements of instances that do not hold their worker's name now, by name. Those of one
  // name are in the order in which they were last heard.
  absl::flat_hash_map<std::string, std::vector<RememberedAck>> acks;
  absl::Duration acks_timer = absl::InfiniteDuration();  // when old ones are dropped
  std::vector<WorkerIndex> orders_due;

  // End of the rest of each worker in quarantine, by name. Then the worker gets one trial again.
  absl::btree_map<std::string, absl::Duration> resting;
  // When each was last quarantined, as far back as limits::kQuarantineWindow.
  absl::btree_map<std::string, absl::Duration> quarantined;

  // Pools by constraint; each kind of device always has one.
  std::map<Constraint, SlotPool> pools = BasePools();
  Lines lines;
  std::vector<Reservation> reservations;  // one per kind of device; more only if no slot fits two
  // When lines are tried again though nothing was freed, as a protection ends.
  absl::Duration look_at = absl::InfiniteDuration();
  absl::Duration chose_victims = -absl::InfiniteDuration();
  absl::Duration chose_growers = -absl::InfiniteDuration();
  absl::btree_set<TrialId> elastic;  // with a gang that may grow
  absl::Duration event_at;           // steady time of the current event
  int64_t event_wall_ms = 0;         // its wall time, for times that are shown
  absl::btree_map<TrialId, ParkedTrial> parked;
  absl::btree_map<std::string, absl::btree_set<TrialId>> waiting_for_storage;
  // Trials that waited long enough for the storage of their newest checkpoint: they go on from an
  // older one, or start anew.
  absl::btree_set<TrialId> without_storage;
  bool placement_due = false;

  absl::flat_hash_map<AttemptToken, std::unique_ptr<LiveAttempt>> attempts;
  std::vector<AttemptToken> left;            // the part that nobody holds any more
  std::map<HostPair, absl::Duration> apart;  // since when; see place/apart.h
  absl::btree_set<HostPair> met;             // pairs that stepped together
  NewestHeard newest_heard;
  uint64_t questions = 0;                                     // number of the newest PeerQuestion
  absl::btree_map<ExperimentId, LiveExperiment> experiments;  // with active trials
  absl::btree_map<int32_t, uint32_t> running;                 // number by priority
  std::map<QuotaKey, uint32_t> quota_held;                    // slots per quota
  absl::btree_map<ExperimentId, ExperimentProgress> progress;
  std::map<ExperimentId, SearchIndex> searches;  // of experiments that have a search
  absl::btree_set<Timer> timers;

  // Newest steps reported by the newest attempts.
  absl::flat_hash_map<AttemptToken, ReportedSteps> told;
  uint64_t worker_losses = 0;  // since the start; without ordered stops
  uint64_t dropped_rows = 0;   // dropped from full buffers, as workers count
  uint64_t doubted = 0;        // reports left out since they could not be true

  v1::Notify own_receiver;  // for all experiments; no url: not set
  // Notices since the start; waiting ones are durable.
  uint64_t notices_delivered = 0;
  uint64_t notices_failed = 0;
  uint64_t notices_dropped = 0;  // too many waited
};

// Returns the slots of one kind of device.
inline const SlotPool& PoolOf(const LiveState& live, DeviceKind device) {
  return live.pools.find(AnyOf(device))->second;
}
// Returns whether it is a client that runs a trial itself (run/clients.h).
inline bool IsClient(const Worker& worker) {
  return DeviceKindOf(worker.hello.device()) == DeviceKind::kClient;
}
// Returns nullptr if no worker of this name is known.
const Worker* FindWorker(const LiveState& live, const std::string& name);

// States of workers, as metrics and lists count them.
enum class WorkerState : uint8_t { kIdle, kBusy, kDraining, kDrained, kQuarantined, kLost };
std::string_view Name(WorkerState state);  // "idle"

}  // namespace dt
