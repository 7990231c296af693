#include "spec/file/other_parameter.h"

#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace dt::spec {
namespace {

constexpr char kNormal[] =
    "write normal: {mean: 0.5, std: 0.1}, or log_normal: {median: 1.0e-3, factor: 3}, with min, "
    "max "
    "and step beside it if you need them";
constexpr char kNoBeta[] = "draws here are uniform or normal, with scale: log or log_normal too";
constexpr char kWhen[] = "write when: {other_parameter: value}, or a list of its values";
constexpr char kListed[] = "write values: [...]";
constexpr char kLog[] = "write min, max and scale: log";
constexpr char kEven[] = "write min and max; a range is uniform unless scale is log";

// Other systems' words: a single word is ours for theirs; otherwise a sentence; "": there is no
// counterpart.
constexpr std::array<std::pair<std::string_view, std::string_view>, 62> kWords{{
    {"low", "min"},
    {"high", "max"},
    {"lower", "min"},
    {"upper", "max"},
    {"minval", "min"},
    {"maxval", "max"},
    {"minimum", "min"},
    {"maximum", "max"},
    {"lower_bound", "min"},
    {"upper_bound", "max"},
    {"from", "min"},
    {"to", "max"},
    {"start", "min"},
    {"stop", "max"},
    {"log", "write scale: log"},
    {"log_scale", "write scale: log"},
    {"base", "write min and max as values, not as exponents, and scale: log"},
    {"q", "step"},
    {"quantization", "step"},
    {"num", "count"},
    {"num_values", "count"},
    {"vals", "values"},
    {"choices", "values"},
    {"categories", "values"},
    {"options", "values"},
    {"list", "values"},
    {"grid", "values"},
    {"grid_search", "values"},
    {"choice", "values"},
    {"categorical", "values"},
    {"val", "value"},
    {"const", "value"},
    {"weights", "probabilities"},
    {"probs", "probabilities"},
    {"uniform", kEven},
    {"quniform", "write min, max and step"},
    {"randint", "write min and max; the ends belong to the range"},
    {"loguniform", kLog},
    {"log_uniform", kLog},
    {"lognormal", kNormal},
    {"qnormal", kNormal},
    {"randn", kNormal},
    {"mu", kNormal},
    {"sigma", kNormal},
    {"parameters", "nested parameters are written with dots: a.b: {min: 0, max: 1}"},
    {"condition", kWhen},
    {"conditions", kWhen},
    {"if", kWhen},
    {"depends_on", kWhen},
    {"parent", kWhen},
    {"default", ""},
    {"mean", kNormal},
    {"lo", "min"},
    {"hi", "max"},
    {"std", kNormal},
    {"stddev", kNormal},
    {"feasibleSpace", "write {min: 0.01, max: 0.05}, or {values: [...]}, without feasibleSpace"},
    {"parameterType", "the type comes from the values: write min and max, or values"},
    {"dtype", "the type comes from the values: write min and max, or values"},
    {"bounds", "write min and max"},
    {"range", "write min and max, with step if they are integers"},
    {"args", "write min and max, or values: [...]"},
}};

const YamlNode* Find(const YamlNode& node, std::string_view key) {
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == key && entry.value.kind == YamlNode::Kind::kScalar) return &entry.value;
  }
  return nullptr;
}

std::string TextOf(const YamlNode& node, std::string_view key) {
  const YamlNode* found = Find(node, key);
  return found == nullptr ? "" : found->text;
}

// Returns the base if the bounds are exponents, as in Determined's `type: log` and W&B's
// `log_uniform`; nullopt: they are values.
std::optional<double> BaseOf(const YamlNode& node) {
  const std::string distribution = TextOf(node, "distribution");
  if (absl::StrContains(distribution, "log_uniform") && !absl::EndsWith(distribution, "_values")) {
    return std::exp(1.0);
  }
  if (TextOf(node, "type") != "log" && Find(node, "base") == nullptr) return std::nullopt;
  double base = 10;
  if (const YamlNode* said = Find(node, "base"); said != nullptr) {
    if (!absl::SimpleAtod(said->text, &base) || !(base > 1)) return std::nullopt;
  }
  return base;
}

