// durable.h: the state that follows from the journal alone: experiments, trials, attempts, workers.
//
// Role:      only Apply writes it; a start rebuilds it from the journal. Rows: facts/fields.h.
// Ownership: a value, part of State; pointers into it hold until the next Apply.
// Bounds:    10,000 trials stay far below 128 MiB: assignments and rarely read messages are kept
//            in serialized form.
// Tests:     tests/coordinator/core/apply_test.cc
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/ids.h"
#include "coordinator/core/model/lifecycle.h"
#include "coordinator/core/model/placement.h"
#include "coordinator/search/stopping.h"
#include "dtrain/v1/model.pb.h"
#include "dtrain/v1/record.pb.h"
#include "spec/objectives.h"

namespace dt {

inline constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

struct GangMember {  // the rank is the place in the gang
  std::string worker;
  InstanceId instance = 0;
  std::string host;
  std::string device_name;
  int32_t local_rank = 0;
  int64_t lease_ms = 0;  // the lease that a client asked for; 0: of a worker, or the usual one
};

struct Attempt {
  AttemptToken token;
  AttemptState state = AttemptState::kAssigned;
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  int32_t deciding_rank = -1;
  std::vector<GangMember> members;
  std::optional<v1::CheckpointRef> resume;  // where the gang was ordered to resume
  uint64_t resumed_step = 0;                // where it did resume, once it is running
  uint64_t last_step = 0;                   // set once it has ended
  std::string reason;                       // of the placement
  std::string message;                      // of the end
  std::string hint;                         // from a program's reports
  int64_t started_wall_ms = 0;
  int64_t running_wall_ms = 0;
  int64_t ended_wall_ms = 0;
  int64_t trained_ms = 0;   // from running to the end; set once it has ended
  bool ran = false;         // was running at some time: resumed_step counts
  bool progressed = false;  // registered a checkpoint beyond its first step
  bool uncharged = false;   // the end counts against no budget of retries
  bool early = false;       // a program that ended at once, before any report
  uint32_t ordinal = 0;     // among the experiment's attempts, in order of start, from 1
  v1::StopRequested::Why stop_why = v1::StopRequested::WHY_UNSPECIFIED;
  std::string stop_reason;  // why it was asked to save and to end
  TrialId stop_for;         // the trial it makes room for; none: no trial
  uint32_t stop_slots = 0;  // the trial goes on with so many; 0: as before

  bool AskedToStop() const { return stop_why != v1::StopRequested::WHY_UNSPECIFIED; }
};

// Returns whether the attempt finished: rank 0 reported its rows before, and none can follow.
inline bool HasToldItsRows(const Attempt& attempt) {
  return attempt.state == AttemptState::kEnded && attempt.cause == v1::CAUSE_FINISHED;
}

// Returns how long an ended attempt had trained. `said` is the value in its record. Versions up to
// 0.2.0 did not record it; then the wall clock counts, which may have been set meanwhile.
inline int64_t TrainedMs(const Attempt& attempt, int64_t said) {
  if (!attempt.ran || said > 0) return attempt.ran ? said : 0;
  return std::max<int64_t>(0, attempt.ended_wall_ms - attempt.running_wall_ms);
}

// Returns how long the ended attempts had trained.
int64_t TrainedMsOf(const std::vector<Attempt>& attempts);

struct KnownCheckpoint {
  uint32_t attempt = 0;
  v1::CheckpointRef ref;
};

struct KnownEvaluation {
  uint32_t attempt = 0;
  uint64_t step = 0;
  double loss = kNotANumber;
  double metric = kNotANumber;  // the value of search.metric then
};

// Entry of a trial at a rung of its search's ladder: it decided whether the trial went on.
struct KnownRung {
  uint32_t rung = 0;  // from 1
  uint64_t step = 0;
  double cost = kNotANumber;  // +inf: it counts as the worst: it failed on its way there, has no
                              // number or breaks a constraint
  bool goes_on = false;
};

// Takeover by a member of a population: it goes on with another trial's weights and with other
// values.
struct KnownMutation {
  uint32_t attempt = 0;  // the newest at the decision; later attempts have the weights
  uint32_t from_trial = 0;
  uint64_t step = 0;            // of the decision
  KnownCheckpoint taken;        // of an attempt of the other trial
  std::string expanded_before;  // the values before, as `expanded`
  std::string reason;
};

// Mean cost of a trial's validations up to one step.
struct MeanAt {
  uint64_t step = 0;
  double mean = 0;
};

// Counts of ended attempts that another one followed, since the last progress. Each count is
// compared with retries.max separately, so that lost machines do not use up the budget of a
// crashing program.
struct Tries {
  uint32_t crashes = 0;
  uint32_t losses = 0;
};

struct Trial {
  v1::TrialState state = v1::TRIAL_PENDING;
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  Tries tries;
  uint64_t target_steps = 0;       // 0: not known yet
  int64_t retry_after_ms = 0;      // backoff before the next attempt
  int64_t ended_wall_ms = 0;       // 0: not ended
  std::string expanded;            // serialized v1::ExpandedTrial; see ExpandedOf
  std::string chosen;              // why a search proposed it; "": there from the start
  std::string prepared;            // serialized v1::Prepared, the newest
  double last_loss = kNotANumber;  // of last_row
  std::string last_row;            // serialized v1::StepRow, newest of the last ended attempt
  v1::Pace pace;                   // sum over the ended attempts
  std::string message;             // of the end, or of the cancel
  std::vector<Attempt> attempts;   // by number, from 1
  std::vector<KnownCheckpoint> checkpoints;  // in order of registration
  std::vector<KnownEvaluation> evaluations;  // in order of arrival, thinned beyond a bound
  std::vector<KnownRung> rungs;              // in order of decision
  std::vector<KnownMutation> mutations;      // in order of decision
  // Newest value of each of Experiment::watches.metrics; NaN: not reported. Empty before the first.
  std::vector<double> watched;
  search::TrialProgress validated;  // the rules of `stop` read it
  std::vector<MeanAt> means;        // of the first kEvaluationsPerTrial, for stop.median
};

// Change that a user made to a submitted experiment.
struct Edit {
  int64_t wall_ms = 0;
  std::string who;
  std::string what;  // "max_concurrent 2, now 8"
};

struct Experiment {
  ExperimentId id = 0;
  std::string request_id;
  std::string request_digest;
  v1::ExperimentSpec spec;  // device frozen, seed chosen
  spec::Watches watches;    // follows from `spec`
  std::string file_name;
  std::string file_text;
  int64_t submitted_wall_ms = 0;
  int64_t ended_wall_ms = 0;  // of the last trial to end; 0 while one has not ended
  bool cancel_requested = false;
  std::vector<Trial> trials;  // by number, from 1; may grow up to `planned`
  uint32_t planned = 0;       // at least trials.size()
  bool search_ended = false;  // no more trials come
  std::string search_end;     // why
  bool paused = false;        // starts nothing
  std::string paused_by;
  std::string paused_why;  // set where the coordinator paused it; "": a user did
  // The exact packages of its environment, as first resolved (EnvironmentResolved); "": not yet.
  std::string environment_lock;
  std::vector<Edit> edits;   // the newest, in order
  std::string submitted_by;  // "": not known
  uint32_t level = 0;        // its workers need it (common/worker_level.h)
  std::string note;          // written by users
  bool archived = false;     // hidden in lists
  // Resolved specification of the trials, from the record.
  v1::Spec resolved;
  std::vector<std::string> resolved_paths;

