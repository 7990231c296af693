// validate_program.cc: checks the fields that an experiment with a program may set, and those that
// only such a one may set.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/client_trial.h"
#include "common/limits.h"
#include "common/metric_limits.h"
#include "common/network_bench.h"
#include "common/program_variables.h"
#include "common/text.h"
#include "spec/internal.h"
#include "spec/objectives.h"
#include "spec/pattern/line_pattern.h"
#include "spec/program_words.h"
#include "spec/search.h"
#include "spec/warning_codes.h"

namespace dt::spec::internal {
namespace {

class ProgramCheck {
 public:
  ProgramCheck(const v1::ExperimentSpec& spec, std::vector<Issue>& issues)
      : spec_(spec), issues_(issues) {}

  void CheckTrainer() {
    for (const Field& field : FieldTable()) {
      const std::string& path = field.path;
      if (field.use != Use::kProgram || !IsExplicit(spec_, path)) continue;
      Add(path, "conflict", absl::StrCat(path, " is for a program, and this experiment runs none"),
          path == "steps" ? "write train: {max_steps: …}, or set command"
                          : "set command, or remove it");
    }
  }

  void Check() {
    if (!spec_.base().run().empty() && !spec_.base().command().empty()) {
      Add("run", "conflict", "command and run are two ways to say one thing", "keep one");
    }
    RefuseTrainersFields();
    CheckCommand();
    CheckNetworkBench();
    CheckClientTrial(spec_, issues_);
    CheckCode();
    CheckCheckpoints();
    CheckEnv();
    CheckTimeout();
    CheckMetrics();
    CheckEnvironment(spec_, issues_);
    CheckSearch();
    CheckMacros();
    CheckAlwaysThere();
  }

 private:
  void Add(std::string path, std::string code, std::string message, std::string hint = "") {
    issues_.push_back({std::move(path), std::move(code), std::move(message), std::move(hint)});
  }

  // Reports a section once if every field of it is the trainer's.
  void RefuseTrainersFields() {
    std::set<std::string> said;
    for (const std::string& path : spec_.explicit_paths()) {
      const Field* field = FindField(path);
      if (field == nullptr || field->use != Use::kTrainer) continue;
      const std::string section = path.substr(0, path.find('.'));
      const bool whole =
          std::all_of(FieldTable().begin(), FieldTable().end(), [&](const Field& each) {
            return !absl::StartsWith(each.path, section + ".") || each.use == Use::kTrainer;
          });
      const std::string subject = whole ? section : path;
      if (!said.insert(subject).second) continue;
      Add(subject, "conflict",
          absl::StrCat(subject, " is for dtrain's own trainer; this experiment runs a command"),
          "pass it as a parameter, or remove it");
    }
  }

  void CheckCommand() {
    const auto& words = spec_.base().command();
    if (IsExplicit(spec_, "command") && words.empty()) {
      Add("command", "empty", "command has no words", "for example: command: [python3, train.py]");
      return;
    }
    size_t bytes = 0;
    for (int i = 0; i < words.size(); ++i) {
      bytes += words[i].size();
      const std::string problem = TextProblem(words[i], limits::kCommandBytes, Lines::kMany);
      if (!problem.empty()) {
        const std::string at = absl::StrCat("command[", i, "]");
        Add(at, "bad_text", absl::StrCat(at, " ", problem));
      }
    }
    if (!words.empty() && words[0].empty()) {
      Add("command[0]", "empty", "command[0] is empty", "write the program's name or path");
    }
    if (bytes > limits::kCommandBytes) {
      Add("command", "too_large",
          absl::StrCat("command has ", bytes, " bytes; at most ", limits::kCommandBytes,
                       " are allowed"),
          "put them into a script");
    }
  }

  // Checks the network benchmark, which runs in dtrain's own trainer, also on workers that run no
  // programs.
  void CheckNetworkBench() {
    if (!IsNetworkBench(spec_.base().command())) return;
    for (const char* path : {"workdir", "code", "checkpoint.folder"}) {
      if (!IsExplicit(spec_, path)) continue;
      Add(path, "conflict",
          absl::StrCat(path, " is for a program, and ", std::string(kNetworkBenchWord),
                       " is not one: dtrain's own trainer measures"),
          "remove it");
    }
  }

