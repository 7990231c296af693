#include "coordinator/core/calls/editing.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/status.h"
#include "coordinator/core/facts/change_table.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/queue.h"
#include "coordinator/core/keep/stops.h"
#include "coordinator/core/model/names.h"
#include "coordinator/core/model/resolved.h"
#include "coordinator/core/model/search_kind.h"
#include "coordinator/core/model/select.h"
#include "google/protobuf/descriptor.h"
#include "spec/search.h"

namespace dt {
namespace {

using google::protobuf::FieldDescriptor;

// Copies a field to one of the same type in another message.
void CopyField(const google::protobuf::Message& from, const FieldDescriptor& field,
               google::protobuf::Message& to, const FieldDescriptor& into) {
  const google::protobuf::Reflection& reads = *from.GetReflection();
  const google::protobuf::Reflection& writes = *to.GetReflection();
  DT_CHECK(field.type() == into.type());
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
    writes.SetUInt32(&to, &into, reads.GetUInt32(from, &field));
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
    writes.SetInt32(&to, &into, reads.GetInt32(from, &field));
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    writes.SetInt64(&to, &into, reads.GetInt64(from, &field));
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    writes.SetBool(&to, &into, reads.GetBool(from, &field));
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    writes.SetString(&to, &into, reads.GetString(from, &field));
  } else {
    writes.MutableMessage(&to, &into)->CopyFrom(reads.GetMessage(from, &field));
  }
}

// Returns the fact of a change: the set field of the request's oneof, under the same name.
v1::Record FactOf(ExperimentId id, const v1::ChangeRequest& request) {
  v1::Record record;
  v1::ExperimentChanged& fact = *record.mutable_experiment_changed();
  fact.set_experiment(id);
  fact.set_who(WhoOf(request.who()));
  const FieldDescriptor* field = request.GetReflection()->GetOneofFieldDescriptor(
      request, v1::ChangeRequest::descriptor()->FindOneofByName("change"));
  if (field == nullptr) return record;
  const FieldDescriptor* into = v1::ExperimentChanged::descriptor()->FindFieldByName(field->name());
  DT_CHECK(into != nullptr);
  CopyField(request, *field, fact, *into);
  return record;
}

// Returns the values of each configuration drawn so far.
std::vector<std::vector<v1::Assignment>> ConfigurationsOf(const Experiment& experiment) {
  std::vector<std::vector<v1::Assignment>> configurations;
  const uint32_t replicates = spec::ReplicatesOf(experiment.spec);
  for (size_t i = 0; i < experiment.trials.size(); i += replicates) {
    const v1::ExpandedTrial expanded = ExpandedOf(experiment, experiment.trials[i]);
    std::vector<v1::Assignment>& values =
        configurations.emplace_back(expanded.assignments().begin(), expanded.assignments().end());
    if (experiment.spec.seeds().empty()) continue;
    std::erase_if(values, [](const v1::Assignment& each) { return each.path() == "seed"; });
  }
  return configurations;
}

// Returns the trials that a larger max_trials would have drawn from the start. Returns none if the
// search proposes trials when they have slots.
absl::StatusOr<v1::Record> FurtherTrials(const Experiment& experiment, uint32_t max_trials) {
  v1::Record record;
  v1::TrialsAdded& added = *record.mutable_trials_added();
  if (Proposes(experiment)) return record;
  absl::StatusOr<std::vector<v1::ExpandedTrial>> all =
      spec::ExpandFurther(experiment.spec, ConfigurationsOf(experiment), max_trials);
  if (!all.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("experiment ", experiment.id,
                                                   " cannot be extended to ", max_trials,
                                                   " trials at once: ", all.status().message()));
  }
  if (all->empty()) {
    return absl::FailedPreconditionError(absl::StrCat("experiment ", experiment.id,
                                                      " cannot be extended: its parameters have no "
                                                      "more than the ",
                                                      experiment.trials.size(),
                                                      " combinations that it has"));
  }
  added.set_experiment(experiment.id);
  added.set_origin(v1::TrialsAdded::EXTENDED);
  for (v1::ExpandedTrial& trial : *all) added.add_trials()->Swap(&trial);
  DT_RETURN_IF_ERROR(KeepResolved(experiment, added));
  if (record.ByteSizeLong() <= limits::kRecordBytes) return record;
  return absl::InvalidArgumentError(absl::StrCat(
      "the further trials take ", record.ByteSizeLong(), " bytes in the journal; the limit is ",
      limits::kRecordBytes, "; raise max_trials by less at a time"));
}

void AddTrials(Turn& turn, ExperimentId id, v1::Record further) {
  if (!further.trials_added().trials().empty()) Journal(turn, further);
  for (const v1::ExpandedTrial& trial : further.trials_added().trials()) {
    Enqueue(turn.state, {id, trial.trial()});
  }
  KeepTicket(turn.state, id);
}

// Asks all gangs to save and end. Returns how many were not asked before.
uint32_t StopAll(Turn& turn, const Experiment& experiment, const std::string& why) {
  const auto found = turn.live().experiments.find(experiment.id);
  if (found == turn.live().experiments.end()) return 0;
  uint32_t asked = 0;
  for (const uint32_t number : found->second.active) {
    const Trial& trial = experiment.trials[number - 1];
    LiveAttempt& attempt = *turn.live().attempts.at(trial.attempts.back().token);
    if (AskToStop(turn, attempt, v1::StopRequested::PAUSED, why)) ++asked;
  }
  return asked;
}

}  // namespace

absl::StatusOr<v1::ChangeResponse> Change(Turn& turn, const v1::ChangeRequest& request) {
  DT_ASSIGN_OR_RETURN(ExperimentId id,
                      ResolveExperiment(turn.durable(), request.experiment(), request.last()));
  const Experiment& experiment = GetExperiment(turn.durable(), id);
  v1::Record record = FactOf(id, request);
  const v1::ExperimentChanged& fact = record.experiment_changed();
  const ExperimentChange* change = FindChange(fact);
  if (change == nullptr) {
    return absl::InvalidArgumentError(
        "change what? set pause, resume, max_concurrent or another change of "
        "docs/reference/command-line.md (dtctl pause EXP)");
  }
  DT_RETURN_IF_ERROR(change->check(experiment, fact));
  v1::ChangeResponse response;
  response.set_experiment(id);
  if (!change->already(experiment, fact)) {
    v1::Record further;
    if (request.has_max_trials()) {
      DT_ASSIGN_OR_RETURN(further, FurtherTrials(experiment, request.max_trials()));
    }
    Journal(turn, std::move(record));
    if (request.has_max_trials()) AddTrials(turn, id, std::move(further));
    Rekey(turn.state, id);
    if (request.has_labels()) FollowQuotas(turn.state);
    response.set_changed(true);
  }
  response.set_trials(experiment.planned);
  // Also if the experiment was paused before and its trials went on.
  if (request.has_pause() && !request.pause().let_run()) {
    response.set_stopping(StopAll(turn, experiment, PausedText(experiment)));
  }
  // A running gang has its number of steps already: it saves, and goes on with the new one.
  if (request.has_max_steps() && response.changed()) {
    response.set_stopping(
        StopAll(turn, experiment,
                absl::StrCat("experiment is extended to ",
                             experiment.spec.base().train().max_steps(), " steps")));
  }
  return response;
}

}  // namespace dt
