// sweep_file.cc: see sweep_file.h.
#include "cli/commands/sweep_file.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "common/text.h"
#include "spec/file/yaml_tree.h"
#include "spec/pattern/line_pattern.h"
#include "spec/program.h"
#include "spec/search.h"

namespace dt::cli {
namespace {

using spec::FieldType;

std::string Shown(std::string_view text) { return Printable(CleanText(text, 100)); }

absl::Status Refuse(std::string_view what, std::string_view why, std::string_view fix) {
  return absl::InvalidArgumentError(
      absl::StrCat(Shown(what), ": ", std::string(why), "; ", std::string(fix)));
}

std::string Text(const std::string& text) { return IsPlainYaml(text) ? text : QuotedYaml(text); }

bool IsNumber(std::string_view text) {
  const FieldType type = spec::TypeOfText(text, spec::Quoting::kPlain);
  return type == FieldType::kInteger || type == FieldType::kNumber;
}

// --- The command ---

bool IsMacro(const std::string& word) {
  return std::find(spec::kMacros.begin(), spec::kMacros.end(), word) != spec::kMacros.end();
}

// A shell would read ${args} as a variable, which is empty.
absl::Status CheckShellMacros(const std::string& command) {
  for (const std::string_view macro : spec::kMacros) {
    if (!spec::NamesAllParameters(macro) || command.find(macro) == std::string::npos) continue;
    return Refuse(macro, "a shell would read it as a variable",
                  "write --NAME={NAME} for each parameter, or a command that needs no shell");
  }
  return absl::OkStatus();
}

// Returns the word that is a file here: the script.
std::string ScriptIn(const std::vector<std::string>& words,
                     const std::function<bool(const std::string&)>& is_file) {
  for (const std::string& word : words) {
    if (!word.empty() && word[0] != '/' && word[0] != '-' && is_file(word)) return word;
  }
  return "";
}

std::string NameFor(const std::string& script, const std::vector<std::string>& words) {
  std::string name = !script.empty() ? script : words.empty() ? "sweep" : words[0];
  name = name.substr(name.find_last_of('/') + 1);
  if (const size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  return name.empty() || !spec::NameProblem(name).empty() ? "sweep" : name;
}

// --- Parameters ---

struct SweptParameter {
  std::string name, text;
  bool range = false, varies = false;
};

// Reads a..b, with :log, :int and :step=S after it.
absl::StatusOr<std::string> RangeText(const std::string& option, const std::string& name,
                                      const std::string& text) {
  const std::string example = absl::StrCat("write --param ", name, "=1e-4..1e-1:log");
  const size_t dots = text.find("..");
  const std::string low = text.substr(0, dots);
  const std::vector<std::string> rest = absl::StrSplit(text.substr(dots + 2), ':');
  const std::string& high = rest[0];
  for (const std::string& end : {low, high}) {
    if (!IsNumber(end)) {
      return Refuse(option, absl::StrCat("'", Shown(end), "' is no number"), example);
    }
  }
  bool log = false, integer = false;
  std::string step;
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == "log") {
      log = true;
    } else if (rest[i] == "int") {
      integer = true;
    } else if (rest[i].substr(0, 5) == "step=" && IsNumber(rest[i].substr(5))) {
      step = rest[i].substr(5);
    } else {
      return Refuse(option,
                    absl::StrCat("':", Shown(rest[i]), "' is not :log, :int or :step=NUMBER"),
                    example);
    }
  }
  const double least = spec::NumberIn(low).value_or(0), most = spec::NumberIn(high).value_or(0);
  if (least == most) {
    return Refuse(option, absl::StrCat("the range begins and ends at ", low),
                  absl::StrCat("write the value alone: --param ", name, "=", low));
  }
  if (!(least < most)) {
    return Refuse(option, absl::StrCat(low, " is not below ", high),
                  absl::StrCat("write --param ", name, "=", high, "..", low,
                               text.substr(dots + 2 + high.size())));
  }
  if (log && least <= 0) {
    return Refuse(option, absl::StrCat("a logarithmic range cannot begin at ", low),
                  absl::StrCat("begin above 0: --param ", name, "=1e-6..", high, ":log"));
  }
  std::vector<std::string> ends = {low, high};
  for (std::string& end : ends) {
    if (!integer) continue;
    const double number = spec::NumberIn(end).value_or(0.5);
    if (number != std::floor(number) || std::abs(number) > spec::kWholeMax) {
      return Refuse(option, absl::StrCat(end, " is no integer"), "leave :int out");
    }
    end = absl::StrCat(static_cast<int64_t>(number));
  }
  return absl::StrCat("{min: ", ends[0], ", max: ", ends[1], log ? ", scale: log" : "",
                      step.empty() ? "" : ", step: ", step, "}");
}

// Reads a,b,c. Values of several kinds are texts.
std::string ListText(const std::string& text) {
  std::vector<std::string> values = absl::StrSplit(text, ',');
  for (std::string& value : values) value = std::string(absl::StripAsciiWhitespace(value));
  std::vector<FieldType> types;
  types.reserve(values.size());
  for (const std::string& value : values) {
    types.push_back(spec::TypeOfText(value, spec::Quoting::kPlain));
  }
  const std::optional<FieldType> common = spec::CommonType(types);
  std::vector<std::string> written;
  written.reserve(values.size());
  for (const std::string& value : values) {
    written.push_back(!common                      ? QuotedYaml(value)
                      : common == FieldType::kText ? Text(value)
                                                   : value);
  }
  return values.size() == 1 ? written[0] : absl::StrCat("[", absl::StrJoin(written, ", "), "]");
}

// Takes a value that is written in YAML.
absl::Status TakeYaml(const std::string& option, const std::string& text,
                      SweptParameter& parameter) {
  if (text.find_first_of("\r\n") != std::string::npos) {
    return Refuse(option, "the value has more than one line", "write it in one");
  }
  using Kind = spec::YamlNode::Kind;
  const spec::YamlTree tree = spec::ParseYaml(absl::StrCat("value: ", text));
  const bool read = tree.readable && tree.problems.empty() && tree.root.kind == Kind::kMap &&
                    tree.root.entries.size() == 1;
  if (!read) {
    return Refuse(option,
                  absl::StrCat("the value is no YAML",
                               tree.problems.empty() ? "" : ": " + tree.problems[0].message),
                  "close each bracket and quotation mark, as in '[1, 2]', '{min: 0.1, max: 1}' or "
                  "'\"a text\"'");
  }
  const spec::YamlNode& value = tree.root.entries[0].value;
  parameter.varies = value.kind == Kind::kSequence || value.kind == Kind::kMap;
  parameter.range = value.kind == Kind::kMap &&
                    std::any_of(value.entries.begin(), value.entries.end(), [](const auto& one) {
                      return one.key == "min" || one.key == "normal" || one.key == "log_normal";
                    });
  parameter.text = text;
  return absl::OkStatus();
}

absl::StatusOr<SweptParameter> ParameterOf(const std::string& given) {
  const std::string option = absl::StrCat("--param ", given);
  const size_t equals = given.find('=');
  SweptParameter parameter;
  parameter.name = given.substr(0, equals);
  if (equals == std::string::npos || equals + 1 == given.size()) {
    return Refuse(option, "it has no values",
                  "write a range, --param lr=1e-4..1e-1:log, or a list, --param layers=2,4,8");
  }
  if (!spec::IsName(parameter.name, spec::NameKind::kParameter)) {
    return Refuse(option, absl::StrCat("'", Shown(parameter.name), "' is no name"),
                  "a name has letters, digits, _, . and -, and a letter or _ first");
  }
  const std::string text = given.substr(equals + 1);
  const bool yaml = text[0] == '[' || text[0] == '{' || text[0] == '"' || text[0] == '\'';
  if (yaml) {
    DT_RETURN_IF_ERROR(TakeYaml(option, text, parameter));
    return parameter;
  }
  const size_t dots = text.find("..");
  // "../data" is a path.
  parameter.range = dots != std::string::npos && dots > 0 && IsNumber(text.substr(0, dots));
  parameter.varies = parameter.range || text.find(',') != std::string::npos;
  if (parameter.range) {
    DT_ASSIGN_OR_RETURN(parameter.text, RangeText(option, parameter.name, text));
  } else {
    parameter.text = ListText(text);
  }
  return parameter;
}

// --- The metric ---

constexpr const char* kHowToReport =
    "the program prints lines such as {\"step\": 1, \"val_loss\": 0.5}, or add --pattern 'step "
    "{step}: val loss {val_loss}' for the lines that it prints, --metrics-file logs/metrics.csv, "
    "or --tensorboard runs";

// Returns the names in the patterns that are no steps.
absl::StatusOr<std::set<std::string>> MetricsOf(const std::vector<std::string>& patterns) {
  std::set<std::string> names;
  for (const std::string& text : patterns) {
    if (spec::IsNamedShape(text)) continue;
    const auto pattern = spec::LinePattern::Make(text);
    if (!pattern.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--pattern: ", pattern.status().message()));
    }
    for (const std::string& name : pattern->names()) {
      if (!spec::IsStepWord(name)) names.insert(name);
    }
  }
  return names;
}

class Writer {
 public:
  Writer(const SweepOptions& options, const std::function<bool(const std::string&)>& is_file)
      : options_(options), is_file_(is_file) {}

