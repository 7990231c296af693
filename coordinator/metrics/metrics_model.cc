// metrics_model.cc: folds records and chunks into counters; samples the state.
#include "coordinator/metrics/metrics_model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/free_name.h"
#include "common/overloaded.h"
#include "common/text.h"
#include "coordinator/core/answer/summaries.h"
#include "coordinator/core/keep/held.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/quotas.h"
#include "coordinator/core/model/fold.h"
#include "coordinator/core/model/resolved.h"
#include "coordinator/core/model/search_kind.h"
#include "spec/collectives.h"
#include "spec/program.h"
#include "spec/spec.h"
#include "spec/step_columns.h"

namespace dt {
namespace {

// Prometheus scrapes every 15 s; ten minutes make the last scrape of an ended trial certain.
constexpr int64_t kShownAfterEndMs = 10 * 60 * 1000;
// Bounds for labels that a person can read in a legend; longer values and more parameters help
// nobody.
constexpr size_t kInfoParameters = 8;
constexpr size_t kInfoValueBytes = 64;
constexpr size_t kInfoLegendBytes = 160;

TrialId IdOf(const auto& fact) { return {fact.experiment(), fact.trial()}; }

bool Shown(int64_t ended_wall_ms, int64_t now_wall_ms) {
  return ended_wall_ms == 0 || now_wall_ms - ended_wall_ms < kShownAfterEndMs;
}

void Add(const v1::StepRow& by, v1::StepRow& sum) {
  for (const spec::StepColumn& column : spec::kStepColumns) {
    column.Set(sum, column.Of(sum) + column.Of(by));
  }
  spec::AddCollectives(by, 1, sum);
}

// Returns seconds × gang size from `from_wall_ms` to the attempt's end. Clocks may step back.
double SlotSeconds(const Attempt& attempt, int64_t from_wall_ms) {
  if (from_wall_ms == 0) return 0;
  return static_cast<double>(attempt.members.size()) *
         static_cast<double>(std::max<int64_t>(0, attempt.ended_wall_ms - from_wall_ms)) / 1000;
}

// Returns the training time whose steps count: if another attempt follows, only the steps up to the
// newest checkpoint.
double ProductiveSeconds(const Trial& trial, const Attempt& attempt, bool another_follows) {
  if (attempt.last_step <= attempt.resumed_step) return 0;
  uint64_t kept = attempt.last_step;
  if (another_follows) {
    const KnownCheckpoint* newest = NewestCheckpoint(trial);
    kept = std::clamp(newest == nullptr ? 0 : newest->ref.step(), attempt.resumed_step,
                      attempt.last_step);
  }
  return SlotSeconds(attempt, attempt.running_wall_ms) *
         static_cast<double>(kept - attempt.resumed_step) /
         static_cast<double>(attempt.last_step - attempt.resumed_step);
}

// Returns the names that a parameter's label must not take: our other labels, names with a meaning
// in Prometheus, and labels that a scrape adds.
std::set<std::string> TakenNames(const LabelPairs& labels) {
  std::set<std::string> taken = {"experiment", "trial",    "parameters", "name",
                                 "le",         "quantile", "job",        "instance"};
  for (const auto& [name, value] : labels) taken.insert(name);
  return taken;
}

// Returns the label of a parameter: its path, with other characters replaced by _. Puts
// "parameter_" before a name that is reserved, or already taken by us or by a path that differs
// only in the replaced characters.
std::string LabelName(std::string path, std::set<std::string>& taken) {
  constexpr char kPrefix[] = "parameter_";
  for (char& c : path) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  const bool begins = !path.empty() && absl::ascii_isalpha(static_cast<unsigned char>(path[0]));
  const bool reserved = path.rfind("__", 0) == 0;
  if (!begins && (reserved || path[0] != '_')) path.insert(0, kPrefix);
  return TakeFreeName(std::move(path), kPrefix, taken);
}

// Returns a value on one line: some readers of the format know no escape except that of a quote.
std::string LabelValue(std::string_view text, size_t bytes_max) {
  std::string value = CleanText(text, bytes_max);
  std::replace_if(
      value.begin(), value.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }, '?');
  return value;
}

// Returns "dp4 tp2 pp2": the number of data-parallel ranks, then ranks per layer and stages if more
// than one. "" for a program.
std::string MeshText(const v1::Spec& spec, size_t world_size) {
  if (spec::IsProgram(spec)) return "";
  const auto tensor = static_cast<size_t>(std::max(1, spec.parallel().tensor()));
  const auto stages = static_cast<size_t>(std::max(1, spec.parallel().pipeline()));
  return absl::StrCat("dp", world_size / (tensor * stages),
                      tensor > 1 ? absl::StrCat(" tp", tensor) : "",
                      stages > 1 ? absl::StrCat(" pp", stages) : "");
}

LabelPairs InfoOf(const Experiment& experiment, const Trial& trial, const v1::Spec& spec,
                  size_t world_size) {
  LabelPairs labels = {{"strategy", spec.parallel().strategy()},
                       {"precision", spec.precision().compute()},
                       {"model", spec.model().preset()},
                       {"world_size", std::to_string(world_size)},
                       {"mesh", MeshText(spec, world_size)}};
  const v1::ExpandedTrial expanded = ExpandedOf(experiment, trial);
  size_t parameters = 0;
  std::set<std::string> taken = TakenNames(labels);
  std::string legend;  // all parameters in one text, since a legend cannot name labels that it does
                       // not know
  for (const v1::Assignment& assignment : expanded.assignments()) {
    if (++parameters > kInfoParameters) break;
    std::string value = LabelValue(spec::ValueText(assignment.value()), kInfoValueBytes);
    absl::StrAppend(&legend, legend.empty() ? "" : " ", assignment.path(), "=", value);
    labels.emplace_back(LabelName(assignment.path(), taken), std::move(value));
  }
  labels.emplace_back("parameters", LabelValue(legend, kInfoLegendBytes));
  labels.emplace_back("name", LabelValue(experiment.spec.name(), kInfoValueBytes));
  return labels;
}

}  // namespace

