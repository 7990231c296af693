#include "report/page/results_csv.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/json.h"
#include "common/free_name.h"
#include "report/analysis/configurations.h"
#include "report/analysis/differences.h"
#include "report/analysis/results.h"
#include "report/words/csv.h"
#include "report/words/format.h"
#include "report/words/summary.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt::report {
namespace {

Json NumberJson(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// Returns every parameter of any experiment; for several, also the fields in which they differ,
// except the seed, which has a column of its own.
std::vector<std::string> PathsOf(const std::vector<Experiment>& experiments) {
  std::vector<v1::TrialSummary> all;
  for (const Experiment& experiment : experiments) {
    for (const Trial& trial : experiment.trials) all.push_back(trial.summary);
  }
  std::vector<std::string> paths;
  for (const Swept& one : SweptParameters(all)) paths.push_back(one.path);
  for (const Difference& one : DifferencesOf(experiments)) {
    const bool known = std::find(paths.begin(), paths.end(), one.path) != paths.end();
    if (known || one.path == "seed" || spec::FindField(one.path) == nullptr) continue;
    paths.push_back(one.path);
  }
  return paths;
}

// Returns the values of several objectives, in their order, with a semicolon between them; null
// with one objective.
Json ObjectivesText(const v1::TrialSummary& summary) {
  if (summary.objectives().empty()) return nullptr;
  std::string text;
  for (const double value : summary.objectives()) {
    absl::StrAppend(&text, text.empty() ? "" : ";",
                    std::isfinite(value) ? spec::NumberText(value) : "-");
  }
  return text;
}

// Returns the results of a trial, which follow its parameters.
Json ResultFields(const Trial& trial, uint32_t configuration) {
  const v1::TrialSummary& summary = trial.summary;
  const Result result = ResultOf(trial);
  Json row = Json::object();
  row["state"] = api::Word(summary.state());
  row["outcome"] = Ended(summary.state()) ? Json(api::Word(summary.cause())) : Json(nullptr);
  row["steps"] = summary.step();
  row["target_steps"] = summary.target_steps();
  row["attempts"] = summary.attempts();
  row["ranks"] = summary.world_size();
  row["loss"] = NumberJson(result.loss);
  row["val_loss"] = NumberJson(result.val_loss);
  row["best_val_loss"] = NumberJson(summary.best_val_loss());
  row["best_val_step"] =
      summary.best_val_step() == 0 ? Json(nullptr) : Json(summary.best_val_step());
  row["perplexity"] = NumberJson(result.perplexity);
  row["perplexity_batch_mean"] = NumberJson(result.perplexity_mean);
  const v1::Evaluation& newest = trial.newest_evaluation;
  row["hellaswag_acc"] =
      newest.has_hellaswag_acc() ? NumberJson(newest.hellaswag_acc()) : Json(nullptr);
  row["hellaswag_acc_norm"] =
      newest.has_hellaswag_acc_norm() ? NumberJson(newest.hellaswag_acc_norm()) : Json(nullptr);
  row["epochs"] = NumberJson(result.epochs);
  row["seconds_per_epoch"] = NumberJson(result.seconds_per_epoch);
  row["tokens_per_second"] = NumberJson(result.tokens_per_second);
  row["comm_share"] = NumberJson(result.comm_ratio);
  row["comm_exposed_share"] = NumberJson(result.comm_exposed_ratio);
  for (size_t i = 0; i < spec::kPartsOfStep.size(); ++i) {
    row[spec::kPartsOfStep[i].name] =
        trial.logged > 0 ? NumberJson(trial.phase_seconds[i]) : Json(nullptr);
  }
  row["comm_seconds"] = trial.logged > 0 ? NumberJson(trial.comm_seconds) : Json(nullptr);
  row["model_parameters"] = summary.model_parameters();
  row["seed"] = summary.seed();
  row["configuration"] = configuration == 0 ? Json(nullptr) : Json(configuration);
  row["metric_value"] = NumberJson(summary.metric_value());
  row["metric_step"] = summary.metric_step() == 0 ? Json(nullptr) : Json(summary.metric_step());
  row["objectives"] = ObjectivesText(summary);
  row["pareto"] = summary.objectives().empty() ? Json(nullptr) : Json(summary.pareto());
  row["infeasible"] = summary.infeasible().empty() ? Json(nullptr) : Json(summary.infeasible());
  return row;
}

Json RowOf(const Experiment& experiment, const Trial& trial, const std::vector<std::string>& paths,
           uint32_t configuration) {
  Json row = {{"experiment", experiment.found.summary().experiment()},
              {"name", experiment.found.summary().name()},
              {"trial", trial.summary.trial()}};
  Json results = ResultFields(trial, configuration);
  std::set<std::string> taken;
  for (const Json* ours : {&row, &results}) {
    for (const auto& [name, value] : ours->items()) taken.insert(name);
  }
  const std::vector<std::string> texts = ResolvedTexts(experiment, trial, paths);
  for (size_t i = 0; i < paths.size(); ++i) {
    row[TakeFreeName(paths[i], kParameterColumn, taken)] =
        texts[i] == kNone ? Json(nullptr) : Json(texts[i]);
  }
  for (auto& [name, value] : results.items()) row[name] = std::move(value);
  return row;
}

// Returns whether only models that dtrain trains are sure to fill the column. A program fills some
// of these, or none.
bool IsOfModels(const std::string& column) {
  static const auto* const names = new std::set<std::string>(
      {"target_steps", "loss", "val_loss", "best_val_loss", "best_val_step", "perplexity",
       "perplexity_batch_mean", "hellaswag_acc", "hellaswag_acc_norm", "epochs",
       "seconds_per_epoch", "tokens_per_second", "comm_share", "comm_exposed_share", "comm_seconds",
       "model_parameters"});
  return names->contains(column) ||
         std::any_of(spec::kPartsOfStep.begin(), spec::kPartsOfStep.end(),
                     [&](const auto& part) { return column == part.name; });
}

// Drops the columns of several objectives and of constraints where no experiment has them, and the
// empty columns of models where all experiments ran programs.
void LeaveOutEmpty(const std::vector<Experiment>& experiments, const std::vector<Json>& rows,
                   std::vector<std::string>& columns) {
  const auto is_null = [&](const std::string& column) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](const Json& row) { return row[column].is_null(); });
  };
  std::erase_if(columns, [&](const std::string& column) {
    const bool of_goals = column == "objectives" || column == "pareto" || column == "infeasible";
    return of_goals && is_null(column);
  });
  const bool programs = std::all_of(experiments.begin(), experiments.end(), [](const auto& one) {
    return spec::IsProgram(one.found.spec());
  });
  if (!programs) return;
  std::erase_if(columns, [&](const std::string& column) {
    return IsOfModels(column) && std::all_of(rows.begin(), rows.end(), [&](const Json& row) {
             return row[column].is_null() || row[column] == 0;
           });
  });
}

