// validate.cc: everything wrong with an experiment, at once: its words, its parameters, and the
// rules that its trials would break.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/network_bench.h"
#include "spec/conditions.h"
#include "spec/internal.h"
#include "spec/search.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

// Prefixes of variables for the libraries under a trainer. Others could make it load foreign code
// (LD_PRELOAD) or break the placement of ranks.
constexpr std::array<const char*, 13> kEnvPrefixes{
    "NCCL_", "GLOO_", "TORCH_", "PYTORCH_", "CUDA_", "CUBLAS_", "CUDNN_",
    "OMP_",  "MKL_",  "KMP_",   "UCX_",     "FI_",   "DTRAIN_"};
constexpr std::array<const char*, 2> kEnvRefused{"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"};

// Parts of names of variables that name a library, a program that a library runs, or a file that it
// reads or writes: NCCL_NET_PLUGIN, CUDA_INJECTION64_PATH, UCX_MODULE_DIR, OMP_TOOL_LIBRARIES,
// UCX_STATS_DEST, CUDA_COREDUMP_PIPE, UCX_GDB_COMMAND.
constexpr std::array<const char*, 11> kEnvNamesFiles{"PLUGIN",   "INJECTION", "LIBRARIES", "_DIR",
                                                     "_PATH",    "_FILE",     "DEST",      "_PIPE",
                                                     "COREDUMP", "_GDB",      "OMP_TOOL"};

// Whoever has a script of their own has no data for dtrain's trainer.
const char* OwnScript(std::string_view path) {
  return path == "data.train" ? " A script of your own needs none: write command: [python3, "
                                "train.py]"
                              : "";
}

class Validator {
 public:
  Validator(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on)
      : spec_(spec), may_go_on_(may_go_on), fields_(spec) {
    for (const v1::Parameter& parameter : spec.parameters()) swept_.insert(parameter.path());
    explicit_.insert(spec.explicit_paths().begin(), spec.explicit_paths().end());
  }

  std::vector<Issue> Run() {
    if (const size_t bytes = spec_.ByteSizeLong(); bytes > limits::kSpecificationBytes) {
      Add("", "too_large",
          absl::StrCat("the specification has ", bytes, " bytes; at most ",
                       limits::kSpecificationBytes, " are allowed"),
          "give fewer values under parameters");
      return std::move(issues_);
    }
    // Lists without bound are looked into no further.
    internal::CheckCounts(spec_, issues_);
    if (issues_.empty()) CheckAll();
    if (!GoesOn(may_go_on_)) {
      Add("", "out_of_time", "checking the experiment takes longer than the call may wait",
          "give it more time, fewer combinations, or fewer exclusions");
    }
    if (issues_.size() > limits::kIssues) {
      const size_t more = issues_.size() - limits::kIssues;
      issues_.resize(limits::kIssues);
      Add("", "too_many", absl::StrCat("and ", more, " more issues"), "mend these first");
    }
    return std::move(issues_);
  }

 private:
  void Add(Issue issue) { issues_.push_back(std::move(issue)); }
  void Add(std::string path, std::string code, std::string message, std::string hint = "") {
    Add(Issue{std::move(path), std::move(code), std::move(message), std::move(hint)});
  }
  bool OnlyExclusionsFailed(size_t before) const {
    return std::all_of(issues_.begin() + static_cast<std::ptrdiff_t>(before), issues_.end(),
                       [](const Issue& issue) { return absl::StartsWith(issue.path, "exclude"); });
  }

  void CheckAll() {
    CheckExperimentFields();
    internal::CheckSearch(spec_, issues_);
    internal::CheckProgram(spec_, issues_);
    internal::CheckNotify(spec_, issues_);
    CheckLabels("labels", spec_.labels());
    CheckEnv();
    CheckLabels("resources.labels", spec_.base().resources().labels());
    CheckShare();
    CheckBase();
    const size_t before = issues_.size();
    CheckParameters();
    if (issues_.size() == before) internal::CheckConditions(spec_, issues_);
    const bool parameters_pass = issues_.size() == before;
    CheckExclusions();
    // Rules over several fields see no value out of its range: it was reported already.
    confined_ = internal::Confined(spec_);
    if (parameters_pass) internal::CheckInclusions(confined_, may_go_on_, issues_);
    internal::CheckSeeds(spec_, issues_);
    // Trials of a grid that cannot be read would only repeat earlier issues.
    if (issues_.size() == before || OnlyExclusionsFailed(before)) CheckTrials();
    if (issues_.size() == before) internal::CheckSamples(confined_, may_go_on_, issues_);
  }