  void CheckTimeout() {
    const std::string& text = spec_.base().timeout().report();
    if (text.empty() || text == "auto" || text == "never") return;
    absl::Duration limit;
    const bool in_range = absl::ParseDuration(text, &limit) &&
                          limit >= limits::kReportTimeoutLeast &&
                          limit <= limits::kReportTimeoutMost;
    if (in_range) return;
    Add("timeout.report", "out_of_range",
        absl::StrCat("timeout.report is '", Printable(CleanText(text, 64)),
                     "'; it is auto, never, or a time from ",
                     absl::FormatDuration(limits::kReportTimeoutLeast), " to ",
                     absl::FormatDuration(limits::kReportTimeoutMost), " with its unit"),
        "for example: timeout: {report: 5m}");
  }

  void CheckMetrics() {
    const v1::Metrics& metrics = spec_.base().metrics();
    if (IsExplicit(spec_, "metrics.pattern") && metrics.pattern().empty()) {
      Add("metrics.pattern", "empty", "metrics.pattern has no patterns",
          "for example: metrics: {pattern: 'step {step}: loss {loss}'}");
    }
    if (metrics.pattern_size() > limits::kMetricPatterns) {
      Add("metrics.pattern", "too_many",
          absl::StrCat("metrics.pattern has ", metrics.pattern_size(), " patterns; at most ",
                       limits::kMetricPatterns, " are allowed"));
      return;
    }
    for (int i = 0; i < metrics.pattern_size(); ++i) {
      if (IsNamedShape(metrics.pattern(i))) continue;
      const auto made = LinePattern::Make(metrics.pattern(i));
      if (made.ok()) continue;
      const std::string at = metrics.pattern_size() == 1 ? "metrics.pattern"
                                                         : absl::StrCat("metrics.pattern[", i, "]");
      const std::string text(made.status().message());
      const size_t cut = text.rfind("; ");
      Add(at, "bad_text", absl::StrCat(at, ": ", text.substr(0, cut)),
          cut == std::string::npos ? "" : text.substr(cut + 2));
    }
    for (const auto& [path, text] :
         {std::pair<const char*, const std::string&>("metrics.file", metrics.file()),
          {"metrics.tensorboard", metrics.tensorboard()}}) {
      const std::string problem = TextProblem(text, limits::kCodePathBytes, Lines::kOne);
      if (!problem.empty()) Add(path, "bad_text", absl::StrCat(path, " ", problem));
    }
  }

  static bool IsOutside(const std::string& pattern) {
    return pattern.empty() || pattern[0] == '/' ||
           absl::StrContains(absl::StrCat("/", pattern, "/"), "/../");
  }

  void CheckCheckpoints() {
    if (!IsExplicit(spec_, "checkpoint.folder")) return;
    const std::string& folder = spec_.base().checkpoint().folder();
    const std::string problem = TextProblem(folder, limits::kCodePathBytes, Lines::kOne);
    if (!problem.empty()) {
      Add("checkpoint.folder", "bad_text", absl::StrCat("checkpoint.folder ", problem));
    } else if (IsOutside(folder) || folder == "--") {
      Add("checkpoint.folder", "out_of_range",
          absl::StrCat("checkpoint.folder ", Quote(folder),
                       " is not below the folder in which the program starts"),
          "write a path relative to that, such as out, and let the program save there");
    }
  }

  void CheckCode() {
    const std::string& folder = spec_.base().code();
    if (folder.empty() && !spec_.base().code_include().empty()) {
      Add("code_include", "conflict", "code_include needs code, which is not set",
          "write code: {folder: ., include: [data/*.bin]}");
    }
    if (spec_.base().code_include_size() > limits::kCodePatterns) {
      Add("code_include", "too_many",
          absl::StrCat("code_include has ", spec_.base().code_include_size(), " patterns; at most ",
                       limits::kCodePatterns, " are allowed"));
      return;
    }
    for (int i = 0; i < spec_.base().code_include_size(); ++i) {
      const std::string at = absl::StrCat("code_include[", i, "]");
      const std::string& pattern = spec_.base().code_include(i);
      const std::string problem = TextProblem(pattern, limits::kCodePathBytes, Lines::kOne);
      if (!problem.empty()) Add(at, "bad_text", absl::StrCat(at, " ", problem));
      if (IsOutside(pattern)) {
        Add(at, "out_of_range", absl::StrCat(at, " ", Quote(pattern), " is not below the folder"),
            "write a pattern relative to the folder of code, such as data/*.bin");
      }
    }
    if (folder.empty() || folder[0] != '/') return;
    Add("code", "out_of_range", absl::StrCat("code ", Quote(folder), " is an absolute path"),
        "write it relative to this file");
  }