// Returns "min: 1e-05"; "": the bound is no number.
std::string Bound(const YamlNode& node, double base, const char* ours, const char* theirs) {
  const YamlNode* found = Find(node, theirs);
  double exponent = 0;
  if (found == nullptr || !absl::SimpleAtod(found->text, &exponent)) return "";
  const double value = std::pow(base, exponent);
  return std::isfinite(value) && value > 0 ? absl::StrFormat("%s: %.4g, ", ours, value) : "";
}

// Returns the range for bounds that are exponents, in this file's notation.
std::string FromExponents(const YamlNode& node, double base) {
  std::string low = Bound(node, base, "min", "minval");
  if (low.empty()) low = Bound(node, base, "min", "min");
  std::string high = Bound(node, base, "max", "maxval");
  if (high.empty()) high = Bound(node, base, "max", "max");
  return absl::StrCat("the bounds are exponents there and values here: write {",
                      low.empty() ? "min: 1.0e-5, " : low, high.empty() ? "max: 0.01, " : high,
                      "scale: log}");
}

// Returns the distribution in this file's notation. W&B's mu and sigma of log_normal are those of
// the logarithm.
std::string NormalHint(const YamlNode& node, const std::string& word) {
  const auto number = [&node](const char* theirs, const char* other) {
    const std::string text =
        TextOf(node, theirs).empty() ? TextOf(node, other) : TextOf(node, theirs);
    double value = 0;
    return absl::SimpleAtod(text, &value) && std::abs(value) < 100 ? std::optional(value)
                                                                   : std::nullopt;
  };
  const auto mean = number("mu", "mean"), deviation = number("sigma", "std");
  if (!mean || !deviation) return kNormal;
  return absl::StrContains(word, "log")
             ? absl::StrFormat("write log_normal: {median: %.4g, factor: %.4g}", std::exp(*mean),
                               std::exp(*deviation))
             : absl::StrFormat("write normal: {mean: %g, std: %g}", *mean, *deviation);
}

std::string DistributionHint(const YamlNode& node, const std::string& word) {
  if (const auto base = BaseOf(node)) return FromExponents(node, *base);
  if (absl::StrContains(word, "normal")) return NormalHint(node, word);
  if (word == "beta") return kNoBeta;
  if (absl::StrContains(word, "log")) return kLog;
  if (absl::StartsWith(word, "q_")) return "write min, max and step";
  if (word == "categorical" || word == "choice" || word == "discrete") return kListed;
  if (word == "constant" || word == "const") return "write value: x";
  if (word == "int_uniform" || word == "int" || word == "integer") {
    return "write min and max; an integer field has integers, a program's parameter with step: 1";
  }
  return kEven;
}

}  // namespace

bool IsOtherParameterWord(const std::string& key) {
  if (key == "type" || key == "distribution") return true;
  for (const auto& [theirs, ours] : kWords) {
    if (theirs == key) return true;
  }
  return false;
}

std::string OtherParameterHint(const std::string& key, const YamlNode& node) {
  if (key == "type" || key == "distribution") return DistributionHint(node, TextOf(node, key));
  for (const auto& [theirs, ours] : kWords) {
    if (theirs != key) continue;
    const bool bound = ours == "min" || ours == "max" || key == "base";
    if (const auto base = BaseOf(node); base && bound) return FromExponents(node, *base);
    const bool sentence = ours.empty() || ours.find(' ') != std::string_view::npos;
    return sentence ? std::string(ours) : absl::StrCat("did you mean '", std::string(ours), "'?");
  }
  return "";
}

}  // namespace dt::spec
