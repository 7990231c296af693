// validate_search.cc: checks an experiment's search: its words, ranges and probabilities, included
// combinations, seeds, drawn combinations and rungs.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "spec/conditions.h"
#include "spec/internal.h"
#include "spec/search.h"

namespace dt::spec::internal {
namespace {

void CheckMethod(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  const v1::Search& search = spec.search();
  const bool asha = search.method() == "asha";
  if (!asha && !search.sampler().empty()) {
    issues.push_back(
        {"search.sampler", "conflict",
         absl::StrCat("search.sampler belongs to method asha; search.method is ", search.method()),
         "remove it"});
  }
  if (!asha && search.has_asha()) {
    issues.push_back({"search.asha", "conflict",
                      absl::StrCat("search.asha is set, and search.method is ", search.method()),
                      "set method: asha, or remove it"});
  }
  if (!IsPopulation(spec) && search.has_pbt()) {
    issues.push_back({"search.pbt", "conflict",
                      absl::StrCat("search.pbt is set, and search.method is ", search.method()),
                      "set method: pbt, or remove it"});
  }
  const Ladder ladder = LadderOf(search);
  const int64_t most = int64_t{ladder.rungs} + 1;
  if (asha && ladder.brackets > most) {
    issues.push_back(
        {"search.asha.brackets", "conflict",
         absl::StrCat("search.asha.brackets ", ladder.brackets, " is above the ", most, " that ",
                      ladder.rungs, ladder.rungs == 1 ? " rung allows" : " rungs allow"),
         absl::StrCat("use ", most, " or fewer")});
  }
  if ((asha || IsPopulation(spec)) && !spec.seeds().empty()) {
    issues.push_back({"seeds", "conflict",
                      absl::StrCat("seeds cannot be combined with method ", search.method(),
                                   ": a rung compares single trials"),
                      "remove one"});
  }
}

// A member goes on with another one's weights and other values, so fields that shape the model, its
// data or where it runs must not be parameters.
void CheckMembers(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  if (!IsPopulation(spec)) return;
  for (const v1::Parameter& parameter : spec.parameters()) {
    const Field* field = FindField(parameter.path());
    // A program's own names are its own concern.
    if (field == nullptr || field->within_run) continue;
    std::vector<std::string> may;
    for (const Field& each : FieldTable()) {
      if (each.within_run) may.push_back(each.path);
    }
    const std::string at = absl::StrCat("parameters.", parameter.path());
    issues.push_back({at, "conflict",
                      absl::StrCat(at, ": method pbt changes values while a trial trains, and ",
                                   parameter.path(), " cannot change then"),
                      IsProgram(spec.base())
                          ? "set it once, outside parameters"
                          : absl::StrCat("those that can: ", absl::StrJoin(may, ", "))});
  }
}

void CheckMaxTrials(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  const int32_t max_trials = spec.search().max_trials();
  const auto add = [&](const char* code, std::string message, std::string hint) {
    issues.push_back({"search.max_trials", code, std::move(message), std::move(hint)});
  };
  if (SamplerOf(spec) == Sampler::kGrid) {
    if (max_trials > 0) {
      add("conflict", "search.max_trials is set; a grid ends with its combinations",
          "remove it, or use random");
    }
    return;
  }
  const std::string who = SamplerText(spec);
  if (max_trials == 0) {
    add("missing", absl::StrCat("search.max_trials is missing; ", who, " has no end of its own"),
        "add: search: {max_trials: 50}");
  } else if (max_trials > 0 && max_trials < spec.include_size()) {
    add("conflict",
        absl::StrCat("search.max_trials ", max_trials, " is less than the ", spec.include_size(),
                     " combinations of include"),
        "raise it, or include fewer");
  }
  if (spec.parameters().empty() && !IsDefineByRun(spec.base().command())) {
    issues.push_back({"parameters", "missing",
                      absl::StrCat("parameters is missing; ", who, " has nothing to choose"),
                      "add: parameters: {optimizer.lr: {min: 1.0e-4, max: 1.0e-2, scale: log}}"});
  }
}

void CheckMetric(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  const std::string& metric = spec.search().metric();
  if (IsProgram(spec)) {
    if (!GoalOf(spec.search()).empty()) return;
    issues.push_back(
        {"search.goal", "missing",
         absl::StrCat("search.goal is missing; whether more ", metric, " is better is not known"),
         "add goal: maximize or goal: minimize"});
    return;
  }
  Field ours = *FindExperimentField("search.metric");
  ours.open = false;
  v1::Value named;
  named.set_text(metric);
  ReadValue read = Canonical(ours, named);
  // A text that is no name at all was reported separately.
  if (!read.value && IsName(metric, NameKind::kMetric)) issues.push_back(std::move(read.issue));
  if (!absl::StartsWith(metric, "hellaswag_acc")) return;
  if (!spec.base().eval().hellaswag().empty() || IsSwept(spec, "eval.hellaswag")) return;
  issues.push_back(
      {"search.metric", "conflict",
       absl::StrCat("search.metric ", metric, " is not measured without eval.hellaswag"),
       "set eval.hellaswag to its file, or compare by val_loss"});
}

void CheckProbabilities(const v1::ExperimentSpec& spec, const v1::Parameter& parameter,
                        std::vector<Issue>& issues) {
  if (parameter.probabilities().empty()) return;
  const std::string where = absl::StrCat("parameters.", parameter.path());
  const std::string at = absl::StrCat(where, ".probabilities");
  const auto add = [&](const char* code, std::string message, std::string hint) {
    issues.push_back({at, code, std::move(message), std::move(hint)});
  };
  if (parameter.probabilities_size() != parameter.values_size()) {
    add("conflict",
        absl::StrCat(where, " has ", parameter.values_size(), " values and ",
                     parameter.probabilities_size(), " probabilities"),
        "give one for each value");
    return;
  }
  const auto& weights = parameter.probabilities();
  const bool wrong = std::any_of(weights.begin(), weights.end(), [](double weight) {
    return !(weight >= 0 && weight <= kWeightMax);
  });
  if (wrong || std::accumulate(weights.begin(), weights.end(), 0.0) <= 0) {
    add("out_of_range",
        absl::StrCat(at, wrong ? absl::StrCat(" must be numbers from 0 to ", NumberText(kWeightMax))
                               : " are all 0"),
        wrong ? "" : "give one above 0");
    return;
  }
  switch (SamplerOf(spec)) {
    case Sampler::kRandom:
      return;
    case Sampler::kGrid:
      return add("conflict", "probabilities are for random draws; a grid takes every value",
                 "remove them, or use random");
    case Sampler::kBayes:
      return add("conflict", "probabilities are for random draws; bayes learns them",
                 "remove them");
  }
}

// Returns why a value of a parameter with a range is wrong; "": it is valid.
std::string OutsideText(const Field& field, const v1::Parameter& parameter,
                        const v1::Value& value) {
  const Space space{{DimensionOf(field, parameter.range())}};
  v1::Assignment one;
  one.set_path(parameter.path());
  *one.mutable_value() = value;
  if (PointOf(space, {one})) return "";
  const v1::Range& range = parameter.range();
  std::string text = absl::StrCat(" ", ValueText(value), " is outside its range ",
                                  NumberText(range.min()), "…", NumberText(range.max()));
  if (range.step() > 0) absl::StrAppend(&text, " by steps of ", NumberText(range.step()));
  return text;
}

class Inclusions {
 public:
  Inclusions(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on, std::vector<Issue>& issues)
      : spec_(spec),
        fields_(spec),
        may_go_on_(may_go_on),
        issues_(issues),
        admission_(spec),
        conditions_(spec) {}

