#include "report/words/summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "api/json.h"
#include "common/free_name.h"
#include "report/words/format.h"
#include "spec/spec.h"

namespace dt::report {
namespace {

std::string LastPart(const std::string& path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

bool Ended(v1::TrialState state) {
  return state == v1::TRIAL_FINISHED || state == v1::TRIAL_FAILED || state == v1::TRIAL_CANCELLED;
}

bool Ended(v1::ExperimentState state) {
  return state == v1::EXPERIMENT_FINISHED || state == v1::EXPERIMENT_FAILED ||
         state == v1::EXPERIMENT_CANCELLED;
}

std::string StateText(const v1::TrialSummary& trial) {
  if (StoppedEarly(trial)) return "stopped early";
  if (trial.state() == v1::TRIAL_FINISHED && !trial.infeasible().empty()) return "infeasible";
  std::string text = api::Word(trial.state());
  const std::string cause = api::Word(trial.cause());
  if (trial.state() == v1::TRIAL_FAILED && !cause.empty()) absl::StrAppend(&text, ": ", cause);
  return text.empty() ? kNone : text;
}

std::string StateText(v1::ExperimentState state) {
  const std::string word = api::Word(state);
  return word.empty() ? kNone : word;
}

std::string StateText(const v1::ExperimentSummary& experiment) {
  if (experiment.paused() && !Ended(experiment.state())) return "paused";
  return StateText(experiment.state());
}

uint32_t TrialsInAll(const v1::ExperimentSummary& experiment) {
  const bool more = experiment.search_end().empty() && !Ended(experiment.state());
  return more ? std::max(experiment.trials(), experiment.planned_trials()) : experiment.trials();
}

bool StoppedEarly(const v1::TrialSummary& trial) {
  return trial.state() == v1::TRIAL_FINISHED && trial.cause() == v1::CAUSE_STOPPED_EARLY;
}

size_t CountStoppedEarly(const std::vector<v1::TrialSummary>& trials) {
  return static_cast<size_t>(std::count_if(trials.begin(), trials.end(), StoppedEarly));
}

std::string ToComeText(const v1::ExperimentSummary& experiment) {
  const uint32_t all = TrialsInAll(experiment);
  if (all <= experiment.trials()) return "";
  return absl::StrCat("up to ", Plural(all - experiment.trials(), "trial"),
                      ", each proposed when it has slots");
}

std::string FailedText(const v1::ExperimentSummary& experiment) {
  std::string text = absl::StrCat(FormatCount(experiment.failed()), " failed");
  if (experiment.oom() == 0) return text;
  if (experiment.oom() == experiment.failed()) return text + ": oom";
  return absl::StrCat(text, ", ", FormatCount(experiment.oom()), " of them oom");
}

double Progress(const v1::TrialSummary& trial) {
  if (trial.state() == v1::TRIAL_FINISHED && trial.cause() != v1::CAUSE_STOPPED_EARLY) return 1;
  if (trial.progress() > 0) return trial.progress();  // as the program reports it
  if (trial.target_steps() == 0) return 0;
  return std::min(1.0, static_cast<double>(trial.step()) / trial.target_steps());
}

std::string StepText(const v1::TrialSummary& trial) {
  if (trial.target_steps() == 0 && trial.progress() > 0) {
    const std::string share =
        absl::StrCat(static_cast<int>(std::lround(100 * trial.progress())), " %");
    return trial.step() == 0 ? share : absl::StrCat(trial.step(), ", ", share);
  }
  if (trial.target_steps() == 0) {
    if (trial.step() == 0) return kNone;
    return absl::StrCat(trial.step(), Ended(trial.state()) ? "" : "/?");
  }
  return absl::StrCat(trial.step(), "/", trial.target_steps());
}

std::string TrialName(const v1::TrialSummary& trial) {
  return absl::StrCat(trial.experiment(), "/", trial.trial());
}

// Returns whether a table of trials has a column of ours by that name, in any case.
static bool IsOurHeader(const std::string& name) {
  static const auto* const ours = new std::set<std::string>(
      {"TRIAL",   "TRIALS", "STATE",    "STEP",     "STEPS",  "LOSS",   "BEST",
       "COMM",    "LEFT",   "NOTE",     "ATTEMPTS", "TIME",   "RUNS",   "OF",
       "WORKERS", "SLOTS",  "FINISHED", "FIN",      "MEMORY", "FAILED", "PROGRESS"});
  return ours->contains(absl::AsciiStrToUpper(name));
}

std::vector<Swept> SweptParameters(const std::vector<v1::TrialSummary>& trials) {
  std::vector<Swept> swept;
  std::map<std::string, int> uses;
  for (const v1::TrialSummary& trial : trials) {
    for (const v1::Assignment& assignment : trial.assignments()) {
      const auto known = std::find_if(swept.begin(), swept.end(), [&](const Swept& one) {
        return one.path == assignment.path();
      });
      if (known != swept.end()) continue;
      swept.push_back({assignment.path(), Printable(LastPart(assignment.path())), {}});
      ++uses[swept.back().name];
    }
  }
  for (Swept& one : swept) {
    if (uses[one.name] > 1) one.name = Printable(one.path);
    one.header = IsOurHeader(one.name) ? Printable(one.path) : one.name;
    if (IsOurHeader(one.header)) one.header.insert(0, kParameterColumn);
  }
  return swept;
}

std::string AssignmentText(const v1::TrialSummary& trial, const std::string& path) {
  for (const v1::Assignment& assignment : trial.assignments()) {
    if (assignment.path() == path) return Printable(spec::ValueText(assignment.value()));
  }
  return kNone;
}

std::string AssignmentsText(const v1::TrialSummary& trial) {
  std::string text;
  for (const Swept& one : SweptParameters({trial})) {
    absl::StrAppend(&text, text.empty() ? "" : " ", one.name, "=", AssignmentText(trial, one.path));
  }
  return text.empty() ? kNone : text;
}

std::string LineName(const v1::TrialSummary& trial) {
  return absl::StrCat(TrialName(trial), trial.assignments().empty() ? "" : "  ",
                      trial.assignments().empty() ? "" : AssignmentsText(trial));
}

std::string BuildText(const v1::Provenance& provenance) {
  if (provenance.program_version().empty()) return "";
  return Printable(
      absl::StrCat(provenance.program_version(), " (", provenance.program_revision(), ")"));
}

std::string TorchText(const v1::Provenance& provenance) {
  std::string text = provenance.torch_version();
  if (!provenance.cuda_version().empty()) {
    absl::StrAppend(&text, ", CUDA ", provenance.cuda_version());
  }
  if (!provenance.nccl_version().empty()) {
    absl::StrAppend(&text, ", NCCL ", provenance.nccl_version());
  }
  return Printable(text);
}

bool NeedsColumn(const std::string& metric) {
  return !metric.empty() && metric != "val_loss" && metric != "loss";
}

std::string BestLossText(const v1::TrialSummary& trial) {
  const std::string loss = FormatLoss(trial.best_val_loss());
  // A coordinator of 0.1.0 does not send the step.
  return trial.best_val_step() == 0 ? loss : absl::StrCat(loss, " at ", trial.best_val_step());
}

std::string BestText(const v1::TrialSummary& trial) {
  // The value of several objectives is the newest of the first: it has no step of its own.
  if (!trial.objectives().empty()) return FormatLoss(trial.metric_value());
  // A script may count from 0. A newest value says that the best one is measured too.
  const bool measured = trial.has_metric_newest() && std::isfinite(trial.metric_value());
  if (trial.metric_step() != 0 || measured) {
    return absl::StrCat(FormatLoss(trial.metric_value()), " at ", trial.metric_step());
  }
  // Either the trials are compared by their newest training loss, or an older coordinator does not
  // send the step.
  return std::isfinite(trial.metric_value()) ? BestLossText(trial) : kNone;
}

std::string MetricText(const v1::TrialSummary& trial) {
  return FormatLoss(trial.has_metric_newest() ? trial.metric_newest() : trial.metric_value());
}

std::string NoteText(const v1::TrialSummary& trial) {
  if (!trial.waiting().empty()) return Printable(trial.waiting());
  if (!trial.infeasible().empty() && trial.message().empty()) return Printable(trial.infeasible());
  // The cause of a failure matters most; the message ends with the last line of output.
  if (trial.hint().empty() || trial.state() == v1::TRIAL_FAILED) return Printable(trial.message());
  return Printable(
      absl::StrCat(trial.message(), trial.message().empty() ? "" : "; ", trial.hint()));
}

std::string RateText(const v1::TrialSummary& trial) {
  return trial.tokens_per_second() > 0 ? FormatRate(trial.tokens_per_second()) : kNone;
}

std::string CommShareText(const v1::TrialSummary& trial) {
  return trial.world_size() < 2 ? kNone : FormatRatio(trial.comm_ratio());
}

}  // namespace dt::report