void MetricsModel::CountTurn(const State& state, const Effects& effects) {
  for (const v1::Record& record : effects.records) CountRecord(state, record);
  for (const ChunkToStore& chunk : effects.chunks) CountChunk(chunk);
}

void MetricsModel::CountRecord(const State& state, const v1::Record& record) {
  // Forget drops the experiments that the state no longer has.
  Fold<kMetrics>(
      record,
      Overloaded{
          [&](const v1::AttemptStarted&) { CountAttemptStarted(state, record); },
          [&](const v1::AttemptRunning& running) {
            const Known& known = trials_[IdOf(running)];
            const int64_t waited_ms = record.wall_time_ms() - known.started_wall_ms;
            rendezvous_.Observe(static_cast<double>(std::max<int64_t>(0, waited_ms)) / 1000);
          },
          [&](const v1::AttemptEnded&) { CountAttemptEnded(state, record); },
          [&](const v1::EvaluationRecorded& recorded) {
            const v1::Evaluation& evaluation = recorded.evaluation();
            if (evaluation.split() != "val") return;
            TrialSample& sample = trials_[IdOf(recorded)].sample;
            sample.val_loss = evaluation.loss();
            if (evaluation.has_hellaswag_acc()) {
              sample.hellaswag_acc = evaluation.hellaswag_acc();
            }
            if (evaluation.has_hellaswag_acc_norm()) {
              sample.hellaswag_acc_norm = evaluation.hellaswag_acc_norm();
            }
          },
          [&](const v1::CheckpointRegistered& registered) {
            TrialSample& sample = trials_[IdOf(registered)].sample;
            sample.checkpoint_wall_seconds = static_cast<double>(record.wall_time_ms()) / 1000;
            sample.checkpoint_bytes = static_cast<double>(registered.checkpoint().bytes());
            checkpoint_.Observe(registered.checkpoint().seconds());
          },
          [&](const v1::TrialEnded& ended) { CountTrialEnded(ended); },
          [&](const v1::TrialRetried& retried) {
            trials_[IdOf(retried)].ready_wall_ms = record.wall_time_ms();
          },
      });
}

void MetricsModel::CountAttemptStarted(const State& state, const v1::Record& record) {
  const v1::AttemptStarted& started = record.attempt_started();
  Known& known = trials_[IdOf(started)];
  known.started_wall_ms = record.wall_time_ms();
  int64_t ready_ms = known.ready_wall_ms;
  if (ready_ms == 0) {
    const Experiment* experiment = FindExperiment(state.durable, started.experiment());
    ready_ms = experiment == nullptr ? record.wall_time_ms() : experiment->submitted_wall_ms;
  }
  const int64_t waited_ms = record.wall_time_ms() - ready_ms;
  queue_wait_.Observe(static_cast<double>(std::max<int64_t>(0, waited_ms)) / 1000);
}

