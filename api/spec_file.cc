#include "api/spec_file.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "common/text.h"
#include "spec/program.h"
#include "spec/program_words.h"
#include "spec/spec.h"

namespace dt::api {
namespace {

std::string AsComment(const std::string& text) { return absl::StrCat("# ", text, "\n"); }

std::string EndedLine(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

// Returns a comment that lists fields without one value for all trials, and fields that another one
// determines; "" if there are none.
std::string DifferingComment(const v1::ExperimentSpec& filled) {
  std::vector<std::string> paths;
  for (const spec::Field& field : spec::FieldTable()) {
    const bool swept = std::any_of(filled.parameters().begin(), filled.parameters().end(),
                                   [&](const auto& one) { return one.path() == field.path; });
    if (!spec::Concerns(filled, field)) continue;
    if (field.default_kind == spec::DefaultKind::kDependent && !swept &&
        !spec::IsExplicit(filled, field.path)) {
      paths.push_back(field.path);
    }
  }
  return paths.empty() ? ""
                       : AsComment(absl::StrCat(
                             "left out, as they differ between trials or follow from others: ",
                             absl::StrJoin(paths, ", ")));
}

// Writes a program's parameters as constants, since its command names them.
void FixParameters(const std::vector<v1::Assignment>& assignments, v1::ExperimentSpec& alone) {
  for (const v1::Assignment& one : assignments) {
    if (one.path() == "seed") {
      alone.mutable_base()->set_seed(one.value().integer());
      if (!spec::IsExplicit(alone, "seed")) alone.add_explicit_paths("seed");
      continue;
    }
    v1::Parameter& parameter = *alone.add_parameters();
    parameter.set_path(one.path());
    *parameter.add_values() = one.value();
  }
}

}  // namespace

std::string ExperimentFiles(const v1::GetExperimentResponse& found) {
  const v1::ExperimentSpec filled = spec::FilledIn(found.spec());
  return absl::StrCat(
      AsComment(absl::StrCat("submitted as experiment ", found.summary().experiment(), " from ",
                             Printable(found.file_name()))),
      EndedLine(found.file_text()), "---\n", AsComment("resolved: every default filled in"),
      DifferingComment(filled), EndedLine(spec::ToYaml(filled)));
}

absl::StatusOr<std::string> TrialFile(const v1::GetExperimentResponse& found,
                                      const v1::TrialSummary& trial) {
  v1::ExperimentSpec alone = found.spec();
  const std::vector<v1::Assignment> assignments(trial.assignments().begin(),
                                                trial.assignments().end());
  alone.clear_parameters();
  if (spec::IsProgram(found.spec())) {
    spec::LeaveOutInactive(spec::InactiveNames(found.spec(), assignments), *alone.mutable_base());
    FixParameters(assignments, alone);
  } else {
    DT_ASSIGN_OR_RETURN(*alone.mutable_base(), spec::ResolveTrial(found.spec(), assignments));
    for (const v1::Assignment& one : assignments) alone.add_explicit_paths(one.path());
  }
  alone.clear_include();
  alone.clear_exclude();
  alone.clear_seeds();
  v1::Search& search = *alone.mutable_search();
  search.set_method("grid");
  search.clear_sampler();
  search.clear_max_trials();
  search.clear_asha();
  return absl::StrCat(
      AsComment(absl::StrCat("trial ", trial.experiment(), "/", trial.trial(), " alone, resolved")),
      EndedLine(spec::ToYaml(spec::FilledIn(alone))));
}

}  // namespace dt::api
