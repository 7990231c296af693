// internal.h: functions that the files of this room share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/may_go_on.h"
#include "spec/program.h"
#include "spec/space.h"
#include "spec/spec.h"
#include "spec/table/combination.h"

namespace dt::spec::internal {

// Checks text that a terminal may print: no control characters. Returns the error, else "".
enum class Lines { kOne, kMany };
std::string TextProblem(std::string_view text, size_t limit_bytes, Lines lines);
// Return a text cut to the length for a message, and the same in quotes.
std::string Shortened(std::string_view text);
std::string Quote(std::string_view text);
// Returns the seconds of "60s", "1h30m", "500ms"; nullopt for any other text.
std::optional<double> DurationSeconds(std::string_view text);

// Returns the experiment with each number of its base within its field's range. A number out of
// range is an issue of its own; here it becomes the field's default, or is removed. So rules over
// several fields compute only with valid numbers.
v1::ExperimentSpec Confined(const v1::ExperimentSpec& spec);

// The place of a value that a trial does not have, since its parameter is inactive.
inline constexpr size_t kAbsent = static_cast<size_t>(-1);
// The grid as indices: sizes of parameters, and exclusions as sets of value indices. If a value
// cannot be read, its exclusion matches nothing; Validate reports it.
struct Grid {
  std::vector<size_t> sizes;
  // For each exclusion, (parameter, value) pairs that must all hold. Empty: never matches.
  std::vector<std::vector<std::pair<size_t, size_t>>> excluded;
  // Product of sizes, at most limits::kCombinations.
  size_t combinations = 1;
  Space conditions;   // of the parameters in their order; empty: no parameter has a condition
  MayGoOn may_go_on;  // asked from time to time; if it may not, combinations are skipped
};
Grid MakeGrid(const v1::ExperimentSpec& spec);
// Calls visit(indices) for each remaining combination in order; stops when it returns false, or if
// it may not go on. The place of an inactive parameter is kAbsent; combinations that differ only in
// such places are one. REQUIRES: combinations < limits::kCombinations.
void ForEachTrial(const Grid& grid, const std::function<bool(const std::vector<size_t>&)>& visit);
std::vector<v1::Assignment> AssignmentsAt(const v1::ExperimentSpec& spec,
                                          const std::vector<size_t>& indices);

// Returns the tokens of a tokenizer; 0 if the shards decide (auto).
int32_t VocabularyOf(std::string_view tokenizer);

// Returns a field of kTexts as a YAML list.
std::string TextsYaml(const v1::Spec& spec, std::string_view path);

// Returns "parameters.train.batch_size[2]".
std::string Indexed(const std::string& path, int index);

// Returns the violation of a combination that cannot be resolved, under the rule of this name.
inline constexpr char kUnresolved[] = "unresolved";
Violation Unresolved(const absl::Status& why);
// Rules over one resolved trial. `set` has the paths that the file sets or sweeps.
using PathSet = std::set<std::string>;
using TrialRules = std::vector<Violation> (*)(const v1::Spec& trial, const PathSet& set);
// Returns combinations of fields that cannot work together.
std::vector<Violation> CheckTrial(const v1::Spec& trial, const PathSet& set);
// Returns the fields of `trial` that spec/table/combination.h has rules for. REQUIRES: `trial`
// outlives it.
Combination CombinationOf(const v1::Spec& trial);
// Adds the rules about ranks that the trial breaks.
void CheckParallel(const v1::Spec& trial, std::vector<Violation>& out);
// Returns "use 96 or 104": the multiples of `step` next to `value`.
std::string NearestText(int64_t value, int64_t step);
// Returns "resources.gpus 4", or "the 2 data ranks (resources.gpus 4 ÷ parallel.tensor 2)".
std::string DataRanksText(const v1::Spec& trial);
// Returns settings that work but are hardly intended.
std::vector<Violation> QuestionTrial(const v1::Spec& trial, const PathSet& set);

// Decides whether a combination may be a trial: not excluded, and no rule broken.
class Admission {
 public:
  // REQUIRES: `spec` outlives it.
  explicit Admission(const v1::ExperimentSpec& spec);

  bool Excludes(const std::vector<v1::Assignment>& assignments) const;
  bool Admits(const std::vector<v1::Assignment>& assignments) const;
  // Returns the rules that it breaks.
  std::vector<Violation> Violations(const std::vector<v1::Assignment>& assignments) const;
  // Returns the cost of a draw with its check, in draws of one parameter without exclusions.
  size_t Cost() const {
    return 1 + static_cast<size_t>(spec_.parameters_size()) / 3 + compared_ / 64;
  }