  void CheckExperimentFields() {
    for (const Field& field : ExperimentFieldTable()) {
      if (!HoldsValue(field)) continue;
      const v1::Value value = GetExperimentField(spec_, field.path);
      const bool unset =
          field.path == "version" ? value.integer() == 0 : value.has_text() && value.text().empty();
      const bool absent = unset || value.kind_case() == v1::Value::KIND_NOT_SET;
      const bool needed =
          field.default_kind == DefaultKind::kRequired || field.default_kind == DefaultKind::kFixed;
      if (absent && !needed) continue;
      if (unset) {
        Add(field.path, "missing", absl::StrCat(field.path, " is missing"),
            field.path == "version" ? "add: version: 1" : absl::StrCat("add: ", field.path, ": …"));
        continue;
      }
      if (ReadValue read = Canonical(field, value); !read.value) Add(std::move(read.issue));
    }
  }

  template <typename Labels>
  void CheckLabels(const std::string& path, const Labels& labels,
                   internal::Lines values = internal::Lines::kOne) {
    std::set<std::string> seen;
    for (const v1::Label& label : labels) {
      if (!seen.insert(label.key()).second) {
        Add(path, "duplicate_key", absl::StrCat(path, " names '", label.key(), "' twice"));
      }
      if (label.key().empty()) Add(path, "empty", absl::StrCat(path, " has an empty key"));
      const std::string where = absl::StrCat(path, ".", label.key());
      using internal::Lines;
      for (const auto& [what, text, limit, lines] :
           {std::tuple{"key", &label.key(), limits::kNameBytes, Lines::kOne},
            std::tuple{"value", &label.value(), limits::kTextBytes, values}}) {
        const std::string problem = internal::TextProblem(*text, limit, lines);
        if (!problem.empty()) {
          Add(where, "bad_text", absl::StrCat("a ", what, " of ", path, " ", problem));
        }
      }
    }
  }

  void CheckEnv() {
    const auto& env = spec_.base().resources().env();
    // CheckProgram has its rules. What dtrain's trainer measures is held to the trainer's.
    const bool program = IsProgram(spec_) && !IsNetworkBench(spec_.base().command());
    CheckLabels("resources.env", env, program ? internal::Lines::kMany : internal::Lines::kOne);
    if (program) return;
    for (const v1::Label& label : env) {
      const std::string& name = label.key();
      const auto begins = [&](const char* prefix) { return absl::StartsWith(name, prefix); };
      const bool word = std::all_of(name.begin(), name.end(), [](char c) {
        return c == '_' || absl::ascii_isdigit(c) || absl::ascii_isupper(c);
      });
      const bool refused =
          std::find(kEnvRefused.begin(), kEnvRefused.end(), name) != kEnvRefused.end();
      const bool file =
          std::any_of(kEnvNamesFiles.begin(), kEnvNamesFiles.end(),
                      [&](const char* part) { return absl::StrContains(name, part); });
      if (file) {
        Add(absl::StrCat("resources.env.", name), "bad_name",
            absl::StrCat("resources.env ", internal::Quote(name),
                         " may not be set: it names a library or a file of the worker's host"),
            "set it for the workers themselves, whose environment trainers inherit");
        continue;
      }
      if (!word || refused || std::none_of(kEnvPrefixes.begin(), kEnvPrefixes.end(), begins)) {
        Add(absl::StrCat("resources.env.", name), "bad_name",
            absl::StrCat("resources.env ", internal::Quote(name), " may not be set",
                         refused ? ": the worker decides it" : ""),
            absl::StrCat("names begin with ", absl::StrJoin(kEnvPrefixes, ", ")));
      }
    }
  }

