// internal.h: what the files of this room share and nobody else needs.
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

// Text that a terminal may print: no control characters. Errors: what is wrong, else "".
enum class Lines { kOne, kMany };
std::string TextProblem(std::string_view text, size_t limit_bytes, Lines lines);
// What was written, short enough for a message; and the same in quotes.
std::string Shortened(std::string_view text);
std::string Quote(std::string_view text);
// Seconds of "60s", "1h30m", "500ms"; nullopt for any other text.
std::optional<double> DurationSeconds(std::string_view text);

// The experiment with each number of its base within its field's range: what is out of it is an
// issue by itself, and gets the field's default, or none. Rules over several fields compute with
// what they were written for.
v1::ExperimentSpec Confined(const v1::ExperimentSpec& spec);

// The grid as indices: sizes of parameters, and exclusions as sets of value indices. Values that
// cannot be read leave an exclusion that matches nothing; Validate names them.
struct Grid {
  std::vector<size_t> sizes;
  // Per exclusion: (parameter, value) pairs that must all hold. Empty: never matches.
  std::vector<std::vector<std::pair<size_t, size_t>>> excluded;
  // Product of sizes, at most limits::kCombinations.
  size_t combinations = 1;
  MayGoOn may_go_on;  // asked now and then; where it may not, combinations are left out
};
Grid MakeGrid(const v1::ExperimentSpec& spec);
// Calls visit(indices) for each remaining combination in order; stops when it returns false, or
// where it may not go on.
// REQUIRES: combinations < limits::kCombinations.
void ForEachTrial(const Grid& grid, const std::function<bool(const std::vector<size_t>&)>& visit);
std::vector<v1::Assignment> AssignmentsAt(const v1::ExperimentSpec& spec,
                                          const std::vector<size_t>& indices);

// Tokens that a tokenizer knows; 0 where the shards decide (auto).
int32_t VocabularyOf(std::string_view tokenizer);

// A field of kTexts as a YAML list.
std::string TextsYaml(const v1::Spec& spec, std::string_view path);

// "parameters.train.batch_size[2]"
std::string Indexed(const std::string& path, int index);

// Returns the violation of a combination that cannot be resolved, under the rule of this name.
inline constexpr char kUnresolved[] = "unresolved";
Violation Unresolved(const absl::Status& why);
// Rules over one resolved trial. `set` has the paths that the file sets or sweeps.
using PathSet = std::set<std::string>;
using TrialRules = std::vector<Violation> (*)(const v1::Spec& trial, const PathSet& set);
// Combinations of fields that cannot work together.
std::vector<Violation> CheckTrial(const v1::Spec& trial, const PathSet& set);
// Returns the fields of `trial` that spec/table/combination.h has rules for. REQUIRES: `trial`
// outlives it.
Combination CombinationOf(const v1::Spec& trial);
// Adds the rules about ranks that the trial breaks.
void CheckParallel(const v1::Spec& trial, std::vector<Violation>& out);
// "use 96 or 104": the multiples of `step` next to `value`.
std::string NearestText(int64_t value, int64_t step);
// "resources.gpus 4", or "the 2 data ranks (resources.gpus 4 ÷ parallel.tensor 2)".
std::string DataRanksText(const v1::Spec& trial);
// What works and is hardly meant.
std::vector<Violation> QuestionTrial(const v1::Spec& trial, const PathSet& set);

// Whether a combination may be a trial: exclude does not name it, and no rule is broken.
class Admission {
 public:
  // REQUIRES: `spec` outlives it.
  explicit Admission(const v1::ExperimentSpec& spec);

  bool Excludes(const std::vector<v1::Assignment>& assignments) const;
  bool Admits(const std::vector<v1::Assignment>& assignments) const;
  // The rules that it breaks.
  std::vector<Violation> Violations(const std::vector<v1::Assignment>& assignments) const;
  // Cost of a draw with its check, in draws of one parameter without exclusions.
  size_t Cost() const {
    return 1 + static_cast<size_t>(spec_.parameters_size()) / 3 + compared_ / 64;
  }

