// hydra.cc: configurations of Hydra with a sweeper, its own or that of Optuna.
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/import/draft.h"
#include "cli/import/sampled.h"
#include "common/arithmetic.h"

namespace dt::cli {
namespace {

using Kind = YamlNode::Kind;

// Returns the domain of range(1, 9, step=2) and of range(9). `inclusive`: the stop is a value.
std::optional<Domain> RangeIn(const Call& call, bool inclusive) {
  const bool one = call.arguments.size() == 1 && call.named.count("stop") == 0;
  const auto start = one ? std::optional(0.0) : call.Number(0, "start", 0);
  const auto stop = call.Number(one ? 0 : 1, "stop"), step = call.Number(2, "step", 1);
  if (!start || !stop || !step || !(*step > 0) || !(*start < *stop)) return std::nullopt;
  // 0.1 to 0.4 has three steps of 0.1, also where rounding makes them 3.0000000000000004.
  constexpr double kRounding = 1e-9;
  const double steps = (*stop - *start) / *step;
  const double last = *start + *step * std::max(0.0, inclusive ? std::floor(steps + kRounding)
                                                               : std::ceil(steps - kRounding) - 1);
  const auto whole = [](double number) { return number == std::floor(number); };
  const bool integers = whole(*start) && whole(*step);
  Domain domain = Stepped(integers ? IntegersOf(*start, last) : RangeOf(*start, last), *step);
  if (!domain.min || domain.step || (integers && *step == 1)) return domain;
  // The range is too short for a step within it: its ends are its values.
  Domain ends;
  for (const double end : {*start, last}) {
    ends.values.push_back(integers ? absl::StrCat(BoundedInteger<int64_t>(end)) : Pointed(end));
  }
  return ends;
}

// Reads Hydra's words for a sweep: interval(0, 1), range(1, 9, step=2), choice(a, b), tag(log, …),
// int(…), shuffle(…), or a,b,c. `inclusive`: a range ends with its stop.
std::optional<Domain> SweptDomain(const std::string& text, bool inclusive, int depth) {
  if (depth == 0) return std::nullopt;
  const std::optional<Call> call = CallIn(text);
  if (!call) {
    const std::vector<std::string> parts = SplitOutside(text);
    if (parts.empty()) return std::nullopt;
    return ListOf(ListNode(parts));
  }
  const std::vector<std::string>& arguments = call->arguments;
  if (call->name == "interval") {
    const auto start = call->Number(0, "start"), end = call->Number(1, "end");
    return start && end ? std::optional(RangeOf(*start, *end)) : std::nullopt;
  }
  if (call->name == "range") return RangeIn(*call, inclusive);
  if (call->name == "choice") return ListOf(ListNode(arguments));
  if (arguments.empty()) return std::nullopt;
  std::optional<Domain> inner = SweptDomain(arguments.back(), inclusive, depth - 1);
  if (!inner) return std::nullopt;
  const bool log = call->name == "tag" && std::count(arguments.begin(), arguments.end(), "log") > 0;
  if (log) inner = OnLogScale(*std::move(inner));
  if (call->name == "float") inner->integer = false;
  if (call->name == "int" && inner->min) inner = IntegersOf(*inner->min, *inner->max);
  const bool known = call->name == "tag" || call->name == "int" || call->name == "float" ||
                     call->name == "shuffle" || call->name == "sort";
  return known ? inner : std::nullopt;
}

// Reads {type: float, low: 0, high: 1, log: true}, the older form of a search space.
std::optional<Domain> SweptDomain(const YamlNode& node, bool inclusive) {
  if (node.kind == Kind::kScalar) return SweptDomain(node.text, inclusive, 4);
  if (node.kind == Kind::kSequence) return ListOf(node);
  const std::string type = TextOf(Find(node, "type"));
  if (const YamlNode* choices = Find(node, "choices")) return ListOf(*choices);
  const auto low = NumberOf(Find(node, "low")), high = NumberOf(Find(node, "high"));
  if (!low || !high) return std::nullopt;
  Domain domain = type == "int" ? IntegersOf(*low, *high) : RangeOf(*low, *high);
  if (IsTrue(Find(node, "log"))) domain = OnLogScale(std::move(domain));
  return Stepped(std::move(domain), NumberOf(Find(node, "step")).value_or(0));
}

void TakeSweptSpace(const YamlNode& map, bool inclusive, Draft& draft) {
  if (map.kind != Kind::kMap) return;
  for (const YamlEntry& entry : map.entries) {
    if (const std::optional<Domain> domain = SweptDomain(entry.value, inclusive)) {
      draft.Parameter(entry.key, *domain);
    } else {
      draft.LeaveOut("parameters", entry);
    }
  }
}

void TakeSampler(const YamlNode& sampler, Draft& draft) {
  std::string kind = TextOf(Find(sampler, "_target_"));
  if (kind.empty()) kind = TextOf(&sampler);
  const std::string lower = absl::AsciiStrToLower(kind);
  const char* method = lower.find("random") != std::string::npos ? "random"
                       : lower.find("grid") != std::string::npos ? "grid"
                                                                 : "bayes";
  draft.Set("search.method", method);
  if (method == std::string("bayes") && lower.find("tpe") == std::string::npos) {
    draft.Comment("search", absl::StrCat("sampler ", kind, " is bayes (TPE) here"));
  }
  const auto seed = IntegerOf(Find(sampler, "seed"));
  if (seed && *seed >= 0) draft.Set("seed", absl::StrCat(*seed));
  draft.LeaveOutRest("search", sampler, {"_target_", "seed"}, "sampler.");
}

// Takes what the function returns. Its values have no names there.
void TakeObjectives(const YamlNode& sweeper, Draft& draft) {
  const YamlNode* given = Find(sweeper, "direction");
  std::vector<std::string> goals;
  const auto take = [&goals](const YamlNode* word) {
    goals.emplace_back(TextOf(word) == "maximize" ? "maximize" : "minimize");
  };
  const bool list = given != nullptr && given->kind == Kind::kSequence && !given->items.empty();
  for (size_t i = 0; list && i < given->items.size(); ++i) take(&given->items[i]);
  if (!list) take(given);
  std::vector<std::string> names, values;
  for (size_t i = 0; i < goals.size(); ++i) {
    names.push_back(goals.size() == 1 ? "objective" : absl::StrCat("objective_", i + 1));
    values.push_back(names.back() + "=value");
  }
  draft.Warn("search", absl::StrCat("Hydra takes what the function returns; report it here: "
                                    "dtrain.report(last_step, ",
                                    absl::StrJoin(values, ", "), ")"));
  if (names.size() < 2) {
    draft.Set("search.metric", "objective");
    draft.Set("search.goal", goals[0]);
    return;
  }
  draft.Set("search.metrics", absl::StrCat("[", absl::StrJoin(names, ", "), "]"));
  draft.Set("search.goals", absl::StrCat("[", absl::StrJoin(goals, ", "), "]"));
}

void TakeSweeper(const YamlNode& sweeper, bool optuna, Draft& draft) {
  if (sweeper.kind != Kind::kMap) return;
  draft.Set("search.method", optuna ? "bayes" : "grid");
  for (const YamlEntry& entry : sweeper.entries) {
    const std::optional<int64_t> number = IntegerOf(&entry.value);
    if (entry.key == "params" || entry.key == "search_space") {
      // Hydra's own ranges exclude the stop; the plugin hands it to Optuna, which includes it.
      TakeSweptSpace(entry.value, optuna, draft);
    } else if (entry.key == "sampler") {
      TakeSampler(entry.value, draft);
    } else if (entry.key == "n_trials" && number && *number > 0) {
      draft.Set("search.max_trials", absl::StrCat(*number));
    } else if (entry.key == "n_jobs" && number && *number > 0) {
      draft.Set("search.max_concurrent", absl::StrCat(*number));
    } else if (entry.key == "study_name") {
      draft.Name(TextOf(&entry.value));
    } else if (entry.key != "_target_" && !(optuna && entry.key == "direction")) {
      draft.LeaveOut("search", entry);
    }
  }
}

bool UsesOptuna(const YamlNode& root) {
  const YamlNode* sweeper = FindPath(root, "hydra.sweeper");
  const bool target =
      sweeper != nullptr &&
      (TextOf(Find(*sweeper, "_target_")).find("optuna") != std::string::npos ||
       Find(*sweeper, "n_trials") != nullptr || Find(*sweeper, "sampler") != nullptr ||
       Find(*sweeper, "direction") != nullptr);
  const YamlNode* defaults = Find(root, "defaults");
  return target ||
         (defaults != nullptr && FlowText(*defaults).find("sweeper: optuna") != std::string::npos);
}

}  // namespace

void ImportHydra(const YamlNode& root, Draft& draft) {
  draft.Command({"python3", "main.py", "${args_no_hyphens}"});
  draft.Set("code", ".");
  draft.Warn("command", "the file does not name its script; write yours in place of main.py");
  const bool optuna = UsesOptuna(root);
  const YamlNode none;
  const YamlNode* found = FindPath(root, "hydra.sweeper");
  const YamlNode& sweeper = found == nullptr ? none : *found;
  if (optuna) TakeObjectives(sweeper, draft);
  TakeSweeper(sweeper, optuna, draft);
  if (const YamlNode* hydra = Find(root, "hydra")) {
    draft.LeaveOutRest("", *hydra, {"sweeper"}, "hydra.");
  }
  for (const YamlEntry& entry : root.entries) {
    if (entry.key == "hydra" || entry.key == "defaults") continue;
    draft.Comment("", absl::StrCat("line ", entry.mark.line, ": ", entry.key,
                                   " is the program's own, which reads it from its file"));
  }
}

}  // namespace dt::cli
