// determined.cc: experiments of Determined.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/import/draft.h"
#include "common/text.h"

namespace dt::cli {
namespace {

using Kind = YamlNode::Kind;

// The priority that a file without one has there.
constexpr int64_t kTheirPriority = 42;

std::optional<Domain> DomainOfEntry(const YamlNode& node, const std::string& name, Draft& draft) {
  const std::string type = TextOf(Find(node, "type"));
  if (type == "const") {
    const YamlNode* value = Find(node, "val");
    if (value == nullptr) return std::nullopt;
    Domain domain;
    domain.values = {ValueText(*value)};
    return domain;
  }
  if (type == "categorical") {
    const YamlNode* values = Find(node, "vals");
    return values == nullptr ? std::nullopt : std::optional(ListOf(*values));
  }
  const auto min = NumberOf(Find(node, "minval")), max = NumberOf(Find(node, "maxval"));
  if (!min || !max) return std::nullopt;
  if (type == "int") return IntegersOf(*min, *max);
  if (type == "double") return RangeOf(*min, *max);
  if (type != "log") return std::nullopt;
  const double base = NumberOf(Find(node, "base")).value_or(10);
  draft.Warn("parameters",
             absl::StrCat(name, ": minval and maxval are exponents of ", spec::NumberText(base),
                          " there; here they are the values themselves"));
  return LogRangeOf(std::pow(std::abs(base), std::clamp(*min, -100.0, 100.0)),
                    std::pow(std::abs(base), std::clamp(*max, -100.0, 100.0)));
}

// Takes the number of values of a grid.
void TakeCount(int64_t count, Domain& domain) {
  const double width = *domain.max - *domain.min;
  if (domain.log) {
    domain.count = count;
  } else if (domain.integer) {
    domain.count = std::min(count, static_cast<int64_t>(std::min(width, 1e6)) + 1);
  } else {
    domain.step = width / static_cast<double>(count - 1);
    domain.comment = absl::StrCat("count: ", count, " there");
  }
}

void TakeHyperparameters(const YamlNode& map, const std::string& prefix, bool grid, Draft& draft) {
  if (map.kind != Kind::kMap) return;
  for (const YamlEntry& entry : map.entries) {
    const std::string name = prefix + entry.key;
    const YamlNode& node = entry.value;
    if (node.kind != Kind::kMap) {
      Domain domain;
      domain.values = {ValueText(node)};
      draft.Parameter(name, domain);
    } else if (Find(node, "type") == nullptr) {
      TakeHyperparameters(node, name + ".", grid, draft);
    } else if (auto domain = DomainOfEntry(node, name, draft)) {
      const auto count = IntegerOf(Find(node, "count"));
      if (grid && count && *count > 1 && domain->min) TakeCount(*count, *domain);
      draft.Parameter(name, *domain);
    } else {
      draft.LeaveOut("parameters", entry, "write its range or its values");
    }
  }
}

void TakeAsha(const YamlNode& searcher, Draft& draft) {
  draft.Set("search.method", "asha");
  const int64_t eta = std::clamp<int64_t>(IntegerOf(Find(searcher, "divisor")).value_or(4), 2, 10);
  const int64_t rungs =
      std::clamp<int64_t>(IntegerOf(Find(searcher, "max_rungs")).value_or(5), 1, 6);
  draft.Set("search.asha.eta", absl::StrCat(eta));
  draft.Set("search.asha.rungs", absl::StrCat(rungs));
  const std::string mode = TextOf(Find(searcher, "mode"));
  if (mode == "conservative" || mode == "standard") {
    const int64_t brackets = std::min<int64_t>(mode == "standard" ? rungs / 2 + 1 : rungs + 1, 7);
    draft.Set("search.asha.brackets", absl::StrCat(brackets));
  }
}

void TakeLength(const YamlNode& searcher, Draft& draft) {
  const YamlNode* length = Find(searcher, "max_length");
  if (const auto plain = IntegerOf(length)) {
    draft.Set("steps", absl::StrCat(*plain));
    return;
  }
  for (const char* unit : {"batches", "epochs", "records"}) {
    const auto number = length == nullptr ? std::nullopt : IntegerOf(Find(*length, unit));
    if (!number || *number < 1) continue;
    draft.Set("steps", absl::StrCat(*number));
    draft.Comment("", absl::StrCat("steps are ", unit, " here: report with that count"));
    return;
  }
  if (const auto time = IntegerOf(Find(searcher, "max_time")); time && *time > 0) {
    draft.Set("steps", absl::StrCat(*time));
    draft.Comment("", absl::StrCat("steps are counted as time_metric there: ",
                                   TextOf(Find(searcher, "time_metric"))));
  }
}

void TakeSearcher(const YamlNode& searcher, Draft& draft) {
  const std::string name = TextOf(Find(searcher, "name"));
  if (name.find("asha") != std::string::npos) {
    TakeAsha(searcher, draft);
  } else if (name == "random" || name == "grid") {
    draft.Set("search.method", name);
  } else if (name != "single") {
    draft.Comment("search", absl::StrCat("searcher ", name, " is no word of ours"));
    draft.Set("search.method", "random");
  }
  TakeLength(searcher, draft);
  const std::string metric = TextOf(Find(searcher, "metric"));
  if (!metric.empty()) draft.Set("search.metric", PlainText(metric));
  const YamlNode* smaller = Find(searcher, "smaller_is_better");
  draft.Set("search.goal", smaller == nullptr || IsTrue(smaller) ? "minimize" : "maximize");
  if (const auto trials = IntegerOf(Find(searcher, "max_trials")); trials && *trials > 0) {
    draft.Set("search.max_trials", absl::StrCat(*trials));
  }
  if (const auto most = IntegerOf(Find(searcher, "max_concurrent_trials")); most && *most >= 0) {
    draft.Set("search.max_concurrent", absl::StrCat(*most));
  }
  draft.LeaveOutRest("search", searcher,
                     {"name", "metric", "smaller_is_better", "max_trials", "max_length", "max_time",
                      "time_metric", "divisor", "max_rungs", "mode", "max_concurrent_trials"},
                     "searcher.");
}

void TakeResources(const YamlNode& resources, Draft& draft) {
  if (const auto slots = IntegerOf(Find(resources, "slots_per_trial")); slots && *slots > 0) {
    draft.Set("resources.gpus", absl::StrCat(*slots));
  }
  if (const auto slots = IntegerOf(Find(resources, "max_slots")); slots && *slots > 0) {
    draft.Set("resources.max_gpus_total", absl::StrCat(*slots));
  }
  if (IsTrue(Find(resources, "is_single_node"))) draft.Set("resources.single_node", "true");
  if (const auto priority = IntegerOf(Find(resources, "priority"))) {
    const int64_t ours = std::clamp<int64_t>(kTheirPriority - *priority, -1000, 1000);
    draft.Set("resources.priority", absl::StrCat(ours));
    draft.Warn("resources", absl::StrCat("priority: ", *priority,
                                         " there: smaller goes first, 42 is the default; here "
                                         "larger goes first, 0 is the default"));
  }
  draft.LeaveOutRest("resources", resources,
                     {"slots_per_trial", "max_slots", "is_single_node", "priority"}, "resources.");
}

void TakeVariables(const YamlNode& environment, Draft& draft) {
  const YamlNode* variables = Find(environment, "environment_variables");
  if (variables != nullptr && variables->kind == Kind::kMap) {
    const YamlNode* cuda = Find(*variables, "cuda");
    variables = cuda != nullptr ? cuda : Find(*variables, "cpu");
  }
  for (size_t i = 0; variables != nullptr && i < variables->items.size(); ++i) {
    const std::string text = TextOf(&variables->items[i]);
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    draft.Set("resources.env." + text.substr(0, equals), QuotedYaml(text.substr(equals + 1)));
  }
  draft.LeaveOutRest("resources", environment, {"environment_variables"}, "environment.");
}

void TakeEntrypoint(const YamlEntry& entry, Draft& draft) {
  const YamlNode& node = entry.value;
  std::string text = TextOf(&node);
  if (node.kind == Kind::kSequence) {
    std::vector<std::string> words;
    for (const YamlNode& item : node.items) words.push_back(TextOf(&item));
    if (!words.empty() && !words[0].empty()) draft.Command(words);
  } else if (text.find(' ') == std::string::npos && text.find(':') != std::string::npos) {
    draft.LeaveOut("command", entry, "it names a class; write a script that trains it");
  } else if (!text.empty()) {
    // The launcher starts a process a slot, as the worker does here.
    const size_t launcher = text.find("determined.launch.");
    const size_t script = text.find("python", launcher == std::string::npos ? 0 : launcher);
    if (launcher != std::string::npos && script != std::string::npos) {
      draft.Comment("command",
                    "the launcher of Determined is left out: one rank runs on each slot, "
                    "with torchrun's variables");
      text.erase(0, script);
    }
    draft.Run(text);
  }
  draft.Set("code", ".");
  draft.Warn(
      "command",
      "the script reads dtrain.parameters() in place of the hparams of det.get_cluster_info()");
}

}  // namespace

void ImportDetermined(const YamlNode& root, Draft& draft) {
  draft.Name(TextOf(Find(root, "name")));
  draft.Description(TextOf(Find(root, "description")));
  const YamlNode* searcher = Find(root, "searcher");
  for (const YamlEntry& entry : root.entries) {
    if (entry.key == "entrypoint") {
      TakeEntrypoint(entry, draft);
    } else if (entry.key == "hyperparameters") {
      const bool grid = searcher != nullptr && TextOf(Find(*searcher, "name")) == "grid";
      TakeHyperparameters(entry.value, "", grid, draft);
    } else if (entry.key == "searcher") {
      TakeSearcher(entry.value, draft);
    } else if (entry.key == "resources") {
      TakeResources(entry.value, draft);
    } else if (entry.key == "environment") {
      TakeVariables(entry.value, draft);
    } else if (entry.key == "max_restarts") {
      if (const auto most = IntegerOf(&entry.value); most && *most >= 0) {
        draft.Set("retries.max", absl::StrCat(std::min<int64_t>(*most, 1000)));
      } else {
        draft.LeaveOut("retries", entry, "retries.max is a number from 0 to 1000");
      }
    } else if (entry.key == "reproducibility") {
      const auto seed = IntegerOf(Find(entry.value, "experiment_seed"));
      if (seed && *seed >= 0) draft.Set("seed", absl::StrCat(*seed));
    } else if (entry.key == "min_validation_period" || entry.key == "min_checkpoint_period") {
      draft.LeaveOut("", entry, "the script decides when it validates and saves");
    } else if (entry.key != "name" && entry.key != "description") {
      draft.LeaveOut("", entry);
    }
  }
}

}  // namespace dt::cli
