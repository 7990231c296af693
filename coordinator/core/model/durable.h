// durable.h: what the journal makes of experiments, trials and attempts, and the facts that follow
// from it alone.
//
// Role:      written by Apply alone and rebuilt from the journal; covered by HashOf.
// Ownership: a value, part of State; pointers into it hold until the next Apply.
// Bounds:    10,000 trials stay far below 128 MiB: assignments and rarely read messages are kept
//            serialized.
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

namespace dt {

inline constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

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
  std::string hint;                         // of a program's reports
  int64_t started_wall_ms = 0;
  int64_t running_wall_ms = 0;
  int64_t ended_wall_ms = 0;
  int64_t trained_ms = 0;   // from running to its end, once ended
  bool ran = false;         // was running once: resumed_step counts
  bool progressed = false;  // registered a checkpoint beyond where it resumed
  bool uncharged = false;   // its end counts against no budget of retries
  bool early = false;       // a program that ended at once, before it told anything
  uint32_t ordinal = 0;     // of its experiment's attempts, in order of their starts, from 1
  v1::StopRequested::Why stop_why = v1::StopRequested::WHY_UNSPECIFIED;
  std::string stop_reason;  // why it was asked to save and end
  TrialId stop_for;         // that it makes room for; none: nobody
  uint32_t stop_slots = 0;  // that its trial is to go on with; 0: as before

  bool AskedToStop() const { return stop_why != v1::StopRequested::WHY_UNSPECIFIED; }
};

// It finished: rank 0 told its rows before it said so, and none can follow.
inline bool HasToldItsRows(const Attempt& attempt) {
  return attempt.state == AttemptState::kEnded && attempt.cause == v1::CAUSE_FINISHED;
}

// How long an attempt that ended had trained. `said`: in its record. Versions up to 0.2.0 did not
// say it, and the wall clock may have been set meanwhile.
inline int64_t TrainedMs(const Attempt& attempt, int64_t said) {
  if (!attempt.ran || said > 0) return attempt.ran ? said : 0;
  return std::max<int64_t>(0, attempt.ended_wall_ms - attempt.running_wall_ms);
}

struct KnownCheckpoint {
  uint32_t attempt = 0;
  v1::CheckpointRef ref;
};

struct KnownEvaluation {
  uint32_t attempt = 0;
  uint64_t step = 0;
  double loss = kNotANumber;
  double metric = kNotANumber;  // what the experiment's search.metric was then
};

// A trial's entry at a rung of its search's ladder, which decided whether it went on.
struct KnownRung {
  uint32_t rung = 0;  // from 1
  uint64_t step = 0;
  double cost = kNotANumber;  // +inf: it failed on its way there
  bool goes_on = false;
};

// What a member of a population took over: it goes on with another trial's weights and other
// values.
struct KnownMutation {
  uint32_t attempt = 0;  // the newest when it was decided; those after it have the weights
  uint32_t from_trial = 0;
  uint64_t step = 0;            // at which it was decided
  KnownCheckpoint taken;        // of no attempt of its own
  std::string expanded_before;  // its values till then, as `expanded`
  std::string reason;
};

// The mean cost of a trial's validations up to one of them.
struct MeanAt {
  uint64_t step = 0;
  double mean = 0;
};

// Ends of attempts that were followed by another, since the last progress; each is held against
// retries.max on its own, so that lost machines do not use up the budget of a crashing program.
struct Tries {
  uint32_t crashes = 0;
  uint32_t losses = 0;
};

