// live.h: what the coordinator knows from workers' reports: streams, leases, attempts under way,
// queues and timers.
//
// Role:      written by Step, rebuilt by Recover and by what workers report; never journalled.
// Ownership: a value, part of State; LiveAttempt has a stable address while it lives.
// Tests:     tests/coordinator/core/
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
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
#include "coordinator/core/model/placement.h"
#include "dtrain/v1/fleet.pb.h"
#include "dtrain/v1/model.pb.h"

namespace dt {

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
  uint64_t doubted = 0;  // what it told that could not be true
  // Since when its slot is free to all, steady time.
  absl::Duration idle_since = -absl::InfiniteDuration();
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
  bool pauses = false;                                 // does what may take longer than a step
  bool tells_pauses = false;                           // its worker is of a version that says so
};

// What a live attempt is in the middle of, with what bounds it.
struct Preparing {  // its ranks read data and make the model
  absl::Duration since;
};
struct Connecting {  // all ranks are prepared
  absl::Duration since;
};
struct Training {
  absl::Duration last_progress;
  absl::Duration longest_step;
  absl::Duration longest_gap;  // between two signs of progress; zero: there was none yet
  absl::Duration last_step = -absl::InfiniteDuration();  // when a later step was told
};
struct Settling {  // a symptom was told: its cause may follow until then
  absl::Duration until;
};
struct Cancelling {};  // members are to be killed; each leaves or is lost within its lease
struct Leaving {};     // its end is recorded: members are to leave, likewise
using Phase = std::variant<Preparing, Connecting, Training, Settling, Cancelling, Leaving>;

// An attempt whose members may still hold slots. Made by AddLiveAttempt (attempts.h) alone; freed
// at the end of the Step in which the last of them let go.
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
  // Its end is neither recorded nor certain.
  bool Open() const { return !Is<Cancelling>() && !Is<Leaving>(); }
  // Its slots are being left, or are once it has saved.
  bool AboutToLeave() const { return !Open() || saving; }
  // A move that is not one of a live attempt's is a bug: aborts.
  void Enter(Phase next);
  // When it is looked at, steady time; infinite where leases bound it.
  absl::Duration Deadline() const;
  // When it is looked at for a stall, steady time.
  absl::Duration StallLook() const;

  const AttemptId id;
  const AttemptToken token;
  v1::Spec spec;  // resolved
  std::vector<RankState> ranks;
  std::string store_address;
  bool saving = false;   // a member's worker shuts down: members are to save and stop
  uint32_t holders = 0;  // ranks whose worker still has it as its attempt
  uint64_t step = 0;     // newest known
  Phase phase;
  absl::Duration started = -absl::InfiniteDuration();  // before the last start of the coordinator
  // Neither preempted nor resized before.
  absl::Duration protected_until = -absl::InfiniteDuration();
  absl::Duration may_grow_at = -absl::InfiniteDuration();  // its trial has changed its size lately
  // When it was last looked at for a stall, and whether one was told. Nobody asked: infinite.
  absl::Duration stall_looked = absl::InfiniteDuration();
  bool stall_told = false;
  absl::Duration absent_since = absl::InfiniteDuration();  // rank 0's worker does not hold it
  absl::Duration timer = absl::InfiniteDuration();         // when the armed timer fires
  std::optional<v1::StepRow> latest;                       // newest logged step
  double seconds_per_step = kNotANumber;                   // smoothed, for display
  double progress = 0;                                     // that a program told, 0 to 1
  std::string hint;                                        // of its reports, as rank 0 tells it
  absl::Duration training_since;  // of Training; before the last start as far as the clock tells
  v1::Pace pace;                  // of the rows taken
};

// How long after its last sign of progress a gang that trains is hung: by its own steps, unless a
// rank is in an evaluation or says that it does something longer than a step.
absl::Duration HangAfter(const LiveAttempt& attempt, const Training& training);

struct LiveExperiment {
  absl::btree_set<uint32_t> active;  // trials that are starting, running or stopping
  uint32_t held = 0;                 // slots of their gangs
  int32_t priority = 0;              // under which LiveState::running counts it
};

// What an experiment's trials have come to; see standings.h.
struct Standing {
  struct OfTrial {
    uint64_t done = 0;           // of its target, in parts of kWholeTrial; 0 while it is under way
    double value = kNotANumber;  // of the experiment's metric, as far as it is durable
    uint32_t failed_at = 0;      // the rung that it failed on its way to; 0: none
    bool operator==(const OfTrial& other) const {
      return done == other.done && failed_at == other.failed_at &&
             (value == other.value || (value != value) == (other.value != other.value));
    }
  };
  // How many trials were entered at a rung, in all brackets.
  struct OfRung {
    uint32_t gone_on = 0;
    uint32_t ended = 0;
    bool operator==(const OfRung&) const = default;
  };
  std::vector<OfTrial> trials;  // by number, from 1, as far as anything has happened to them
  uint64_t done = 0;            // sum over `trials`
  double trained_seconds = 0;   // of those that finished and told how long they trained
  uint32_t trained = 0;
  int64_t took_ms = 0;  // from start to end of the last attempts of those that finished
  uint32_t took = 0;
  absl::btree_set<std::pair<double, uint32_t>> ranked;  // by cost; ties go to the smaller number
  std::map<uint32_t, OfRung> rungs;                     // what they decided, from 1
};