  absl::StatusOr<std::string> Write() {
    for (const std::string& given : options_.parameters) {
      DT_ASSIGN_OR_RETURN(SweptParameter parameter, ParameterOf(given));
      const bool twice = std::any_of(parameters_.begin(), parameters_.end(),
                                     [&](const auto& one) { return one.name == parameter.name; });
      if (twice) {
        return Refuse(absl::StrCat("--param ", given), "the name is there twice", "keep one");
      }
      parameters_.push_back(std::move(parameter));
    }
    out_ = "version: 1\n";
    DT_RETURN_IF_ERROR(WriteCommand());
    DT_RETURN_IF_ERROR(WriteMetrics());
    DT_RETURN_IF_ERROR(WriteParameters());
    DT_RETURN_IF_ERROR(WriteSearch());
    DT_RETURN_IF_ERROR(WriteResources());
    return std::move(out_);
  }

 private:
  void Line(std::string_view text) { absl::StrAppend(&out_, std::string(text), "\n"); }

  absl::Status WriteCommand() {
    const auto words = WordsOfCommand(options_.command);
    std::vector<std::string> parts = words.value_or(
        std::vector<std::string>(absl::StrSplit(options_.command, ' ', absl::SkipEmpty())));
    if (parts.empty()) {
      return absl::InvalidArgumentError(
          "the command is empty; for example: dtctl sweep 'python3 train.py --lr={lr}' --param "
          "lr=1e-4..1e-1:log --metric val_loss");
    }
    DT_RETURN_IF_ERROR(words ? CheckNames(parts) : CheckShellMacros(options_.command));
    const std::string script = ScriptIn(parts, is_file_);
    Line(absl::StrCat("name: ",
                      Text(options_.name.empty() ? NameFor(script, parts) : options_.name)));
    if (words) {
      for (std::string& word : parts) word = Text(word);
      Line(absl::StrCat("command: [", absl::StrJoin(parts, ", "), "]"));
    } else {
      Line(absl::StrCat("run: ", QuotedYaml(options_.command)));
    }
    const std::string code = !options_.code.empty() ? options_.code : script.empty() ? "none" : ".";
    if (code != "none") Line(absl::StrCat("code: ", code == "." ? code : Text(code)));
    if (options_.steps) Line(absl::StrCat("steps: ", *options_.steps));
    return absl::OkStatus();
  }

