// internal.h: what the files of this room share and nobody else needs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/spec.h"

namespace dt::spec::internal {

// Text that a terminal may print: no control characters. Errors: what is wrong, else "".
enum class Lines { kOne, kMany };
std::string TextProblem(std::string_view text, size_t limit_bytes, Lines lines);
// What was written, short enough for a message; and the same in quotes.
std::string Shortened(std::string_view text);
std::string Quote(std::string_view text);
// Seconds of "60s", "1h30m", "500ms"; nullopt for any other text.
std::optional<double> DurationSeconds(std::string_view text);

// The grid as indices: sizes of parameters, and exclusions as sets of value indices. Values that
// cannot be read leave an exclusion that matches nothing; Validate names them.
struct Grid {
  std::vector<size_t> sizes;
  // Per exclusion: (parameter, value) pairs that must all hold. Empty: never matches.
  std::vector<std::vector<std::pair<size_t, size_t>>> excluded;
  // Product of sizes, at most limits::kCombinations.
  size_t combinations = 1;
};
Grid MakeGrid(const v1::ExperimentSpec& spec);
// Calls visit(indices) for each remaining combination in order; stops when it returns false.
// REQUIRES: combinations < limits::kCombinations.
void ForEachTrial(const Grid& grid, const std::function<bool(const std::vector<size_t>&)>& visit);
std::vector<v1::Assignment> AssignmentsAt(const v1::ExperimentSpec& spec,
                                          const std::vector<size_t>& indices);

// Tokens that a tokenizer knows; 0 where the shards decide (auto).
int32_t VocabularyOf(std::string_view tokenizer);

// "parameters.train.batch_size[2]"
std::string Indexed(const std::string& path, int index);

// One rule that a resolved trial breaks.
enum class Reach { kAnyTrial, kAllTrials };  // how many must break it for an issue
struct Violation {
  std::string rule;                // stable name, to report it once
  std::vector<std::string> paths;  // fields involved, the likeliest culprit first
  std::string message;
  std::string hint;
  Reach reach = Reach::kAnyTrial;
};
// Rules over one resolved trial. `set` has the paths that the file sets or sweeps.
using PathSet = std::set<std::string>;
using TrialRules = std::vector<Violation> (*)(const v1::Spec& trial, const PathSet& set);
// Combinations of fields that cannot work together.
std::vector<Violation> CheckTrial(const v1::Spec& trial, const PathSet& set);
// What works and is hardly meant.
std::vector<Violation> QuestionTrial(const v1::Spec& trial, const PathSet& set);

// Applies rules to the trials of a grid, and reports each rule once, with the first trial that
// breaks it, at the place a person would change.
class TrialFindings {
 public:
  // REQUIRES: `spec` outlives it.
  TrialFindings(const v1::ExperimentSpec& spec, TrialRules rules);

  void Take(const std::vector<size_t>& at);
  // Leaves out what concerns a field that one of `said` is about.
  std::vector<Issue> Issues(const std::string& code, const std::vector<Issue>& said) const;

 private:
  struct Finding {
    Violation violation;
    std::vector<v1::Assignment> assignments;
    std::vector<size_t> at;
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