 private:
  using Texts = std::vector<std::string>;
  const v1::ExperimentSpec& spec_;
  const ParameterFields fields_;
  PathSet set_;
  std::map<std::string, size_t> places_;  // of parameters that exclusions name, by path
  // Canonical texts by the places of their parameters: a thousand exclusions of the same parameters
  // take one look.
  std::map<std::vector<size_t>, std::set<Texts>> excluded_;
  size_t compared_ = 0;  // texts that are put together for a question
};

// Where each value of a parameter's list stands, by its canonical text.
using Places = std::map<std::string, size_t>;
Places PlacesOf(const v1::Parameter& parameter, const ParameterFields& fields);

// A combination, and where its values stand in the lists of the parameters; `at` is empty for one
// that was drawn or included.
struct Sample {
  std::vector<v1::Assignment> assignments;
  std::vector<size_t> at;
};
// What stands for an experiment's trials in its checks: all of a grid; else limits::kPointsChecked
// points, drawn with a key of their own so that a file passes or not whatever its seed. Included
// combinations come first. Stops when `visit` returns false. REQUIRES: values and ranges can be
// read.
void ForEachSample(const v1::ExperimentSpec& spec,
                   const std::function<bool(const Sample& sample)>& visit);

// The configurations of an experiment under random: those included, then drawn ones. A draw that is
// not admitted or was tried is made again, and what is left of a small space that is nearly used up
// is listed. Fewer than asked for where nothing more is left, or where limits::kRedraws draws of
// one are refused. Each follows from the seed, its number and those before it, so that a larger
// `count` begins with the same ones.
using Configurations = std::vector<std::vector<v1::Assignment>>;
Configurations DrawConfigurations(const v1::ExperimentSpec& spec, const Space& space, size_t count,
                                  const MayGoOn& may_go_on);
// Those of a `count` that come behind `known`, which is what a count of `before` gave. nullopt:
// they take more than kDrawsAtOnce draws. REQUIRES: `known` is not empty.
std::optional<Configurations> DrawFurther(const v1::ExperimentSpec& spec, const Space& space,
                                          const Configurations& known, size_t before, size_t count);
// The values of an included combination in the order of the parameters.
std::vector<v1::Assignment> IncludedAt(const v1::ExperimentSpec& spec,
                                       const v1::Inclusion& included);

// --- Parts of Validate; each adds what it finds ---
// How many entries lists may have, before anybody walks them.
void CheckCounts(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// What a program, or an experiment without one, may not say, and the words of its command.
void CheckProgram(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
void CheckNotify(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// What of that is allowed and hardly meant.
void QuestionProgram(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// The names of parameters that the table does not have, and values of several types.
void CheckOwnParameters(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// search.* and what it needs.
void CheckSearch(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// The range of a parameter and its probabilities.
void CheckDraws(const v1::ExperimentSpec& spec, const v1::Parameter& parameter, const Field& field,
                std::vector<Issue>& issues);
// REQUIRES of the next three: parameters have no issue.
void CheckInclusions(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on,
                     std::vector<Issue>& issues);
void CheckSeeds(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);
// The combinations that are drawn, their number, and the rungs. REQUIRES: no issue of the parts
// above.
void CheckSamples(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on,
                  std::vector<Issue>& issues);
// What of that is no error and good to know.
void QuestionSamples(const v1::ExperimentSpec& spec, std::vector<Issue>& issues);

// Applies rules to the trials of an experiment, and reports each rule once, with the first trial
// that breaks it, at the place a person would change.
class TrialFindings {
 public:
  // REQUIRES: `spec` outlives it.
  TrialFindings(const v1::ExperimentSpec& spec, TrialRules rules);

  // Returns how many rules the trial breaks.
  size_t Take(const Sample& sample);
  // Leaves out what concerns a field that one of `said` is about, and rules that fewer than `least`
  // trials break.
  std::vector<Issue> Issues(const std::string& code, const std::vector<Issue>& said,
                            size_t least = 1) const;
  bool FoundUnresolved() const { return findings_.contains(kUnresolved); }
  // The rule that most trials break, as a message; "": none.
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
  PathSet set_;  // those, and what is swept
  std::map<std::string, Finding> findings_;
  size_t trials_ = 0;
};

}  // namespace dt::spec::internal
