#include "cli/commands/search_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/view/top_panes.h"
#include "cli/view/words.h"
#include "spec/normal_range.h"
#include "spec/objectives.h"
#include "spec/program.h"
#include "spec/search.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

std::string MethodText(const v1::ExperimentSpec& spec) {
  const v1::Search& search = spec.search();
  std::string text = search.method();
  if (text == "asha") {
    absl::StrAppend(&text, " (", search.sampler().empty() ? "random" : search.sampler(), ")");
  }
  absl::StrAppend(&text, ", ", spec::ObjectivesText(search));
  if (!search.constraints().empty()) {
    absl::StrAppend(&text, ", with ", absl::StrJoin(search.constraints(), " and "));
  }
  if (search.has_target()) {
    absl::StrAppend(&text, ", until it is ", spec::NumberText(search.target()));
  }
  return Printable(text);
}

std::string AssumedText(const v1::ExperimentSpec& spec) {
  const v1::Search& search = spec.search();
  // The metrics of dtrain's own trainer are known.
  if (spec::HasSeveralObjectives(search)) return "";
  if (!search.goal().empty() || search.metric().empty() || !spec::IsProgram(spec)) return "";
  return " (assumed from its name; search.goal says otherwise)";
}

std::string BestText(const v1::ExperimentSpec& spec) {
  if (spec::HasSeveralObjectives(spec.search())) {
    return absl::StrCat(
        "The result is the Pareto front: ", Printable(spec::ObjectivesText(spec.search())), ".");
  }
  const char* end = spec::GoalOf(spec.search()) == "maximize" ? "highest " : "lowest ";
  return absl::StrCat("The trial with the ", end, Printable(spec.search().metric()), " is the best",
                      AssumedText(spec), ".");
}

namespace {

// Returns ", with model large or huge".
std::string WhenText(const v1::Parameter& parameter) {
  std::vector<std::string> parts;
  for (const v1::Condition& condition : parameter.when()) {
    std::vector<std::string> values;
    for (const v1::Value& value : condition.values()) values.push_back(spec::ValueText(value));
    parts.push_back(absl::StrCat(condition.path(), " ", absl::StrJoin(values, " or ")));
  }
  return parts.empty() ? "" : Printable(absl::StrCat(", with ", absl::StrJoin(parts, ", ")));
}

std::string DomainText(const v1::Parameter& parameter) {
  if (parameter.has_range()) {
    const v1::Range& range = parameter.range();
    std::string text =
        absl::StrCat(spec::NumberText(range.min()), " … ", spec::NumberText(range.max()));
    if (range.has_normal()) {
      const spec::NormalWords& words = spec::WordsOfNormal(range.scale() == "log");
      text = absl::StrCat(words.name, ", ", words.centre, " ",
                          spec::NumberText(range.normal().centre()), ", ", words.spread, " ",
                          spec::NumberText(range.normal().spread()), ", within ", text);
    }
    if (range.step() > 0) absl::StrAppend(&text, " by ", spec::NumberText(range.step()));
    if (range.scale() == "log" && !range.has_normal()) text += ", log";
    return text;
  }
  std::vector<std::string> values;
  for (int i = 0; i < parameter.values_size(); ++i) {
    std::string value = Printable(spec::ValueText(parameter.values(i)));
    if (i < parameter.probabilities_size()) {
      absl::StrAppend(&value, " (", spec::NumberText(parameter.probabilities(i)), ")");
    }
    values.push_back(std::move(value));
  }
  return absl::StrJoin(values, ", ");
}

}  // namespace

std::string VariesText(const v1::Parameter& parameter) {
  return absl::StrCat(DomainText(parameter), WhenText(parameter));
}

std::string WaitsText(const v1::ExperimentSpec& spec, const v1::ExperimentSummary& experiment,
                      const std::vector<v1::WorkerSummary>& workers) {
  const bool to_come = !ToComeText(experiment).empty();
  if (!to_come || experiment.pending() + experiment.running() > 0 || experiment.paused()) return "";
  const std::string& device = spec.base().resources().device();
  size_t connected = 0;
  size_t idle = 0;
  for (const v1::WorkerSummary& worker : workers) {
    // A worker whose device the trials cannot use does not count.
    const bool usable = device.empty() || device == "auto" || worker.device().rfind(device, 0) == 0;
    if (!usable || !Connected(worker)) continue;
    ++connected;
    if (worker.state() == "idle") ++idle;
  }
  const std::string kind = device.empty() || device == "auto" ? "" : absl::StrCat(device, " ");
  if (connected == 0) {
    return absl::StrCat("a worker: no ", Printable(kind),
                        "worker is connected; start one with 'dtctl up' or dtworker");
  }
  const v1::Resources& resources = spec.base().resources();
  const int32_t least = resources.min_gpus() > 0 ? resources.min_gpus() : resources.gpus();
  const auto needed = static_cast<size_t>(std::max(1, least));
  if (idle >= needed) return "";
  return absl::StrCat("slots: a trial needs ", needed, " ", Printable(kind),
                      needed == 1 ? "slot, and " : "slots, and ", idle, " of ",
                      Plural(connected, "connected worker"), idle == 1 ? " is idle" : " are idle");
}