  // A brace that no parameter fills is a mistake where no shell reads it.
  absl::Status CheckNames(const std::vector<std::string>& words) const {
    spec::NamedValues values;
    values["seed"];
    for (const SweptParameter& parameter : parameters_) values[parameter.name];
    for (const std::string& word : words) {
      DT_ASSIGN_OR_RETURN(const spec::Substitution filled, spec::Substituted(word, values));
      if (filled.unknown.empty()) continue;
      const std::string& name = *filled.unknown.begin();
      return Refuse(absl::StrCat("{", name, "}"), "the command has it, and no --param names it",
                    absl::StrCat("add --param ", name, "=1e-4..1e-1:log, or --param ", name,
                                 "=1,2,3; {{", name, "}} stands for itself"));
    }
    return absl::OkStatus();
  }

  absl::Status WriteMetrics() {
    std::vector<std::string> parts;
    if (options_.patterns.size() == 1) {
      parts.push_back(absl::StrCat("pattern: ", Text(options_.patterns[0])));
    } else if (!options_.patterns.empty()) {
      std::vector<std::string> texts;
      for (const std::string& pattern : options_.patterns) texts.push_back(Text(pattern));
      parts.push_back(absl::StrCat("pattern: [", absl::StrJoin(texts, ", "), "]"));
    }
    if (!options_.metrics_file.empty()) {
      parts.push_back(absl::StrCat("file: ", Text(options_.metrics_file)));
    }
    if (!options_.tensorboard.empty()) {
      parts.push_back(absl::StrCat("tensorboard: ", Text(options_.tensorboard)));
    }
    if (!parts.empty()) Line(absl::StrCat("metrics: {", absl::StrJoin(parts, ", "), "}"));
    DT_ASSIGN_OR_RETURN(const std::set<std::string> named, MetricsOf(options_.patterns));
    metric_ = options_.metric;
    if (metric_.empty() && named.size() == 1) metric_ = *named.begin();
    if (!metric_.empty() && !spec::IsName(metric_, spec::NameKind::kMetric)) {
      return Refuse(absl::StrCat("--metric ", metric_), "it is no name of a metric",
                    "use letters, digits and _ - . / @, such as val_loss");
    }
    return absl::OkStatus();
  }