void MetricsModel::CountAttemptEnded(const State& state, const v1::Record& record) {
  const v1::AttemptEnded& ended = record.attempt_ended();
  const Trial* trial = FindTrial(state.durable, IdOf(ended));
  const Attempt* attempt = FindAttempt(state.durable, {IdOf(ended), ended.attempt()});
  if (attempt != nullptr) {
    const double held = SlotSeconds(*attempt, attempt->started_wall_ms);
    const double productive = ProductiveSeconds(*trial, *attempt, ended.retry_after_ms() >= 0);
    std::map<std::string, double>& uses = counts_[ended.experiment()].slot_seconds_by_use;
    uses["productive"] += productive;
    uses["restart"] += std::max(0.0, held - productive);
  }
  if (ended.retry_after_ms() < 0) return;
  trials_[IdOf(ended)].ready_wall_ms = record.wall_time_ms() + ended.retry_after_ms();
  ++counts_[ended.experiment()].restarts_by_reason[std::string(Name(ended.cause()))];
}

void MetricsModel::CountTrialEnded(const v1::TrialEnded& ended) {
  ++counts_[ended.experiment()].finished_by_outcome[std::string(Name(ended.cause()))];
}

void MetricsModel::CountChunk(const ChunkToStore& chunk) {
  TrialSample& sample = trials_[chunk.attempt.trial].sample;
  Add(chunk.totals.sum, sample.totals);
  sample.newest = chunk.totals.newest;
  sample.has_row = true;
}

std::shared_ptr<const MetricsScrape> MetricsModel::TakeScrape(const State& state, Instant now) {
  Forget(state, now.wall_ms);
  auto scrape = std::make_shared<MetricsScrape>();
  CountWorkers(state, now, *scrape);
  SampleExperiments(state, now, *scrape);
  SampleTrials(state, *scrape);
  scrape->dropped_rows = state.live.dropped_rows;
  scrape->doubted = state.live.doubted;
  scrape->notices_delivered = state.live.notices_delivered;
  scrape->notices_failed = state.live.notices_failed;
  scrape->notices_dropped = state.live.notices_dropped;
  scrape->notices_waiting = state.durable.notices.size();
  scrape->queue_wait = queue_wait_.Collect().histogram;
  scrape->rendezvous = rendezvous_.Collect().histogram;
  scrape->cycle = cycle_.Collect().histogram;
  scrape->fsync = fsync_.Collect().histogram;
  scrape->checkpoint = checkpoint_.Collect().histogram;
  return scrape;
}

void MetricsModel::Forget(const State& state, int64_t now_wall_ms) {
  for (auto known = trials_.begin(); known != trials_.end();) {
    const Trial* trial = FindTrial(state.durable, known->first);
    const bool keep = trial != nullptr && Shown(trial->ended_wall_ms, now_wall_ms);
    known = keep ? std::next(known) : trials_.erase(known);
  }
  for (auto counts = counts_.begin(); counts != counts_.end();) {
    const Experiment* experiment = FindExperiment(state.durable, counts->first);
    const bool keep = experiment != nullptr && Shown(experiment->ended_wall_ms, now_wall_ms);
    counts = keep ? std::next(counts) : counts_.erase(counts);
  }
}

void MetricsModel::CountWorkers(const State& state, Instant now, MetricsScrape& scrape) {
  for (const WorkerState known :
       {WorkerState::kIdle, WorkerState::kBusy, WorkerState::kDraining, WorkerState::kDrained,
        WorkerState::kQuarantined, WorkerState::kLost}) {
    scrape.workers_by_state[std::string(Name(known))] = 0;
  }
  absl::Duration longest_silence = -absl::InfiniteDuration();
  for (const auto& [name, index] : state.live.worker_names) {
    const Worker& worker = state.live.workers[index];
    if (IsClient(worker)) continue;
    ++scrape.workers_by_state[std::string(Name(StateOf(state, worker)))];
    if (worker.presence == Presence::kLost) continue;
    longest_silence = std::max(longest_silence, now.steady - worker.last_heard);
  }
  if (longest_silence > -absl::InfiniteDuration()) {
    scrape.oldest_heartbeat_wall_seconds =
        static_cast<double>(now.wall_ms) / 1000 - absl::ToDoubleSeconds(longest_silence);
  }
  scrape.worker_losses = state.live.worker_losses;
  for (const DeviceKind device : kDevices) {
    const SlotPool& pool = PoolOf(state.live, device);
    const std::string name(Name(device));
    size_t idle = pool.free();
    for (const Reservation& reservation : state.live.reservations) {
      if (reservation.shape.constraint.device == device) idle += reservation.slots.free();
    }
    scrape.slots[{name, "idle"}] = idle;
    scrape.slots[{name, "busy"}] = pool.connected() - idle;
  }
}

