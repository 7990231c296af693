#include "coordinator/core/facts/change_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/core/model/lifecycle.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/core/model/shape.h"
#include "spec/program.h"
#include "spec/search.h"
#include "spec/spec.h"

namespace dt {
namespace {

using Changed = v1::ExperimentChanged;

// ---- Checks that several changes share.

absl::Status CheckNotEnded(const Experiment& experiment) {
  if (!experiment.AllEnded()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", experiment.id,
                   " has ended, and nothing of it is left to change; submit another"));
}

// Checks that no parameter of the search has this path.
absl::Status CheckNotSwept(const Experiment& experiment, const std::string& path) {
  if (!spec::IsSwept(experiment.spec, path)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("experiment ", experiment.id, " sweeps ", path,
                                                    ", so that its trials differ in it; submit "
                                                    "another"));
}

// Checks that the number is in the range of the experiment file.
absl::Status CheckRange(const std::string& name, const std::string& path, int64_t number) {
  const spec::Field& field = *spec::FindField(path);
  if (spec::InRange(field, static_cast<double>(number))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", number, " is outside the range ", spec::RangeText(field)));
}

absl::Status CheckText(absl::string_view what, const std::string& text, size_t bytes_max) {
  if (text.size() > bytes_max) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", text.size(), " bytes; the limit is ", bytes_max));
  }
  if (!IsUtf8(text)) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is not UTF-8 text; write it as such"));
  }
  return absl::OkStatus();
}

// Checks a text of lists by the rules for labels of the file.
absl::Status CheckLine(absl::string_view what, const std::string& text, size_t bytes_max) {
  DT_RETURN_IF_ERROR(CheckText(what, text, bytes_max));
  if (Printable(text) == text) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " '", Printable(text), "' holds control characters; write one plain line"));
}

absl::Status CannotBeExtended(const Experiment& experiment, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", experiment.id, " cannot be extended: ", why));
}

absl::Status OnlyUpward(const Experiment& experiment, absl::string_view name, int64_t wanted,
                        int64_t now) {
  if (wanted >= now) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " ", wanted, " is below the ", now,
                                                 " that experiment ", experiment.id,
                                                 " has; it can only be raised"));
}

// Returns "2", or "no limit".
std::string LimitText(int32_t limit) {
  return limit == 0 ? std::string("no limit") : absl::StrCat(limit);
}

// ---- The changes, a function each.

ExperimentChange Pause() {
  return {Changed::kPause,
          [](const Experiment& experiment, const Changed&) { return CheckNotEnded(experiment); },
          [](const Experiment& experiment, const Changed&) { return experiment.paused; },
          [](Experiment& experiment, const Changed& change) {
            experiment.paused = true;
            experiment.paused_by = change.who();
            experiment.paused_why = change.pause().reason();
            std::string words = change.pause().let_run() ? "paused; what trains goes on" : "paused";
            if (!experiment.paused_why.empty()) {
              absl::StrAppend(&words, ": ", experiment.paused_why);
            }
            return words;
          }};
}

ExperimentChange Resume() {
  return {Changed::kResume,
          // An experiment that ended while paused may be resumed, so that retries can run.
          [](const Experiment&, const Changed&) { return absl::OkStatus(); },
          [](const Experiment& experiment, const Changed&) { return !experiment.paused; },
          [](Experiment& experiment, const Changed&) {
            experiment.paused = false;
            experiment.paused_by.clear();
            experiment.paused_why.clear();
            return std::string("resumed");
          }};
}

ExperimentChange MaxConcurrent() {
  return {Changed::kMaxConcurrent,
          [](const Experiment& experiment, const Changed& change) {
            if (change.max_concurrent() <= limits::kTrialsPerExperiment) {
              return CheckNotEnded(experiment);
            }
            return absl::InvalidArgumentError(
                absl::StrCat("max_concurrent ", change.max_concurrent(), " is above the limit of ",
                             limits::kTrialsPerExperiment, "; 0 is no limit"));
          },
          [](const Experiment& experiment, const Changed& change) {
            return static_cast<uint32_t>(experiment.spec.search().max_concurrent()) ==
                   change.max_concurrent();
          },
          [](Experiment& experiment, const Changed& change) {
            v1::Search& search = *experiment.spec.mutable_search();
            const auto limit = static_cast<int32_t>(change.max_concurrent());
            std::string words = absl::StrCat("max_concurrent ", LimitText(search.max_concurrent()),
                                             ", now ", LimitText(limit));
            search.set_max_concurrent(limit);
            return words;
          }};
}

