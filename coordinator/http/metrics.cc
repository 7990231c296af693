// metrics.cc: names, help and labels of every exported series.
#include "coordinator/http/metrics.h"

#include <cmath>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "common/version.h"
#include "coordinator/core/model/lifecycle.h"
#include "prometheus/text_serializer.h"
#include "spec/step_columns.h"

namespace dt {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Family(const char* name, const char* help, MetricType type) {
  return {std::string("dtrain_") + name, help, type, {}};
}
MetricFamily Gauge(const char* name, const char* help) {
  return Family(name, help, MetricType::Gauge);
}
MetricFamily Counter(const char* name, const char* help) {
  return Family(name, help, MetricType::Counter);
}

ClientMetric& AddSeries(MetricFamily& family, LabelPairs labels) {
  ClientMetric& metric = family.metric.emplace_back();
  for (auto& label : labels) {
    metric.label.push_back({std::move(label.first), std::move(label.second)});
  }
  return metric;
}

void Put(MetricFamily& family, LabelPairs labels, double value) {
  ClientMetric& metric = AddSeries(family, std::move(labels));
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

MetricFamily OneHistogram(const char* name, const char* help,
                          const ClientMetric::Histogram& histogram, LabelPairs labels = {}) {
  MetricFamily family = Family(name, help, MetricType::Histogram);
  AddSeries(family, std::move(labels)).histogram = histogram;
  return family;
}

MetricFamily OneValue(MetricFamily family, double value) {
  Put(family, {}, value);
  return family;
}

using Families = std::vector<MetricFamily>;

void AddFleet(const MetricsScrape& scrape, Families& families) {
  MetricFamily workers = Gauge("workers", "Workers the coordinator knows, by state.");
  for (const auto& [state, count] : scrape.workers_by_state) {
    Put(workers, {{"state", state}}, static_cast<double>(count));
  }
  MetricFamily slots = Gauge("slots", "Slots of connected workers, by device and state.");
  for (const auto& [key, count] : scrape.slots) {
    Put(slots, {{"device", key.first}, {"state", key.second}}, static_cast<double>(count));
  }
  MetricFamily losses = Counter("worker_losses_total", "Workers whose lease expired.");
  Put(losses, {{"reason", "lease"}}, static_cast<double>(scrape.worker_losses));
  families.insert(families.end(), {std::move(workers), std::move(slots), std::move(losses)});
  if (std::isnan(scrape.oldest_heartbeat_wall_seconds)) return;
  families.push_back(OneValue(Gauge("worker_oldest_heartbeat_timestamp_seconds",
                                    "Time of the oldest among the workers' last reports."),
                              scrape.oldest_heartbeat_wall_seconds));
}

void AddLatencies(const MetricsScrape& scrape, Families& families) {
  families.push_back(OneHistogram("queue_wait_seconds",
                                  "Time from when a trial could start to the choice of its slots.",
                                  scrape.queue_wait));
  families.push_back(OneHistogram("rendezvous_seconds",
                                  "Time from the choice of an attempt's slots to its training.",
                                  scrape.rendezvous));
  families.push_back(OneHistogram("scheduler_cycle_seconds",
                                  "Time of the core's decisions for one batch of events.",
                                  scrape.cycle));
  families.push_back(OneHistogram("journal_fsync_seconds",
                                  "One commit of a batch to the journal, its sync included.",
                                  scrape.fsync));
  families.push_back(OneHistogram("checkpoint_seconds", "Time to write one checkpoint.",
                                  scrape.checkpoint, {{"op", "write"}}));
}

void AddNotices(const MetricsScrape& scrape, Families& families) {
  MetricFamily ended =
      Counter("notices_total",
              "Notices to receivers of notify, by outcome: delivered, failed (given up), "
              "dropped (too many waited).");
  Put(ended, {{"outcome", "delivered"}}, static_cast<double>(scrape.notices_delivered));
  Put(ended, {{"outcome", "failed"}}, static_cast<double>(scrape.notices_failed));
  Put(ended, {{"outcome", "dropped"}}, static_cast<double>(scrape.notices_dropped));
  families.push_back(std::move(ended));
  families.push_back(OneValue(Gauge("notices_waiting", "Notices that no receiver has taken yet."),
                              static_cast<double>(scrape.notices_waiting)));
}

// Returns 0 if the count is absent: a counter must exist before it grows, or Prometheus sees no
// increase.
double CountOf(const std::map<std::string, uint64_t>& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : static_cast<double>(found->second);
}

void AddExperiments(const MetricsScrape& scrape, Families& families) {
  MetricFamily by_state = Gauge("experiments", "Experiments in the journal, by state.");
  for (const auto& [state, count] : scrape.experiments_by_state) {
    Put(by_state, {{"state", state}}, static_cast<double>(count));
  }
  MetricFamily trials = Gauge("trials", "Trials of live experiments, by state.");
  MetricFamily finished = Counter("trials_finished_total", "Ends of trials, by outcome.");
  MetricFamily restarts =
      Counter("trial_restarts_total", "Attempts that ended and were followed by another.");
  MetricFamily progress =
      Gauge("experiment_progress_ratio", "Finished part of an experiment's work, 0 to 1.");
  MetricFamily eta = Gauge("experiment_eta_timestamp_seconds", "Expected end of an experiment.");
  MetricFamily best = Gauge("experiment_best_value", "Best value of the experiment's metric.");
  MetricFamily best_trial =
      Gauge("experiment_best_trial", "Number of the trial with the best value.");
  MetricFamily used = Counter("experiment_gpu_seconds_total",
                              "Time of slots, GPU or CPU, that ended attempts held, by use.");
  for (const ExperimentSample& sample : scrape.experiments) {
    const std::string id = std::to_string(sample.id);
    for (const auto& [use, seconds] : sample.slot_seconds_by_use) {
      Put(used, {{"experiment", id}, {"use", use}}, seconds);
    }
    for (const auto& [state, count] : sample.trials_by_state) {
      Put(trials, {{"experiment", id}, {"state", state}}, static_cast<double>(count));
    }
    for (int cause = v1::CAUSE_UNSPECIFIED + 1; cause <= v1::Cause_MAX; ++cause) {
      const std::string name(Name(static_cast<v1::Cause>(cause)));
      Put(finished, {{"experiment", id}, {"outcome", name}},
          CountOf(sample.finished_by_outcome, name));
      const Consequence consequence = ConsequenceOf(static_cast<v1::Cause>(cause));
      if (consequence != Consequence::kRetriesCrash && consequence != Consequence::kRetriesLoss) {
        continue;
      }
      Put(restarts, {{"experiment", id}, {"reason", name}},
          CountOf(sample.restarts_by_reason, name));
    }
    Put(progress, {{"experiment", id}}, sample.progress_ratio);
    if (!std::isnan(sample.eta_wall_seconds)) {
      Put(eta, {{"experiment", id}}, sample.eta_wall_seconds);
    }
    if (sample.best_trial == 0) continue;
    Put(best, {{"experiment", id}}, sample.best_value);
    Put(best_trial, {{"experiment", id}}, sample.best_trial);
  }
  for (MetricFamily* family :
       {&by_state, &trials, &finished, &restarts, &used, &progress, &eta, &best, &best_trial}) {
    families.push_back(std::move(*family));
  }
}

// Adds the progress of searches, and the trials that wait, by reason.
void AddSearches(const MetricsScrape& scrape, Families& families) {
  MetricFamily planned =
      Gauge("experiment_planned_trials", "Planned number of trials; the search may end earlier.");
  MetricFamily early = Gauge("trials_stopped_early", "Trials that a rung or another rule ended.");
  MetricFamily waiting = Gauge("trials_waiting", "Waiting trials, by reason.");
  MetricFamily rungs = Gauge("rung_trials", "Trials that reached a rung, by its decision.");
  MetricFamily paused = Gauge("experiment_paused", "1 while the experiment is paused.");
  MetricFamily target =
      Gauge("experiment_target_reached", "1 once a trial has reached search.target.");
  MetricFamily ended = Gauge("experiment_ended_timestamp_seconds", "End of its last trial.");
  for (const ExperimentSample& sample : scrape.experiments) {
    const std::string id = std::to_string(sample.id);
    Put(planned, {{"experiment", id}}, sample.planned_trials);
    Put(early, {{"experiment", id}}, sample.stopped_early);
    for (const auto& [reason, count] : sample.waiting_by_reason) {
      Put(waiting, {{"experiment", id}, {"reason", reason}}, static_cast<double>(count));
    }
    for (const auto& [rung, trials] : sample.rungs) {
      const std::string number = std::to_string(rung);
      Put(rungs, {{"experiment", id}, {"rung", number}, {"decision", "goes_on"}},
          static_cast<double>(trials.gone_on));
      Put(rungs, {{"experiment", id}, {"rung", number}, {"decision", "ended"}},
          static_cast<double>(trials.ended));
    }
    Put(paused, {{"experiment", id}}, sample.paused ? 1 : 0);
    if (sample.target_reached) Put(target, {{"experiment", id}}, *sample.target_reached ? 1 : 0);
    if (sample.ended_wall_seconds > 0) Put(ended, {{"experiment", id}}, sample.ended_wall_seconds);
  }
  for (MetricFamily* family : {&planned, &early, &waiting, &rungs, &paused, &target, &ended}) {
    families.push_back(std::move(*family));
  }
}

LabelPairs LabelsOf(const TrialSample& sample) {
  return {{"experiment", std::to_string(sample.id.experiment)},
          {"trial", std::to_string(sample.id.trial)}};
}
LabelPairs With(LabelPairs labels, const char* name, const std::string& value) {
  labels.emplace_back(name, value);
  return labels;
}

// A family with one series for each trial, and the source of its value.
struct TrialColumn {
  const char* name;
  MetricType type;
  const char* help;
  double (*value)(const TrialSample&);
  enum class Needs { kNothing, kRow, kPeakFlops, kNoiseScale, kCheckpoint, kPipeline } needs;
};

constexpr TrialColumn kTrialColumns[] = {
    {"trial_step", MetricType::Gauge, "Valid optimizer steps: those that no later attempt repeats.",
     [](const TrialSample& s) { return static_cast<double>(s.step); },
     TrialColumn::Needs::kNothing},
    {"trial_target_steps", MetricType::Gauge, "Optimizer steps at which the trial ends.",
     [](const TrialSample& s) { return static_cast<double>(s.target_steps); },
     TrialColumn::Needs::kNothing},
    {"trial_attempt", MetricType::Gauge, "Number of the trial's newest attempt.",
     [](const TrialSample& s) { return static_cast<double>(s.attempt); },
     TrialColumn::Needs::kNothing},
    {"trial_world_size", MetricType::Gauge, "Ranks of the newest attempt.",
     [](const TrialSample& s) { return static_cast<double>(s.world_size); },
     TrialColumn::Needs::kNothing},
    {"trial_learning_rate", MetricType::Gauge, "Learning rate at the newest logged step.",
     [](const TrialSample& s) { return s.newest.learning_rate(); }, TrialColumn::Needs::kRow},
    {"trial_grad_norm", MetricType::Gauge, "Norm of the gradient before clipping.",
     [](const TrialSample& s) { return s.newest.grad_norm(); }, TrialColumn::Needs::kRow},
    {"trial_tokens_total", MetricType::Counter, "Tokens trained, repeated work included.",
     [](const TrialSample& s) { return s.totals.tokens(); }, TrialColumn::Needs::kNothing},
    {"trial_steps_total", MetricType::Counter, "Optimizer steps made, repeated work included.",
     [](const TrialSample& s) { return s.totals.steps(); }, TrialColumn::Needs::kNothing},
    {"trial_flops_total", MetricType::Counter,
     "Floating-point operations of the model, repeated work included.",
     [](const TrialSample& s) { return s.totals.flops(); }, TrialColumn::Needs::kNothing},
    {"trial_peak_flops", MetricType::Gauge,
     "Peak floating-point operations per second of the devices of all ranks.",
     [](const TrialSample& s) { return s.newest.peak_flops(); }, TrialColumn::Needs::kPeakFlops},
    {"trial_noise_scale_tokens", MetricType::Gauge,
     "Gradient noise scale: about the batch beyond which a larger one saves few steps.",
     [](const TrialSample& s) { return s.newest.noise_scale_tokens(); },
     TrialColumn::Needs::kNoiseScale},
    {"trial_nonfinite_steps_total", MetricType::Counter,
     "Steps left out because their gradient was not finite.",
     [](const TrialSample& s) { return s.totals.nonfinite_steps(); }, TrialColumn::Needs::kNothing},
    {"trial_gpu_memory_peak_bytes", MetricType::Gauge,
     "Peak memory of the device, GPU or CPU slot, on the rank that used most.",
     [](const TrialSample& s) { return s.newest.memory_peak_bytes(); }, TrialColumn::Needs::kRow},
    {"trial_tensor_held_bytes", MetricType::Gauge,
     "Tensors of the rank that holds most, between steps.",
     [](const TrialSample& s) { return s.newest.tensor_held_bytes(); }, TrialColumn::Needs::kRow},
    {"trial_tensor_peak_bytes", MetricType::Gauge,
     "Tensors of the rank that held most, at their peak within a step.",
     [](const TrialSample& s) { return s.newest.tensor_peak_bytes(); }, TrialColumn::Needs::kRow},
    {"trial_rank_skew_seconds", MetricType::Gauge,
     "Compute time of the slowest rank minus that of the fastest.",
     [](const TrialSample& s) { return s.newest.rank_skew_seconds(); }, TrialColumn::Needs::kRow},
    {"trial_slowest_rank", MetricType::Gauge, "Number of the slowest rank.",
     [](const TrialSample& s) { return static_cast<double>(s.newest.slowest_rank()); },
     TrialColumn::Needs::kRow},
    {"trial_last_checkpoint_timestamp_seconds", MetricType::Gauge,
     "Time at which the newest checkpoint was registered.",
     [](const TrialSample& s) { return s.checkpoint_wall_seconds; },
     TrialColumn::Needs::kCheckpoint},
    {"trial_checkpoint_bytes", MetricType::Gauge, "Size of the newest checkpoint.",
     [](const TrialSample& s) { return s.checkpoint_bytes; }, TrialColumn::Needs::kCheckpoint},
    {"trial_pipeline_bubble_ratio", MetricType::Gauge,
     "Share of a step in which stages fill and drain where all cost alike: (S-1)/(vM+S-1).",
     [](const TrialSample& s) { return s.pipeline_bubble; }, TrialColumn::Needs::kPipeline},
};

bool Has(const TrialSample& sample, TrialColumn::Needs needs) {
  switch (needs) {
    case TrialColumn::Needs::kNothing:
      return true;
    case TrialColumn::Needs::kRow:
      return sample.has_row;
    case TrialColumn::Needs::kPeakFlops:
      return sample.has_row && sample.newest.has_peak_flops();
    case TrialColumn::Needs::kNoiseScale:
      return sample.has_row && sample.newest.has_noise_scale_tokens();
    case TrialColumn::Needs::kCheckpoint:
      return sample.checkpoint_wall_seconds > 0;
    case TrialColumn::Needs::kPipeline:
      return sample.pipeline_bubble > 0;
  }
  return false;
}

void AddPhases(const TrialSample& sample, MetricFamily& phases) {
  for (const spec::StepColumn& column : spec::kStepColumns) {
    if (column.phase[0] == '\0') continue;
    Put(phases, With(LabelsOf(sample), "phase", column.phase), column.Of(sample.totals));
  }
}

void AddTrials(const MetricsScrape& scrape, Families& families) {
  families.push_back(OneValue(Gauge("exported_trials", "Trials with their own series here."),
                              static_cast<double>(scrape.trials.size())));
  families.push_back(OneValue(Gauge("omitted_trials", "Trials left out by --metrics-max-trials."),
                              static_cast<double>(scrape.omitted_trials)));
  for (const TrialColumn& column : kTrialColumns) {
    MetricFamily family = Family(column.name, column.help, column.type);
    for (const TrialSample& sample : scrape.trials) {
      if (Has(sample, column.needs)) Put(family, LabelsOf(sample), column.value(sample));
    }
    families.push_back(std::move(family));
  }
  MetricFamily info = Gauge("trial_info", "Labels of a trial, with its swept parameters.");
  MetricFamily loss = Gauge("trial_loss", "Newest loss, by split.");
  MetricFamily accuracy = Gauge("trial_eval_accuracy_ratio",
                                "Share of a task's examples with a correct answer, by task.");
  MetricFamily phases =
      Counter("trial_phase_seconds_total", "Time of steps by phase, mean over ranks.");
  MetricFamily seconds =
      Counter("trial_collective_seconds_total",
              "Time in collectives, of the slowest rank, by operation and axis.");
  MetricFamily exposed =
      Counter("trial_collective_exposed_seconds_total",
              "Time that ranks waited for collectives, mean over them, by operation and axis.");
  MetricFamily bytes = Counter("trial_collective_bytes_total",
                               "Bytes of one rank's buffers, by operation and axis.");
  MetricFamily bus = Counter("trial_collective_bus_bytes_total",
                             "Bytes over the wires of one rank, by operation and axis.");
  MetricFamily count = Counter("trial_collectives_total", "Collectives, by operation and axis.");
  for (const TrialSample& sample : scrape.trials) {
    const LabelPairs labels = LabelsOf(sample);
    LabelPairs described = labels;
    if (sample.info != nullptr) {
      described.insert(described.end(), sample.info->begin(), sample.info->end());
    }
    Put(info, std::move(described), 1);
    if (sample.has_row) Put(loss, With(labels, "split", "train"), sample.newest.loss());
    if (!std::isnan(sample.val_loss)) Put(loss, With(labels, "split", "val"), sample.val_loss);
    for (const auto& [task, share] : {std::pair("hellaswag", sample.hellaswag_acc),
                                      std::pair("hellaswag_norm", sample.hellaswag_acc_norm)}) {
      if (!std::isnan(share)) Put(accuracy, With(labels, "task", task), share);
    }
    AddPhases(sample, phases);
    for (const v1::Collective& one : sample.totals.collectives()) {
      const LabelPairs way = With(With(labels, "op", one.op()), "axis", one.axis());
      Put(seconds, way, one.seconds());
      Put(exposed, way, one.exposed_seconds());
      Put(bytes, way, one.bytes());
      Put(bus, way, one.bus_bytes());
      Put(count, way, one.count());
    }
  }
  for (MetricFamily* family :
       {&info, &loss, &accuracy, &phases, &seconds, &exposed, &bytes, &bus, &count}) {
    families.push_back(std::move(*family));
  }
}

void AddCalls(const RpcStats& stats, const ReportCounts& reports, const MetricsScrape& scrape,
              Families& families) {
  MetricFamily handled = Counter("grpc_server_handled_total", "Calls ended, by method and code.");
  MetricFamily handling =
      Family("grpc_server_handling_seconds", "Time to answer a unary call.", MetricType::Histogram);
  for (const auto& [name, of] : stats.methods()) {
    const std::string method(name);
    for (size_t code = 0; code < kCodeNames.size(); ++code) {
      // OK exists from the start, so that a rate is never absent; an error exists after its first
      // occurrence.
      if (code != 0 && of.handled[code] == 0) continue;
      Put(handled, {{"method", method}, {"code", kCodeNames[code]}},
          static_cast<double>(of.handled[code]));
    }
    if (method == "Session") continue;  // lasts for days
    AddSeries(handling, {{"method", method}}).histogram = of.handling.Collect().histogram;
  }
  families.push_back(std::move(handled));
  families.push_back(std::move(handling));
  families.push_back(OneValue(Counter("reports_total", "Reports of workers taken."),
                              static_cast<double>(reports.reports)));
  MetricFamily dropped = Counter("reports_dropped_total",
                                 "Reports refused as malformed, items that could not be true, and "
                                 "step rows that workers dropped from full buffers.");
  Put(dropped, {{"reason", "refused"}}, static_cast<double>(reports.refused));
  Put(dropped, {{"reason", "buffer_full"}}, static_cast<double>(scrape.dropped_rows));
  Put(dropped, {{"reason", "implausible"}}, static_cast<double>(scrape.doubted));
  families.push_back(std::move(dropped));
}

}  // namespace

void Metrics::SetScrape(std::shared_ptr<const MetricsScrape> scrape) {
  MutexLock lock(&mutex_);
  scrape_.swap(scrape);  // the old one is freed with the argument, outside the lock
}

std::shared_ptr<const MetricsScrape> Metrics::Scrape() const {
  MutexLock lock(&mutex_);
  return scrape_;
}

std::vector<MetricFamily> Metrics::Collect() const {
  const std::shared_ptr<const MetricsScrape> scrape = Scrape();
  Families families;
  MetricFamily build = Gauge("build_info", "Version of the coordinator.");
  Put(build, {{"version", kVersion}, {"revision", kRevision}}, 1);
  families.push_back(std::move(build));
  families.push_back(OneValue(
      Gauge("ready", "1 once the journal is replayed and calls are answered."), Ready() ? 1 : 0));
  AddFleet(*scrape, families);
  AddNotices(*scrape, families);
  AddExperiments(*scrape, families);
  AddSearches(*scrape, families);
  AddTrials(*scrape, families);
  AddLatencies(*scrape, families);
  AddCalls(stats_, reports_(), *scrape, families);
  return families;
}

std::string Metrics::Render() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, Collect());
  return out.str();
}

}  // namespace dt