bool AwaitsValidation(const v1::ExperimentSummary& experiment) {
  return !experiment.program() && !Ended(experiment.state());
}

std::string NoMetricText(const v1::ExperimentSummary& experiment,
                         const std::vector<std::string>& reported) {
  const std::string metric = Printable(experiment.metric());
  const bool ended = Ended(experiment.state());
  if (AwaitsValidation(experiment) || (!ended && reported.empty())) return "";
  if (!reported.empty()) {
    return absl::StrCat(
        "no trial has reported a number for ", metric, ended ? "" : " yet",
        ", which search.metric says to compare by; reported ",
        reported.size() == 1 ? "was " : "were ", Printable(absl::StrJoin(reported, ", ")),
        ". Report ", metric,
        ", or set search.metric to one of these, with search.goal where the "
        "name does not say which is better: 'dtctl submit FILE --set search.metric=",
        Printable(reported.front()), "'");
  }
  const std::string failures =
      experiment.failed() == 0
          ? ""
          : absl::StrCat("; ", Plural(experiment.failed(), "trial"), " failed: 'dtctl get trials ",
                         experiment.experiment(), "' says why");
  return absl::StrCat("no trial has reported a number for ", metric,
                      ", which search.metric says to compare by, nor any other metric", failures);
}

SearchPlan PlanOf(const v1::ExperimentSpec& spec, size_t expanded) {
  SearchPlan plan;
  plan.trials = expanded;
  const size_t asked = spec::PlannedTrials(spec);
  const spec::Sampler sampler = spec::SamplerOf(spec);
  if (sampler == spec::Sampler::kBayes) plan.trials = asked;
  plan.json = {{"trials", plan.trials}, {"method", spec.search().method()}};
  const bool alone = spec.search().method() == "grid" && plan.trials <= 1;
  if (!alone) plan.lines.push_back(absl::StrCat(MethodText(spec), AssumedText(spec)));
  plan.json["metric"] = spec.search().metric();
  plan.json["goal"] = spec::GoalOf(spec.search());
  if (spec::HasSeveralObjectives(spec.search())) {
    const std::vector<spec::Objective> objectives = spec::ObjectivesOf(spec.search());
    plan.json["metric"] = objectives.front().metric;
    plan.json["goal"] = objectives.front().goal;
    for (const spec::Objective& one : objectives) {
      plan.json["metrics"].push_back(one.metric);
      plan.json["goals"].push_back(one.goal);
    }
  }
  if (sampler == spec::Sampler::kBayes) {
    plan.lines.push_back(
        absl::StrCat("chosen one by one as results come",
                     expanded == 0 ? "" : ", after " + Plural(expanded, "trial") + " of include"));
  } else if (sampler == spec::Sampler::kRandom && expanded < asked) {
    plan.lines.push_back(absl::StrCat(FormatCount(expanded), " of the ", FormatCount(asked),
                                      " trials asked for: no other combination was found"));
  }
  Json varies = Json::object();
  for (const v1::Parameter& parameter : spec.parameters()) {
    const std::string text = VariesText(parameter);
    varies[parameter.path()] = text;
    plan.lines.push_back(absl::StrCat(Printable(parameter.path()), ": ", text));
  }
  if (!spec.seeds().empty()) {
    plan.lines.push_back(
        absl::StrCat("each configuration with the seeds ", absl::StrJoin(spec.seeds(), ", ")));
  }
  plan.json["varies"] = std::move(varies);
  if (spec.search().method() != "asha" && !spec::IsPopulation(spec)) return plan;
  const spec::RungPlan rungs = spec::RungsOf(spec);
  plan.json["rungs"] = rungs.steps;
  plan.lines.push_back(rungs.target_steps == 0
                           ? "rungs: known once a trainer has counted the steps of an epoch"
                           : absl::StrCat("rungs: steps ", absl::StrJoin(rungs.steps, ", "),
                                          " of trial 1's ", rungs.target_steps));
  return plan;
}

}  // namespace dt::cli