// Checks whether the search may try more trials.
absl::Status CheckMaxTrials(const Experiment& experiment, const Changed& change) {
  const auto refused = [&experiment](const std::string& why) {
    return CannotBeExtended(experiment, why);
  };
  if (spec::SamplerOf(experiment.spec) == spec::Sampler::kGrid) {
    return refused("a grid ends with its combinations; submit another with more values");
  }
  if (experiment.cancel_requested) return refused("it was cancelled; submit another");
  if (experiment.search_ended) {
    return refused(absl::StrCat("its search has ended: ", experiment.search_end));
  }
  DT_RETURN_IF_ERROR(OnlyUpward(experiment, "max_trials", change.max_trials(),
                                experiment.spec.search().max_trials()));
  const uint64_t most = limits::kTrialsPerExperiment / spec::ReplicatesOf(experiment.spec);
  if (change.max_trials() <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "max_trials ", change.max_trials(), " is above the limit of ", most, " for this experiment"));
}

ExperimentChange MaxTrials() {
  return {Changed::kMaxTrials, CheckMaxTrials,
          [](const Experiment& experiment, const Changed& change) {
            return static_cast<uint32_t>(experiment.spec.search().max_trials()) ==
                   change.max_trials();
          },
          [](Experiment& experiment, const Changed& change) {
            v1::Search& search = *experiment.spec.mutable_search();
            std::string words =
                absl::StrCat("max_trials ", search.max_trials(), ", now ", change.max_trials());
            search.set_max_trials(static_cast<int32_t>(change.max_trials()));
            if (spec::SamplerOf(experiment.spec) == spec::Sampler::kBayes) {
              experiment.planned = spec::PlannedTrials(experiment.spec);
              experiment.ended_wall_ms = 0;
              experiment.archived = false;
            }
            return words;
          }};
}

// Returns the largest gang that an unfinished trial needs; an elastic gang counts with its least
// size.
int32_t LargestGang(const Experiment& experiment) {
  int32_t most = experiment.MoreMayCome() ? ShapeOf(experiment).least() : 0;
  for (const Trial& trial : experiment.trials) {
    if (!IsTerminal(trial.state)) most = std::max(most, ShapeOf(experiment, trial).least());
  }
  return most;
}

absl::Status CheckMaxGpusTotal(const Experiment& experiment, const Changed& change) {
  if (change.max_gpus_total() == 0) return CheckNotEnded(experiment);
  DT_RETURN_IF_ERROR(CheckNotSwept(experiment, "resources.max_gpus_total"));
  DT_RETURN_IF_ERROR(
      CheckRange("max_gpus_total", "resources.max_gpus_total", change.max_gpus_total()));
  const int32_t largest = LargestGang(experiment);
  if (change.max_gpus_total() >= static_cast<uint32_t>(largest)) return CheckNotEnded(experiment);
  return absl::InvalidArgumentError(
      absl::StrCat("max_gpus_total ", change.max_gpus_total(), " is below the ", largest,
                   " slots that a trial of experiment ", experiment.id,
                   " takes, which could not run; raise it, or pause the experiment (dtctl pause ",
                   experiment.id, ")"));
}

ExperimentChange MaxGpusTotal() {
  return {Changed::kMaxGpusTotal, CheckMaxGpusTotal,
          [](const Experiment& experiment, const Changed& change) {
            return static_cast<uint32_t>(experiment.spec.base().resources().max_gpus_total()) ==
                   change.max_gpus_total();
          },
          [](Experiment& experiment, const Changed& change) {
            v1::Resources& resources = *experiment.spec.mutable_base()->mutable_resources();
            const auto limit = static_cast<int32_t>(change.max_gpus_total());
            std::string words =
                absl::StrCat("max_gpus_total ", LimitText(resources.max_gpus_total()), ", now ",
                             LimitText(limit));
            resources.set_max_gpus_total(limit);
            return words;
          }};
}

