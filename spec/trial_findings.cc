// trial_findings.cc: applies rules to many trials, and reports each rule once.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/conditions.h"
#include "spec/internal.h"

namespace dt::spec::internal {

std::string Indexed(const std::string& path, int index) {
  return absl::StrCat("parameters.", path, "[", index, "]");
}

Violation Unresolved(const absl::Status& why) {
  std::string message(why.message());
  const size_t hint = message.rfind("; ");
  return {kUnresolved,
          {"command", "run", "workdir", "resources.env"},
          message.substr(0, hint),
          hint == std::string::npos ? "" : message.substr(hint + 2)};
}

PathSet SetIn(const v1::ExperimentSpec& spec, const std::vector<v1::Assignment>& assignments) {
  PathSet set(spec.explicit_paths().begin(), spec.explicit_paths().end());
  for (const v1::Assignment& one : assignments) set.insert(one.path());
  return set;
}

TrialFindings::TrialFindings(const v1::ExperimentSpec& spec, TrialRules rules)
    : spec_(spec),
      rules_(rules),
      explicit_(spec.explicit_paths().begin(), spec.explicit_paths().end()),
      set_(explicit_),
      conditional_(HasConditions(spec)) {
  for (const v1::Parameter& parameter : spec.parameters()) set_.insert(parameter.path());
}

size_t TrialFindings::Take(const Sample& sample) {
  ++trials_;
  const absl::StatusOr<v1::Spec> trial = ResolveTrial(spec_, sample.assignments);
  std::vector<Violation> violations;
  if (trial.ok()) {
    violations = rules_(*trial, conditional_ ? SetIn(spec_, sample.assignments) : set_);
  } else {
    violations.push_back(Unresolved(trial.status()));
  }
  for (Violation& violation : violations) {
    Finding& finding = findings_[violation.rule];
    if (finding.trials++ == 0) {
      finding.violation = std::move(violation);
      finding.sample = sample;
    }
  }
  return violations.size();
}

std::vector<Issue> TrialFindings::Issues(const std::string& code, const std::vector<Issue>& said,
                                         size_t least) const {
  std::vector<Issue> issues;
  for (const auto& [rule, finding] : findings_) {
    if (rule == kUnresolved && !said.empty()) continue;  // it follows from the reported issues
    const size_t needed = finding.violation.reach == Reach::kAllTrials ? trials_ : least;
    if (finding.trials < needed) continue;
    const auto& paths = finding.violation.paths;
    const bool known = std::any_of(said.begin(), said.end(), [&](const Issue& issue) {
      return std::find(paths.begin(), paths.end(), issue.path) != paths.end();
    });
    if (!known) issues.push_back(ToIssue(finding, code));
  }
  return issues;
}

std::string TrialFindings::Commonest() const {
  const auto most = std::max_element(
      findings_.begin(), findings_.end(),
      [](const auto& a, const auto& b) { return a.second.trials < b.second.trials; });
  return most == findings_.end() ? "" : most->second.violation.message;
}

Issue TrialFindings::ToIssue(const Finding& finding, const std::string& code) const {
  const Violation& violation = finding.violation;
  Issue issue{"", code, violation.message, violation.hint};
  std::vector<std::string> combination;
  for (const std::string& path : violation.paths) {
    if (issue.path.empty() && explicit_.contains(path)) issue.path = path;
    const auto& assignments = finding.sample.assignments;
    for (size_t p = 0; p < assignments.size(); ++p) {
      if (assignments[p].path() != path) continue;
      const bool drawn = finding.sample.at.empty();
      if (drawn || violation.reach == Reach::kAllTrials) {
        issue.path = absl::StrCat("parameters.", path);
      }
      if (violation.reach == Reach::kAllTrials) continue;
      if (combination.empty() && !drawn) {
        issue.path = Indexed(path, static_cast<int>(finding.sample.at[p]));
      }
      combination.push_back(absl::StrCat(path, ": ", ValueText(assignments[p].value())));
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
