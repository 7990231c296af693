// validate_program.cc: what an experiment may say that runs a program of the person's, and what
// only such a one may say.
#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/network_bench.h"
#include "common/program_variables.h"
#include "spec/internal.h"
#include "spec/search.h"

namespace dt::spec::internal {
namespace {

class ProgramCheck {
 public:
  ProgramCheck(const v1::ExperimentSpec& spec, std::vector<Issue>& issues)
      : spec_(spec), issues_(issues) {}

  void CheckTrainer() {
    for (const char* path : {"workdir", "code", "steps"}) {
      if (!IsExplicit(spec_, path)) continue;
      Add(path, "conflict", absl::StrCat(path, " is for a program, and this experiment runs none"),
          std::string_view(path) == "steps" ? "write train: {max_steps: …}, or set command"
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
    CheckCode();
    CheckEnv();
    CheckSearch();
    CheckNames();
  }

 private:
  void Add(std::string path, std::string code, std::string message, std::string hint = "") {
    issues_.push_back({std::move(path), std::move(code), std::move(message), std::move(hint)});
  }

  // Once for a section of which every field is the trainer's.
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

  // It runs in dtrain's own trainer, on workers too that run no programs.
  void CheckNetworkBench() {
    if (!IsNetworkBench(spec_.base().command())) return;
    for (const char* path : {"workdir", "code"}) {
      if (!IsExplicit(spec_, path)) continue;
      Add(path, "conflict",
          absl::StrCat(path, " is for a program, and ", std::string(kNetworkBenchWord),
                       " is none: dtrain's own trainer measures"),
          "remove it");
    }
  }

  void CheckCode() {
    const std::string& folder = spec_.base().code();
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
    if (limits_loss && GoalOf(spec_.search()) == "maximize") {
      Add("stop.max_loss", "conflict",
          absl::StrCat("stop.max_loss is a bound of search.metric here, and ",
                       spec_.search().metric(), " is maximized"),
          "use stop.patience or stop.median");
    }
  }

  // Every {name} is known.
  void CheckNames() {
    NamedValues values;
    for (const v1::Parameter& parameter : spec_.parameters()) values[parameter.path()];
    values["seed"];
    const auto check = [&](const std::string& at, const std::string& text) {
      const absl::StatusOr<std::string> result = Substituted(text, values);
      if (result.ok()) return;
      std::string message(result.status().message());
      const size_t hint = message.rfind("; ");
      Add(at, "unknown_parameter", absl::StrCat(at, ": ", message.substr(0, hint)),
          hint == std::string::npos ? "" : message.substr(hint + 2));
    };
    const v1::Spec& base = spec_.base();
    for (int i = 0; i < base.command_size(); ++i) {
      check(absl::StrCat("command[", i, "]"), base.command(i));
    }
    check("run", base.run());
    check("workdir", base.workdir());
    for (const v1::Label& variable : base.resources().env()) {
      check(absl::StrCat("resources.env.", variable.key()), variable.value());
    }
  }

  const v1::ExperimentSpec& spec_;
  std::vector<Issue>& issues_;
};

}  // namespace

void CheckProgram(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  ProgramCheck check(spec, issues);
  if (IsProgram(spec)) {
    check.Check();
  } else {
    check.CheckTrainer();
  }
}

void CheckOwnParameters(const v1::ExperimentSpec& spec, std::vector<Issue>& issues) {
  if (!IsProgram(spec)) return;
  for (const v1::Parameter& parameter : spec.parameters()) {
    if (IsName(parameter.path(), NameOf::kParameter)) continue;
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
