#include "coordinator/core/calls/editing_rules.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/core/facts/changes.h"
#include "coordinator/core/model/search_kind.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt {
namespace {

// Checks that the number is in the range of the experiment file.
absl::Status CheckRange(std::string_view name, double number) {
  const spec::Field& field = *spec::FindField(absl::StrCat("resources.", std::string(name)));
  if (spec::InRange(field, number)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(name), " ", number,
                                                 " is outside the range ", spec::RangeText(field)));
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

absl::Status CheckLabels(const Experiment& experiment,
                         const v1::ExperimentChanged::Labels& change) {
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

bool HasLabels(const v1::ExperimentSpec& spec, const v1::ExperimentChanged::Labels& change) {
  const std::vector<v1::Label> after = LabelsAfter(spec, change);
  return std::equal(after.begin(), after.end(), spec.labels().begin(), spec.labels().end(),
                    [](const v1::Label& a, const v1::Label& b) {
                      return a.key() == b.key() && a.value() == b.value();
                    });
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

}  // namespace

bool ChangesWords(const v1::ChangeRequest& request) {
  return request.has_name() || request.has_note() || request.has_labels() || request.has_archived();
}

absl::Status CheckWords(const Experiment& experiment, const v1::ChangeRequest& request) {
  if (request.has_name()) {
    if (request.name().empty()) {
      return absl::InvalidArgumentError("name is empty; an experiment needs one");
    }
    if (const std::string problem = spec::NameProblem(request.name()); !problem.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("name ", problem, "; choose another name, which begins with a letter"));
    }
    return CheckText("name", request.name(), limits::kNameBytes);
  }
  if (request.has_note()) return CheckText("note", request.note(), limits::kTextBytes);
  if (request.has_labels()) return CheckLabels(experiment, request.labels());
  if (!request.archived() || experiment.AllEnded()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", experiment.id, " has ", experiment.pending + experiment.active,
                   " trials that have not ended; only one that has ended can be archived"));
}

bool HasSuchWords(const Experiment& experiment, const v1::ChangeRequest& request) {
  if (request.has_name()) return experiment.spec.name() == request.name();
  if (request.has_note()) return experiment.note == request.note();
  if (request.has_labels()) return HasLabels(experiment.spec, request.labels());
  return request.has_archived() && experiment.archived == request.archived();
}

absl::Status CheckResources(const Experiment& experiment, const v1::ChangeRequest& request) {
  const auto swept = [&experiment](absl::string_view path) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", experiment.id, " sweeps ", path,
                     ", so that its trials differ in it; submit another"));
  };
  if (request.has_priority()) {
    if (spec::IsSwept(experiment.spec, "resources.priority")) return swept("resources.priority");
    return CheckRange("priority", request.priority());
  }
  if (!request.has_max_gpus_total() || request.max_gpus_total() == 0) return absl::OkStatus();
  if (spec::IsSwept(experiment.spec, "resources.max_gpus_total")) {
    return swept("resources.max_gpus_total");
  }
  DT_RETURN_IF_ERROR(CheckRange("max_gpus_total", request.max_gpus_total()));
  const int32_t largest = LargestGang(experiment);
  if (request.max_gpus_total() >= static_cast<uint32_t>(largest)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("max_gpus_total ", request.max_gpus_total(), " is below the ", largest,
                   " slots that a trial of experiment ", experiment.id,
                   " takes, which could not run; raise it, or pause the experiment (dtctl pause ",
                   experiment.id, ")"));
}

bool HasSuchResources(const Experiment& experiment, const v1::ChangeRequest& request) {
  const v1::Spec& base = experiment.spec.base();
  if (request.has_priority()) return base.resources().priority() == request.priority();
  if (request.has_max_steps()) return base.train().max_steps() == request.max_steps();
  return request.has_max_gpus_total() &&
         static_cast<uint32_t>(base.resources().max_gpus_total()) == request.max_gpus_total();
}

absl::Status CheckMaxSteps(const Experiment& experiment, int64_t max_steps) {
  const auto refused = [&experiment](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", experiment.id, " cannot be extended: ", why));
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
  const spec::Field& field = *spec::FindField("train.max_steps");
  if (!spec::InRange(field, static_cast<double>(max_steps))) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_steps ", max_steps, " is outside the range ", spec::RangeText(field)));
  }
  if (max_steps < train.max_steps()) {
    return absl::InvalidArgumentError(absl::StrCat("max_steps ", max_steps, " is below the ",
                                                   train.max_steps(), " that experiment ",
                                                   experiment.id, " has; it can only be raised"));
  }
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

std::string ExtendedText(const Experiment& experiment) {
  return absl::StrCat("experiment is extended to ", experiment.spec.base().train().max_steps(),
                      " steps");
}

}  // namespace dt
