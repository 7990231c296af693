// validate_goals.cc: checks several objectives of a search, and its constraints.
#include <algorithm>
#include <set>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "spec/internal.h"
#include "spec/objectives.h"
#include "spec/search.h"

namespace dt::spec::internal {
namespace {

class Goals {
 public:
  Goals(const v1::ExperimentSpec& spec, std::vector<Issue>& issues)
      : spec_(spec), search_(spec.search()), issues_(issues) {}

  void Check() {
    if (!search_.metrics().empty()) {
      CheckMetrics();
      CheckWords();
      CheckSingleValued();
    } else if (!search_.goals().empty()) {
      Add("search.goals", "conflict", "search.goals belongs to search.metrics, which is missing",
          "write goal: minimize, or name the metrics");
    }
    for (int i = 0; i < search_.constraints_size(); ++i) CheckConstraint(i);
  }

 private:
  void Add(std::string path, std::string code, std::string message, std::string hint = "") {
    issues_.push_back({std::move(path), std::move(code), std::move(message), std::move(hint)});
  }

  void CheckMetrics() {
    if (search_.metrics_size() == 1) {
      Add("search.metrics", "too_few", "search.metrics has one name; several objectives are 2 to 4",
          absl::StrCat("write metric: ", Shortened(search_.metrics(0))));
    }
    std::set<std::string> seen;
    for (int i = 0; i < search_.metrics_size(); ++i) {
      const std::string at = absl::StrCat("search.metrics[", i, "]");
      CheckName(at, search_.metrics(i));
      if (!seen.insert(search_.metrics(i)).second) {
        Add(at, "duplicate_value",
            absl::StrCat("search.metrics names ", Quote(search_.metrics(i)), " twice"),
            "remove one");
      }
    }
  }

  // Checks that trials can have the metric.
  void CheckName(const std::string& at, const std::string& name) {
    if (!IsName(name, NameKind::kMetric)) {
      Add(at, "bad_name", absl::StrCat(at, ": ", Quote(name), " is no name of a metric"),
          "use letters, digits and _ - . /, at most 64 bytes");
      return;
    }
    if (IsProgram(spec_)) return;
    if (!IsTrainerMetric(name)) {
      std::vector<std::string> known = FindExperimentField("search.metric")->choices;
      known.insert(known.end(), MeasuredMetrics().begin(), MeasuredMetrics().end());
      const std::string near = name == "peak_memory_bytes" ? "memory_peak_bytes"
                               : name == "seconds"         ? "training_seconds"
                                                           : Suggest(name, known);
      Add(at, "unknown_choice",
          absl::StrCat(at, " is ", Quote(name), "; a model's metrics are ",
                       absl::StrJoin(known, ", ")),
          near.empty() ? "" : absl::StrCat("did you mean '", near, "'?"));
      return;
    }
    if (!absl::StartsWith(name, "hellaswag_acc")) return;
    if (!spec_.base().eval().hellaswag().empty() || IsSwept(spec_, "eval.hellaswag")) return;
    Add(at, "conflict", absl::StrCat(at, ": ", name, " is not measured without eval.hellaswag"),
        "set eval.hellaswag to its file");
  }

  void CheckWords() {
    const int goals = search_.goals_size();
    if (goals > 0 && goals != search_.metrics_size()) {
      Add("search.goals", "conflict",
          absl::StrCat("search.metrics has ", search_.metrics_size(), " names and search.goals ",
                       goals, goals == 1 ? " word" : " words"),
          "give one word for each metric, or leave goals out where the names say it");
      return;
    }
    for (int i = 0; i < goals; ++i) {
      const std::string& word = search_.goals(i);
      if (word.empty() || word == "minimize" || word == "maximize") continue;
      const std::string at = absl::StrCat("search.goals[", i, "]");
      Add(at, "unknown_choice",
          absl::StrCat(at, " is ", Quote(word), "; it must be one of: minimize, maximize"),
          OtherValueHint("search.goal", word));
    }
    const std::vector<Objective> objectives = ObjectivesOf(search_);
    for (size_t i = 0; i < objectives.size() && search_.metrics_size() > 1; ++i) {
      if (!objectives[i].goal.empty()) continue;
      Add("search.goals", "missing",
          absl::StrCat("search.goals is missing; whether more ", Shortened(objectives[i].metric),
                       " is better is not known"),
          "add goals: [minimize, …], a word for each of metrics");
      return;
    }
  }

  // Refuses what compares trials by a single value.
  void CheckSingleValued() {
    constexpr const char* kFix =
        "keep one as metric, and make constraints of the others: constraints: [\"NAME <= 20\"]";
    const auto refuse = [&](const std::string& path, const std::string& what) {
      Add(path, "conflict",
          absl::StrCat(what, " compares trials by one value, and search.metrics has ",
                       search_.metrics_size()),
          kFix);
    };
    if (search_.method() == "asha" || search_.method() == "pbt") {
      issues_.push_back({"search.method", "conflict",
                         absl::StrCat("method ", search_.method(),
                                      " compares trials by one value, and search.metrics has ",
                                      search_.metrics_size()),
                         absl::StrCat("use method random or bayes, or ", kFix)});
    }
    if (search_.has_target()) refuse("search.target", "search.target");
    const v1::Stop& stop = spec_.base().stop();
    if (stop.patience() > 0 || IsSwept(spec_, "stop.patience")) {
      refuse("stop.patience", "stop.patience");
    }
    if (stop.median().after() > 0 || IsSwept(spec_, "stop.median.after")) {
      refuse("stop.median.after", "stop.median");
    }
    if (IsProgram(spec_) && (stop.max_loss() > 0 || IsSwept(spec_, "stop.max_loss"))) {
      refuse("stop.max_loss", "stop.max_loss of a program");
    }
  }

  void CheckConstraint(int i) {
    const std::string at = absl::StrCat("search.constraints[", i, "]");
    const std::string& text = search_.constraints(i);
    const std::string problem = TextProblem(text, limits::kNameBytes, Lines::kOne);
    if (!problem.empty()) {
      Add(at, "bad_text", absl::StrCat(at, " ", problem));
      return;
    }
    const auto read = ParseConstraint(text);
    if (const auto* fault = std::get_if<ConstraintFault>(&read)) {
      Add(at, "bad_constraint",
          absl::StrCat(at, " ", Quote(text), ", character ", fault->at, ": ", fault->message),
          fault->hint);
      return;
    }
    CheckName(at, std::get<Constraint>(read).metric);
  }

  const v1::ExperimentSpec& spec_;
  const v1::Search& search_;
  std::vector<Issue>& issues_;
};

}  // namespace

void CheckGoals(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  Goals(spec, issues).Check();
}

}  // namespace dt::spec::internal