struct Trial {
  v1::TrialState state = v1::TRIAL_PENDING;
  v1::Cause cause = v1::CAUSE_UNSPECIFIED;
  Tries tries;
  uint64_t target_steps = 0;       // 0: not known yet
  int64_t retry_after_ms = 0;      // backoff before the next attempt, from the last end
  int64_t ended_wall_ms = 0;       // 0: not ended
  std::string expanded;            // serialized v1::ExpandedTrial; see ExpandedOf
  std::string chosen;              // why a search proposed it; "": it was there from the start
  std::string prepared;            // serialized v1::Prepared of the newest attempt that had one
  double last_loss = kNotANumber;  // of last_row
  std::string last_row;            // serialized v1::StepRow, newest of the last ended attempt
  v1::Pace pace;                   // of the ended attempts
  std::string message;             // of the end, or of the cancel
  std::vector<Attempt> attempts;   // by number, from 1
  std::vector<KnownCheckpoint> checkpoints;  // in order of registration
  std::vector<KnownEvaluation> evaluations;  // in order of arrival, thinned beyond a bound
  std::vector<KnownRung> rungs;              // in order of decision
  std::vector<KnownMutation> mutations;      // in order of decision
  search::Standing validated;                // what the rules of `stop` go by
  std::vector<MeanAt> means;  // of the first kEvaluationsPerTrial, where stop.median compares them
};

// What a person changed of a submitted experiment.
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
  std::string file_name;
  std::string file_text;
  int64_t submitted_wall_ms = 0;
  int64_t ended_wall_ms = 0;  // of the trial that ended last; 0 while one has not ended
  bool cancel_requested = false;
  std::vector<Trial> trials;  // by number, from 1; may grow until `planned` are there
  uint32_t planned = 0;       // at least as many as there are
  bool search_ended = false;  // no more come
  std::string search_end;     // why
  bool paused = false;        // starts nothing
  std::string paused_by;
  std::string paused_why;    // where the coordinator holds it; "": a person paused it
  std::vector<Edit> edits;   // the newest, in order
  std::string submitted_by;  // "": not known
  uint32_t level = 0;        // that its workers need (common/worker_level.h)
  std::string note;          // what people wrote of it
  bool archived = false;     // lists leave it out
  // What trials resolved to, as the record has it.
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
  // Ordinal of the newest attempt that got on: it saved beyond where it resumed, or finished. 0:
  // none has, or an older version kept it.
  uint32_t newest_progress = 0;

  uint32_t Ended() const { return finished + failed + cancelled; }
  bool MoreMayCome() const { return !search_ended && trials.size() < planned; }
  bool AllEnded() const { return pending + active == 0 && !MoreMayCome(); }
};

// What is held of a worker, by name: it need not be connected.
struct WorkerMark {
  bool drained = false;  // a person wants it free of work
  std::string reason;    // of the drain, as the person gave it
  std::string who;
  int64_t since_wall_ms = 0;
  bool quarantined = false;  // it failed what others could do, and has made no progress since
  std::string quarantine_reason;
  uint32_t quarantines = 0;  // in a row
  int64_t quarantined_wall_ms = 0;
  std::vector<AttemptId> returned;  // the ends that the newest quarantine rests on
};

// A crash of a worker's trainer, without progress.
struct CountedEnd {
  AttemptId id;
  // Attempts of its experiment that must have started before one that gets on.
  uint32_t begun = 0;
};
// `begun` of an end that a person set aside by releasing the worker: such an end proves nothing. It
// is forgotten once the worker gets on.
inline constexpr uint32_t kForgiven = std::numeric_limits<uint32_t>::max();

// Ends in a row that may speak against a worker (blame.h).
struct CrashStreak {
  std::vector<CountedEnd> ends;
};

// How long some ranks took for an operation on so many bytes, as it was measured last.
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

// Whose experiments a quota counts: of one of the two.
struct QuotaKey {
  std::string user;   // who submitted them
  std::string label;  // "team=vision"

  auto operator<=>(const QuotaKey&) const = default;
};
struct Quota {
  uint32_t slots = 0;  // that they may hold at once
  std::string who;     // set it
  int64_t since_wall_ms = 0;
};

struct DurableState {
  JournalId journal_id = 0;
  ExperimentId next_experiment = 1;
  std::map<ExperimentId, Experiment> experiments;
  std::map<std::string, WorkerMark> marks;
  std::map<std::string, CrashStreak> streaks;
  std::map<NetworkKey, KnownFigure> figures;  // kNetworkFigures at most: the oldest goes
  std::map<QuotaKey, Quota> quotas;           // kQuotas at most
  uint64_t next_notice = 1;
  std::map<uint64_t, v1::Notice> notices;  // not settled, by number; kNoticesWaiting at most

