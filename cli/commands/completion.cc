#include "cli/commands/completion.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/remote/session.h"
#include "cli/view/format.h"

namespace dt::cli {
namespace {

// What stands for the value of -o where it is how to print, and no file.
constexpr char kFormatText[] = "FORMAT";

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

std::vector<Entry> Walk(const CommandTree& tree) {
  std::vector<Entry> entries;
  Collect(&tree.app(), "", entries);
  return entries;
}

std::vector<std::string> NamesOf(const CLI::Option* option) {
  std::vector<std::string> words;
  for (const std::string& letter : option->get_snames()) words.push_back("-" + letter);
  for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  return words;
}

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// An option by those of its names that a command takes it by.
struct NamedOption {
  const CLI::Option* option;
  std::vector<std::string> names;
};

// The options of a command, then those of every command, by the names that it does not use itself.
std::vector<NamedOption> OptionsOf(const CommandTree& tree, const Entry& entry) {
  std::vector<NamedOption> options;
  std::vector<std::string> names;
  std::vector<const CLI::App*> levels = {entry.app};
  if (entry.app != &tree.app()) levels.push_back(&tree.app());
  for (const CLI::App* level : levels) {
    for (const CLI::Option* option : level->get_options()) {
      if (option->get_positional()) continue;
      std::vector<std::string> own = NamesOf(option);
      std::erase_if(own, [&](const std::string& name) { return Has(names, name); });
      if (own.empty()) continue;
      names.insert(names.end(), own.begin(), own.end());
      options.push_back({option, std::move(own)});
    }
  }
  return options;
}

// What may stand for an option's value or an argument.
struct Values {
  std::vector<std::string> words;
  bool files = false;
};

Values ValuesOf(const CommandTree& tree, const Entry& entry, const CLI::Option* option) {
  Values values{tree.WordsOf(option), false};
  const std::string name =
      option->get_positional() ? option->get_name() : option->get_option_text();
  values.files = Has({"FILE", "DIR", "PATH", "CHECKPOINT"}, name);
  if (name == kFormatText) {
    const Command* command = tree.Find(entry.app);
    if (command == nullptr) return values;
    for (const Format format : command->formats) values.words.emplace_back(FormatWord(format));
  }
  return values;
}

Values ArgumentsOf(const CommandTree& tree, const Entry& entry) {
  Values all;
  for (const CLI::Option* option : entry.app->get_options()) {
    if (!option->get_positional()) continue;
    const Values values = ValuesOf(tree, entry, option);
    all.words.insert(all.words.end(), values.words.begin(), values.words.end());
    all.files = all.files || values.files;
  }
  return all;
}

// What a branch of the script's `case` sets.
std::string Settings(const Values& values) {
  return absl::StrCat(") words='", absl::StrJoin(values.words, " "), "' files='",
                      values.files ? "yes" : "", "' ;;\n");
}

// Bash; zsh runs the same function through bashcompinit.
std::string BashScript(const CommandTree& tree) {
  std::string cases;
  std::string values;
  std::vector<std::string> known;
  for (const Entry& entry : Walk(tree)) {
    Values after = ArgumentsOf(tree, entry);
    for (const CLI::App* sub : entry.app->get_subcommands({})) {
      after.words.push_back(sub->get_name());
    }
    for (const auto& [option, names] : OptionsOf(tree, entry)) {
      after.words.insert(after.words.end(), names.begin(), names.end());
      if (option->get_items_expected_max() == 0) continue;
      absl::StrAppend(&values, "    ",
                      absl::StrJoin(names, "|",
                                    [&](std::string* text, const std::string& name) {
                                      absl::StrAppend(text, "'", entry.path, ":", name, "'");
                                    }),
                      Settings(ValuesOf(tree, entry, option)));
    }
    absl::StrAppend(&cases, "    '", entry.path, "'", Settings(after));
    if (!entry.path.empty()) known.push_back(absl::StrCat("'", entry.path, "'"));
  }
  return absl::StrCat(
      "# Completion of dtctl for bash. Load it with: source <(dtctl completion bash)\n"
      "_dtctl() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} path='' words='' files='' next word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    next=\"${path:+$path }$word\"\n"
      "    case \"$next\" in\n      ",
      absl::StrJoin(known, "|"),
      ") path=$next ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$path\" in\n",
      cases,
      "  esac\n"
      "  case \"$path:${COMP_WORDS[COMP_CWORD-1]}\" in\n",
      values,
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  case \"$files:$current\" in\n"
      "    :*|yes:-*) ;;\n"
      "    *) COMPREPLY+=($(compgen -f -- \"$current\")) ;;\n"
      "  esac\n"
      "}\n"
      "complete -o filenames -F _dtctl dtctl\n");
}

std::string ZshScript(const CommandTree& tree) {
  return absl::StrCat("#compdef dtctl\nautoload -U +X bashcompinit && bashcompinit\n",
                      BashScript(tree));
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

std::string FishValues(const Values& values) {
  return absl::StrCat(
      values.files ? " -F" : "",
      values.words.empty() ? "" : absl::StrCat(" -a ", FishText(absl::StrJoin(values.words, " "))));
}

std::string FishScript(const CommandTree& tree) {
  std::string script =
      "# Completion of dtctl for fish: ~/.config/fish/completions/dtctl.fish\n"
      "complete -c dtctl -f\n";
  for (const Entry& entry : Walk(tree)) {
    const std::string begin = absl::StrCat("complete -c dtctl -n ", FishText(FishCondition(entry)));
    for (const CLI::App* sub : entry.app->get_subcommands({})) {
      absl::StrAppend(&script, begin, " -a ", sub->get_name(), " -d ",
                      FishText(sub->get_description()), "\n");
    }
    const std::string arguments = FishValues(ArgumentsOf(tree, entry));
    if (!arguments.empty()) absl::StrAppend(&script, begin, arguments, "\n");
    for (const auto& [option, names] : OptionsOf(tree, entry)) {
      // An option of every command is given once, but for the format: each prints its own.
      const auto root = tree.app().get_options();
      const bool shared = option->get_option_text() != kFormatText &&
                          std::find(root.begin(), root.end(), option) != root.end();
      if (shared && !entry.path.empty()) continue;
      absl::StrAppend(&script, shared ? "complete -c dtctl" : begin);
      for (const std::string& name : names) {
        const bool is_long = name.starts_with("--");
        absl::StrAppend(&script, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
      }
      if (option->get_items_expected_max() != 0) {
        absl::StrAppend(&script, " -r", FishValues(ValuesOf(tree, entry, option)));
      }
      absl::StrAppend(&script, " -d ", FishText(option->get_description()), "\n");
    }
  }
  return script;
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(const CommandTree& tree, const std::string& shell) {
  if (shell == "bash") return BashScript(tree);
  if (shell == "zsh") return ZshScript(tree);
  if (shell == "fish") return FishScript(tree);
  return absl::InvalidArgumentError(
      absl::StrCat("no completion for '", Printable(shell), "'; there is bash, zsh and fish"));
}

}  // namespace dt::cli