  void Check() {
    for (int i = 0; i < spec_.include_size() && GoesOn(may_go_on_); ++i) {
      const size_t before = issues_.size();
      entry_ = absl::StrCat("include[", i, "]");
      CheckNames(spec_.include(i));
      for (const v1::Assignment& one : spec_.include(i).values()) CheckValue(one);
      if (issues_.size() == before) CheckActive(spec_.include(i));
      if (issues_.size() == before) CheckWhole(i);
    }
  }

 private:
  void Add(std::string path, std::string code, std::string message, std::string hint = "") {
    issues_.push_back({std::move(path), std::move(code), std::move(message), std::move(hint)});
  }

  void CheckNames(const v1::Inclusion& included) {
    std::set<std::string> named;
    for (const v1::Assignment& one : included.values()) {
      if (!named.insert(one.path()).second) {
        Add(entry_, "duplicate_key", absl::StrCat(entry_, " names ", one.path(), " twice"));
      }
    }
    for (const v1::Parameter& parameter : spec_.parameters()) {
      if (named.contains(parameter.path()) || parameter.when_size() > 0) continue;
      AddMissing(parameter.path(), "an included combination names every parameter");
    }
  }
  void AddMissing(const std::string& path, const char* rule) {
    Add(entry_, "missing", absl::StrCat(entry_, " lacks ", path, "; ", rule),
        absl::StrCat("add ", path, ": …"));
  }

