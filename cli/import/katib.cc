// katib.cc: experiments of Katib.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/import/draft.h"
#include "cli/import/sampled.h"
#include "common/text.h"
#include "spec/pattern/line_pattern.h"

namespace dt::cli {
namespace {

using Kind = YamlNode::Kind;

std::optional<Domain> FeasibleDomain(const YamlNode& parameter) {
  const std::string type = TextOf(Find(parameter, "parameterType"));
  const YamlNode* space = Find(parameter, "feasibleSpace");
  if (space == nullptr) return std::nullopt;
  if (const YamlNode* list = Find(*space, "list")) {
    Domain domain = ListOf(*list);
    // Numbers are written as texts there.
    const bool numbers =
        type != "categorical" &&
        std::all_of(list->items.begin(), list->items.end(),
                    [](const YamlNode& item) { return NumberOf(&item).has_value(); });
    if (numbers) {
      domain.values.clear();
      for (const YamlNode& item : list->items) domain.values.push_back(TextOf(&item));
    }
    return domain;
  }
  const auto min = NumberOf(Find(*space, "min")), max = NumberOf(Find(*space, "max"));
  if (!min || !max) return std::nullopt;
  const bool integer = type == "int";
  const std::string distribution = absl::AsciiStrToLower(TextOf(Find(*space, "distribution")));
  Domain domain = distribution.starts_with("log") ? LogRangeOf(*min, *max) : RangeOf(*min, *max);
  if (distribution.find("normal") != std::string::npos && domain.min) {
    // The range has three deviations on each side of the middle there.
    const double low = *domain.min, high = *domain.max;
    domain.centre = domain.log ? std::sqrt(low * high) : (low + high) / 2;
    domain.spread = domain.log ? std::pow(high / low, 1.0 / 6) : (high - low) / 6;
    domain.cut = true;
    return Stepped(domain, NumberOf(Find(*space, "step")).value_or(integer ? 1 : 0));
  }
  if (integer) {
    domain = IntegersOf(*min, *max);
    if (distribution.starts_with("log")) domain = OnLogScale(std::move(domain));
  }
  return Stepped(domain, NumberOf(Find(*space, "step")).value_or(0));
}

void TakeFeasibleSpaces(const YamlNode& list, Draft& draft) {
  for (const YamlNode& item : list.items) {
    const std::string name = TextOf(Find(item, "name"));
    const std::optional<Domain> domain = FeasibleDomain(item);
    if (name.empty() || !domain) {
      draft.Comment("parameters", absl::StrCat("line ", item.mark.line, ": ", FlowText(item),
                                               " has no values that are known here"));
      continue;
    }
    draft.Parameter(name, *domain);
  }
}

// Returns the value of an algorithm's setting.
std::string Setting(const YamlNode& algorithm, std::string_view name) {
  const YamlNode* settings = Find(algorithm, "algorithmSettings");
  for (size_t i = 0; settings != nullptr && i < settings->items.size(); ++i) {
    if (TextOf(Find(settings->items[i], "name")) == name) {
      return TextOf(Find(settings->items[i], "value"));
    }
  }
  return "";
}

void TakeAlgorithm(const YamlNode& algorithm, Draft& draft) {
  const std::string name = TextOf(Find(algorithm, "algorithmName"));
  if (name == "grid" || name == "random") {
    draft.Set("search.method", name);
  } else if (name == "hyperband") {
    draft.Set("search.method", "asha");
    const double eta = NumberIn(Setting(algorithm, "eta")).value_or(3);
    draft.Set("search.asha.eta", absl::StrCat(static_cast<int64_t>(std::clamp(eta, 2.0, 10.0))));
    const double steps = NumberIn(Setting(algorithm, "r_l")).value_or(0);
    if (steps >= 1 && steps < 1e9) draft.Set("steps", absl::StrCat(static_cast<int64_t>(steps)));
    draft.Comment("search",
                  "hyperband gives a trial a parameter with its budget there; here trials "
                  "end early at their rungs");
  } else if (name == "pbt") {
    draft.Set("search.method", "pbt");
  } else {
    draft.Set("search.method", "bayes");
    if (name != "tpe" && name != "multivariate-tpe") {
      draft.Comment("search", absl::StrCat("algorithm ", name, " is bayes (TPE) here"));
    }
  }
  const YamlNode* settings = Find(algorithm, "algorithmSettings");
  for (size_t i = 0; settings != nullptr && i < settings->items.size(); ++i) {
    const std::string setting = TextOf(Find(settings->items[i], "name"));
    const std::string value = TextOf(Find(settings->items[i], "value"));
    const auto seed = NumberIn(value);
    if (setting == "random_state" && seed && *seed >= 0 && *seed < 1e9) {
      draft.Set("seed", absl::StrCat(static_cast<int64_t>(*seed)));
    } else if (setting != "eta" && setting != "r_l") {
      draft.Comment("search", absl::StrCat("line ", settings->items[i].mark.line, ": ", setting,
                                           ": ", value, " has no counterpart"));
    }
  }
}

std::vector<std::string> TakeObjective(const YamlNode& objective, Draft& draft) {
  std::vector<std::string> metrics;
  const std::string metric = TextOf(Find(objective, "objectiveMetricName"));
  if (!metric.empty()) {
    draft.Set("search.metric", PlainText(metric));
    metrics.push_back(metric);
  }
  draft.Set("search.goal", TextOf(Find(objective, "type")) == "maximize" ? "maximize" : "minimize");
  if (const auto goal = NumberOf(Find(objective, "goal")))
    draft.Set("search.target", Pointed(*goal));
  const YamlNode* more = Find(objective, "additionalMetricNames");
  for (size_t i = 0; more != nullptr && i < more->items.size(); ++i) {
    metrics.push_back(TextOf(&more->items[i]));
  }
  draft.LeaveOutRest("search", objective,
                     {"objectiveMetricName", "type", "goal", "additionalMetricNames"},
                     "objective.");
  return metrics;
}

void TakeCollector(const YamlNode* spec, const std::vector<std::string>& metrics, Draft& draft) {
  const YamlNode none;
  const YamlNode& collector = spec == nullptr ? none : *spec;
  const std::string kind = TextOf(FindPath(collector, "collector.kind"));
  const std::string path = TextOf(FindPath(collector, "source.fileSystemPath.path"));
  if (kind == "TensorFlowEvent" && !path.empty())
    return draft.Set("metrics.tensorboard", PlainText(path));
  if (kind == "File" && TextOf(FindPath(collector, "source.fileSystemPath.format")) == "JSON") {
    return draft.Set("metrics.file", PlainText(path));
  }
  if (kind == "File") {
    draft.Warn("metrics", "the program must print its numbers: a file of text is not read here");
  } else if (!kind.empty() && kind != "StdOut") {
    return draft.Comment("metrics", absl::StrCat("collector ", kind, " has no counterpart"));
  }
  // Katib reads name=value.
  std::vector<std::string> patterns;
  for (const std::string& metric : metrics) {
    const std::string pattern = absl::StrCat(metric, "={", metric, "}");
    if (patterns.size() < 8 && spec::LinePattern::Make(pattern).ok()) {
      patterns.push_back(QuotedYaml(pattern));
    }
  }
  if (patterns.empty()) return;
  std::string list;
  for (const std::string& pattern : patterns)
    absl::StrAppend(&list, list.empty() ? "" : ", ", pattern);
  draft.Set("metrics.pattern", patterns.size() == 1 ? list : absl::StrCat("[", list, "]"));
}

// Returns the first container below, of a Job or of a training operator's replicas.
const YamlNode* ContainerIn(const YamlNode& node, int depth) {
  if (depth == 0) return nullptr;
  if (const YamlNode* containers = Find(node, "containers");
      containers != nullptr && !containers->items.empty()) {
    return &containers->items[0];
  }
  for (const YamlEntry& entry : node.entries) {
    if (const YamlNode* found = ContainerIn(entry.value, depth - 1)) return found;
  }
  return nullptr;
}

void TakeContainer(const YamlNode& container,
                   const std::vector<std::pair<std::string, std::string>>& names, Draft& draft) {
  std::vector<std::string> words;
  for (const char* key : {"command", "args"}) {
    const YamlNode* list = Find(container, key);
    for (size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      words.push_back(absl::StrReplaceAll(TextOf(&list->items[i]), names));
    }
  }
  if (!words.empty() && !words[0].empty()) draft.Command(words);
  const YamlNode* variables = Find(container, "env");
  for (size_t i = 0; variables != nullptr && i < variables->items.size(); ++i) {
    const std::string name = TextOf(Find(variables->items[i], "name"));
    const YamlNode* value = Find(variables->items[i], "value");
    if (!name.empty() && value != nullptr) {
      draft.Set("resources.env." + name, QuotedYaml(absl::StrReplaceAll(TextOf(value), names)));
    } else {
      draft.Comment("resources", absl::StrCat("line ", variables->items[i].mark.line, ": env ",
                                              FlowText(variables->items[i]),
                                              " has no counterpart; write its value"));
    }
  }
  if (const YamlNode* limits = FindPath(container, "resources.limits")) {
    const auto gpus = IntegerOf(Find(*limits, "nvidia.com/gpu"));
    if (gpus && *gpus > 0) draft.Set("resources.gpus", absl::StrCat(*gpus));
    draft.LeaveOutRest("resources", *limits, {"nvidia.com/gpu"}, "resources.limits.");
  }
  draft.LeaveOutRest("command", container, {"name", "command", "args", "env", "resources"});
}

void TakeTemplate(const YamlNode& node, Draft& draft) {
  std::vector<std::pair<std::string, std::string>> names;
  const YamlNode* parameters = Find(node, "trialParameters");
  for (size_t i = 0; parameters != nullptr && i < parameters->items.size(); ++i) {
    const std::string name = TextOf(Find(parameters->items[i], "name"));
    const std::string reference = TextOf(Find(parameters->items[i], "reference"));
    if (name.empty()) continue;
    names.emplace_back(absl::StrCat("${trialParameters.", name, "}"),
                       absl::StrCat("{", ParameterName(reference), "}"));
  }
  const YamlNode* spec = Find(node, "trialSpec");
  const YamlNode* container = spec == nullptr ? nullptr : ContainerIn(*spec, 8);
  if (container != nullptr) TakeContainer(*container, names, draft);
}

}  // namespace

void ImportKatib(const YamlNode& root, Draft& draft) {
  draft.Name(TextOf(FindPath(root, "metadata.name")));
  const YamlNode none;
  const YamlNode* found = Find(root, "spec");
  const YamlNode& spec = found == nullptr ? none : *found;
  std::vector<std::string> metrics;
  if (const YamlNode* objective = Find(spec, "objective"))
    metrics = TakeObjective(*objective, draft);
  if (const YamlNode* algorithm = Find(spec, "algorithm")) TakeAlgorithm(*algorithm, draft);
  for (const auto& [theirs, ours] :
       {std::pair<const char*, const char*>("maxTrialCount", "search.max_trials"),
        {"parallelTrialCount", "search.max_concurrent"},
        {"maxFailedTrialCount", "search.max_failed_trials"}}) {
    const auto number = IntegerOf(Find(spec, theirs));
    if (number && *number > 0) draft.Set(ours, absl::StrCat(*number));
  }
  if (const YamlNode* parameters = Find(spec, "parameters")) TakeFeasibleSpaces(*parameters, draft);
  if (const YamlNode* early = Find(spec, "earlyStopping")) {
    const double after = NumberIn(Setting(*early, "start_step")).value_or(4);
    draft.Set("stop.median.after", absl::StrCat(static_cast<int64_t>(std::clamp(after, 1.0, 1e6))));
  }
  if (const YamlNode* node = Find(spec, "trialTemplate")) TakeTemplate(*node, draft);
  TakeCollector(Find(spec, "metricsCollectorSpec"), metrics, draft);
  draft.LeaveOutRest(
      "", spec,
      {"objective", "algorithm", "maxTrialCount", "parallelTrialCount", "maxFailedTrialCount",
       "parameters", "earlyStopping", "trialTemplate", "metricsCollectorSpec"},
      "spec.");
}

}  // namespace dt::cli