// Returns, for each trial, the first trial that differs from it at most in its seed.
std::map<uint32_t, uint32_t> ConfigurationNumbers(const Experiment& experiment) {
  std::vector<v1::TrialSummary> summaries;
  for (const Trial& trial : experiment.trials) summaries.push_back(trial.summary);
  std::map<uint32_t, uint32_t> numbers;
  for (const Configuration& one : ConfigurationsOf(summaries)) {
    for (const v1::TrialSummary* trial : one.trials) {
      numbers[trial->trial()] = one.trials.front()->trial();
    }
  }
  return numbers;
}

}  // namespace

std::string ResultsCsv(const std::vector<Experiment>& experiments) {
  const std::vector<std::string> paths = PathsOf(experiments);
  std::vector<Json> rows;
  for (const Experiment& experiment : experiments) {
    const std::map<uint32_t, uint32_t> configurations = ConfigurationNumbers(experiment);
    for (const Trial& trial : experiment.trials) {
      rows.push_back(RowOf(experiment, trial, paths, configurations.at(trial.summary.trial())));
    }
  }
  std::vector<std::string> columns = CsvColumns(RowOf(experiments.front(), Trial(), paths, 0));
  LeaveOutEmpty(experiments, rows, columns);
  return CsvText(columns, rows);
}

}  // namespace dt::report