  // Checks the names of conditional parameters. REQUIRES: the values are valid.
  void CheckActive(const v1::Inclusion& included) {
    if (!HasConditions(spec_)) return;
    const std::vector<v1::Assignment> values = IncludedAt(spec_, included);
    const std::set<std::string> inactive = conditions_.InactiveIn(values);
    std::set<std::string> named;
    for (const v1::Assignment& one : values) named.insert(one.path());
    for (const v1::Parameter& parameter : spec_.parameters()) {
      const std::string& path = parameter.path();
      if (inactive.contains(path) && named.contains(path)) {
        Add(absl::StrCat(entry_, ".", path), "conflict",
            absl::StrCat(entry_, " names ", path,
                         ", which such a trial does not have: see "
                         "parameters.",
                         path, ".when"),
            "remove it from the combination");
      } else if (!inactive.contains(path) && !named.contains(path)) {
        AddMissing(path, "an included combination names every parameter that it has");
      }
    }
  }

  void CheckValue(const v1::Assignment& one) {
    const std::string at = absl::StrCat(entry_, ".", one.path());
    const auto parameter =
        std::find_if(spec_.parameters().begin(), spec_.parameters().end(),
                     [&](const v1::Parameter& each) { return each.path() == one.path(); });
    if (parameter == spec_.parameters().end()) {
      std::vector<std::string> known;
      for (const v1::Parameter& each : spec_.parameters()) known.push_back(each.path());
      const std::string near = Suggest(one.path(), known);
      Add(at, "unknown_parameter",
          absl::StrCat(at, ": ", Quote(one.path()), " is not among parameters"),
          near.empty() ? "" : absl::StrCat("did you mean '", near, "'?"));
      return;
    }
    const Field& field = *fields_.Find(one.path());
    ReadValue read = Canonical(field, one.value());
    if (!read.value) {
      read.issue.path = at;
      issues_.push_back(std::move(read.issue));
      return;
    }
    if (SamplerOf(spec_) == Sampler::kGrid) return;
    std::string outside;
    if (parameter->has_range()) {
      outside = OutsideText(field, *parameter, *read.value);
    } else if (!PlacesIn(*parameter).contains(ValueText(*read.value))) {
      outside = absl::StrCat(" ", ValueText(*read.value), " is not among its values");
    }
    if (!outside.empty()) {
      Add(at, "out_of_range", absl::StrCat(at, outside), "widen the parameter, or change it");
    }
  }

  // Checks a combination without a mistake in itself: whether it is new and can be trained.
  void CheckWhole(int i) {
    const std::vector<v1::Assignment> assignments = IncludedAt(spec_, spec_.include(i));
    std::vector<std::string> texts;
    for (const v1::Assignment& one : assignments) {
      texts.push_back(absl::StrCat(one.path(), ": ", ValueText(one.value())));
    }
    const auto [first, is_new] = seen_.emplace(absl::StrJoin(texts, "\n"), i);
    if (!is_new) {
      Add(entry_, "duplicate_value", absl::StrCat(entry_, " is include[", first->second, "] again"),
          "remove it");
    } else if (const size_t trial = TrialOfGrid(assignments); trial > 0) {
      Add(entry_, "duplicate_value",
          absl::StrCat(entry_, " is combination ", trial, " of the grid"), "remove it");
    }
    for (const Violation& violation : admission_.Violations(assignments)) {
      if (violation.rule == kUnresolved && !issues_.empty()) continue;  // it follows from those
      Add(entry_, "conflict", absl::StrCat(entry_, ": ", violation.message), violation.hint);
    }
  }

  // Returns the number of the grid's trial that has these values; 0: none.
  size_t TrialOfGrid(const std::vector<v1::Assignment>& assignments) {
    if (SamplerOf(spec_) != Sampler::kGrid) return 0;
    std::vector<size_t> sought;
    auto next = assignments.begin();  // in the order of the parameters
    for (const v1::Parameter& parameter : spec_.parameters()) {
      if (next == assignments.end() || next->path() != parameter.path()) {
        sought.push_back(kAbsent);
        continue;
      }
      const Places& places = PlacesIn(parameter);
      const auto place = places.find(ValueText(next->value()));
      if (place == places.end()) return 0;
      sought.push_back(place->second);
      ++next;
    }
    if (!numbers_) NumberGrid();
    const auto found = numbers_->find(sought);
    return found == numbers_->end() ? 0 : found->second;
  }

