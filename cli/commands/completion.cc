#include "cli/commands/completion.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/remote/contexts.h"
#include "cli/view/json.h"
#include "cli/view/trial_table.h"
#include "cli/view/words.h"
#include "common/limits.h"

namespace dt::cli {
namespace {

constexpr char kFilesLine[] = ":files";
// Name of the value of -o where it is a format, not a file.
constexpr char kFormatText[] = "FORMAT";
// Upper bound on the candidates: nobody reads more.
constexpr size_t kThingsShown = 100;

constexpr char kBash[] =
    R"(# Completion of dtctl for bash. Load it with: source <(dtctl completion bash)
_dtctl() {
  local line word files='' current=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]/#\~/$HOME}
  COMPREPLY=()
  [[ $current == [=:]* ]] && current=''
  while IFS= read -r line; do
    if [ "$line" = :files ]; then
      files=yes
    else
      printf -v word %q "${line%%$'\t'*}"
      COMPREPLY+=("$word")
    fi
  done < <("$program" __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
  elif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -F _dtctl dtctl
)";

constexpr char kZsh[] = R"(#compdef dtctl
# Completion of dtctl for zsh: a file _dtctl in a folder of $fpath, or: source <(dtctl completion zsh)
_dtctl() {
  local line word files=''
  local -a described open
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      files=yes
      continue
    fi
    word=${line%%$'\t'*}
    if [[ $word == */ ]]; then
      open+=("$word")
    else
      described+=("${word//:/\\:}:${line#*$'\t'}")
    fi
  done < <(${~${(Q)words[1]}} __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( $#open )) && compadd -S '' -- "${open[@]}"
  (( $#described )) && _describe -V dtctl described
  [[ -n $files ]] && _files
}
if [[ ${funcstack[1]} == _dtctl ]]; then _dtctl "$@"; else compdef _dtctl dtctl; fi
)";

constexpr char kFish[] = R"(# Completion of dtctl for fish: ~/.config/fish/completions/dtctl.fish
function __dtctl_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete fish $words[2..-1] 2>/dev/null
end
complete -c dtctl -f -a '(__dtctl_complete | string match -v :files)'
complete -c dtctl -n '__dtctl_complete | string match -q :files' -F
)";

bool TakesValue(const CLI::Option* option) { return option->get_items_expected_max() != 0; }

// Returns the command's option of that name: its own first, then a shared one.
const CLI::Option* FindOption(const CommandTree& tree, const CLI::App* app,
                              const std::string& name) {
  for (const CLI::App* level : {app, &tree.app()}) {
    for (const CLI::Option* option : level->get_options()) {
      if (!option->get_positional() && option->check_name(name)) return option;
    }
  }
  return nullptr;
}

// Words of a command line before the one that is being typed.
struct ParsedLine {
  const CLI::App* app = nullptr;
  const CLI::Option* option = nullptr;  // its value is next, or null
  size_t arguments = 0;                 // written after the command
  CoordinatorFlags flags;
};

void TakeFlag(const std::string& name, const std::string& value, CoordinatorFlags& flags) {
  if (name == "--address") flags.address = value;
  if (name == "--context") flags.context = value;
  if (name == "--tls-ca") flags.tls.ca = value;
  if (name == "--tls-cert") flags.tls.cert = value;
  if (name == "--tls-key") flags.tls.key = value;
  if (name == "--token-file") flags.token_file = value;
}

const CLI::App* FindCommand(const CLI::App* app, const std::string& word) {
  for (const CLI::App* sub : app->get_subcommands({})) {
    if (sub->check_name(word)) return sub;
  }
  return nullptr;
}

// Reads every word except the last.
ParsedLine Read(const CommandTree& tree, const std::vector<std::string>& words) {
  ParsedLine parsed;
  parsed.app = &tree.app();
  std::string name;  // of parsed.option
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (parsed.option != nullptr) {
      TakeFlag(name, word, parsed.flags);
      parsed.option = nullptr;
    } else if (word.size() > 1 && word[0] == '-') {
      const size_t equals = word.find('=');
      name = word.substr(0, equals);
      const CLI::Option* option = FindOption(tree, parsed.app, name);
      if (equals != std::string::npos) {
        TakeFlag(name, word.substr(equals + 1), parsed.flags);
      } else if (option != nullptr && TakesValue(option)) {
        parsed.option = option;
      }
    } else if (const CLI::App* sub = FindCommand(parsed.app, word); sub != nullptr) {
      parsed.app = sub;
    } else {
      ++parsed.arguments;
    }
  }
  return parsed;
}

// Returns the candidates for an option's value or an argument.
Candidates ValuesOf(const CommandTree& tree, const ParsedLine& parsed, const CLI::Option* option,
                    const std::string& typed, const LookUp& look_up) {
  static const std::vector<std::pair<std::string, NameSource>> kNameSources = {
      {"SEL", NameSource::kExperimentOrTrial}, {"EXP", NameSource::kExperiment},
      {"OTHER", NameSource::kExperiment},      {"TRIAL", NameSource::kTrial},
      {"KEY=VALUE", NameSource::kLabel},       {"CONTEXT", NameSource::kContext},
      {"WORKER", NameSource::kWorker}};
  Candidates values;
  for (const std::string& word : tree.WordsOf(option)) values.words.push_back({word, ""});
  const std::string name =
      option->get_positional() ? option->get_name() : option->get_option_text();
  for (const char* file : {"FILE", "DIR", "PATH", "CHECKPOINT"}) {
    values.files = values.files || name == file;
  }
  for (const auto& [text, source] : kNameSources) {
    if (name == text) values.words = look_up(source, typed, parsed.flags);
  }
  const Command* command = tree.Find(parsed.app);
  if (name == kFormatText && command != nullptr) {
    for (const Format format : command->formats) {
      values.words.push_back({std::string(FormatWord(format)), ""});
    }
  }
  return values;
}

void AppendOptions(const CommandTree& tree, const CLI::App* app, std::vector<Candidate>& words) {
  const auto append = [&words](const std::string& name, const CLI::Option* option) {
    const bool known = std::any_of(words.begin(), words.end(),
                                   [&](const Candidate& one) { return one.word == name; });
    if (!known) words.push_back({name, option->get_description()});
  };
  for (const CLI::App* level : {app, &tree.app()}) {
    for (const CLI::Option* option : level->get_options()) {
      if (option->get_positional()) continue;
      for (const std::string& name : option->get_lnames()) append("--" + name, option);
      for (const std::string& letter : option->get_snames()) append("-" + letter, option);
    }
  }
}

Candidates ArgumentOf(const CommandTree& tree, const ParsedLine& parsed, const std::string& typed,
                      const LookUp& look_up) {
  std::vector<const CLI::Option*> arguments;
  for (const CLI::Option* option : parsed.app->get_options()) {
    if (option->get_positional()) arguments.push_back(option);
  }
  if (arguments.empty()) return {};
  const bool repeated = arguments.back()->get_items_expected_max() > 1;
  if (parsed.arguments >= arguments.size() && !repeated) return {};
  return ValuesOf(tree, parsed, arguments[std::min(parsed.arguments, arguments.size() - 1)], typed,
                  look_up);
}

// Characters at which bash ends a word: "-l", "team", "=", "vis"; "--address", "127.0.0.1", ":",
// "7600".
constexpr char kBreaksOfBash[] = "=:";

std::vector<std::string> Joined(const std::vector<std::string>& words) {
  std::vector<std::string> joined;
  bool open = false;  // the last one ends with such a character
  for (const std::string& word : words) {
    const bool is_break =
        !word.empty() && word.find_first_not_of(kBreaksOfBash) == std::string::npos;
    if (joined.empty() || (!is_break && !open)) {
      joined.push_back(word);
    } else {
      joined.back() += word;
    }
    open = is_break;
  }
  return joined;
}

std::vector<Candidate> TrialsOf(Client& client, const std::string& experiment) {
  std::vector<Candidate> words;
  const absl::StatusOr<Selector> selector = ParseSelector(experiment);
  if (!selector.ok()) return words;
  const auto trials = client.ListTrials(Select<v1::ListTrialsRequest>(*selector));
  if (!trials.ok()) return words;
  for (const v1::TrialSummary& trial : *trials) {
    if (words.size() == kThingsShown) break;
    words.push_back({absl::StrCat(experiment, "/", trial.trial()),
                     absl::StrCat(StateCell(trial).text, "  ", AssignmentsText(trial))});
  }
  return words;
}

std::vector<Candidate> WorkersOf(Client& client) {
  std::vector<Candidate> words;
  const auto workers = client.ListWorkers();
  if (!workers.ok()) return words;
  for (const v1::WorkerSummary& worker : *workers) {
    if (words.size() == kThingsShown) break;
    words.push_back({worker.worker(), worker.mark().empty() ? worker.state() : worker.mark()});
  }
  return words;
}

std::vector<Candidate> LabelsOf(const std::vector<v1::ExperimentSummary>& experiments) {
  std::vector<Candidate> words;
  for (const v1::ExperimentSummary& experiment : experiments) {
    for (const v1::Label& label : experiment.labels()) {
      const std::string word = absl::StrCat(label.key(), "=", label.value());
      const bool known = std::any_of(words.begin(), words.end(),
                                     [&](const Candidate& one) { return one.word == word; });
      if (!known && words.size() < kThingsShown) words.push_back({word, "label"});
    }
  }
  return words;
}

}  // namespace

Candidates Complete(const CommandTree& tree, const std::vector<std::string>& words,
                    const LookUp& look_up) {
  const std::string typed = words.empty() ? "" : words.back();
  const ParsedLine parsed = Read(tree, words);
  Candidates found;
  const size_t equals = absl::StartsWith(typed, "--") ? typed.find('=') : std::string::npos;
  if (parsed.option != nullptr) {
    found = ValuesOf(tree, parsed, parsed.option, typed, look_up);
  } else if (equals != std::string::npos) {
    const CLI::Option* option = FindOption(tree, parsed.app, typed.substr(0, equals));
    if (option == nullptr) return {};
    found = ValuesOf(tree, parsed, option, typed.substr(equals + 1), look_up);
    for (Candidate& one : found.words) one.word.insert(0, typed.substr(0, equals + 1));
  } else if (absl::StartsWith(typed, "-")) {
    AppendOptions(tree, parsed.app, found.words);
  } else if (!parsed.app->get_subcommands({}).empty()) {
    for (const CLI::App* sub : parsed.app->get_subcommands({})) {
      found.words.push_back({sub->get_name(), sub->get_description()});
    }
  } else {
    found = ArgumentOf(tree, parsed, typed, look_up);
  }
  std::erase_if(found.words, [&](const Candidate& one) {
    return !absl::StartsWith(one.word, typed) || Printable(one.word) != one.word;
  });
  return found;
}

std::vector<Candidate> LookUpNames(NameSource source, const std::string& typed,
                                   const CoordinatorFlags& flags, const Terminal& terminal,
                                   const Interrupt& interrupt) {
  std::vector<Candidate> words;
  if (source == NameSource::kContext) {
    const auto contexts = ReadContexts(ContextsPath(terminal.environment));
    if (!contexts.ok()) return words;
    for (const Context& one : contexts->list) words.push_back({one.name, one.address});
    return words;
  }
  const bool of_experiments = source != NameSource::kLabel && source != NameSource::kWorker;
  if (of_experiments) {
    words.push_back({source == NameSource::kTrial ? "last/" : "last", "the newest experiment"});
  }
  absl::StatusOr<ClientOptions> options = ChooseCoordinator(flags, terminal.environment);
  if (!options.ok()) return words;
  options->deadline = limits::kCompletionDeadline;
  const auto client = Client::Make(*options, interrupt);
  if (!client.ok()) return words;
  const size_t slash = typed.find('/');
  if (slash != std::string::npos && of_experiments) {
    return TrialsOf(**client, typed.substr(0, slash));
  }
  if (source == NameSource::kWorker) return WorkersOf(**client);
  const auto experiments = (*client)->ListExperiments({});
  if (!experiments.ok()) return words;
  if (source == NameSource::kLabel) return LabelsOf(*experiments);
  for (auto one = experiments->rbegin(); one != experiments->rend(); ++one) {
    if (words.size() >= kThingsShown) break;
    words.push_back({absl::StrCat(one->experiment(), source == NameSource::kTrial ? "/" : ""),
                     absl::StrCat(one->name(), ", ", Word(one->state()))});
  }
  return words;
}

int RunComplete(const CommandTree& tree, const std::vector<std::string>& arguments,
                const Terminal& terminal, const Interrupt& interrupt) {
  if (arguments.empty()) return static_cast<int>(ExitCode::kUsage);
  const bool bash = arguments.front() == "bash";
  std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  if (bash) words = Joined(words);
  const Candidates found =
      Complete(tree, words, [&](NameSource source, const std::string& typed, const auto& flags) {
        return LookUpNames(source, typed, flags, terminal, interrupt);
      });
  // bash replaces only the text after that character.
  const size_t last =
      bash && !words.empty() ? words.back().find_last_of(kBreaksOfBash) : std::string::npos;
  const size_t cut = last == std::string::npos ? 0 : last + 1;
  for (const Candidate& one : found.words) {
    *terminal.out << one.word.substr(cut) << "\t" << Printable(one.about) << "\n";
  }
  if (found.files) *terminal.out << kFilesLine << "\n";
  terminal.out->flush();
  return static_cast<int>(ExitCode::kOk);
}

absl::StatusOr<std::string> CompletionScript(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return absl::InvalidArgumentError(
      absl::StrCat("no completion for '", Printable(shell), "'; choose one of: bash, zsh, fish"));
}

}  // namespace dt::cli