namespace {

// Counts of parked trials of each experiment, by reason.
using Parked = std::map<ExperimentId, std::map<std::string, uint64_t>>;

Parked CountParked(const State& state) {
  Parked parked;
  for (const auto& [id, one] : state.live.parked) {
    const bool backs_off = one.why == ParkedTrial::Why::kBackoff;
    ++parked[id.experiment][backs_off ? "backoff" : "storage"];
  }
  return parked;
}

// Returns all reasons, also those with 0, so that no series comes and goes.
std::map<std::string, uint64_t> WaitingByReason(const State& state, const Experiment& experiment,
                                                const Parked& parked) {
  std::map<std::string, uint64_t> waiting = {
      {"backoff", 0}, {"max_concurrent", 0}, {"max_gpus_total", 0}, {"paused", 0},
      {"quota", 0},   {"slots", 0},          {"storage", 0}};
  if (experiment.paused) {
    waiting["paused"] = experiment.pending;
    return waiting;
  }
  uint64_t left = experiment.pending;
  if (const auto found = parked.find(experiment.id); found != parked.end()) {
    for (const auto& [reason, count] : found->second) {
      waiting[reason] = std::min(count, left);
      left -= waiting[reason];
    }
  }
  const Shape shape = ShapeOfNext(experiment);
  const bool closed = GateOf(state, experiment, shape) == Gate::kClosed;
  const auto at_once = static_cast<uint32_t>(experiment.spec.search().max_concurrent());
  const bool crowded = at_once > 0 && experiment.active >= at_once;
  const bool used_up = QuotaLeft(state, experiment) < shape.least();
  waiting[!closed   ? "slots"
          : crowded ? "max_concurrent"
          : used_up ? "quota"
                    : "max_gpus_total"] = left;
  return waiting;
}

std::map<uint32_t, ExperimentProgress::OfRung> RungsOf(const State& state,
                                                       const Experiment& experiment) {
  std::map<uint32_t, ExperimentProgress::OfRung> rungs;
  if (!Climbs(experiment)) return rungs;
  for (int rung = 1; rung <= LadderOf(experiment).rungs; ++rung) {
    rungs[static_cast<uint32_t>(rung)] = {};
  }
  const auto progress = state.live.progress.find(experiment.id);
  if (progress == state.live.progress.end()) return rungs;
  for (const auto& [rung, counted] : progress->second.rungs) rungs[rung] = counted;
  return rungs;
}

std::optional<bool> TargetReached(const State& state, const Experiment& experiment) {
  const v1::Search& search = experiment.spec.search();
  if (!search.has_target()) return std::nullopt;
  const auto progress = state.live.progress.find(experiment.id);
  if (progress == state.live.progress.end() || progress->second.ranked.empty()) return false;
  const double wanted = search::CostOf(GoalOf(experiment), search.target());
  return progress->second.ranked.begin()->first <= wanted;
}

}  // namespace

