// hydra.cc: configurations of Hydra with a sweeper, its own or that of Optuna.
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

// Reads Hydra's words for a sweep: interval(0, 1), range(1, 9, step=2), choice(a, b), tag(log, …),
// int(…), shuffle(…), or a,b,c.
std::optional<Domain> SweptDomain(const std::string& text, int depth) {
  if (depth == 0) return std::nullopt;
  const std::optional<Call> call = CallIn(text);
  if (!call) {
    const std::vector<std::string> parts = SplitOutside(text);
    if (parts.empty()) return std::nullopt;
    return ListOf(ListNode(parts));
  }
  const std::vector<std::string>& arguments = call->arguments;
  const auto number = [&](size_t i, const char* name, double otherwise) {
    const auto named = call->named.find(name);
    if (named != call->named.end()) return NumberIn(named->second).value_or(otherwise);
    return i < arguments.size() ? NumberIn(arguments[i]).value_or(otherwise) : otherwise;
  };
  if (call->name == "interval") return RangeOf(number(0, "start", 0), number(1, "end", 1));
  if (call->name == "range") {
    const bool one = arguments.size() == 1 && call->named.count("stop") == 0;
    const double start = one ? 0 : number(0, "start", 0);
    const double stop = one ? number(0, "stop", 1) : number(1, "stop", 1);
    return Stepped(IntegersOf(start, stop), number(2, "step", 1));
  }
  if (call->name == "choice") return ListOf(ListNode(arguments));
  if (arguments.empty()) return std::nullopt;
  std::optional<Domain> inner = SweptDomain(arguments.back(), depth - 1);
  if (!inner) return std::nullopt;
  const bool log = call->name == "tag" && std::count(arguments.begin(), arguments.end(), "log") > 0;
  if (log && inner->min) {
    const bool integer = inner->integer;
    inner = LogRangeOf(*inner->min, *inner->max);
    inner->integer = integer;
  }
  if (call->name == "int" && inner->min) inner = IntegersOf(*inner->min, *inner->max);
  const bool known = call->name == "tag" || call->name == "int" || call->name == "float" ||
                     call->name == "shuffle" || call->name == "sort";
  return known ? inner : std::nullopt;
}

// Reads {type: float, low: 0, high: 1, log: true}, the older form of a search space.
std::optional<Domain> SweptDomain(const YamlNode& node) {
  if (node.kind == Kind::kScalar) return SweptDomain(node.text, 4);
  if (node.kind == Kind::kSequence) return ListOf(node);
  const std::string type = TextOf(Find(node, "type"));
  if (const YamlNode* choices = Find(node, "choices")) return ListOf(*choices);
  const auto low = NumberOf(Find(node, "low")), high = NumberOf(Find(node, "high"));
  if (!low || !high) return std::nullopt;
  Domain domain = IsTrue(Find(node, "log")) ? LogRangeOf(*low, *high) : RangeOf(*low, *high);
  if (type == "int") {
    const bool log = domain.log;
    domain = IntegersOf(*low, *high);
    domain.log = log;
  }
  return Stepped(domain, NumberOf(Find(node, "step")).value_or(0));
}

void TakeSweptSpace(const YamlNode& map, Draft& draft) {
  if (map.kind != Kind::kMap) return;
  for (const YamlEntry& entry : map.entries) {
    if (const std::optional<Domain> domain = SweptDomain(entry.value)) {
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

void TakeDirection(const YamlEntry& entry, Draft& draft) {
  std::string direction = TextOf(&entry.value);
  if (entry.value.kind == Kind::kSequence && !entry.value.items.empty()) {
    direction = TextOf(&entry.value.items[0]);
    if (entry.value.items.size() > 1) {
      draft.Warn("search", "several objectives there; here the first counts");
    }
  }
  draft.Set("search.goal", direction == "maximize" ? "maximize" : "minimize");
}

void TakeSweeper(const YamlNode& sweeper, bool optuna, Draft& draft) {
  if (sweeper.kind != Kind::kMap) return;
  draft.Set("search.method", optuna ? "bayes" : "grid");
  for (const YamlEntry& entry : sweeper.entries) {
    const std::optional<int64_t> number = IntegerOf(&entry.value);
    if (entry.key == "params" || entry.key == "search_space") {
      TakeSweptSpace(entry.value, draft);
    } else if (entry.key == "sampler") {
      TakeSampler(entry.value, draft);
    } else if (entry.key == "direction") {
      TakeDirection(entry, draft);
    } else if (entry.key == "n_trials" && number && *number > 0) {
      draft.Set("search.max_trials", absl::StrCat(*number));
    } else if (entry.key == "n_jobs" && number && *number > 0) {
      draft.Set("search.max_concurrent", absl::StrCat(*number));
    } else if (entry.key == "study_name") {
      draft.Name(TextOf(&entry.value));
    } else if (entry.key != "_target_") {
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
  if (optuna) {
    draft.Set("search.metric", "objective");
    draft.Warn("search",
               "Hydra takes what the function returns; report it here: dtrain.report(last_step, "
               "objective=value)");
    draft.Set("search.goal", "minimize");
  }
  if (const YamlNode* sweeper = FindPath(root, "hydra.sweeper"))
    TakeSweeper(*sweeper, optuna, draft);
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