ExperimentChange Priority() {
  return {Changed::kPriority,
          [](const Experiment& experiment, const Changed& change) -> absl::Status {
            DT_RETURN_IF_ERROR(CheckNotSwept(experiment, "resources.priority"));
            DT_RETURN_IF_ERROR(CheckRange("priority", "resources.priority", change.priority()));
            return CheckNotEnded(experiment);
          },
          [](const Experiment& experiment, const Changed& change) {
            return experiment.spec.base().resources().priority() == change.priority();
          },
          [](Experiment& experiment, const Changed& change) {
            v1::Resources& resources = *experiment.spec.mutable_base()->mutable_resources();
            std::string words =
                absl::StrCat("priority ", resources.priority(), ", now ", change.priority());
            resources.set_priority(change.priority());
            return words;
          }};
}

absl::Status CheckMaxSteps(const Experiment& experiment, const Changed& change) {
  DT_RETURN_IF_ERROR(CheckNotEnded(experiment));
  const auto refused = [&experiment](absl::string_view why) {
    return CannotBeExtended(experiment, why);
  };
  const v1::Train& train = experiment.spec.base().train();
  if (experiment.cancel_requested) return refused("it was cancelled; submit another");
  if (spec::IsProgram(experiment.spec.base())) {
    return refused("it runs a program, which was told its steps as it began; submit another");
  }
  for (const char* path : {"train.max_steps", "train.max_tokens", "train.epochs"}) {
    if (spec::IsSwept(experiment.spec, path)) {
      return refused(absl::StrCat("it sweeps ", path, "; submit another"));
    }
  }
  if (train.max_steps() == 0) {
    return refused(absl::StrCat("it trains for ", train.max_tokens() > 0 ? "max_tokens" : "epochs",
                                ", from which its steps follow; submit another with max_steps"));
  }
  DT_RETURN_IF_ERROR(CheckRange("max_steps", "train.max_steps", change.max_steps()));
  DT_RETURN_IF_ERROR(OnlyUpward(experiment, "max_steps", change.max_steps(), train.max_steps()));
  if (experiment.attempts == 0) return absl::OkStatus();
  // A schedule that depends on the steps keeps the warm-up of its first plan
  // (docs/guides/training.md).
  if (Climbs(experiment) || IsPopulation(experiment)) {
    return refused(
        "its rungs are shares of max_steps, and trials were compared at them; submit "
        "another");
  }
  return absl::OkStatus();
}

ExperimentChange MaxSteps() {
  return {Changed::kMaxSteps, CheckMaxSteps,
          [](const Experiment& experiment, const Changed& change) {
            return experiment.spec.base().train().max_steps() == change.max_steps();
          },
          [](Experiment& experiment, const Changed& change) {
            v1::Train& train = *experiment.spec.mutable_base()->mutable_train();
            std::string words =
                absl::StrCat("max_steps ", train.max_steps(), ", now ", change.max_steps());
            train.set_max_steps(change.max_steps());
            // Also in the resolved specification: trials that differ in it were refused.
            if (!experiment.resolved_paths.empty()) {
              experiment.resolved.mutable_train()->set_max_steps(change.max_steps());
            }
            return words;
          }};
}

ExperimentChange Name() {
  return {Changed::kName,
          [](const Experiment&, const Changed& change) {
            if (change.name().empty()) {
              return absl::InvalidArgumentError("name is empty; an experiment needs one");
            }
            if (const std::string problem = spec::NameProblem(change.name()); !problem.empty()) {
              return absl::InvalidArgumentError(absl::StrCat(
                  "name ", problem, "; choose another name, which begins with a letter"));
            }
            return CheckText("name", change.name(), limits::kNameBytes);
          },
          [](const Experiment& experiment, const Changed& change) {
            return experiment.spec.name() == change.name();
          },
          [](Experiment& experiment, const Changed& change) {
            std::string words =
                absl::StrCat("name '", experiment.spec.name(), "', now '", change.name(), "'");
            experiment.spec.set_name(change.name());
            return words;
          }};
}

ExperimentChange Note() {
  return {Changed::kNote,
          [](const Experiment&, const Changed& change) {
            return CheckText("note", change.note(), limits::kTextBytes);
          },
          [](const Experiment& experiment, const Changed& change) {
            return experiment.note == change.note();
          },
          [](Experiment& experiment, const Changed& change) {
            experiment.note = change.note();
            if (change.note().empty()) return std::string("note taken away");
            return CleanText(absl::StrCat("note: ", change.note()), kHistoryBytes);
          }};
}