  void CheckEnv() {
    for (const v1::Label& variable : spec_.base().resources().env()) {
      const std::string& name = variable.key();
      const std::string at = absl::StrCat("resources.env.", name);
      const bool word = !name.empty() &&
                        !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
                        std::all_of(name.begin(), name.end(), [](char c) {
                          return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c));
                        });
      if (!word) {
        Add(at, "bad_name", absl::StrCat("resources.env ", Quote(name), " may not be set"),
            "a name has letters, digits and _, and no digit first");
      } else if (IsVariableOfWorker(name)) {
        Add(at, "bad_name",
            absl::StrCat("resources.env ", Quote(name), " may not be set: the worker decides it"),
            "remove it");
      }
    }
  }

  void CheckSearch() {
    const bool swept = IsSwept(spec_, "steps");
    const std::string& method = spec_.search().method();
    const bool compares = method == "asha" || method == "pbt";
    if (compares && spec_.base().steps() <= 0 && !swept) {
      Add("steps", "missing",
          absl::StrCat("steps is missing; the rungs of ", method, " are shares of it"),
          "add: steps: 100, the last step that the program reports");
    }
    const bool limits_loss = spec_.base().stop().max_loss() > 0 || IsSwept(spec_, "stop.max_loss");
    const bool one = !HasSeveralObjectives(spec_.search());
    if (limits_loss && one && GoalOf(spec_.search()) == "maximize") {
      Add("stop.max_loss", "conflict",
          absl::StrCat("stop.max_loss is a bound of search.metric here, and ",
                       spec_.search().metric(), " is maximized"),
          "use stop.patience or stop.median");
    }
  }

  // Refuses W&B's macros that have no meaning here.
  void CheckMacros() {
    const auto& words = spec_.base().command();
    for (int i = 0; i < words.size(); ++i) {
      const auto found = std::find(kMacrosRefused.begin(), kMacrosRefused.end(), words[i]);
      if (found == kMacrosRefused.end()) continue;
      const std::string at = absl::StrCat("command[", i, "]");
      Add(at, "not_available", absl::StrCat(at, ": ", Quote(*found), " has no meaning here"),
          *found == "${program}" ? "write the name of the script"
                                 : "write ${args_json}, or ${args}");
    }
  }

  // Refuses conditional parameters where something must stand in every trial.
  void CheckAlwaysThere() {
    const NameSet conditional = InactiveNames(spec_, {});
    if (conditional.empty()) return;
    const v1::Spec& base = spec_.base();
    for (const auto& [path, text] : std::initializer_list<std::pair<const char*, std::string>>{
             {"command[0]", base.command().empty() ? "" : base.command(0)},
             {"workdir", base.workdir()},
             {"metrics.file", base.metrics().file()},
             {"metrics.tensorboard", base.metrics().tensorboard()},
             {"checkpoint.folder", base.checkpoint().folder()}}) {
      if (!NamesAny(text, conditional)) continue;
      Add(path, "conflict",
          absl::StrCat(path, " names a parameter with `when`, which not every trial has"),
          "name it in another word of command, in run, or in resources.env");
    }
  }

  const v1::ExperimentSpec& spec_;
  std::vector<Issue>& issues_;
};

// Returns every text that may hold values, with its path.
std::vector<std::pair<std::string, std::string>> TextsOf(const v1::Spec& base) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (int i = 0; i < base.command_size(); ++i) {
    texts.emplace_back(absl::StrCat("command[", i, "]"), base.command(i));
  }
  if (!base.run().empty()) texts.emplace_back("run", base.run());
  if (!base.workdir().empty()) texts.emplace_back("workdir", base.workdir());
  for (const v1::Label& variable : base.resources().env()) {
    texts.emplace_back(absl::StrCat("resources.env.", variable.key()), variable.value());
  }
  return texts;
}

// Returns whether the text is several numbers with commas or colons between them.
bool IsListOfNumbers(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::ByAnyChar(",:"));
  return parts.size() > 1 && std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           double number = 0;
           return absl::SimpleAtod(part, &number);
         });
}

// Returns whether a word of a command gives an option the value of a parameter: --lr={lr}.
bool GivesOption(const std::string& word, const std::string& name) {
  return absl::StartsWith(word, "-") && absl::EndsWith(word, absl::StrCat("={", name, "}"));
}

