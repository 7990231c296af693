#include "coordinator/core/facts/changes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/view.h"
#include "spec/search.h"

namespace dt {
namespace {

// Bytes of a note or of labels in the history: the beginning is enough to recognize it.
constexpr size_t kHistoryBytes = limits::kNameBytes;

// Returns "2", or "no limit".
std::string LimitText(int32_t limit) {
  return limit == 0 ? std::string("no limit") : absl::StrCat(limit);
}

// Returns "labels team=vision; without owner".
std::string LabelsText(const v1::ExperimentChanged::Labels& change) {
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

// Changes max_steps, also in the resolved specification: trials that differ in it were refused.
std::string ChangeMaxSteps(Experiment& experiment, int64_t max_steps) {
  v1::Train& train = *experiment.spec.mutable_base()->mutable_train();
  std::string what = absl::StrCat("max_steps ", train.max_steps(), ", now ", max_steps);
  train.set_max_steps(max_steps);
  if (!experiment.resolved_paths.empty()) {
    experiment.resolved.mutable_train()->set_max_steps(max_steps);
  }
  return what;
}

// Changes name, note, labels or archived, which do not affect its work. Returns the text for the
// history.
std::string ChangeWords(Experiment& experiment, const v1::ExperimentChanged& fact) {
  v1::ExperimentSpec& spec = experiment.spec;
  if (fact.has_name()) {
    std::string what = absl::StrCat("name '", spec.name(), "', now '", fact.name(), "'");
    spec.set_name(fact.name());
    return what;
  }
  if (fact.has_note()) {
    experiment.note = fact.note();
    if (fact.note().empty()) return "note taken away";
    return CleanText(absl::StrCat("note: ", fact.note()), kHistoryBytes);
  }
  if (fact.has_labels()) {
    const std::vector<v1::Label> after = LabelsAfter(spec, fact.labels());
    *spec.mutable_labels() = {after.begin(), after.end()};
    return LabelsText(fact.labels());
  }
  experiment.archived = fact.archived();
  return fact.archived() ? "archived" : "taken out of the archive";
}

// Changes its limit of slots or its priority. Returns the text for the history.
std::string ChangeResources(Experiment& experiment, const v1::ExperimentChanged& fact) {
  v1::Resources& resources = *experiment.spec.mutable_base()->mutable_resources();
  if (fact.has_priority()) {
    std::string what = absl::StrCat("priority ", resources.priority(), ", now ", fact.priority());
    resources.set_priority(fact.priority());
    return what;
  }
  const auto limit = static_cast<int32_t>(fact.max_gpus_total());
  std::string what = absl::StrCat("max_gpus_total ", LimitText(resources.max_gpus_total()),
                                  ", now ", LimitText(limit));
  resources.set_max_gpus_total(limit);
  return what;
}

void AddEdit(Experiment& experiment, Edit edit) {
  if (experiment.edits.size() >= limits::kEditsPerExperiment) {
    experiment.edits.erase(experiment.edits.begin());
  }
  experiment.edits.push_back(std::move(edit));
}

}  // namespace

void NoteCancel(Experiment& experiment, const v1::CancelRequested& fact, int64_t wall_ms) {
  if (fact.who().empty()) return;
  std::string what = "cancelled";
  if (fact.trial() != 0) absl::StrAppend(&what, " trial ", fact.trial());
  if (fact.reason() != "cancelled") absl::StrAppend(&what, ": ", fact.reason());
  AddEdit(experiment, {wall_ms, fact.who(), CleanText(what, kHistoryBytes)});
}

void NoteRetry(Experiment& experiment, const v1::TrialRetried& fact, int64_t wall_ms) {
  constexpr std::string_view kRetried = "retried trial";
  constexpr std::string_view kMore = ", …";
  constexpr size_t kLongestNumber = 12;
  if (fact.who().empty()) return;
  // Each retried trial has a record; the history has one line for all trials of one call.
  if (!experiment.edits.empty()) {
    Edit& last = experiment.edits.back();
    const std::string_view what = last.what;
    if (last.wall_ms == wall_ms && last.who == fact.who() && what.starts_with(kRetried)) {
      if (what.ends_with(kMore)) return;
      const bool full = what.size() + kLongestNumber + kMore.size() > kHistoryBytes;
      if (what[kRetried.size()] == ' ') last.what.insert(kRetried.size(), "s");
      absl::StrAppend(&last.what, full ? std::string(kMore) : absl::StrCat(", ", fact.trial()));
      return;
    }
  }
  AddEdit(experiment, {wall_ms, fact.who(), absl::StrCat(View(kRetried), " ", fact.trial())});
}

std::vector<v1::Label> LabelsAfter(const v1::ExperimentSpec& spec,
                                   const v1::ExperimentChanged::Labels& change) {
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

absl::Status ApplyStopRequested(DurableState& state, const v1::StopRequested& fact) {
  const AttemptId id{{fact.experiment(), fact.trial()}, fact.attempt()};
  auto* attempt = const_cast<Attempt*>(FindAttempt(state, id));
  const Trial* trial = FindTrial(state, id.trial);
  const bool goes_on = attempt != nullptr && id.attempt == trial->attempts.size() &&
                       attempt->state != AttemptState::kEnded &&
                       trial->state != v1::TRIAL_STOPPING && !attempt->AskedToStop();
  if (!goes_on || fact.why() == v1::StopRequested::WHY_UNSPECIFIED) {
    return absl::FailedPreconditionError(
        absl::StrCat("journal: attempt ", ToString(id),
                     " is asked to stop, and is not under way, or was asked before"));
  }
  attempt->stop_why = fact.why();
  attempt->stop_reason = fact.reason();
  attempt->stop_for = {fact.for_experiment(), fact.for_trial()};
  attempt->stop_slots = fact.slots();
  return absl::OkStatus();
}

absl::Status ApplyExperimentChanged(DurableState& state, const v1::ExperimentChanged& fact,
                                    int64_t wall_ms) {
  const auto found = state.experiments.find(fact.experiment());
  if (found == state.experiments.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "journal: ExperimentChanged names experiment ", fact.experiment(), ", which is not known"));
  }
  Experiment& experiment = found->second;
  Edit edit{wall_ms, fact.who(), {}};
  switch (fact.change_case()) {
    case v1::ExperimentChanged::kPause:
      experiment.paused = true;
      experiment.paused_by = fact.who();
      experiment.paused_why = fact.pause().reason();
      edit.what = fact.pause().let_run() ? "paused; what trains goes on" : "paused";
      if (!experiment.paused_why.empty()) absl::StrAppend(&edit.what, ": ", experiment.paused_why);
      break;
    case v1::ExperimentChanged::kResume:
      experiment.paused = false;
      experiment.paused_by.clear();
      experiment.paused_why.clear();
      edit.what = "resumed";
      break;
    case v1::ExperimentChanged::kMaxConcurrent: {
      v1::Search& search = *experiment.spec.mutable_search();
      const auto limit = static_cast<int32_t>(fact.max_concurrent());
      edit.what = absl::StrCat("max_concurrent ", LimitText(search.max_concurrent()), ", now ",
                               LimitText(limit));
      search.set_max_concurrent(limit);
      break;
    }
    case v1::ExperimentChanged::kMaxTrials: {
      v1::Search& search = *experiment.spec.mutable_search();
      edit.what = absl::StrCat("max_trials ", search.max_trials(), ", now ", fact.max_trials());
      search.set_max_trials(static_cast<int32_t>(fact.max_trials()));
      if (spec::SamplerOf(experiment.spec) != spec::Sampler::kBayes) break;
      experiment.planned = spec::PlannedTrials(experiment.spec);
      experiment.ended_wall_ms = 0;
      experiment.archived = false;
      break;
    }
    case v1::ExperimentChanged::kMaxGpusTotal:
    case v1::ExperimentChanged::kPriority:
      edit.what = ChangeResources(experiment, fact);
      break;
    case v1::ExperimentChanged::kMaxSteps:
      edit.what = ChangeMaxSteps(experiment, fact.max_steps());
      break;
    case v1::ExperimentChanged::kName:
    case v1::ExperimentChanged::kNote:
    case v1::ExperimentChanged::kLabels:
    case v1::ExperimentChanged::kArchived:
      edit.what = ChangeWords(experiment, fact);
      break;
    case v1::ExperimentChanged::CHANGE_NOT_SET:
      return absl::FailedPreconditionError(
          absl::StrCat("journal: experiment ", experiment.id,
                       " is changed in a way that this version does not know; a newer dtcoord "
                       "wrote it"));
  }
  AddEdit(experiment, std::move(edit));
  return absl::OkStatus();
}

absl::Status ApplyJournalCreated(DurableState& state, const v1::JournalCreated& fact) {
  if (state.journal_id != 0 || fact.journal_id() == 0) {
    return absl::FailedPreconditionError(
        "journal: JournalCreated must be the first record and carry an id");
  }
  state.journal_id = fact.journal_id();
  return absl::OkStatus();
}

absl::Status ApplyNumbersSkipped(DurableState& state, const v1::NumbersSkipped& fact) {
  if (fact.next_experiment() <= state.next_experiment) {
    return absl::FailedPreconditionError(absl::StrCat("journal: numbers of experiments go on with ",
                                                      fact.next_experiment(), "; the next one is ",
                                                      state.next_experiment, " already"));
  }
  state.next_experiment = fact.next_experiment();
  return absl::OkStatus();
}

}  // namespace dt