// The newest steps that were taken of an attempt: neither goes back. 0: none.
struct ToldSteps {
  uint64_t row = 0;
  bool first_row = false;  // that of step 0, which 0 in `row` does not tell
  // Since the start; of those before it the trial has the ones that are there.
  uint64_t checkpoint = 0;
};

// Slots that are collected for the first in line, which needs more than are free: nobody else gets
// them but on loan.
struct Reservation {
  TrialId holder;  // may be a ticket
  Shape shape;
  std::string host;        // where they all are; "": anywhere
  std::string storage_id;  // that one of them must see; "": none
  SlotPool slots;          // those collected; busy: lent
  // After a start the fleet comes back one by one: that it is too small counts only from then on.
  absl::Duration patient_until = -absl::InfiniteDuration();
  // A hold (elastic.h) keeps slots for the next size of a gang that saves, for so long. Who makes
  // room keeps its hold against everyone but a larger priority than its own, that of whom it is for
  // left out; who grows gives way to all.
  absl::Duration held_until = absl::InfiniteDuration();
  bool grows = false;
  TrialId made_for;

  bool IsHold() const { return held_until < absl::InfiniteDuration(); }
  bool Whole() const { return slots.free() >= static_cast<size_t>(shape.slots); }
};

// Two hosts, the smaller name first.
using HostPair = std::pair<std::string, std::string>;

// Why a pending trial is not in its line.
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
  enum class Kind : uint8_t { kLease, kForget, kAttempt, kParked, kAcks, kRest, kLook };
  absl::Duration at;  // steady time
  Kind kind = Kind::kLease;
  WorkerIndex worker = kNoWorker;  // kLease, kForget
  AttemptId attempt;               // kAttempt; of kParked only the trial
  // Spelt out: absl::Duration has no <=> of its own, and `auto` would silently delete this one.
  std::strong_ordering operator<=>(const Timer&) const = default;
};

// The pools that are always there: one a kind of device.
std::map<Constraint, SlotPool> BasePools();

// How long those who train are left in peace. An operator may say it.
struct Patience {
  absl::Duration protect = limits::kProtectFirst;  // and twice as long after each stop
  absl::Duration grow_after = limits::kGrowAfter;
  absl::Duration resize_every = limits::kResizeEvery;
};

struct LiveState {
  Patience patience;
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

  // Workers in quarantine, until when they rest, by name; after that they take one trial again.
  absl::btree_map<std::string, absl::Duration> resting;
  // When each was put there last, as far back as limits::kQuarantineWindow.
  absl::btree_map<std::string, absl::Duration> quarantined;

  // By what workers must be; there is always one for each kind of device.
  std::map<Constraint, SlotPool> pools = BasePools();
  Lines lines;
  std::vector<Reservation>
      reservations;  // one a kind of device, but where no slot would do for two
  // When lines are tried again though nothing was freed: what was protected is not any more.
  absl::Duration look_at = absl::InfiniteDuration();
  absl::Duration chose_victims = -absl::InfiniteDuration();
  absl::Duration chose_growers = -absl::InfiniteDuration();
  absl::btree_set<TrialId> elastic;  // that have a gang smaller than the most they may have
  absl::Duration event_at;           // steady time of the event that is being taken
  int64_t event_wall_ms = 0;         // wall time of that event, to show times by
  absl::btree_map<TrialId, ParkedTrial> parked;
  absl::btree_map<std::string, absl::btree_set<TrialId>> waiting_for_storage;
  // Waited long enough for their newest checkpoint's storage: an older one, or none, will do.
  absl::btree_set<TrialId> without_storage;
  bool placement_due = false;

  absl::flat_hash_map<AttemptToken, std::unique_ptr<LiveAttempt>> attempts;
  std::vector<AttemptToken> left;            // of those, the ones that nobody holds any more
  std::map<HostPair, absl::Duration> apart;  // since when they do not reach each other (apart.h)
  absl::btree_map<ExperimentId, LiveExperiment> experiments;  // that have active trials
  absl::btree_map<int32_t, uint32_t> running;                 // of those, by priority
  std::map<QuotaKey, uint32_t> quota_held;                    // slots, of those that have a quota
  absl::btree_map<ExperimentId, Standing> standings;
  std::map<ExperimentId, SearchIndex> searches;  // of those that have one
  absl::btree_set<Timer> timers;

  // What the newest attempts of their trials have told.
  absl::flat_hash_map<AttemptToken, ToldSteps> told;
  uint64_t worker_losses = 0;  // since the start; those that left as they were told to aside
  uint64_t dropped_rows = 0;   // that workers counted as dropped from full buffers
  uint64_t doubted = 0;        // items and statuses that could not be true, and were left out

  v1::Notify own_receiver;  // of the coordinator, for all experiments; no url: none
  // Notices since the start; those that wait are durable.
  uint64_t notices_delivered = 0;
  uint64_t notices_failed = 0;
  uint64_t notices_dropped = 0;  // not raised, since too many waited
};

// The slots of one kind of device.
inline const SlotPool& PoolOf(const LiveState& live, DeviceKind device) {
  return live.pools.find(AnyOf(device))->second;
}
// nullptr: no worker of this name is known.
const Worker* FindWorker(const LiveState& live, const std::string& name);

// Workers as metrics and lists count them.
enum class WorkerState : uint8_t { kIdle, kBusy, kDraining, kDrained, kQuarantined, kLost };
std::string_view Name(WorkerState state);  // "idle"

}  // namespace dt