  // Sums over `trials`, kept by Apply.
  uint32_t pending = 0;
  uint32_t active = 0;  // starting, running, stopping
  uint32_t finished = 0;
  uint32_t failed = 0;
  uint32_t cancelled = 0;
  uint32_t oom = 0;            // of failed
  uint32_t stopped_early = 0;  // of finished and cancelled
  uint32_t attempts = 0;       // ever started
  // Ordinal of the newest attempt that made progress: it saved beyond its first step, or finished.
  // 0: no attempt did, or an older version wrote the state.
  uint32_t newest_progress = 0;

  uint32_t Ended() const { return finished + failed + cancelled; }
  bool MoreMayCome() const { return !search_ended && trials.size() < planned; }
  bool AllEnded() const { return pending + active == 0 && !MoreMayCome(); }
};

// Mark on a worker name: drain or quarantine. The worker need not be connected.
struct WorkerMark {
  bool drained = false;  // a user wants it free of work
  std::string reason;    // of the drain, as the user wrote it
  std::string who;
  int64_t since_wall_ms = 0;
  bool quarantined = false;  // trials failed there only; no progress since
  std::string quarantine_reason;
  uint32_t quarantines = 0;  // in a row
  int64_t quarantined_wall_ms = 0;
  std::vector<AttemptId> returned;  // the ends behind the newest quarantine
};

// Crash of a worker's trainer, without progress.
struct CountedEnd {
  AttemptId id;
  // Number of attempts of the experiment that had started: an attempt that makes progress proves
  // something only if it started later.
  uint32_t begun = 0;
};
// Value of `begun` for an end that a user set aside by releasing the worker: it proves nothing. It
// is forgotten once the worker makes progress.
inline constexpr uint32_t kForgiven = std::numeric_limits<uint32_t>::max();

// Ends in a row that may speak against a worker (blame.h).
struct CrashStreak {
  std::vector<CountedEnd> ends;
};

// Key of a measurement: how long some ranks took for an operation on so many bytes.
struct NetworkKey {
  std::string device_name;
  bool several_hosts = false;
  uint32_t ranks = 0;
  std::string op;    // words of common/collectives.h
  std::string over;  // gloo | nccl | shared_memory
  uint64_t bytes = 0;

  auto operator<=>(const NetworkKey&) const = default;
};
NetworkKey KeyOf(const std::string& device_name, const v1::NetworkFigure& figure);
struct KnownFigure {
  v1::NetworkFigure figure;
  TrialId by;
  int64_t wall_ms = 0;
};

// A quota covers the experiments of one user or with one label; the other field is empty.
struct QuotaKey {
  std::string user;   // the submitter
  std::string label;  // "team=vision"

