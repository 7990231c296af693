// suggestion.cc: see suggestion.h.
#include "coordinator/core/calls/suggestion.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/client_limits.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/core/keep/journal.h"
#include "coordinator/core/keep/search_index.h"
#include "coordinator/core/model/search_kind.h"
#include "google/protobuf/util/message_differencer.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt {
namespace {

absl::Status CheckName(const Experiment& experiment, const std::string& path) {
  if (!spec::IsName(path, spec::NameKind::kParameter)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", Printable(CleanText(path, limits::kNameBytes)),
        "' is no name for a parameter; use letters, digits and _ . -, with a letter first"));
  }
  const spec::Field* field = spec::FindField(path);
  if (field == nullptr || !spec::Concerns(experiment.spec, *field)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "' is a field of experiment files; give the parameter another name"));
}

// Checks a parameter that the experiment does not have yet.
absl::Status CheckNew(const Experiment& experiment, const v1::Parameter& parameter) {
  DT_RETURN_IF_ERROR(CheckName(experiment, parameter.path()));
  if (experiment.spec.parameters_size() >= limits::kParameters) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", experiment.id, " has ", experiment.spec.parameters_size(),
                     " parameters, and '", parameter.path(), "' is one more; the limit is ",
                     limits::kParameters));
  }
  if (parameter.values_size() > limits::kSuggestedValues ||
      parameter.ByteSizeLong() > limits::kSuggestedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter '", parameter.path(), "' has ", parameter.values_size(),
                     " values in ", parameter.ByteSizeLong(), " bytes; the limits are ",
                     limits::kSuggestedValues, " and ", limits::kSuggestedBytes));
  }
  if (!parameter.probabilities().empty() ||
      (parameter.has_range() && !parameter.values().empty())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parameter '", parameter.path(), "' has probabilities, or a range and values; give one"));
  }
  for (int i = 0; i < parameter.values_size(); ++i) {
    for (int j = 0; j < i; ++j) {
      if (!spec::SameValue(parameter.values(i), parameter.values(j))) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("parameter '", parameter.path(), "' has a value twice"));
    }
  }
  return SpaceOfOne(experiment, parameter).status();
}

}  // namespace

absl::StatusOr<v1::Value> SuggestedValue(Turn& turn, TrialId id, const v1::Parameter& parameter) {
  const Experiment& experiment = GetExperiment(turn.durable(), id.experiment);
  const std::string& path = parameter.path();
  const v1::Parameter* known = FindParameter(experiment, path);
  if (known != nullptr && !google::protobuf::util::MessageDifferencer::Equals(*known, parameter)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "parameter '", path, "' has another range or other values in experiment ", id.experiment,
        ", and keeps them; give the parameter, or the search, another name"));
  }
  const v1::ExpandedTrial expanded = ExpandedOf(experiment, GetTrial(turn.durable(), id));
  for (const v1::Assignment& each : expanded.assignments()) {
    if (each.path() == path) return each.value();
  }
  if (!DefinesByRun(experiment)) {
    return absl::FailedPreconditionError(
        absl::StrCat("trial ", ToString(id), " has no parameter '",
                     Printable(CleanText(path, limits::kNameBytes)),
                     "', and the parameters of its experiment are fixed"));
  }
  if (known == nullptr) DT_RETURN_IF_ERROR(CheckNew(experiment, parameter));
  const SearchIndex& index = SearchIndexOf(turn.state, experiment);
  static const auto* const nothing = new search::History();
  const auto found = index.suggested.find(path);
  DT_ASSIGN_OR_RETURN(const spec::Space space, SpaceOfOne(experiment, parameter));
  const search::Proposal proposal =
      search::Suggest(index.plan, space,
                      found == index.suggested.end() ? *nothing : found->second.history, id.trial);
  v1::Record record;
  v1::ValueSuggested& fact = *record.mutable_value_suggested();
  SetId(fact, {id, 0});
  if (known == nullptr) *fact.mutable_parameter() = parameter;
  *fact.mutable_value() = spec::AssignmentsOf(space, proposal.at).front();
  fact.set_reason(proposal.reason);
  v1::Value value = fact.value().value();
  Journal(turn, std::move(record));
  return value;
}

}  // namespace dt
