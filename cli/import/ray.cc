// ray.cc: Ray Tune's YAML: a map of experiments as `tune` and RLlib read it, or a Tuner's arguments
// (param_space, tune_config, run_config).
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/import/draft.h"
#include "cli/import/sampled.h"
#include "common/text.h"

namespace dt::cli {
namespace {

using Kind = YamlNode::Kind;

std::string Lower(const std::string& text) { return absl::AsciiStrToLower(text); }

// Returns a range of the call's numbers; nullopt: it is no distribution that we know.
std::optional<Domain> DomainOf(const Call& call) {
  const std::string& name = call.name;
  if (name == "choice" || name == "grid_search") {
    const auto named = call.named.find(name == "choice" ? "categories" : "values");
    const std::string list = named != call.named.end() ? named->second
                             : call.arguments.empty()  ? ""
                                                       : call.arguments[0];
    if (list.size() < 2 || list.front() != '[') return std::nullopt;
    return ListOf(ListNode(SplitOutside(list.substr(1, list.size() - 2))));
  }
  const bool stepped = name.starts_with("q");
  const std::string kind = stepped ? name.substr(1) : name;
  const std::optional<double> step =
      stepped ? call.Number(2, "q", kind == "randint" ? std::optional(1.0) : std::nullopt) : 0;
  if (!step) return std::nullopt;
  if (kind == "randn") {
    const auto mean = call.Number(0, "mean", 0), deviation = call.Number(1, "sd", 1);
    if (!mean || !deviation) return std::nullopt;
    return Stepped(NormalOf(*mean, *deviation), *step);
  }
  const auto lower = call.Number(0, "lower"), upper = call.Number(1, "upper");
  if (!lower || !upper) return std::nullopt;
  if (kind == "uniform") return Stepped(RangeOf(*lower, *upper), *step);
  if (kind == "loguniform") return Stepped(LogRangeOf(*lower, *upper), *step);
  // The upper end is not drawn there, except of those with a step.
  const double most = stepped ? *upper : *upper - 1;
  if (kind == "randint") return Stepped(IntegersOf(*lower, most), *step);
  if (kind != "lograndint") return std::nullopt;
  return Stepped(OnLogScale(IntegersOf(*lower, most)), *step);
}

// Returns the word after the last dot, in small letters.
std::string LastWord(const std::string& key) { return Lower(key.substr(key.rfind('.') + 1)); }

// Returns the list of {grid_search: [1, 2]} or {tune.choice: [a, b]}; nullptr for other nodes.
const YamlNode* ListIn(const YamlNode& node) {
  if (node.kind != Kind::kMap) return nullptr;
  const YamlNode* list = Find(node, "grid_search");
  if (list == nullptr && node.entries.size() == 1) {
    const std::string word = LastWord(node.entries[0].key);
    if (word == "choice" || word == "grid_search") list = &node.entries[0].value;
  }
  return list != nullptr && list->kind == Kind::kSequence ? list : nullptr;
}

// Returns the call that a map {tune.loguniform: [1e-4, 1e-1]} stands for.
std::optional<Call> CallOf(const YamlNode& node) {
  if (node.kind == Kind::kScalar) return CallIn(node.text);
  if (node.kind != Kind::kMap || node.entries.size() != 1) return std::nullopt;
  Call call;
  call.name = LastWord(node.entries[0].key);
  const YamlNode& value = node.entries[0].value;
  if (value.kind != Kind::kSequence) return std::nullopt;
  for (const YamlNode& item : value.items) call.arguments.push_back(TextOf(&item));
  return call;
}

// Returns whether a grid_search is among the values.
bool TakeSpace(const YamlNode& map, const std::string& prefix, Draft& draft) {
  bool grid = false;
  if (map.kind != Kind::kMap) return grid;
  for (const YamlEntry& entry : map.entries) {
    const std::string name = prefix + entry.key;
    const YamlNode& node = entry.value;
    if (const YamlNode* listed = ListIn(node)) {
      grid = grid || Find(node, "grid_search") != nullptr ||
             LastWord(node.entries[0].key) == "grid_search";
      draft.Parameter(name, ListOf(*listed));
      continue;
    }
    if (const std::optional<Call> call = CallOf(node)) {
      grid = grid || call->name == "grid_search";
      if (const std::optional<Domain> domain = DomainOf(*call)) {
        draft.Parameter(name, *domain);
      } else {
        draft.LeaveOut("parameters", entry, "write its range or its values");
      }
    } else if (node.kind == Kind::kMap && !node.entries.empty()) {
      grid = TakeSpace(node, name + ".", draft) || grid;
    } else {
      Domain domain;
      domain.values = {ValueText(node)};
      draft.Parameter(name, domain);
    }
  }
  return grid;
}

// Returns the scheduler's or search algorithm's name, and its arguments where it is a map.
std::string KindOf(const YamlNode& node) {
  if (node.kind == Kind::kScalar) return Lower(node.text);
  for (const char* key : {"type", "name", "_target_"}) {
    if (const std::string text = TextOf(Find(node, key)); !text.empty()) return Lower(text);
  }
  return "";
}

void TakeScheduler(const YamlEntry& entry, Draft& draft) {
  const YamlNode& node = entry.value;
  const std::string kind = KindOf(node);
  const auto integer = [&node](const char* key) { return IntegerOf(Find(node, key)); };
  if (kind.find("pbt") != std::string::npos || kind.find("population") != std::string::npos) {
    draft.Set("search.method", "pbt");
    draft.Warn("search",
               "perturbation_interval is a count there; pbt.every is a share of the steps");
  } else if (kind.find("asha") != std::string::npos ||
             kind.find("hyperband") != std::string::npos) {
    draft.Set("search.method", "asha");
    const int64_t eta = std::clamp<int64_t>(integer("reduction_factor").value_or(4), 2, 10);
    draft.Set("search.asha.eta", absl::StrCat(eta));
    const int64_t most = integer("max_t").value_or(100);
    const int64_t grace = std::max<int64_t>(1, integer("grace_period").value_or(1));
    draft.Set("steps", absl::StrCat(std::max<int64_t>(1, most)));
    int64_t rungs = 0;
    for (int64_t steps = most / eta; steps >= grace && rungs < 6; steps /= eta) ++rungs;
    draft.Set("search.asha.rungs", absl::StrCat(std::max<int64_t>(1, rungs)));
    draft.Comment("search",
                  "rungs are shares of steps here: grace_period and max_t give their number");
  } else if (kind.find("median") != std::string::npos) {
    draft.Set("stop.median.after",
              absl::StrCat(std::clamp<int64_t>(integer("grace_period").value_or(5), 0, 1'000'000)));
  } else if (kind != "fifo" && kind != "fifoscheduler") {
    draft.LeaveOut("search", entry);
  }
}

void TakeTuneConfig(const YamlNode& map, const std::string& prefix, Draft& draft) {
  if (map.kind != Kind::kMap) return;
  for (const YamlEntry& entry : map.entries) {
    const YamlNode& node = entry.value;
    const std::string& key = entry.key;
    const std::optional<int64_t> number = IntegerOf(&node);
    if (key == "metric") {
      if (!TextOf(&node).empty()) draft.Set("search.metric", PlainText(TextOf(&node)));
    } else if (key == "mode") {
      draft.Set("search.goal", TextOf(&node).starts_with("max") ? "maximize" : "minimize");
    } else if (key == "num_samples" && number && *number > 0) {
      draft.Set("search.max_trials", absl::StrCat(*number));
    } else if (key == "max_concurrent_trials" && number && *number >= 0) {
      draft.Set("search.max_concurrent", absl::StrCat(*number));
    } else if (key == "scheduler") {
      TakeScheduler(entry, draft);
    } else if (key == "search_alg") {
      const std::string kind = KindOf(node);
      const bool random = kind.find("basic") != std::string::npos || kind == "random";
      if (draft.Get("search.method").empty())
        draft.Set("search.method", random ? "random" : "bayes");
      if (!random)
        draft.Comment("search", absl::StrCat("search_alg ", kind, " is bayes (TPE) here"));
    } else if (key == "resources_per_trial") {
      const double gpus = NumberOf(Find(node, "gpu")).value_or(1);
      draft.Set("resources.gpus",
                absl::StrCat(static_cast<int64_t>(std::clamp(std::ceil(gpus), 1.0, 1024.0))));
      if (gpus != std::floor(gpus)) draft.Warn("resources", "a part of a GPU is one slot here");
      draft.LeaveOutRest("resources", node, {"gpu"}, "resources_per_trial.");
    } else if (key == "stop") {
      if (const auto steps = IntegerOf(Find(node, "training_iteration")); steps && *steps > 0) {
        draft.Set("steps", absl::StrCat(*steps));
      }
      draft.LeaveOutRest("", node, {"training_iteration"}, "stop.");
    } else if (key == "max_failures") {
      if (number && *number >= 0) {
        draft.Set("retries.max", absl::StrCat(std::min<int64_t>(*number, 1000)));
      } else {
        draft.LeaveOut("retries", entry, "retries.max is a number from 0 to 1000");
      }
    } else if (key == "points_to_evaluate") {
      draft.LeaveOut("search", entry, "write them under include");
    } else if (key != "config" && key != "param_space" && key != "run" && key != "name" &&
               key != "env" && key != "entrypoint" && key != "runtime_env") {
      YamlEntry named = entry;
      named.key = prefix + key;
      draft.LeaveOut("", named);
    }
  }
}

void TakeProgram(const YamlNode& map, Draft& draft) {
  const std::string entrypoint = TextOf(Find(map, "entrypoint"));
  if (!entrypoint.empty()) {
    draft.Run(entrypoint);
    draft.Set("code", ".");
  }
  for (const YamlEntry& entry : map.entries) {
    if (entry.key == "run" || entry.key == "env") {
      draft.LeaveOut("command", entry, "it is a name of Python's or RLlib's; write your script");
    }
    if (entry.key != "runtime_env") continue;
    const YamlNode* variables = Find(entry.value, "env_vars");
    for (size_t i = 0; variables != nullptr && i < variables->entries.size(); ++i) {
      const YamlEntry& variable = variables->entries[i];
      draft.Set("resources.env." + variable.key, QuotedYaml(TextOf(&variable.value)));
    }
    draft.LeaveOutRest("resources", entry.value, {"env_vars", "working_dir"}, "runtime_env.");
  }
}

// Samples of a grid are repeats there: each is another seed here.
void SettleGrid(bool grid, Draft& draft) {
  const bool drawn = std::any_of(draft.parameters().begin(), draft.parameters().end(),
                                 [](const auto& one) { return one.second.min.has_value(); });
  const std::string method = draft.Get("search.method");
  if (!method.empty()) return;
  draft.Set("search.method", grid && !drawn ? "grid" : "random");
  if (grid && drawn) {
    draft.Warn("search", "a grid of some parameters and draws of others: all are drawn here");
  }
  const std::string samples = draft.Get("search.max_trials");
  if (grid && !drawn && !samples.empty() && samples != "1") {
    draft.Comment("search", absl::StrCat("num_samples: ", samples,
                                         " repeats the grid there; here write seeds: [1, 2, …]"));
  }
}

}  // namespace

void ImportRay(const YamlNode& root, Draft& draft) {
  const YamlNode* experiment = &root;
  const bool tuner = Find(root, "param_space") != nullptr || Find(root, "tune_config") != nullptr;
  const bool flat = Find(root, "config") != nullptr;
  if (!tuner && !flat) {
    for (size_t i = 0; i < root.entries.size(); ++i) {
      if (i == 0) {
        draft.Name(root.entries[0].key);
        experiment = &root.entries[0].value;
      } else {
        draft.LeaveOut("", root.entries[i], "an experiment of its own; give it a file of its own");
      }
    }
  }
  if (const std::string name = TextOf(Find(*experiment, "name")); !name.empty()) draft.Name(name);
  TakeProgram(*experiment, draft);
  bool grid = false;
  for (const char* key : {"config", "param_space"}) {
    const YamlNode* space = Find(*experiment, key);
    if (space != nullptr) grid = TakeSpace(*space, "", draft) || grid;
  }
  if (tuner) {
    if (const YamlNode* config = Find(root, "tune_config"))
      TakeTuneConfig(*config, "tune_config.", draft);
    if (const YamlNode* config = Find(root, "run_config")) {
      if (const std::string name = TextOf(Find(*config, "name")); !name.empty()) draft.Name(name);
      YamlNode rest = *config;
      if (const YamlNode* failure = Find(*config, "failure_config")) {
        TakeTuneConfig(*failure, "failure_config.", draft);
      }
      std::erase_if(rest.entries, [](const YamlEntry& one) { return one.key == "failure_config"; });
      TakeTuneConfig(rest, "run_config.", draft);
    }
    draft.LeaveOutRest("", root,
                       {"param_space", "tune_config", "run_config", "name", "entrypoint",
                        "runtime_env", "config"});
  } else {
    TakeTuneConfig(*experiment, "", draft);
  }
  SettleGrid(grid, draft);
}

}  // namespace dt::cli