// Warns of sweeps written as texts, such as Hydra's: here each would be one value, and the only
// one.
void QuestionSweepTexts(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  constexpr std::array<const char*, 7> kSweeps{"interval(", "choice(",     "range(",  "uniform(",
                                               "randint(",  "loguniform(", "shuffle("};
  for (const v1::Parameter& parameter : spec.parameters()) {
    if (parameter.has_range() || parameter.values_size() != 1) continue;
    const std::string& text = parameter.values(0).text();
    const bool sweep = absl::EndsWith(text, ")") &&
                       std::any_of(kSweeps.begin(), kSweeps.end(), [&text](const char* begin) {
                         return absl::StartsWith(text, begin);
                       });
    if (!sweep && !IsListOfNumbers(text)) continue;
    const std::string where = absl::StrCat("parameters.", parameter.path());
    issues.push_back({where, "unlikely",
                      absl::StrCat(where, " is the text ", Quote(text), ", its only value"),
                      "to try several, write {min: 0.1, max: 1}, or [1, 2, 3]"});
  }
}

}  // namespace

void CheckProgram(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  ProgramCheck check(spec, issues);
  if (IsProgram(spec)) {
    check.Check();
  } else {
    check.CheckTrainer();
  }
}

void QuestionProgram(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  const auto& command = spec.base().command();
  if (!IsProgram(spec) || IsNetworkBench(command) || IsClientTrial(command)) return;
  QuestionSweepTexts(spec, issues);
  NamedValues values;
  std::vector<std::string> names = {"seed"};
  for (const v1::Parameter& parameter : spec.parameters()) {
    values[parameter.path()];
    names.push_back(parameter.path());
  }
  values["seed"];
  std::set<std::string> used;
  bool all = false;
  for (const auto& [at, text] : TextsOf(spec.base())) {
    all = all || (absl::StartsWith(at, "command") && NamesAllParameters(text));
    const absl::StatusOr<Substitution> found = Substituted(text, values);
    if (!found.ok()) continue;
    used.insert(found->used.begin(), found->used.end());
    for (const std::string& name : found->unknown) {
      const std::string near = Suggest(name, names);
      if (near.empty() && !GivesOption(text, name)) continue;
      issues.push_back({at, "unlikely",
                        absl::StrCat(at, ": '{", name, "}' names no parameter, and stays as it is"),
                        near.empty() ? absl::StrCat("add ", name, " to parameters")
                                     : absl::StrCat("did you mean '{", near, "}'?")});
    }
    const bool macro = at == "run" && absl::StrContains(text, "${args}");
    if (macro && !absl::StrContains(text, "args=")) {
      issues.push_back({at, "unlikely",
                        "run: '${args}' is a variable of the shell there, and empty",
                        "write --name={name} for each parameter, or use command, where ${args} is "
                        "all of them"});
    }
  }
  std::string unseen;
  size_t count = 0;
  for (const v1::Parameter& parameter : spec.parameters()) {
    const bool swept = parameter.has_range() || parameter.values_size() > 1;
    const Field* field = FindField(parameter.path());
    const bool own = field == nullptr || field->use == Use::kTrainer;
    if (all || !swept || !own || used.contains(parameter.path())) continue;
    absl::StrAppend(&unseen, count++ == 0 ? "" : ", ", parameter.path());
  }
  if (unseen.empty()) return;
  const char* what = spec.base().run().empty() ? "command" : "run";
  issues.push_back({what, std::string(kUnnamedParameter),
                    absl::StrCat("nothing in ", what, " names ", unseen, "; the program finds ",
                                 count == 1 ? "it" : "them",
                                 " only in dtrain.parameters() and DTRAIN_PARAMETERS"),
                    "if it does not look there, write --name={name}, or ${args} as a word of "
                    "command"});
}

void CheckOwnParameters(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  if (!IsProgram(spec)) return;
  for (const v1::Parameter& parameter : spec.parameters()) {
    if (IsName(parameter.path(), NameKind::kParameter)) continue;
    const std::string where = absl::StrCat("parameters.", parameter.path());
    issues.push_back({where, "bad_name",
                      absl::StrCat("parameters ", Quote(parameter.path()), " is not a name"),
                      "a name has letters, digits, _, . and -, and a letter or _ first"});
  }
  const ParameterFields fields(spec);
  for (const std::string& path : fields.mixed()) {
    const std::string where = absl::StrCat("parameters.", path);
    issues.push_back(
        {where, "wrong_type",
         absl::StrCat(where, " mixes values of several types, such as texts and numbers"),
         "write all of them in quotes, as texts"});
  }
}

}  // namespace dt::spec::internal
