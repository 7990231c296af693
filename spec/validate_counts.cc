// validate_counts.cc: bounds on the lists of a message: a client may send any number of entries,
// and some checks compare each with each.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/search_limits.h"
#include "spec/internal.h"

namespace dt::spec::internal {
namespace {

class Counts {
 public:
  Counts(const v1::ExperimentSpec& spec, std::vector<Issue>& issues)
      : spec_(spec), issues_(issues) {}

  void Check() {
    constexpr auto kLabels = static_cast<int>(limits::kLabels);
    const v1::Spec& base = spec_.base();
    One("labels", spec_.labels_size(), kLabels, "entries");
    One("resources.env", base.resources().env_size(), kLabels, "entries");
    One("resources.labels", base.resources().labels_size(), kLabels, "entries");
    One("command", base.command_size(), static_cast<int>(limits::kCommandWords), "words",
        "put them into a script");
    One("optimizer.betas", base.optimizer().betas_size(), limits::kParameters, "numbers");
    const v1::Search& search = spec_.search();
    One("search.metrics", search.metrics_size(), limits::kObjectives, "names",
        "keep the most important ones, and make constraints of the others");
    One("search.goals", search.goals_size(), limits::kObjectives, "words");
    One("search.constraints", search.constraints_size(), limits::kSearchConstraints, "entries");
    One("seeds", spec_.seeds_size(), limits::kSeeds, "entries");
    const auto fields = static_cast<int>(FieldTable().size());
    if (const int paths = spec_.explicit_paths_size(); paths > fields) {
      Add("", absl::StrCat("explicit_paths names ", paths, " fields; there are ", fields));
    }
    CheckParameters();
    CheckCombinations();
  }

 private:
  void Add(std::string path, std::string message, std::string hint = "") {
    issues_.push_back({std::move(path), "too_many", std::move(message), std::move(hint)});
  }
  void One(const std::string& path, int size, int most, const char* what, const char* hint = "") {
    if (size <= most) return;
    Add(path, absl::StrCat(path, " has ", size, " ", what, "; at most ", most, " are allowed"),
        hint);
  }

  void CheckParameters() {
    One("parameters", spec_.parameters_size(), limits::kParameters, "entries");
    for (int p = 0; p < std::min(spec_.parameters_size(), limits::kParameters); ++p) {
      const v1::Parameter& parameter = spec_.parameters(p);
      const std::string path = absl::StrCat("parameters.", Shortened(parameter.path()));
      One(path, parameter.values_size(), limits::kParameterValues, "values", "give a range");
      One(absl::StrCat(path, ".probabilities"), parameter.probabilities_size(),
          limits::kParameterValues, "numbers");
      One(absl::StrCat(path, ".when"), parameter.when_size(), limits::kParameters, "conditions");
      for (int c = 0; c < std::min(parameter.when_size(), limits::kParameters); ++c) {
        const v1::Condition& condition = parameter.when(c);
        One(absl::StrCat(path, ".when.", Shortened(condition.path())), condition.values_size(),
            limits::kConditionValues, "values", "write the condition with fewer values");
      }
    }
  }

  void CheckCombinations() {
    One("exclude", spec_.exclude_size(), limits::kExclusions, "entries");
    int64_t terms = 0;
    for (int e = 0; e < std::min(spec_.exclude_size(), limits::kExclusions); ++e) {
      One(absl::StrCat("exclude[", e, "]"), spec_.exclude(e).where_size(), limits::kParameters,
          "parameters");
      terms += spec_.exclude(e).where_size();
    }
    if (terms > limits::kExclusionTerms) {
      Add("exclude",
          absl::StrCat("exclude names ", terms, " values in all its entries; at most ",
                       limits::kExclusionTerms, " are allowed"),
          "exclude by fewer parameters, or give other values");
    }
    One("include", spec_.include_size(), limits::kInclusions, "entries");
    for (int i = 0; i < std::min(spec_.include_size(), limits::kInclusions); ++i) {
      One(absl::StrCat("include[", i, "]"), spec_.include(i).values_size(), limits::kParameters,
          "parameters");
    }
  }

  const v1::ExperimentSpec& spec_;
  std::vector<Issue>& issues_;
};

}  // namespace

void CheckCounts(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  Counts(spec, issues).Check();
}

}  // namespace dt::spec::internal