  // Made once for all entries.
  const Places& PlacesIn(const v1::Parameter& parameter) {
    const auto known = places_.find(parameter.path());
    if (known != places_.end()) return known->second;
    return places_.emplace(parameter.path(), PlacesOf(parameter, fields_)).first->second;
  }

  // Numbers the grid in one walk for all entries. A grid of more trials than allowed is refused
  // whatever it includes.
  void NumberGrid() {
    numbers_.emplace();
    Grid grid = MakeGrid(spec_);
    grid.may_go_on = may_go_on_;
    if (grid.combinations >= limits::kCombinations) return;
    ForEachTrial(grid, [this](const std::vector<size_t>& at) {
      numbers_->emplace(at, numbers_->size() + 1);
      return numbers_->size() <= limits::kTrialsPerExperiment;
    });
  }

  const v1::ExperimentSpec& spec_;
  const ParameterFields fields_;
  const MayGoOn& may_go_on_;
  std::vector<Issue>& issues_;
  const Admission admission_;
  const Conditions conditions_;
  std::string entry_;
  std::map<std::string, int> seen_;
  std::map<std::string, Places> places_;                          // by path
  std::optional<std::map<std::vector<size_t>, size_t>> numbers_;  // numbers of the grid's trials
};

}  // namespace

void CheckSearch(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  CheckMethod(spec, issues);
  CheckMembers(spec, issues);
  CheckMaxTrials(spec, issues);
  if (spec.search().metrics().empty()) CheckMetric(spec, issues);
  CheckGoals(spec, issues);
}

void CheckDraws(const v1::ExperimentSpec& spec, const v1::Parameter& parameter, const Field& field,
                std::vector<Issue>& issues) {
  const std::string where = absl::StrCat("parameters.", parameter.path());
  CheckProbabilities(spec, parameter, issues);
  if (SamplerOf(spec) == Sampler::kBayes && absl::StartsWith(parameter.path(), "resources.")) {
    issues.push_back({where, "conflict",
                      absl::StrCat(parameter.path(), " cannot be swept with sampler bayes"),
                      "list sizes under grid"});
  }
  if (parameter.values_size() > static_cast<int>(limits::kTrialsPerExperiment) &&
      SamplerOf(spec) != Sampler::kGrid) {
    issues.push_back({where, "too_many",
                      absl::StrCat(where, " has ", parameter.values_size(), " values; at most ",
                                   limits::kTrialsPerExperiment, " are allowed"),
                      "give a range"});
  }
  if (!parameter.has_range()) return;
  if (!parameter.values().empty()) {
    issues.push_back(
        {where, "conflict", absl::StrCat(where, " has values and a range"), "keep one"});
  }
  for (Issue& issue : CheckRange(field, parameter.range())) issues.push_back(std::move(issue));
  if (SamplerOf(spec) != Sampler::kGrid) return;
  if (parameter.range().has_normal()) {
    issues.push_back({where, "conflict", absl::StrCat(where, " is drawn, and a grid draws nothing"),
                      "list its values, or write search: {method: random}"});
    return;
  }
  issues.push_back({where, "missing", absl::StrCat(where, " lacks count or step"),
                    "a grid needs values: list them"});
}

void CheckInclusions(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on,
                     std::vector<Issue>& issues) {
  Inclusions(spec, may_go_on, issues).Check();
}

void CheckSeeds(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  if (spec.seeds().empty()) return;
  const auto add = [&](std::string path, const char* code, std::string message,
                       std::string hint = "") {
    issues.push_back({std::move(path), code, std::move(message), std::move(hint)});
  };
  if (IsExplicit(spec, "seed")) {
    add("seeds", "conflict", "seed and seeds are two ways to say one thing", "keep one");
  }
  if (IsSwept(spec, "seed")) {
    add("seeds", "conflict", "parameters.seed and seeds are two ways to say one thing", "keep one");
  }
  std::set<int64_t> seen;
  for (int i = 0; i < spec.seeds_size(); ++i) {
    v1::Value value;
    value.set_integer(spec.seeds(i));
    Field field = *FindField("seed");
    field.path = absl::StrCat("seeds[", i, "]");
    if (ReadValue read = Canonical(field, value); !read.value) {
      issues.push_back(std::move(read.issue));
    } else if (!seen.insert(spec.seeds(i)).second) {
      add(field.path, "duplicate_value",
          absl::StrCat("seeds has the value ", spec.seeds(i), " twice"), "remove one");
    }
  }
}

}  // namespace dt::spec::internal
