// durable.cc: look-ups, and values derived from the trials of an experiment.
#include "coordinator/core/model/durable.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "common/mutant.h"
#include "common/network_bench.h"
#include "common/worker_level.h"
#include "spec/collectives.h"
#include "spec/metric.h"
#include "spec/program.h"
#include "spec/spec.h"
#include "spec/step_columns.h"
#include "spec/step_metrics.h"

namespace dt {

v1::AttemptNumber NumberOf(const AttemptId& id) {
  v1::AttemptNumber number;
  number.set_experiment(id.trial.experiment);
  number.set_trial(id.trial.trial);
  number.set_attempt(id.attempt);
  return number;
}

AttemptId IdOf(const v1::AttemptNumber& number) {
  return {{number.experiment(), number.trial()}, number.attempt()};
}

const Experiment* FindExperiment(const DurableState& state, ExperimentId id) {
  const auto found = state.experiments.find(id);
  return found == state.experiments.end() ? nullptr : &found->second;
}

const Trial* FindTrial(const DurableState& state, TrialId id) {
  const Experiment* experiment = FindExperiment(state, id.experiment);
  if (experiment == nullptr || id.trial == 0 || id.trial > experiment->trials.size()) {
    return nullptr;
  }
  return &experiment->trials[id.trial - 1];
}

Trial* FindForApply(DurableState& state, TrialId id) {
  return const_cast<Trial*>(FindTrial(state, id));
}

const Attempt* FindAttempt(const DurableState& state, const AttemptId& id) {
  const Trial* trial = FindTrial(state, id.trial);
  if (trial == nullptr || id.attempt == 0 || id.attempt > trial->attempts.size()) return nullptr;
  return &trial->attempts[id.attempt - 1];
}

const Experiment& GetExperiment(const DurableState& state, ExperimentId id) {
  const Experiment* experiment = FindExperiment(state, id);
  DT_CHECK(experiment != nullptr);
  return *experiment;
}

const Trial& GetTrial(const DurableState& state, TrialId id) {
  const Trial* trial = FindTrial(state, id);
  DT_CHECK(trial != nullptr);
  return *trial;
}

ExperimentId NewestExperiment(const DurableState& state) {
  return state.experiments.empty() ? 0 : state.experiments.rbegin()->first;
}

v1::ExperimentState StateOf(const Experiment& experiment) {
  if (!experiment.AllEnded()) {
    return experiment.attempts > 0 ? v1::EXPERIMENT_RUNNING : v1::EXPERIMENT_QUEUED;
  }
  if (experiment.cancel_requested && experiment.cancelled > 0) return v1::EXPERIMENT_CANCELLED;
  // Running out of memory is a result, not a failure.
  if (experiment.failed > experiment.oom) return v1::EXPERIMENT_FAILED;
  if (experiment.finished > 0) return v1::EXPERIMENT_FINISHED;
  return experiment.cancelled > 0 && experiment.oom == 0 ? v1::EXPERIMENT_CANCELLED
                                                         : v1::EXPERIMENT_FAILED;
}

v1::ExpandedTrial ExpandedOf(const Experiment& experiment, const Trial& trial) {
  return ExpandedOf(experiment, trial.expanded);
}

v1::ExpandedTrial ExpandedOf(const Experiment& experiment, const std::string& serialized) {
  v1::ExpandedTrial expanded;
  DT_CHECK(expanded.ParseFromString(serialized));
  for (int i = 0; i < expanded.choices_size(); ++i) {
    const v1::Parameter& parameter = experiment.spec.parameters(i);
    v1::Assignment& assignment = *expanded.add_assignments();
    assignment.set_path(parameter.path());
    *assignment.mutable_value() = parameter.values(static_cast<int>(expanded.choices(i)));
  }
  expanded.clear_choices();
  return expanded;
}

int32_t PriorityOf(const Experiment& experiment) {
  return experiment.spec.base().resources().priority();
}

namespace {

constexpr std::string_view kTensor = "parallel.tensor";

// Returns whether the file allows other sizes than resources.gpus.
bool MayBeElastic(const v1::Resources& resources) {
  return resources.min_gpus() > 0 || resources.max_gpus() > 0;
}

// Returns the sizes of a trial with these values, without resolving all of it.
std::optional<spec::GangSizes> SizesOf(
    const Experiment& experiment,
    const google::protobuf::RepeatedPtrField<v1::Assignment>& assignments) {
  const v1::Spec& base = experiment.spec.base();
  v1::Spec sizing;
  sizing.mutable_resources()->set_gpus(base.resources().gpus());
  sizing.mutable_resources()->set_min_gpus(base.resources().min_gpus());
  sizing.mutable_resources()->set_max_gpus(base.resources().max_gpus());
  *sizing.mutable_train() = base.train();
  *sizing.mutable_parallel() = base.parallel();
  *sizing.mutable_command() = base.command();
  sizing.set_run(base.run());
  constexpr char kBatch[] = "train.global_batch_size";
  bool said = spec::IsExplicit(experiment.spec, kBatch);
  for (const v1::Assignment& assignment : assignments) {
    // Parameters of a program may have any name.
    const bool ours =
        (assignment.path().starts_with("train.") || assignment.path().starts_with("parallel.")) &&
        !spec::IsProgram(sizing);
    if (!ours && assignment.path() != "resources.gpus") continue;
    // The version that accepted it may have allowed more.
    if (!spec::SetField(sizing, assignment.path(), assignment.value()).ok()) return std::nullopt;
    said = said || assignment.path() == kBatch;
  }
  sizing.mutable_train()->set_global_batch_size(
      spec::GlobalBatchOf(sizing, said ? spec::BatchGiven::kYes : spec::BatchGiven::kNo));
  return spec::SizesOf(sizing);
}

bool SweepsWithin(const Experiment& experiment, std::string_view section) {
  const auto& parameters = experiment.spec.parameters();
  return std::any_of(parameters.begin(), parameters.end(), [section](const v1::Parameter& each) {
    return each.path().starts_with(section);
  });
}

// Returns whether the allowed sizes may differ between trials.
bool SweepsSizes(const Experiment& experiment) {
  return SweepsWithin(experiment, "train.") || SweepsWithin(experiment, "parallel.");
}

// Returns the number of ranks that share a layer; for future proposals the largest possible one.
int32_t LargestTensor(const Experiment& experiment) {
  if (spec::IsProgram(experiment.spec)) return 1;
  double most = experiment.spec.base().parallel().tensor();
  for (const v1::Parameter& each : experiment.spec.parameters()) {
    if (each.path() != kTensor) continue;
    most = each.range().max();
    for (const v1::Value& value : each.values()) {
      most = std::max(most, static_cast<double>(value.integer()));
    }
  }
  return static_cast<int32_t>(std::clamp<double>(most, 1, limits::kWorldSizeMax));
}

// Sets the level of workers: ranks of two versions may not understand each other.
void SetLevel(const Experiment& experiment, Shape& shape) {
  shape.constraint.level = shape.most() > 1 ? kWorkerLevel : experiment.level;
}

}  // namespace

Shape ShapeOf(const Experiment& experiment) {
  const v1::Spec& base = experiment.spec.base();
  const v1::Resources& resources = base.resources();
  Shape shape;
  shape.slots = std::clamp<int32_t>(resources.gpus(), 1, limits::kWorldSizeMax);
  shape.single_node = resources.single_node();
  Constraint& constraint = shape.constraint;
  constraint.device = DeviceKindOf(resources.device());
  constraint.programs = spec::IsProgram(base) && !IsNetworkBench(base.command());
  constraint.trainer = !constraint.programs;
  if (constraint.programs) constraint.environment = spec::EnvironmentKind(base.environment());
  constraint.accelerator = absl::AsciiStrToLower(resources.accelerator());
  for (const v1::Label& label : resources.labels()) {
    constraint.labels.emplace_back(label.key(), label.value());
  }
  if (IsClientTrial(base.command())) {
    constraint.device = DeviceKind::kClient;
    // A client asks for trials of one experiment.
    constraint.labels.emplace_back("experiment", absl::StrCat(experiment.id));
  }
  std::sort(constraint.labels.begin(), constraint.labels.end());
  // The sizes of a future trial are unknown if its batch is swept.
  if (MayBeElastic(resources) && !SweepsSizes(experiment)) {
    shape.elastic = SizesOf(experiment, {});
  }
  shape.together = LargestTensor(experiment);
  SetLevel(experiment, shape);
  return shape;
}

Shape ShapeOfNext(const Experiment& experiment) {
  if (SweepsWithin(experiment, "resources.")) {
    for (const Trial& trial : experiment.trials) {
      if (trial.state == v1::TRIAL_PENDING) return ShapeOf(experiment, trial);
    }
  }
  return ShapeOf(experiment);
}

Shape ShapeOf(const Experiment& experiment, const Trial& trial) {
  Shape shape = ShapeOf(experiment);
  const bool elastic = MayBeElastic(experiment.spec.base().resources());
  const bool swept = SweepsWithin(experiment, "resources.");
  const bool cut_otherwise = shape.together > 1 && SweepsWithin(experiment, kTensor);
  if (!swept && !elastic && !cut_otherwise) return shape;
  const v1::ExpandedTrial expanded = ExpandedOf(experiment, trial);
  for (const v1::Assignment& assignment : expanded.assignments()) {
    const v1::Value& value = assignment.value();
    if (assignment.path() == "resources.gpus") {
      shape.slots =
          static_cast<int32_t>(std::clamp<int64_t>(value.integer(), 1, limits::kWorldSizeMax));
    } else if (assignment.path() == "resources.device") {
      shape.constraint.device = DeviceKindOf(value.text());
    } else if (assignment.path() == "resources.single_node") {
      shape.single_node = value.flag();
    } else if (assignment.path() == "resources.accelerator") {
      shape.constraint.accelerator = absl::AsciiStrToLower(value.text());
    } else if (assignment.path() == kTensor && cut_otherwise) {
      shape.together =
          static_cast<int32_t>(std::clamp<int64_t>(value.integer(), 1, limits::kWorldSizeMax));
    }
  }
  if (swept || SweepsSizes(experiment)) {
    if (elastic) shape.elastic = SizesOf(experiment, expanded.assignments());
    SetLevel(experiment, shape);
  }
  if (!elastic) return shape;
  // A gang that was asked to grow gets its new size, if it is still allowed.
  if (shape.elastic.has_value() && !trial.attempts.empty()) {
    const auto next = static_cast<int32_t>(trial.attempts.back().stop_slots);
    if (shape.elastic->Reaches(next)) shape.slots = std::max(shape.slots, next);
  }
  return shape;
}

int64_t SeedOf(const Experiment& experiment, const Trial& trial) {
  if (!spec::IsSwept(experiment.spec, "seed")) return experiment.spec.base().seed();
  const v1::ExpandedTrial expanded = ExpandedOf(experiment, trial);
  for (const v1::Assignment& assignment : expanded.assignments()) {
    if (assignment.path() == "seed") return assignment.value().integer();
  }
  return experiment.spec.base().seed();
}

const KnownCheckpoint* NewestCheckpoint(const Trial& trial) {
  const KnownMutation* over = trial.mutations.empty() ? nullptr : &trial.mutations.back();
  const KnownCheckpoint* newest = nullptr;
  for (const KnownCheckpoint& checkpoint : trial.checkpoints) {
    if (over != nullptr && checkpoint.attempt <= over->attempt) continue;
    if (newest != nullptr && checkpoint.ref.step() < newest->ref.step()) continue;
    if (IsValid(trial, checkpoint.attempt, checkpoint.ref.step())) newest = &checkpoint;
  }
  return newest == nullptr && over != nullptr ? &over->taken : newest;
}

Tries CountEnd(Tries tries, const Attempt& attempt, v1::Cause cause, Charge charge) {
  if (attempt.progressed) tries = Tries{};
  if (charge == Charge::kFree) return tries;
  if (Mutated(Mutant::kTriesUncounted)) return tries;
  const Consequence consequence = ConsequenceOf(cause);
  if (consequence == Consequence::kRetriesCrash) ++tries.crashes;
  if (consequence == Consequence::kRetriesLoss) ++tries.losses;
  return tries;
}

v1::Pace PaceOf(const v1::StepRow& rows) {
  v1::Pace pace;
  pace.set_tokens(rows.tokens());
  pace.set_seconds(spec::TrainingSecondsOf(rows));
  double step_seconds = 0;
  for (const spec::StepColumn& part : spec::kPartsOfStep) step_seconds += part.Of(rows);
  pace.set_step_seconds(step_seconds);
  pace.set_comm_seconds(spec::CommunicationSeconds(rows));
  pace.set_comm_exposed_seconds(rows.comm_exposed_seconds());
  return pace;
}

void Add(const v1::Pace& by, v1::Pace& sum) {
  sum.set_tokens(sum.tokens() + by.tokens());
  sum.set_seconds(sum.seconds() + by.seconds());
  sum.set_step_seconds(sum.step_seconds() + by.step_seconds());
  sum.set_comm_seconds(sum.comm_seconds() + by.comm_seconds());
  sum.set_comm_exposed_seconds(sum.comm_exposed_seconds() + by.comm_exposed_seconds());
}

search::Goal GoalOf(const Experiment& experiment) {
  return experiment.spec.search().goal() == "maximize" ? search::Goal::kMaximize
                                                       : search::Goal::kMinimize;
}

bool ComparesMeans(const Experiment& experiment) {
  return experiment.spec.base().stop().median().after() > 0 ||
         spec::IsSwept(experiment.spec, "stop.median.after");
}

NetworkKey KeyOf(const std::string& device_name, const v1::NetworkFigure& figure) {
  return {device_name, figure.hosts() > 1, figure.ranks(),
          figure.op(), figure.over(),      figure.bytes()};
}

bool IsCompared(const Experiment& experiment, const v1::Evaluation& evaluation) {
  return !spec::IsProgram(experiment.spec.base()) ||
         spec::Names(evaluation, experiment.spec.search().metric());
}

ValueSummary SummarizeValues(const Trial& trial, double KnownEvaluation::*value) {
  ValueSummary summary;
  for (const KnownEvaluation& evaluation : trial.evaluations) {
    if (!IsValid(trial, evaluation.attempt, evaluation.step)) continue;
    summary.newest = evaluation.*value;
    if (!std::isfinite(summary.newest)) continue;  // worse than any number
    summary.newest_number = summary.newest;
    // NaN until there is a number; comparisons with it are false.
    if (!(summary.lowest <= summary.newest)) {
      summary.lowest = summary.newest;
      summary.lowest_step = evaluation.step;
    }
    if (!(summary.highest >= summary.newest)) {
      summary.highest = summary.newest;
      summary.highest_step = evaluation.step;
    }
  }
  return summary;
}

int64_t TrainedMsOf(const std::vector<Attempt>& attempts) {
  return std::accumulate(
      attempts.begin(), attempts.end(), int64_t{0},
      [](int64_t sum, const Attempt& attempt) { return sum + attempt.trained_ms; });
}

}  // namespace dt