  auto operator<=>(const QuotaKey&) const = default;
};
struct Quota {
  uint32_t slots = 0;  // the experiments may hold so many at once
  std::string who;     // the user who set it
  int64_t since_wall_ms = 0;
};

struct DurableState {
  JournalId journal_id = 0;
  ExperimentId next_experiment = 1;
  std::map<ExperimentId, Experiment> experiments;
  std::map<std::string, WorkerMark> marks;
  std::map<std::string, CrashStreak> streaks;
  std::map<NetworkKey, KnownFigure> figures;  // kNetworkFigures at most: the oldest is dropped
  std::map<QuotaKey, Quota> quotas;           // kQuotas at most
  uint64_t next_notice = 1;
  std::map<uint64_t, v1::Notice> notices;  // unsettled, by number; kNoticesWaiting at most

  // Indices over `experiments` and `notices`, kept by Apply.
  absl::flat_hash_map<std::string, ExperimentId> request_ids;
  absl::flat_hash_map<AttemptToken, AttemptId> tokens;
  absl::flat_hash_map<std::string, size_t> notices_of;  // number of `notices` per url
};

v1::AttemptNumber NumberOf(const AttemptId& id);
AttemptId IdOf(const v1::AttemptNumber& number);
// Returns nullptr if it does not exist.
const Experiment* FindExperiment(const DurableState& state, ExperimentId id);
const Trial* FindTrial(const DurableState& state, TrialId id);
Trial* FindForApply(DurableState& state, TrialId id);
const Attempt* FindAttempt(const DurableState& state, const AttemptId& id);
// Returns it. REQUIRES: it exists.
const Experiment& GetExperiment(const DurableState& state, ExperimentId id);
const Trial& GetTrial(const DurableState& state, TrialId id);
// Returns 0 if there is no experiment.
ExperimentId NewestExperiment(const DurableState& state);
v1::ExperimentState StateOf(const Experiment& experiment);

// Returns the trial with its values, wherever they are stored.
v1::ExpandedTrial ExpandedOf(const Experiment& experiment, const Trial& trial);
v1::ExpandedTrial ExpandedOf(const Experiment& experiment, const std::string& serialized);
// Returns the needs of a trial; reads them without resolving the full specification.
Shape ShapeOf(const Experiment& experiment, const Trial& trial);
// Returns the needs of a trial that does not exist yet, by the file's own resources. A known trial
// may have others, if resources are swept.
Shape ShapeOf(const Experiment& experiment);
// Returns the needs of the trial that would start next: the first waiting one or the next proposal.
Shape ShapeOfNext(const Experiment& experiment);
// Returns the priority; larger goes first.
int32_t PriorityOf(const Experiment& experiment);
int64_t SeedOf(const Experiment& experiment, const Trial& trial);
// Returns which values of search.metric are better.
search::Goal GoalOf(const Experiment& experiment);
// Returns whether stop.median may need the means of the trials.
bool ComparesMeans(const Experiment& experiment);
// Returns whether trials are compared by this evaluation: between two values of its metric a
// program may report others.
bool IsCompared(const Experiment& experiment, const v1::Evaluation& evaluation);
// Returns whether a row, evaluation or checkpoint of (attempt, step) counts: it does unless a later
// attempt resumed before that step. `attempts` is ordered by number, from 1.
template <typename Attempts>
bool IsValid(const Attempts& attempts, uint32_t attempt, uint64_t step) {
  for (size_t later = attempt; later < attempts.size(); ++later) {
    if (!attempts[later].ran) continue;
    const uint64_t resumed = attempts[later].resumed_step;  // 0: it started from step 0
    if (resumed < step || resumed == 0) return false;
  }
  return true;
}
inline bool IsValid(const Trial& trial, uint32_t attempt, uint64_t step) {
  return IsValid(trial.attempts, attempt, step);
}
// Returns the checkpoint from which the trial would go on: its newest valid one, or the one that it
// took over if it has saved nothing since.
const KnownCheckpoint* NewestCheckpoint(const Trial& trial);
// Returns the counters after this end of `attempt`; progress resets them first.
enum class Charge : uint8_t { kCounts, kFree };
Tries CountEnd(Tries tries, const Attempt& attempt, v1::Cause cause, Charge charge);
// Returns the sums of `rows`, which is a row or a sum of rows.
v1::Pace PaceOf(const v1::StepRow& rows);
void Add(const v1::Pace& by, v1::Pace& sum);
struct ValueSummary {
  double newest = kNotANumber;
  double newest_number = kNotANumber;  // also if a later evaluation lacks the value
  double lowest = kNotANumber;
  uint64_t lowest_step = 0;  // the first with this value; 0: no number yet
  double highest = kNotANumber;
  uint64_t highest_step = 0;
};
// Summarizes `loss` or `metric` over the valid evaluations.
ValueSummary SummarizeValues(const Trial& trial, double KnownEvaluation::*value);

}  // namespace dt