// Returns the labels of `spec` after the change: first sets, then removals.
std::vector<v1::Label> LabelsAfter(const v1::ExperimentSpec& spec, const Changed::Labels& change) {
  std::vector<v1::Label> labels(spec.labels().begin(), spec.labels().end());
  for (const v1::Label& set : change.set()) {
    const auto known = std::find_if(labels.begin(), labels.end(), [&set](const v1::Label& label) {
      return label.key() == set.key();
    });
    if (known == labels.end()) {
      labels.push_back(set);
    } else {
      known->set_value(set.value());
    }
  }
  for (const std::string& key : change.removed()) {
    std::erase_if(labels, [&key](const v1::Label& label) { return label.key() == key; });
  }
  return labels;
}

absl::Status CheckLabels(const Experiment& experiment, const Changed& changed) {
  const Changed::Labels& change = changed.labels();
  if (change.set().empty() && change.removed().empty()) {
    return absl::InvalidArgumentError(
        "no label is given; write key=value to set one, and key- to take it away");
  }
  for (const v1::Label& label : change.set()) {
    if (label.key().empty()) return absl::InvalidArgumentError("a label has an empty key");
    DT_RETURN_IF_ERROR(CheckLine("the key of a label", label.key(), limits::kNameBytes));
    DT_RETURN_IF_ERROR(
        CheckLine(absl::StrCat("label ", label.key()), label.value(), limits::kTextBytes));
  }
  if (change.removed_size() > static_cast<int>(limits::kLabels)) {
    return absl::InvalidArgumentError(absl::StrCat(change.removed_size(),
                                                   " labels are to be taken away; an experiment "
                                                   "has at most ",
                                                   limits::kLabels));
  }
  for (const std::string& key : change.removed()) {
    DT_RETURN_IF_ERROR(CheckText("the key of a label", key, limits::kNameBytes));
  }
  const size_t after = LabelsAfter(experiment.spec, change).size();
  if (after <= limits::kLabels) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("experiment ", experiment.id, " would have ",
                                                 after, " labels; the limit is ", limits::kLabels,
                                                 "; take some away first"));
}

// Returns "labels team=vision; without owner".
std::string LabelsText(const Changed::Labels& change) {
  std::string text = "labels";
  for (const v1::Label& label : change.set()) {
    absl::StrAppend(&text, " ", label.key(), "=", label.value());
  }
  if (!change.removed().empty()) {
    absl::StrAppend(&text, change.set().empty() ? " without" : "; without");
  }
  for (const std::string& key : change.removed()) absl::StrAppend(&text, " ", key);
  return CleanText(text, kHistoryBytes);
}

ExperimentChange Labels() {
  return {Changed::kLabels, CheckLabels,
          [](const Experiment& experiment, const Changed& change) {
            const v1::ExperimentSpec& spec = experiment.spec;
            const std::vector<v1::Label> after = LabelsAfter(spec, change.labels());
            return std::equal(after.begin(), after.end(), spec.labels().begin(),
                              spec.labels().end(), [](const v1::Label& a, const v1::Label& b) {
                                return a.key() == b.key() && a.value() == b.value();
                              });
          },
          [](Experiment& experiment, const Changed& change) {
            const std::vector<v1::Label> after = LabelsAfter(experiment.spec, change.labels());
            *experiment.spec.mutable_labels() = {after.begin(), after.end()};
            return LabelsText(change.labels());
          }};
}

ExperimentChange Archived() {
  return {Changed::kArchived,
          [](const Experiment& experiment, const Changed& change) {
            if (!change.archived() || experiment.AllEnded()) return absl::OkStatus();
            return absl::FailedPreconditionError(absl::StrCat(
                "experiment ", experiment.id, " has ", experiment.pending + experiment.active,
                " trials that have not ended; only one that has ended can be archived"));
          },
          [](const Experiment& experiment, const Changed& change) {
            return experiment.archived == change.archived();
          },
          [](Experiment& experiment, const Changed& change) {
            experiment.archived = change.archived();
            return std::string(change.archived() ? "archived" : "taken out of the archive");
          }};
}

}  // namespace

const ExperimentChange* FindChange(const v1::ExperimentChanged& change) {
  static const auto* const changes = new std::vector<ExperimentChange>{
      Pause(),    Resume(), MaxConcurrent(), MaxTrials(), MaxGpusTotal(), Priority(),
      MaxSteps(), Name(),   Note(),          Labels(),    Archived()};
  const auto found = std::find_if(
      changes->begin(), changes->end(),
      [&change](const ExperimentChange& one) { return one.field == change.change_case(); });
  return found == changes->end() ? nullptr : &*found;
}

}  // namespace dt