  absl::Status WriteParameters() {
    if (!parameters_.empty()) Line("parameters:");
    for (const SweptParameter& parameter : parameters_) {
      Line(absl::StrCat("  ", parameter.name, ": ", parameter.text));
    }
    if (options_.seeds.empty()) return absl::OkStatus();
    const bool list = options_.seeds.find(',') != std::string::npos;
    std::vector<std::string> seeds = absl::StrSplit(options_.seeds, ',');
    for (const std::string& seed : seeds) {
      const std::optional<double> number = spec::NumberIn(seed);
      constexpr double kSeedsMost = 1000;
      const bool good = number && *number == std::floor(*number) && *number >= (list ? 0 : 1) &&
                        (list || *number <= kSeedsMost);
      if (!good) {
        return Refuse(absl::StrCat("--seeds ", options_.seeds),
                      absl::StrCat("'", Shown(seed), "' is no count from 1 to 1000, and no seed"),
                      "write --seeds 3, or --seeds 1,2,5");
      }
    }
    if (!list) {
      const auto count = static_cast<int64_t>(spec::NumberIn(options_.seeds).value_or(1));
      seeds.clear();
      for (int64_t seed = 1; seed <= count; ++seed) seeds.push_back(absl::StrCat(seed));
    }
    Line(absl::StrCat("seeds: [", absl::StrJoin(seeds, ", "), "]"));
    return absl::OkStatus();
  }

  // A grid tries each combination of lists; ranges are searched.
  std::string Method() const {
    // A rung compares single trials, and seeds make several of each configuration.
    const bool rungs = options_.early_stop && options_.steps && options_.seeds.empty();
    if (rungs && options_.search.empty()) return "asha";
    if (!options_.search.empty()) return options_.search;
    const bool range = std::any_of(parameters_.begin(), parameters_.end(),
                                   [](const auto& one) { return one.range; });
    return range || options_.trials ? "bayes" : "grid";
  }

