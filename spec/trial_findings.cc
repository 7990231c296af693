// trial_findings.cc: rules over many trials, reported once each.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/internal.h"

namespace dt::spec::internal {

std::string Indexed(const std::string& path, int index) {
  return absl::StrCat("parameters.", path, "[", index, "]");
}

TrialFindings::TrialFindings(const v1::ExperimentSpec& spec, TrialRules rules)
    : spec_(spec),
      rules_(rules),
      explicit_(spec.explicit_paths().begin(), spec.explicit_paths().end()),
      set_(explicit_) {
  for (const v1::Parameter& parameter : spec.parameters()) set_.insert(parameter.path());
}

void TrialFindings::Take(const std::vector<size_t>& at) {
  ++trials_;
  std::vector<v1::Assignment> assignments = AssignmentsAt(spec_, at);
  const absl::StatusOr<v1::Spec> trial = ResolveTrial(spec_, assignments);
  if (!trial.ok()) return;  // Validate names values that cannot be set
  for (Violation& violation : rules_(*trial, set_)) {
    Finding& finding = findings_[violation.rule];
    if (finding.trials++ == 0) {
      finding.violation = std::move(violation);
      finding.assignments = assignments;
      finding.at = at;
    }
  }
}

std::vector<Issue> TrialFindings::Issues(const std::string& code,
                                         const std::vector<Issue>& said) const {
  std::vector<Issue> issues;
  for (const auto& [rule, finding] : findings_) {
    if (finding.violation.reach == Reach::kAllTrials && finding.trials < trials_) continue;
    const auto& paths = finding.violation.paths;
    const bool known = std::any_of(said.begin(), said.end(), [&](const Issue& issue) {
      return std::find(paths.begin(), paths.end(), issue.path) != paths.end();
    });
    if (!known) issues.push_back(ToIssue(finding, code));
  }
  return issues;
}

Issue TrialFindings::ToIssue(const Finding& finding, const std::string& code) const {
  const Violation& violation = finding.violation;
  Issue issue{"", code, violation.message, violation.hint};
  std::vector<std::string> combination;
  for (const std::string& path : violation.paths) {
    if (issue.path.empty() && explicit_.contains(path)) issue.path = path;
    for (size_t p = 0; p < finding.assignments.size(); ++p) {
      if (finding.assignments[p].path() != path) continue;
      if (violation.reach == Reach::kAllTrials) {
        issue.path = absl::StrCat("parameters.", path);
        continue;
      }
      if (combination.empty()) issue.path = Indexed(path, static_cast<int>(finding.at[p]));
      combination.push_back(absl::StrCat(path, ": ", ValueText(finding.assignments[p].value())));
    }
  }
  if (issue.path.empty()) issue.path = violation.paths.front();
  if (combination.empty()) return issue;
  absl::StrAppend(&issue.message, " (trials with ", absl::StrJoin(combination, ", "));
  if (finding.trials > 1) {
    absl::StrAppend(&issue.message, "; ", finding.trials, " of ", trials_,
                    " trials have this problem");
  }
  issue.message += ")";
  return issue;
}

}  // namespace dt::spec::internal