  // Indices over `experiments` and `notices`, kept by Apply.
  absl::flat_hash_map<std::string, ExperimentId> request_ids;
  absl::flat_hash_map<AttemptToken, AttemptId> tokens;
  absl::flat_hash_map<std::string, size_t> notices_of;  // how many of `notices` a url has
};

v1::AttemptNumber NumberOf(const AttemptId& id);
AttemptId IdOf(const v1::AttemptNumber& number);
// Find may miss: nullptr.
const Experiment* FindExperiment(const DurableState& state, ExperimentId id);
const Trial* FindTrial(const DurableState& state, TrialId id);
Trial* FindForApply(DurableState& state, TrialId id);
const Attempt* FindAttempt(const DurableState& state, const AttemptId& id);
// REQUIRES: it exists.
const Experiment& GetExperiment(const DurableState& state, ExperimentId id);
const Trial& GetTrial(const DurableState& state, TrialId id);
// 0: none.
ExperimentId NewestExperiment(const DurableState& state);
v1::ExperimentState StateOf(const Experiment& experiment);

// With the values themselves, wherever they are kept.
v1::ExpandedTrial ExpandedOf(const Experiment& experiment, const Trial& trial);
v1::ExpandedTrial ExpandedOf(const Experiment& experiment, const std::string& serialized);
// What a trial needs, read from the specification without resolving all of it.
Shape ShapeOf(const Experiment& experiment, const Trial& trial);
// The same of a trial that is not known yet, by the file's own resources. A known trial may have
// others, where resources are swept.
Shape ShapeOf(const Experiment& experiment);
// Needs of the trial that would start next: the first that waits, or one that is to be proposed.
Shape ShapeOfNext(const Experiment& experiment);
// Larger goes first.
int32_t PriorityOf(const Experiment& experiment);
int64_t SeedOf(const Experiment& experiment, const Trial& trial);
// Which values of search.metric are better.
search::Goal GoalOf(const Experiment& experiment);
// Whether stop.median may ask for the means of its trials.
bool ComparesMeans(const Experiment& experiment);
// What the rules of `stop` will know of it: a step counts once. One that names the metric without a
// number counts as the worst.
void CountValidation(const Experiment& experiment, const v1::Evaluation& evaluation, Trial& trial);
// Whether it is compared at all: a program may report other things between two values of its
// metric.
bool IsCompared(const Experiment& experiment, const v1::Evaluation& evaluation);
// A row, evaluation or checkpoint of (attempt, step) counts unless a later attempt resumed before
// that step.
// `attempts`: by number, from 1.
template <typename Attempts>
bool IsValid(const Attempts& attempts, uint32_t attempt, uint64_t step) {
  for (size_t later = attempt; later < attempts.size(); ++later) {
    if (!attempts[later].ran) continue;
    const uint64_t resumed = attempts[later].resumed_step;  // 0: it began anew, at step 0 too
    if (resumed < step || resumed == 0) return false;
  }
  return true;
}
inline bool IsValid(const Trial& trial, uint32_t attempt, uint64_t step) {
  return IsValid(trial.attempts, attempt, step);
}
// What the trial would go on from: its newest valid checkpoint, or what it took over, where it has
// saved nothing since.
const KnownCheckpoint* NewestCheckpoint(const Trial& trial);
// The counters once `attempt` has ended so; progress empties them first.
enum class Charge : uint8_t { kCounts, kFree };
Tries CountEnd(Tries tries, const Attempt& attempt, v1::Cause cause, Charge charge);
// Sums of `rows`, a row or a sum of rows.
v1::Pace PaceOf(const v1::StepRow& rows);
void Add(const v1::Pace& by, v1::Pace& sum);
struct ValueSummary {
  double newest = kNotANumber;
  double newest_number = kNotANumber;  // also where an evaluation after it lacks the value
  double lowest = kNotANumber;
  uint64_t lowest_step = 0;  // the first with it; 0: none has a number
  double highest = kNotANumber;
  uint64_t highest_step = 0;
};
// Over the valid evaluations, of `loss` or of `metric`.
ValueSummary SummarizeValues(const Trial& trial, double KnownEvaluation::*value);

}  // namespace dt