void MetricsModel::SampleExperiments(const State& state, Instant now, MetricsScrape& scrape) {
  for (const v1::ExperimentState known :
       {v1::EXPERIMENT_QUEUED, v1::EXPERIMENT_RUNNING, v1::EXPERIMENT_FINISHED,
        v1::EXPERIMENT_FAILED, v1::EXPERIMENT_CANCELLED}) {
    scrape.experiments_by_state[std::string(Name(known))] = 0;
  }
  const Parked parked = CountParked(state);
  for (const auto& [id, experiment] : state.durable.experiments) {
    ++scrape.experiments_by_state[std::string(Name(StateOf(experiment)))];
    if (!Shown(experiment.ended_wall_ms, now.wall_ms)) continue;
    const v1::ExperimentSummary summary = Summarize(state, experiment);
    ExperimentSample& sample = scrape.experiments.emplace_back();
    sample.id = id;
    sample.trials_by_state = {{"pending", experiment.pending},
                              {"starting", 0},
                              {"running", 0},
                              {"stopping", 0},
                              {"finished", experiment.finished},
                              {"failed", experiment.failed},
                              {"cancelled", experiment.cancelled}};
    if (const auto live = state.live.experiments.find(id); live != state.live.experiments.end()) {
      for (const uint32_t trial : live->second.active) {
        ++sample.trials_by_state[std::string(Name(GetTrial(state.durable, {id, trial}).state))];
      }
    }
    sample.progress_ratio = summary.progress_ratio();
    if (summary.eta_seconds() >= 0 && experiment.ended_wall_ms == 0) {
      sample.eta_wall_seconds = static_cast<double>(now.wall_ms) / 1000 + summary.eta_seconds();
    }
    sample.best_trial = summary.best_trial();
    if (summary.best_trial() != 0) sample.best_value = summary.best_value();
    sample.finished_by_outcome = counts_[id].finished_by_outcome;
    sample.restarts_by_reason = counts_[id].restarts_by_reason;
    sample.slot_seconds_by_use = counts_[id].slot_seconds_by_use;
    sample.planned_trials = experiment.MoreMayCome()
                                ? experiment.planned
                                : static_cast<uint32_t>(experiment.trials.size());
    sample.stopped_early = experiment.stopped_early;
    sample.paused = experiment.paused;
    sample.ended_wall_seconds = static_cast<double>(experiment.ended_wall_ms) / 1000;
    sample.waiting_by_reason = WaitingByReason(state, experiment, parked);
    sample.rungs = RungsOf(state, experiment);
    sample.target_reached = TargetReached(state, experiment);
  }
}

void MetricsModel::SampleTrials(const State& state, MetricsScrape& scrape) {
  std::vector<Known*> shown;
  for (auto& [id, known] : trials_) {
    known.sample.id = id;
    shown.push_back(&known);
  }
  if (shown.size() > max_trials_) {
    absl::btree_map<TrialId, bool> best;
    for (const ExperimentSample& experiment : scrape.experiments) {
      if (experiment.best_trial != 0) best[{experiment.id, experiment.best_trial}] = true;
    }
    std::stable_sort(shown.begin(), shown.end(), [&](const Known* a, const Known* b) {
      return std::pair(best.contains(a->sample.id), a->started_wall_ms) >
             std::pair(best.contains(b->sample.id), b->started_wall_ms);
    });
    scrape.omitted_trials = shown.size() - max_trials_;
    shown.resize(max_trials_);
  }
  for (Known* known : shown) {
    Refresh(state, *known);
    scrape.trials.push_back(known->sample);
  }
}

// Updates the parts of a sample that come from the state, not from records.
void MetricsModel::Refresh(const State& state, Known& known) {
  TrialSample& sample = known.sample;
  const Experiment& experiment = GetExperiment(state.durable, sample.id.experiment);
  const Trial& trial = GetTrial(state.durable, sample.id);
  const LiveAttempt* live = FindLiveAttempt(state, sample.id);
  sample.target_steps = trial.target_steps;
  sample.attempt = static_cast<uint32_t>(trial.attempts.size());
  if (!trial.attempts.empty()) {
    const Attempt& attempt = trial.attempts.back();
    sample.world_size = static_cast<uint32_t>(attempt.members.size());
    sample.step = attempt.state == AttemptState::kEnded ? attempt.last_step : attempt.resumed_step;
    if (live != nullptr) sample.step = std::max(sample.step, live->step);
  }
  if (live != nullptr && live->latest.has_value()) {
    sample.newest = *live->latest;
    sample.has_row = true;
  }
  // The resolved specification includes the size of the gang.
  if (sample.info == nullptr && !trial.attempts.empty()) {
    const absl::StatusOr<v1::Spec> resolved = ResolvedForGang(experiment, trial);
    const v1::Spec& spec = resolved.ok() ? *resolved : experiment.spec.base();
    sample.info =
        std::make_shared<const LabelPairs>(InfoOf(experiment, trial, spec, sample.world_size));
    sample.pipeline_bubble = spec::BubbleOf(spec);
  }
}

}  // namespace dt