  absl::Status WriteSearch() {
    const std::string method = Method();
    const bool grid = method == "grid";
    const bool varies = std::any_of(parameters_.begin(), parameters_.end(),
                                    [](const auto& one) { return one.varies; });
    if (!varies && !grid) {
      return absl::InvalidArgumentError(
          "nothing varies between trials; add --param lr=1e-4..1e-1:log, or --param layers=2,4,8");
    }
    if (metric_.empty() && (!grid || options_.early_stop)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no --metric: name the number by which trials are compared, such as --metric "
          "val_loss. To give it, ",
          kHowToReport));
    }
    const bool compares = method == "asha" || method == "pbt";
    if (compares && !options_.steps) {
      return Refuse(absl::StrCat("--search ", method),
                    "it compares trials at shares of their steps",
                    "add --steps N, the last step that the program reports; or use --early-stop "
                    "with another method");
    }
    if (compares && !options_.seeds.empty()) {
      return Refuse(absl::StrCat("--seeds ", options_.seeds),
                    absl::StrCat(method, " compares single trials"),
                    "leave it out, or use --search bayes with --early-stop");
    }
    std::vector<std::string> parts = {absl::StrCat("method: ", method)};
    if (method == "asha") parts.emplace_back("sampler: bayes");
    if (!grid) {
      constexpr int64_t kTrials = 20;
      parts.push_back(absl::StrCat("max_trials: ", options_.trials.value_or(kTrials)));
    } else if (options_.trials) {
      return Refuse(absl::StrCat("--trials ", *options_.trials),
                    "a grid has as many trials as its lists have combinations",
                    "leave --trials out, or use --search random");
    }
    if (!metric_.empty()) parts.push_back(absl::StrCat("metric: ", Text(metric_)));
    DT_ASSIGN_OR_RETURN(const std::string goal, Goal());
    if (!goal.empty()) parts.push_back(absl::StrCat("goal: ", goal));
    if (options_.max_concurrent) {
      parts.push_back(absl::StrCat("max_concurrent: ", *options_.max_concurrent));
    }
    Line(absl::StrCat("search: {", absl::StrJoin(parts, ", "), "}"));
    if (options_.early_stop && !compares) Line("stop: {median: {after: 3}}");
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Goal() const {
    if (!options_.goal.empty()) return options_.goal;
    if (options_.maximize) return "maximize";
    if (metric_.empty()) return "";
    ::dtrain::v1::Search search;
    search.set_metric(metric_);
    if (!spec::GoalOf(search).empty()) return "";
    return Refuse(absl::StrCat("--metric ", metric_),
                  "its name does not say whether the lowest or the highest value is best",
                  "add --goal minimize or --goal maximize");
  }

  absl::Status WriteResources() {
    std::vector<std::string> parts;
    if (options_.slots) parts.push_back(absl::StrCat("gpus: ", *options_.slots));
    std::vector<std::string> variables;
    for (const std::string& given : options_.variables) {
      const size_t equals = given.find('=');
      if (equals == std::string::npos || equals == 0) {
        return Refuse(absl::StrCat("--env ", given), "it has no value", "write --env NAME=VALUE");
      }
      variables.push_back(
          absl::StrCat(Text(given.substr(0, equals)), ": ", QuotedYaml(given.substr(equals + 1))));
    }
    if (!variables.empty()) {
      parts.push_back(absl::StrCat("env: {", absl::StrJoin(variables, ", "), "}"));
    }
    if (!parts.empty()) Line(absl::StrCat("resources: {", absl::StrJoin(parts, ", "), "}"));
    return absl::OkStatus();
  }

  const SweepOptions& options_;
  const std::function<bool(const std::string&)>& is_file_;
  std::vector<SweptParameter> parameters_;
  std::string metric_;
  std::string out_;
};

}  // namespace

std::optional<std::vector<std::string>> WordsOfCommand(const std::string& command) {
  constexpr std::string_view kShells = "|&;<>()[`\\*?~#\n$";
  std::vector<std::string> words;
  std::string word;
  bool open = false;  // a word has begun
  char quote = 0;
  for (size_t i = 0; i <= command.size(); ++i) {
    const char c = i < command.size() ? command[i] : ' ';
    if (quote != 0) {
      if (i == command.size()) return std::nullopt;
      if (quote == '"' && (c == '$' || c == '`' || c == '\\')) return std::nullopt;
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == ' ' || c == '\t') {
      const bool shells = word.find('$') != std::string::npos && !IsMacro(word);
      if (shells) return std::nullopt;
      if (open) words.push_back(std::exchange(word, ""));
      open = false;
    } else if (c != '$' && kShells.find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      word += c;
      open = true;
    }
  }
  // A shell reads A=1 before a command as a variable.
  if (!words.empty() && words[0].find('=') != std::string::npos) return std::nullopt;
  return words;
}

absl::StatusOr<std::string> SweepFile(const SweepOptions& options,
                                      const std::function<bool(const std::string&)>& is_file) {
  return Writer(options, is_file).Write();
}

}  // namespace dt::cli
