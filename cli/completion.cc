#include "cli/completion.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/metric_rows.h"
#include "cli/session.h"

namespace dt::cli {
namespace {

// One command with the words that may follow it.
struct Entry {
  std::string path;  // "", "get", "get trials"
  const CLI::App* app = nullptr;
};

void Collect(const CLI::App* app, const std::string& path, std::vector<Entry>& entries) {
  entries.push_back({path, app});
  for (const CLI::App* sub : app->get_subcommands({})) {
    Collect(sub, absl::StrCat(path, path.empty() ? "" : " ", sub->get_name()), entries);
  }
}

std::vector<Entry> Walk(const CLI::App& root) {
  std::vector<Entry> entries;
  Collect(&root, "", entries);
  return entries;
}

std::vector<std::string> Options(const CLI::App* app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& letter : option->get_snames()) words.push_back("-" + letter);
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

// Options that take one of a few words, and the words.
struct Choices {
  std::string option;  // its long name
  std::vector<std::string> words;
};

std::vector<Choices> AllChoices() {
  Choices formats{"output", {}};
  for (const Format format : {Format::kTable, Format::kWide, Format::kJson, Format::kYaml,
                              Format::kCsv, Format::kJsonl, Format::kName}) {
    formats.words.emplace_back(FormatWord(format));
  }
  Choices states{"state", {}};
  for (int number = v1::TrialState_MIN + 1; number <= v1::TrialState_MAX; ++number) {
    states.words.push_back(Word(static_cast<v1::TrialState>(number)));
  }
  return {formats,
          states,
          {"for", {"done", "running", "first-step"}},
          {"format", {"html", "md", "csv"}},
          {"metric", MetricNames()},
          {"tokenizer", {"byte"}}};
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) absl::StrAppend(&text, text.empty() ? "" : " ", word);
  return text;
}

// Bash; zsh runs the same function through bashcompinit.
std::string BashScript(const CLI::App& root) {
  std::string cases;
  std::string known;
  for (const Entry& entry : Walk(root)) {
    std::vector<std::string> words;
    for (const CLI::App* sub : entry.app->get_subcommands({})) words.push_back(sub->get_name());
    for (std::string& word : Options(entry.app)) words.push_back(std::move(word));
    if (entry.app != &root) {
      for (std::string& word : Options(&root)) {
        const bool known = std::find(words.begin(), words.end(), word) != words.end();
        if (!known) words.push_back(std::move(word));
      }
    }
    absl::StrAppend(&cases, "    '", entry.path, "') words='", Join(words), "' ;;\n");
    if (!entry.path.empty())
      absl::StrAppend(&known, known.empty() ? "" : "|", "'", entry.path, "'");
  }
  std::string values;
  for (const Choices& one : AllChoices()) {
    absl::StrAppend(&values, "    ", one.option == "output" ? "-o|" : "", "--", one.option,
                    ") words='", Join(one.words), "' ;;\n");
  }
  return absl::StrCat(
      "# Completion of dtctl for bash. Load it with: source <(dtctl completion bash)\n"
      "_dtctl() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} path='' words='' next word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    next=\"${path:+$path }$word\"\n"
      "    case \"$next\" in\n      ",
      known,
      ") path=$next ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$path\" in\n",
      cases,
      "  esac\n"
      "  case \"${COMP_WORDS[COMP_CWORD-1]}\" in\n",
      values,
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  case \"$path:$current\" in\n"
      "    submit:-*|validate:-*) ;;\n"
      "    submit:*|validate:*) COMPREPLY+=($(compgen -f -- \"$current\")) ;;\n"
      "  esac\n"
      "  case \"$path:${COMP_WORDS[COMP_CWORD-1]}\" in\n"
      "    report:-o|report:--output) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
      "  esac\n"
      "}\n"
      "complete -o filenames -F _dtctl dtctl\n");
}

std::string ZshScript(const CLI::App& root) {
  return absl::StrCat("#compdef dtctl\nautoload -U +X bashcompinit && bashcompinit\n",
                      BashScript(root));
}

std::string FishText(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// When fish should offer what follows `path`.
std::string FishCondition(const Entry& entry) {
  if (entry.path.empty()) return "__fish_use_subcommand";
  const size_t space = entry.path.find(' ');
  if (space == std::string::npos) return absl::StrCat("__fish_seen_subcommand_from ", entry.path);
  return absl::StrCat("__fish_seen_subcommand_from ", entry.path.substr(0, space),
                      "; and __fish_seen_subcommand_from ", entry.path.substr(space + 1));
}

std::string FishScript(const CLI::App& root) {
  std::string script =
      "# Completion of dtctl for fish: ~/.config/fish/completions/dtctl.fish\n"
      "complete -c dtctl -f\n";
  for (const Entry& entry : Walk(root)) {
    const std::string condition = FishText(FishCondition(entry));
    for (const CLI::App* sub : entry.app->get_subcommands({})) {
      absl::StrAppend(&script, "complete -c dtctl -n ", condition, " -a ", sub->get_name(), " -d ",
                      FishText(sub->get_description()), "\n");
    }
    for (const CLI::Option* option : entry.app->get_options()) {
      if (option->get_positional()) continue;
      absl::StrAppend(&script, "complete -c dtctl");
      if (entry.app != &root) absl::StrAppend(&script, " -n ", condition);
      for (const std::string& letter : option->get_snames()) {
        absl::StrAppend(&script, " -s ", letter);
      }
      for (const std::string& name : option->get_lnames()) absl::StrAppend(&script, " -l ", name);
      if (option->get_type_size() != 0) script += " -r";
      for (const Choices& one : AllChoices()) {
        if (option->check_lname(one.option)) {
          absl::StrAppend(&script, " -a ", FishText(Join(one.words)));
        }
      }
      absl::StrAppend(&script, " -d ", FishText(option->get_description()), "\n");
    }
  }
  return script + "complete -c dtctl -n '__fish_seen_subcommand_from submit validate' -F\n";
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(const CLI::App& root, const std::string& shell) {
  if (shell == "bash") return BashScript(root);
  if (shell == "zsh") return ZshScript(root);
  if (shell == "fish") return FishScript(root);
  return absl::InvalidArgumentError(
      absl::StrCat("no completion for '", Printable(shell), "'; there is bash, zsh and fish"));
}

}  // namespace dt::cli