  // The largest trial must be able to run; of an elastic one the rules of trials know its sizes.
  void CheckShare() {
    const v1::Resources& base = spec_.base().resources();
    if (base.min_gpus() > 0) return;
    int64_t largest = base.gpus();
    for (const v1::Parameter& parameter : spec_.parameters()) {
      if (parameter.path() != "resources.gpus") continue;
      largest = 0;
      for (const v1::Value& value : parameter.values()) {
        largest = std::max(largest, value.integer());
      }
    }
    if (base.max_gpus_total() <= 0 || base.max_gpus_total() >= largest) return;
    Add("resources.max_gpus_total", "conflict",
        absl::StrCat("resources.max_gpus_total ", base.max_gpus_total(),
                     " is below resources.gpus ", largest, "; no such trial could run"),
        absl::StrCat("raise it to ", largest, ", or remove it"));
  }

  // Values that the file set, and defaults that another client may have left out.
  void CheckBase() {
    for (const std::string& path : explicit_) {
      if (FindField(path) == nullptr) Unknown(path, path);
    }
    for (const Field& field : FieldTable()) {
      const bool set = explicit_.contains(field.path);
      // Trials without a conditional parameter have the base's value.
      const bool always = swept_.contains(field.path) && !IsConditional(spec_, field.path);
      if (always && Concerns(spec_, field)) {
        if (set) {
          Add(field.path, "conflict",
              absl::StrCat(field.path, " is set, and swept under parameters"),
              "keep one of the two");
        }
        continue;
      }
      if (!HoldsValue(field) || !Concerns(spec_, field)) continue;
      if (field.default_kind == DefaultKind::kDependent && !set) continue;
      const v1::Value value = GetField(spec_.base(), field.path);
      if (field.default_kind == DefaultKind::kRequired && value.text().empty()) {
        Add(field.path, "missing", absl::StrCat(field.path, " is missing"),
            absl::StrCat("add it: ", field.help, OwnScript(field.path)));
        continue;
      }
      const bool unset = value.has_text() && value.text().empty();
      if (unset && field.default_kind == DefaultKind::kNone) continue;
      if (ReadValue read = Canonical(field, value); !read.value) Add(std::move(read.issue));
    }
  }

  // A path that may not be set or swept.
  void Unknown(const std::string& where, const std::string& path) {
    if (IsReserved(path)) {
      Add(where, "not_available", absl::StrCat("'", path, "' is not yet available"));
      return;
    }
    if (SuggestPath(path) ==
        path) {  // a section, or what the file says beside the fields of trials
      Add(where, "not_a_field",
          absl::StrCat(internal::Quote(path), " is not a field of a trial and cannot be swept"),
          "sweep a field with its section, such as train.batch_size");
      return;
    }
    Add(where, "unknown_key", absl::StrCat("unknown field ", internal::Quote(path)),
        PathHint(path));
  }

  void CheckParameters() {
    internal::CheckOwnParameters(spec_, issues_);
    std::set<std::string> seen;
    for (const v1::Parameter& parameter : spec_.parameters()) {
      const std::string where = absl::StrCat("parameters.", parameter.path());
      const Field* field = fields_.Find(parameter.path());
      if (field == nullptr) {
        Unknown(where, parameter.path());
        continue;
      }
      if (!seen.insert(parameter.path()).second) {
        Add(where, "duplicate_key", absl::StrCat(where, " appears twice"));
      }
      if (!field->sweepable) {
        Add(where, "conflict",
            absl::StrCat(parameter.path(), " is the same for all trials and cannot be swept"),
            "move it out of parameters");
        continue;
      }
      const auto& mixed = fields_.mixed();
      if (std::find(mixed.begin(), mixed.end(), parameter.path()) != mixed.end()) continue;
      CheckParameterValues(*field, parameter, where);
    }
  }