 private:
  using Texts = std::vector<std::string>;
  const v1::ExperimentSpec& spec_;
  const ParameterFields fields_;
  PathSet set_;
  bool conditional_;                      // a parameter has a condition
  std::map<std::string, size_t> places_;  // of the parameters in exclusions, by path
  // Canonical texts by the places of their parameters, so that a thousand exclusions of the same
  // parameters take one look-up.
  std::map<std::vector<size_t>, std::set<Texts>> excluded_;
  size_t compared_ = 0;  // texts that are combined for one question
};

// The place of each value in a parameter's list, by its canonical text.
using Places = std::map<std::string, size_t>;
Places PlacesOf(const v1::Parameter& parameter, const ParameterFields& fields);

// A combination, and the places of its values in the lists of the parameters; `at` is empty for a
// drawn or an included one.
struct Sample {
  std::vector<v1::Assignment> assignments;
  std::vector<size_t> at;
};
// Returns the sample of a grid; `at` stays empty if a value is absent.
Sample SampleAt(const v1::ExperimentSpec& spec, const std::vector<size_t>& at);
// Visits the combinations that the checks of an experiment use: all of a grid; otherwise
// limits::kPointsChecked points, drawn with a key of their own, so that the result does not depend
// on the file's seed. Included combinations come first. Stops when `visit` returns false. REQUIRES:
// values and ranges can be read.
void ForEachSample(const v1::ExperimentSpec& spec,
                   const std::function<bool(const Sample& sample)>& visit);

// Returns the configurations of an experiment with method random: included ones, then drawn ones. A
// draw that is refused or was tried before is repeated; once a small space is nearly used up, the
// rest of it is listed. Returns fewer than `count` if nothing is left, or if limits::kRedraws draws
// of one are refused. Each follows from the seed, its number and the earlier ones, so a larger
// `count` begins with the same ones.
using Configurations = std::vector<std::vector<v1::Assignment>>;
Configurations DrawConfigurations(const v1::ExperimentSpec& spec, const Space& space, size_t count,
                                  const MayGoOn& may_go_on);
// Returns those of `count` that follow `known`, the result for a count of `before`. nullopt: they
// take more than kDrawsAtOnce draws. REQUIRES: `known` is not empty.
std::optional<Configurations> DrawFurther(const v1::ExperimentSpec& spec, const Space& space,
                                          const Configurations& known, size_t before, size_t count);
// Returns the values that an included combination names, in the order of the parameters.
std::vector<v1::Assignment> IncludedAt(const v1::ExperimentSpec& spec,
                                       const v1::Inclusion& included);

// --- Parts of Validate; each adds its issues ---
// Checks the lengths of lists, before any code walks them.
void CheckCounts(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// Checks the fields of `environment` together.
void CheckEnvironment(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// Checks fields that a program, or an experiment without one, may not set, and the words of its
// command.
void CheckProgram(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// Checks an experiment whose trials run in its clients; others pass.
void CheckClientTrial(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
void CheckNotify(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// Warns of settings in them that are allowed but hardly intended.
void QuestionProgram(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// Checks the names of parameters that are not in the table, and values of several types.
void CheckOwnParameters(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// Checks search.* and what it needs.
void CheckSearch(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// Checks search.metrics, search.goals and search.constraints, and what they exclude.
void CheckGoals(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// Checks the range of a parameter and its probabilities.
void CheckDraws(const v1::ExperimentSpec& spec, const v1::Parameter& parameter, const Field& field,
                std::vector<Issue>& issues);
// Checks `when` of parameters. REQUIRES: other parts of parameters have no issue.
void CheckConditions(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// REQUIRES of the next three: parameters have no issue.
void CheckInclusions(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on,
                     std::vector<Issue>& issues);
void CheckSeeds(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// Checks the drawn combinations, their number, and the rungs. REQUIRES: no issue of the parts
// above.
void CheckSamples(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on,
                  std::vector<Issue>& issues);
// Adds warnings from these checks.
void QuestionSamples(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);

// Returns the paths that a trial sets: those of the file and those of its values.
PathSet SetIn(const v1::ExperimentSpec& spec, const std::vector<v1::Assignment>& assignments);

// Applies rules to the trials of an experiment, and reports each rule once, with the first trial
// that breaks it, at the place that a person would change.
class TrialFindings {
 public:
  // REQUIRES: `spec` outlives it.
  TrialFindings(const v1::ExperimentSpec& spec, TrialRules rules);

  // Returns how many rules the trial breaks.
  size_t Take(const Sample& sample);
  // Returns the issues, without those about a field that has one in `said`, and without rules that
  // fewer than `least` trials break.
  std::vector<Issue> Issues(const std::string& code, const std::vector<Issue>& said,
                            size_t least = 1) const;
  bool FoundUnresolved() const { return findings_.contains(kUnresolved); }
  // Returns the rule that most trials break, as a message; "": none.
  std::string Commonest() const;

 private:
  struct Finding {
    Violation violation;
    Sample sample;
    size_t trials = 0;
  };
  Issue ToIssue(const Finding& finding, const std::string& code) const;

  const v1::ExperimentSpec& spec_;
  const TrialRules rules_;
  PathSet explicit_;
  PathSet set_;             // the explicit paths, and the swept ones
  const bool conditional_;  // a parameter has a condition
  std::map<std::string, Finding> findings_;
  size_t trials_ = 0;
};

}  // namespace dt::spec::internal
