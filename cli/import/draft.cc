// draft.cc: see draft.h.
#include "cli/import/draft.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/arithmetic.h"
#include "common/text.h"
#include "spec/file/experiment_file.h"
#include "spec/pattern/line_pattern.h"
#include "spec/program.h"
#include "spec/search.h"

namespace dt::cli {
namespace {

using Kind = YamlNode::Kind;
using spec::FieldType;

constexpr size_t kShownBytes = 120;
constexpr size_t kTextBytes = 60'000;
constexpr int64_t kTrialsIfUnsaid = 100;

// Returns a text for a comment: one line.
std::string Shown(const std::string& text) {
  const std::string line = Printable(CleanText(text, kShownBytes));
  return text.size() > kShownBytes ? line + "…" : line;
}

// Returns "min: 0.0, max: 1.0", or "normal: {mean: 0.5, std: 0.1}".
std::string RangeText(const Domain& domain) {
  const auto text = [&](double number) {
    return domain.integer ? absl::StrCat(BoundedInteger<int64_t>(number)) : Pointed(number);
  };
  const std::string step = domain.step    ? absl::StrCat(", step: ", text(*domain.step))
                           : domain.count ? absl::StrCat(", count: ", *domain.count)
                                          : "";
  const std::string bounds = absl::StrCat("min: ", text(*domain.min), ", max: ", text(*domain.max));
  if (!domain.centre) return absl::StrCat(bounds, domain.log ? ", scale: log" : "", step);
  const std::string centre = Pointed(*domain.centre), spread = Pointed(domain.spread);
  return absl::StrCat(domain.log ? absl::StrCat("log_normal: {median: ", centre, ", factor: ")
                                 : absl::StrCat("normal: {mean: ", centre, ", std: "),
                      spread, "}", domain.cut ? ", " + bounds : "", step);
}

std::string DomainText(const Domain& domain) {
  const std::string when = domain.when.empty() ? "" : absl::StrCat(", when: ", domain.when);
  std::string out;
  if (domain.min) {
    out = absl::StrCat("{", RangeText(domain), when, "}");
  } else if (domain.values.size() == 1 && when.empty()) {
    out = domain.values[0];
  } else {
    out = absl::StrCat("[", absl::StrJoin(domain.values, ", "), "]");
    if (!domain.probabilities.empty() || !when.empty()) {
      std::vector<std::string> weights;
      for (const double weight : domain.probabilities) weights.push_back(spec::NumberText(weight));
      const std::string shares =
          weights.empty() ? ""
                          : absl::StrCat(", probabilities: [", absl::StrJoin(weights, ", "), "]");
      out = absl::StrCat("{values: ", out, shares, when, "}");
    }
  }
  return domain.comment.empty() ? out : absl::StrCat(out, "  # ", domain.comment);
}

}  // namespace

std::string ParameterName(const std::string& name) {
  std::string out = name;
  while (!out.empty() && (out[0] == '-' || out[0] == '+' || out[0] == '~')) out.erase(0, 1);
  for (char& c : out) {
    if (!spec::IsName(std::string("a") + c, spec::NameKind::kParameter)) c = '_';
  }
  if (!spec::IsName(out, spec::NameKind::kParameter)) out = "p_" + out;
  return spec::IsName(out, spec::NameKind::kParameter) ? out : "parameter";
}

std::string PlainText(const std::string& text) {
  const std::string clean = CleanText(text, kTextBytes);
  return IsPlainYaml(clean) ? clean : QuotedYaml(clean);
}

const YamlNode* Find(const YamlNode& map, std::string_view key) {
  if (map.kind != Kind::kMap) return nullptr;
  for (const YamlEntry& entry : map.entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

const YamlNode* FindPath(const YamlNode& map, std::string_view path) {
  const YamlNode* node = &map;
  while (node != nullptr && !path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    node = Find(*node, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

std::string TextOf(const YamlNode* node) {
  return node != nullptr && node->kind == Kind::kScalar ? node->text : "";
}

std::optional<double> NumberOf(const YamlNode* node) {
  const std::optional<double> number = spec::NumberIn(TextOf(node));
  return number && std::isfinite(*number) && std::abs(*number) < 1e100 ? number : std::nullopt;
}

std::optional<int64_t> IntegerOf(const YamlNode* node) {
  const std::optional<double> number = NumberOf(node);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 1e12) return std::nullopt;
  return static_cast<int64_t>(*number);
}

bool IsTrue(const YamlNode* node) {
  const std::string text = TextOf(node);
  return text == "true" || text == "True";
}

std::string FlowText(const YamlNode& node) {
  std::vector<std::string> parts;
  switch (node.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kScalar:
      return node.text;
    case Kind::kSequence:
      for (const YamlNode& item : node.items) parts.push_back(FlowText(item));
      return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
    case Kind::kMap:
      for (const YamlEntry& entry : node.entries) {
        parts.push_back(absl::StrCat(entry.key, ": ", FlowText(entry.value)));
      }
      return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
  }
  return "";
}

std::string Pointed(double number) {
  // Computed bounds have digits that nobody wrote.
  constexpr int kDigits = 10;
  std::string text = spec::NumberText(spec::Rounded(number, kDigits));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string ValueText(const YamlNode& node) {
  if (node.kind == Kind::kNull) return "\"None\"";
  if (node.kind == Kind::kMap) return QuotedYaml(CleanText(FlowText(node), 1000));
  if (node.kind == Kind::kSequence) {
    const bool numbers = !node.items.empty() && std::all_of(node.items.begin(), node.items.end(),
                                                            [](const YamlNode& item) {
                                                              return NumberOf(&item).has_value();
                                                            });
    return numbers ? FlowText(node) : QuotedYaml(CleanText(FlowText(node), 1000));
  }
  if (node.quoting == spec::Quoting::kQuoted) return QuotedYaml(node.text);
  const FieldType type = spec::TypeOfText(node.text, node.quoting);
  const bool plain =
      type == FieldType::kInteger || type == FieldType::kNumber || type == FieldType::kFlag;
  return plain ? node.text : PlainText(node.text);
}

Domain ListOf(const YamlNode& sequence) {
  Domain domain;
  std::vector<FieldType> types;
  for (const YamlNode& item : sequence.items) {
    domain.values.push_back(ValueText(item));
    types.push_back(item.kind == Kind::kScalar ? spec::TypeOfText(item.text, item.quoting)
                    : item.kind == Kind::kSequence && domain.values.back()[0] == '['
                        ? FieldType::kNumbers
                        : FieldType::kText);
  }
  if (!spec::CommonType(types) && !domain.values.empty()) {
    for (size_t i = 0; i < domain.values.size(); ++i) {
      const YamlNode& item = sequence.items[i];
      if (domain.values[i][0] != '"') {
        domain.values[i] = QuotedYaml(CleanText(FlowText(item), 1000));
      }
    }
    domain.comment = "values of several kinds are texts here";
  }
  std::set<std::string> once;
  std::erase_if(domain.values,
                [&once](const std::string& value) { return !once.insert(value).second; });
  return domain;
}

Domain RangeOf(double min, double max) {
  Domain domain;
  if (min == max) {
    domain.values = {Pointed(min)};
    return domain;
  }
  domain.min = std::min(min, max);
  domain.max = std::max(min, max);
  return domain;
}

Domain IntegersOf(double min, double max) {
  const double least = std::ceil(std::min(min, max)), most = std::floor(std::max(min, max));
  if (least > most) return {};
  Domain domain = RangeOf(least, most);
  domain.integer = true;
  if (!domain.min) domain.values = {absl::StrCat(BoundedInteger<int64_t>(least))};
  return domain;
}

Domain OnLogScale(Domain domain) {
  domain.log = domain.min && *domain.min > 0;
  if (domain.log) domain.step.reset();
  if (domain.min && !domain.log) domain.comment = "a logarithmic scale needs a minimum above 0";
  return domain;
}

Domain LogRangeOf(double min, double max) { return OnLogScale(RangeOf(min, max)); }

Domain NormalOf(double mean, double deviation) {
  deviation = std::abs(deviation);
  Domain domain = RangeOf(mean - 3 * deviation, mean + 3 * deviation);
  if (!domain.min) return domain;
  domain.centre = mean;
  domain.spread = deviation;
  return domain;
}

Domain LogNormalOf(double mean, double deviation) {
  // A factor of at most 1e6 is allowed.
  const double wide = std::min(std::abs(deviation), 13.0);
  const double middle = std::clamp(mean, -200.0, 200.0);
  Domain domain = LogRangeOf(std::exp(middle - 3 * wide), std::exp(middle + 3 * wide));
  if (!domain.min) return domain;
  domain.centre = std::exp(middle);
  domain.spread = std::exp(wide);
  return domain;
}

void Draft::Set(const std::string& path, const std::string& value) {
  for (auto& field : fields_) {
    if (field.first == path) {
      field.second = value;
      return;
    }
  }
  fields_.emplace_back(path, value);
}

std::string Draft::Get(const std::string& path) const {
  for (const auto& field : fields_) {
    if (field.first == path) return field.second;
  }
  return "";
}

void Draft::Parameter(const std::string& name, Domain domain) {
  if (domain.values.empty() && !domain.min) {
    return Comment("parameters", absl::StrCat(Shown(name), " has no values"));
  }
  const std::string ours = ParameterName(name);
  if (ours != name) {
    absl::StrAppend(&domain.comment, domain.comment.empty() ? "" : "; ", "there: ", Shown(name));
  }
  if (!parameter_names_.insert(ours).second) {
    return Comment("parameters", absl::StrCat(ours, " is there twice; the first counts"));
  }
  parameters_.emplace_back(ours, std::move(domain));
}

void Draft::Comment(const std::string& section, const std::string& text) {
  constexpr size_t kMost = 200;
  auto& lines = comments_[section];
  if (lines.size() < kMost) lines.push_back(Printable(CleanText(text, 4 * kShownBytes)));
}

void Draft::LeaveOut(const std::string& section, const YamlEntry& entry, const std::string& why) {
  Comment(section, absl::StrCat("line ", entry.mark.line, ": ", Shown(entry.key), ": ",
                                Shown(FlowText(entry.value)), " has no counterpart",
                                why.empty() ? "" : "; ", why));
}

void Draft::LeaveOutRest(const std::string& section, const YamlNode& map,
                         const std::set<std::string>& taken, const std::string& prefix) {
  if (map.kind != Kind::kMap) return;
  for (const YamlEntry& entry : map.entries) {
    if (taken.contains(entry.key)) continue;
    YamlEntry named = entry;
    named.key = prefix + entry.key;
    LeaveOut(section, named);
  }
}

void Draft::Warn(const std::string& section, const std::string& text) {
  Comment(section, text);
  warnings_.push_back(Printable(CleanText(text, 4 * kShownBytes)));
}

// Settles fields that depend on others: our rules differ from the other tools'.
void Draft::Settle() {
  if (!runs()) {
    command_ = {"python3", "train.py", "${args}"};
    Warn("command", "the file names no program; write yours in place of train.py");
  }
  std::string method = Get("search.method");
  if (method.empty()) Set("search.method", method = "grid");
  const bool varies = std::any_of(parameters_.begin(), parameters_.end(),
                                  [](const auto& one) { return !one.second.constant(); });
  const std::string sampler =
      method == "asha" ? Get("search.sampler").empty() ? "random" : Get("search.sampler") : method;
  if (!varies && method != "grid") {
    Comment("search", absl::StrCat("nothing varies, so there is one trial in place of a ", method,
                                   " search"));
    for (auto& field : fields_) {
      if (field.first == "search.method") field.second = "grid";
    }
    std::erase_if(fields_, [](const auto& field) {
      return field.first == "search.max_trials" || field.first == "search.sampler" ||
             field.first.starts_with("search.asha.") || field.first.starts_with("search.pbt.");
    });
    return;
  }
  SettleDomains(sampler);
  SettleGuesses(method, sampler);
}

// Gives a grid values, and drops weights where they mean nothing.
void Draft::SettleDomains(const std::string& sampler) {
  for (auto& [name, domain] : parameters_) {
    if (!domain.probabilities.empty() && sampler != "random") {
      domain.probabilities.clear();
      domain.comment = "probabilities are for method random";
    }
    if (sampler != "grid" || !domain.min || domain.count) continue;
    if (domain.step && !domain.centre) continue;
    // A grid needs values: three of the range.
    const double low = *domain.min, high = *domain.max;
    const double middle = domain.log ? std::sqrt(low * high) : (low + high) / 2;
    const auto text = [&d = domain](double number) {
      return d.integer ? absl::StrCat(BoundedInteger<int64_t>(std::round(number)))
                       : Pointed(number);
    };
    domain.centre.reset();
    domain.values = {text(low), text(middle), text(high)};
    domain.values.erase(std::unique(domain.values.begin(), domain.values.end()),
                        domain.values.end());
    domain.min.reset();
    domain.comment = "a grid needs values: ends and middle of the range";
  }
}

// Sets what the file leaves open and we need.
void Draft::SettleGuesses(const std::string& method, const std::string& sampler) {
  if (sampler == "grid") {
    std::erase_if(fields_, [&](const auto& field) {
      if (field.first != "search.max_trials") return false;
      Comment("search", absl::StrCat("max_trials: ", field.second,
                                     " is left out; a grid has all combinations"));
      return true;
    });
  } else if (Get("search.max_trials").empty()) {
    Set("search.max_trials", absl::StrCat(kTrialsIfUnsaid));
    Warn("search", "the file has no number of trials; max_trials: 100 is a guess");
  }
  if ((method == "asha" || method == "pbt") && Get("steps").empty()) {
    Set("steps", "100");
    Warn("", "steps: 100 is a guess; write the last step that a complete trial reports");
  }
  ::dtrain::v1::Search search;
  search.set_metric(Get("search.metric"));
  if (!search.metric().empty() && Get("search.goal").empty() && spec::GoalOf(search).empty()) {
    Set("search.goal", "minimize");
    Warn("search", "the file does not say whether less is better; goal: minimize is a guess");
  }
}

void Draft::PrintComments(const std::string& section, std::string& out) const {
  const auto found = comments_.find(section);
  if (found == comments_.end()) return;
  for (const std::string& line : found->second) absl::StrAppend(&out, "# ", line, "\n");
}

// Prints "search:", its fields, and a map for each section within it.
void Draft::PrintSection(const std::string& section, std::string& out) const {
  std::map<std::string, std::string> lines;  // by the section within this one; "": this one's own
  for (const auto& [path, value] : fields_) {
    if (!path.starts_with(section + ".")) continue;
    const std::string rest = path.substr(section.size() + 1);
    const size_t dot = rest.find('.');
    if (dot == std::string::npos) {
      absl::StrAppend(&lines[""], "  ", rest, ": ", value, "\n");
    } else {
      absl::StrAppend(&lines[rest.substr(0, dot)], "    ", PlainText(rest.substr(dot + 1)), ": ",
                      value, "\n");
    }
  }
  PrintComments(section, out);
  if (!lines.empty()) absl::StrAppend(&out, section, ":\n");
  for (const auto& [within, text] : lines) {
    absl::StrAppend(&out, within.empty() ? "" : absl::StrCat("  ", within, ":\n"), text);
  }
}

std::string Draft::Print() const {
  std::string name = name_.empty() ? file_name_ : name_;
  if (name_.empty()) {
    name = name.substr(name.find_last_of('/') + 1);
    if (const size_t dot = name.rfind('.'); dot != std::string::npos) name.resize(dot);
  }
  name = CleanText(name, 60);
  if (name.empty() || !spec::NameProblem(name).empty() || Printable(name) != name)
    name = "imported";
  std::string out = absl::StrCat("# From ", NameOf(tool_), ": ", Shown(file_name_), "\n");
  PrintComments("", out);
  absl::StrAppend(&out, "version: 1\nname: ", PlainText(name), "\n");
  if (!description_.empty()) absl::StrAppend(&out, "description: ", PlainText(description_), "\n");
  PrintComments("command", out);
  if (!command_.empty()) {
    std::vector<std::string> words;
    for (const std::string& word : command_) words.push_back(PlainText(word));
    absl::StrAppend(&out, "command: [", absl::StrJoin(words, ", "), "]\n");
  } else {
    absl::StrAppend(&out, "run: ", QuotedYaml(CleanText(run_, kTextBytes)), "\n");
  }
  for (const auto& [path, value] : fields_) {
    if (path.find('.') == std::string::npos) absl::StrAppend(&out, path, ": ", value, "\n");
  }
  PrintSection("metrics", out);
  PrintComments("parameters", out);
  if (!parameters_.empty()) out += "parameters:\n";
  for (const auto& [parameter, domain] : parameters_) {
    absl::StrAppend(&out, "  ", parameter, ": ", DomainText(domain), "\n");
  }
  for (const char* section : {"search", "stop", "retries", "checkpoint", "resources"}) {
    PrintSection(section, out);
  }
  return out;
}

Imported Draft::Finish() {
  Settle();
  Imported imported;
  imported.text = Print();
  imported.warnings = warnings_;
  imported.problems = spec::ReadExperimentFile(imported.text, "imported.yaml").diagnostics;
  return imported;
}

}  // namespace dt::cli