  void CheckParameterValues(const Field& field, const v1::Parameter& parameter,
                            const std::string& where) {
    internal::CheckDraws(spec_, parameter, field, issues_);
    if (parameter.values().empty() && !parameter.has_range()) {
      Add(where, "empty", absl::StrCat(where, " has no values"), "list at least one");
    }
    std::map<std::string, int> seen;
    for (int i = 0; i < parameter.values_size() && issues_.size() <= limits::kIssues; ++i) {
      ReadValue read = Canonical(field, parameter.values(i));
      if (!read.value) {
        read.issue.path = internal::Indexed(parameter.path(), i);
        Add(std::move(read.issue));
        continue;
      }
      const auto [first, is_new] = seen.emplace(ValueText(*read.value), i);
      if (!is_new) {
        Add(internal::Indexed(parameter.path(), i), "duplicate_value",
            absl::StrCat(where, " has the value ", first->first, " twice"), "remove one");
      }
    }
  }

  void CheckExclusions() {
    std::map<std::string, std::set<std::string>> values;
    for (const v1::Parameter& parameter : spec_.parameters()) {
      const Field* field = fields_.Find(parameter.path());
      for (int i = 0; field != nullptr && i < parameter.values_size(); ++i) {
        const ReadValue read = Canonical(*field, parameter.values(i));
        if (read.value) values[parameter.path()].insert(ValueText(*read.value));
      }
    }
    for (int e = 0; e < spec_.exclude_size(); ++e) {
      const std::string entry = absl::StrCat("exclude[", e, "]");
      if (spec_.exclude(e).where().empty()) {
        Add(entry, "empty", absl::StrCat(entry, " names no parameter"), "name one, or remove it");
      }
      std::set<std::string> seen;
      for (const v1::Assignment& where : spec_.exclude(e).where()) {
        if (!seen.insert(where.path()).second) {
          Add(entry, "duplicate_key", absl::StrCat(entry, " names ", where.path(), " twice"));
        }
        CheckExcluded(absl::StrCat(entry, ".", where.path()), where, values);
      }
    }
  }

  void CheckExcluded(const std::string& at, const v1::Assignment& where,
                     const std::map<std::string, std::set<std::string>>& values) {
    const auto parameter =
        std::find_if(spec_.parameters().begin(), spec_.parameters().end(),
                     [&](const v1::Parameter& each) { return each.path() == where.path(); });
    if (parameter != spec_.parameters().end() && parameter->has_range()) {
      return CheckExcludedOfRange(at, where, *parameter);
    }
    const auto swept = values.find(where.path());
    if (swept == values.end()) {
      if (swept_.contains(where.path())) return;  // its own values are wrong already
      std::vector<std::string> known(swept_.begin(), swept_.end());
      const std::string near = Suggest(where.path(), known);
      Add(at, "unknown_parameter",
          absl::StrCat(at, ": ", internal::Quote(where.path()), " is not among parameters"),
          near.empty() ? "" : absl::StrCat("did you mean '", near, "'?"));
      return;
    }
    ReadValue read = Canonical(*fields_.Find(where.path()), where.value());
    if (!read.value) {
      read.issue.path = at;
      Add(std::move(read.issue));
    } else if (!swept->second.contains(ValueText(*read.value))) {
      Add(at, "excludes_nothing",
          absl::StrCat(at, ": ", ValueText(*read.value), " is not a value of ", where.path()),
          "remove it, or write one of the values");
    }
  }

  void CheckExcludedOfRange(const std::string& at, const v1::Assignment& where,
                            const v1::Parameter& parameter) {
    const Field* field = fields_.Find(where.path());
    if (field == nullptr || !CheckRange(*field, parameter.range()).empty()) return;
    const Space space{{DimensionOf(*field, parameter.range())}};
    ReadValue read = Canonical(*field, where.value());
    if (!read.value) {
      read.issue.path = at;
      Add(std::move(read.issue));
      return;
    }
    v1::Assignment one = where;
    *one.mutable_value() = *read.value;
    if (space.dimensions[0].kind == DimensionKind::kReal) {
      Add(at, "conflict", absl::StrCat(at, ": it is a range here; exclude names values of lists"),
          "give the range a step, or list its values");
    } else if (!PointOf(space, {one})) {
      Add(at, "excludes_nothing",
          absl::StrCat(at, ": ", ValueText(*read.value), " is not a value of ", where.path()),
          "remove it, or write one of the values");
    }
  }

