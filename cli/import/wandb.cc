// wandb.cc: sweeps of Weights & Biases.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/import/draft.h"
#include "cli/import/sampled.h"

namespace dt::cli {
namespace {

using Kind = YamlNode::Kind;

struct Bounds {
  double min = 0, max = 0;
  bool integers = false;
};

// Returns nullopt where a bound is missing.
std::optional<Bounds> BoundsOf(const YamlNode& node) {
  const auto min = NumberOf(Find(node, "min")), max = NumberOf(Find(node, "max"));
  if (!min || !max) return std::nullopt;
  Bounds bounds{*min, *max};
  const auto plain = [&node](const char* key) {
    return TextOf(Find(node, key)).find_first_of(".eE") == std::string::npos;
  };
  bounds.integers = plain("min") && plain("max");
  return bounds;
}

// Returns nullopt for a distribution that we do not know, or without its bounds.
std::optional<Domain> RangeIn(const YamlNode& node, const std::string& name,
                              const std::string& distribution, Draft& draft) {
  const double mean = NumberOf(Find(node, "mu")).value_or(0);
  const double deviation = NumberOf(Find(node, "sigma")).value_or(1);
  const std::string kind = distribution.starts_with("q_") ? distribution.substr(2) : distribution;
  const double quantum = NumberOf(Find(node, "q")).value_or(0);
  const double step = kind != distribution && quantum == 0 ? 1 : quantum;
  if (kind == "normal") return Stepped(NormalOf(mean, deviation), step);
  if (kind == "log_normal") {
    draft.Warn("parameters", absl::StrCat(name,
                                          ": mu and sigma are those of the logarithm there; "
                                          "here median and factor are values"));
    return Stepped(LogNormalOf(mean, deviation), step);
  }
  if (kind == "beta") {
    Domain domain = RangeOf(0, 1);
    domain.comment = "beta there";
    return Stepped(domain, step);
  }
  const std::optional<Bounds> bounds = BoundsOf(node);
  if (!bounds) return std::nullopt;
  const double min = bounds->min, max = bounds->max;
  if (distribution.empty()) return bounds->integers ? IntegersOf(min, max) : RangeOf(min, max);
  if (kind == "int_uniform") return IntegersOf(min, max);
  if (kind == "uniform") return Stepped(RangeOf(min, max), step);
  if (kind == "log_uniform_values" || kind == "inv_log_uniform_values") {
    return Stepped(LogRangeOf(min, max), step);
  }
  if (kind != "log_uniform" && kind != "inv_log_uniform") return std::nullopt;
  // The logarithm of 1/x is uniform there.
  const bool inverse = kind == "inv_log_uniform";
  draft.Warn("parameters",
             absl::StrCat(name, ": ", distribution, "'s min and max are exponents of ",
                          inverse ? "1/e" : "e", " there; here they are the values themselves"));
  const auto value = [inverse](double exponent) {
    return std::exp(std::clamp(inverse ? -exponent : exponent, -200.0, 200.0));
  };
  return Stepped(LogRangeOf(value(min), value(max)), step);
}

// Returns a weight for each value; none if the file does not give that.
std::vector<double> WeightsIn(const YamlNode& list, size_t values) {
  std::vector<double> weights;
  for (const YamlNode& item : list.items) {
    const std::optional<double> weight = NumberOf(&item);
    if (!weight || *weight < 0) return {};
    weights.push_back(*weight);
  }
  return weights.size() == values ? weights : std::vector<double>();
}

void TakeParameters(const YamlNode& map, const std::string& prefix, Draft& draft) {
  if (map.kind != Kind::kMap) return;
  for (const YamlEntry& entry : map.entries) {
    const std::string name = prefix + entry.key;
    const YamlNode& node = entry.value;
    const std::string distribution = TextOf(Find(node, "distribution"));
    if (const YamlNode* inner = Find(node, "parameters")) {
      TakeParameters(*inner, name + ".", draft);
    } else if (const YamlNode* values = Find(node, "values");
               values != nullptr && values->kind == Kind::kSequence) {
      Domain domain = ListOf(*values);
      if (const YamlNode* weights = Find(node, "probabilities")) {
        domain.probabilities = WeightsIn(*weights, domain.values.size());
        if (domain.probabilities.empty()) {
          draft.Comment("parameters", absl::StrCat("line ", weights->mark.line, ": ", name,
                                                   ": probabilities are left out; write one for "
                                                   "each different value"));
        }
      }
      draft.Parameter(name, domain);
    } else if (const YamlNode* value = Find(node, "value")) {
      Domain domain;
      domain.values = {ValueText(*value)};
      draft.Parameter(name, domain);
    } else if (auto range = RangeIn(node, name, distribution, draft);
               range && node.kind == Kind::kMap) {
      draft.Parameter(name, *range);
    } else {
      draft.LeaveOut("parameters", entry, "write its range or its values");
    }
  }
}

void TakeCommand(const YamlNode& root, Draft& draft) {
  const std::string program = TextOf(Find(root, "program"));
  const YamlNode* command = Find(root, "command");
  std::vector<std::string> words;
  if (command != nullptr && command->kind == Kind::kSequence) {
    for (const YamlNode& item : command->items) {
      const std::string word = TextOf(&item);
      if (word == "${program}") {
        words.push_back(program.empty() ? "train.py" : program);
      } else if (word == "${args_json_file}") {
        words.emplace_back("${args_json}");
        draft.Warn("command",
                   "${args_json_file} names a file there; ${args_json} is its text here");
      } else {
        words.push_back(word);
      }
    }
  } else if (!program.empty()) {
    const bool python = program.ends_with(".py");
    if (python) words.emplace_back("python3");
    words.push_back(python || program.find('/') != std::string::npos ? program : "./" + program);
    words.emplace_back("${args}");
  }
  if (words.empty() || words[0].empty()) return;
  draft.Command(words);
  draft.Set("code", ".");
}

void TakeEarlyEnd(const YamlNode& root, const std::string& method, Draft& draft) {
  const YamlNode* early = Find(root, "early_terminate");
  if (early == nullptr) return;
  if (TextOf(Find(*early, "type")) != "hyperband") {
    return draft.LeaveOutRest("search", *early, {}, "early_terminate.");
  }
  const int64_t eta = std::clamp<int64_t>(IntegerOf(Find(*early, "eta")).value_or(3), 2, 10);
  const int64_t rungs = std::clamp<int64_t>(IntegerOf(Find(*early, "s")).value_or(3), 1, 6);
  draft.Set("search.method", "asha");
  draft.Set("search.sampler", method);
  draft.Set("search.asha.eta", absl::StrCat(eta));
  draft.Set("search.asha.rungs", absl::StrCat(rungs));
  const std::optional<int64_t> most = IntegerOf(Find(*early, "max_iter"));
  const std::optional<int64_t> least = IntegerOf(Find(*early, "min_iter"));
  if (most && *most > 0) {
    draft.Set("steps", absl::StrCat(*most));
  } else if (least && *least > 0 && *least < 1'000'000) {
    int64_t steps = *least;
    for (int64_t rung = 0; rung < rungs; ++rung) steps *= eta;
    draft.Set("steps", absl::StrCat(steps));
    draft.Warn("", absl::StrCat("steps: ", steps,
                                " is a guess from min_iter and eta; write the last step that "
                                "the program reports"));
  }
  draft.Comment("search",
                "rungs are shares of steps here: the last is at 1/eta of them; "
                "min_iter and max_iter give the steps");
  draft.LeaveOutRest("search", *early, {"type", "eta", "s", "min_iter", "max_iter"},
                     "early_terminate.");
}

}  // namespace

void ImportWandb(const YamlNode& root, Draft& draft) {
  draft.Name(TextOf(Find(root, "name")));
  draft.Description(TextOf(Find(root, "description")));
  TakeCommand(root, draft);
  if (const YamlNode* parameters = Find(root, "parameters")) TakeParameters(*parameters, "", draft);
  std::string method = TextOf(Find(root, "method"));
  if (method != "grid" && method != "random" && method != "bayes") {
    if (!method.empty()) draft.Comment("search", "method " + method + " is no word of ours");
    method = "random";
  }
  draft.Set("search.method", method);
  if (const auto cap = IntegerOf(Find(root, "run_cap")); cap && *cap > 0) {
    draft.Set("search.max_trials", absl::StrCat(*cap));
  }
  if (const YamlNode* metric = Find(root, "metric")) {
    const std::string name = TextOf(Find(*metric, "name"));
    if (!name.empty()) draft.Set("search.metric", PlainText(name));
    // There the goal is to minimize unless the file says otherwise.
    const std::string goal = TextOf(Find(*metric, "goal"));
    draft.Set("search.goal", goal == "maximize" ? "maximize" : "minimize");
    if (const auto target = NumberOf(Find(*metric, "target"))) {
      draft.Set("search.target", Pointed(*target));
    }
    draft.LeaveOutRest("search", *metric, {"name", "goal", "target"}, "metric.");
  }
  TakeEarlyEnd(root, method, draft);
  draft.LeaveOutRest("", root,
                     {"name", "description", "program", "command", "parameters", "method",
                      "run_cap", "metric", "early_terminate"});
}

}  // namespace dt::cli