  // --- Trials ---
  void CheckTrials() {
    if (SamplerOf(spec_) != Sampler::kGrid) return;
    internal::Grid grid = internal::MakeGrid(spec_);
    grid.may_go_on = may_go_on_;
    if (grid.combinations >= limits::kCombinations) {
      AddTooManyTrials(absl::StrCat(limits::kCombinations, " combinations or more"));
      return;
    }
    size_t trials = 0;
    value_bytes_.assign(grid.sizes.size(), 0);
    internal::TrialFindings findings(confined_, internal::CheckTrial);
    internal::ForEachTrial(grid, [&](const std::vector<size_t>& at) {
      const bool fits = CountValues(at) <= limits::kTrialValuesBytes;
      if (++trials <= limits::kTrialsPerExperiment && fits) {
        findings.Take(internal::SampleAt(spec_, at));
      }
      return true;
    });
    const size_t seeds = ReplicatesOf(spec_);
    const size_t all = (trials + static_cast<size_t>(spec_.include_size())) * seeds;
    if (all > limits::kTrialsPerExperiment) {
      AddTooManyTrials(absl::StrCat(all, " trials"));
    } else {
      CountIncluded();
      CheckValueBytes(all);
    }
    if (trials == 0 && GoesOn(may_go_on_)) {
      Add("exclude", "no_trials", "exclude removes every combination of parameters",
          "exclude fewer");
    }
    for (Issue& issue : findings.Issues("conflict", issues_)) Add(std::move(issue));
  }

  // Adds what one more configuration's values take in a record or an answer, once for each seed;
  // returns the sum of all so far.
  size_t CountValues(const std::vector<size_t>& at) {
    for (size_t p = 0; p < at.size(); ++p) {
      if (at[p] == internal::kAbsent) continue;
      const v1::Parameter& parameter = spec_.parameters(static_cast<int>(p));
      const size_t bytes =
          parameter.path().size() + parameter.values(static_cast<int>(at[p])).ByteSizeLong();
      value_bytes_[p] += bytes * ReplicatesOf(spec_);
    }
    return std::accumulate(value_bytes_.begin(), value_bytes_.end(), size_t{0});
  }

  // The same for the configurations that are included.
  void CountIncluded() {
    for (const v1::Inclusion& included : spec_.include()) {
      const std::vector<v1::Assignment> values = internal::IncludedAt(spec_, included);
      for (size_t p = 0; p < values.size() && p < value_bytes_.size(); ++p) {
        value_bytes_[p] += values[p].ByteSizeLong() * ReplicatesOf(spec_);
      }
    }
  }

  void CheckValueBytes(size_t trials) {
    const size_t all = std::accumulate(value_bytes_.begin(), value_bytes_.end(), size_t{0});
    if (all <= limits::kTrialValuesBytes) return;
    const auto largest = std::max_element(value_bytes_.begin(), value_bytes_.end());
    const auto parameter = static_cast<int>(largest - value_bytes_.begin());
    const std::string& path = spec_.parameters(parameter).path();
    Add(absl::StrCat("parameters.", path), "too_large",
        absl::StrCat("the values of all ", trials, " trials have ", all, " bytes in all, those of ",
                     path, " ", *largest, "; at most ", limits::kTrialValuesBytes, " are allowed"),
        "give shorter values or fewer trials");
  }

  void AddTooManyTrials(const std::string& have) {
    Add("parameters", "too_many_trials",
        absl::StrCat("the grid has ", have, "; at most ", limits::kTrialsPerExperiment,
                     " are allowed"),
        "give fewer values, or exclude some");
  }

  const v1::ExperimentSpec& spec_;
  const MayGoOn& may_go_on_;
  v1::ExperimentSpec confined_;
  const ParameterFields fields_;
  std::set<std::string> swept_;
  std::set<std::string> explicit_;
  std::vector<Issue> issues_;
  std::vector<size_t> value_bytes_;  // of all trials' values, by parameter
};

}  // namespace

std::vector<Issue> Validate(const v1::ExperimentSpec& spec, const MayGoOn& may_go_on) {
  return Validator(spec, may_go_on).Run();
}

}  // namespace dt::spec
