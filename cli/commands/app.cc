#include "cli/commands/app.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands/command_tree.h"
#include "cli/commands/completion.h"
#include "cli/commands/other_commands.h"
#include "cli/remote/contexts.h"
#include "cli/view/words.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/status.h"
#include "common/text.h"
#include "spec/spec.h"

namespace dt::cli {
namespace {

// Returns the innermost command on the line.
const CLI::App* Chosen(const CLI::App& app) {
  const CLI::App* chosen = &app;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  return chosen;
}

std::vector<std::string> OptionNames(const CLI::App* app) {
  std::vector<std::string> names;
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app->get_subcommands({})) names.push_back(sub->get_name());
  return names;
}

std::string DidYouMean(const std::string& wrong, const std::vector<std::string>& known) {
  const std::string near = spec::Suggest(wrong, known);
  return near.empty() ? "" : absl::StrCat("; did you mean '", near, "'?");
}

// Returns the message where an option or argument has too many values, or the last option has none.
// The parsed options show which: CLI11's error has it only in its text.
std::string MismatchMessage(const CLI::App& chosen, const std::vector<std::string>& written) {
  for (const CLI::App* app = &chosen; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      const auto most = static_cast<size_t>(std::max(option->get_items_expected_max(), 1));
      const bool all_kept = option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
      if (all_kept && option->count() > most) {
        return absl::StrCat("'", CommandLine(&chosen), "' takes at most ", most, " ",
                            option->get_name(), ", not ", option->count());
      }
    }
  }
  return absl::StrCat(Printable(written.back()), " needs a value after it");
}

// Returns CLI11's error, in words of ours where its own need knowledge of CLI11.
std::string PlainMessage(const CLI::App& chosen, const CLI::ParseError& error,
                         const std::vector<std::string>& written) {
  std::string text = error.what();
  const bool lacks_command =
      chosen.get_require_subcommand_min() > 0 && chosen.get_subcommands().empty();
  if (lacks_command && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return absl::StrCat("a command is missing; choose one of: ",
                        absl::StrJoin(CommandNames(&chosen), ", "));
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    const std::vector<std::string> names = absl::StrSplit(text, " excludes ");
    return absl::StrCat(absl::StrJoin(names, " and "), " cannot be given together; keep one");
  }
  constexpr absl::string_view kUnread = "Could not convert: ";
  if (absl::StartsWith(text, kUnread)) {
    const std::vector<std::string> sides =
        absl::StrSplit(text.substr(kUnread.size()), absl::MaxSplits(" = ", 1));
    if (sides.size() == 2) {
      return absl::StrCat(sides[0], " is '", Printable(sides[1]), "'; it must be a number");
    }
  }
  // "--goal: up not in {minimize,maximize}"
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(" not in {", 1));
  const size_t colon = parts[0].find(": ");
  if (parts.size() == 2 && colon != std::string::npos && absl::EndsWith(parts[1], "}")) {
    const std::string choices = parts[1].substr(0, parts[1].size() - 1);
    return absl::StrCat(
        parts[0].substr(0, colon), " is '", Printable(parts[0].substr(colon + 2)),
        "'; it must be one of: ", absl::StrJoin(absl::StrSplit(choices, ','), ", "));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return MismatchMessage(chosen, written);
  }
  return text;
}

// Returns what to type where a file, a script or the number of an experiment stands for a command.
std::string ThingHint(const std::string& word) {
  if (absl::EndsWith(word, ".yaml") || absl::EndsWith(word, ".yml")) {
    return absl::StrCat("; use 'dtctl submit ", Printable(word), "'");
  }
  if (absl::EndsWith(word, ".py") || absl::EndsWith(word, ".sh")) {
    return absl::StrCat("; ", *OtherCommandHint("", "python"));
  }
  if (word.front() >= '0' && word.front() <= '9' && ParseSelector(word).ok()) {
    return absl::StrCat("; use 'dtctl describe ", word, "'");
  }
  return "";
}

// Suggests a command by meaning where another tool has the word, else by spelling.
std::string UnknownCommandMessage(const CLI::App& chosen, const std::string& word) {
  const std::vector<std::string> known = CommandNames(&chosen);
  const std::string group = chosen.get_parent() == nullptr ? "" : chosen.get_name();
  const std::optional<std::string> theirs = OtherCommandHint(group, word);
  std::string hint =
      theirs ? (theirs->empty() ? "" : absl::StrCat("; ", *theirs)) : DidYouMean(word, known);
  if (group.empty() && !theirs && !word.empty()) {
    if (const std::string thing = ThingHint(word); !thing.empty()) hint = thing;
  }
  if (hint.empty()) hint = absl::StrCat("; choose one of: ", absl::StrJoin(known, ", "));
  return absl::StrCat("unknown command '", Printable(word), "'", hint);
}

// Returns the error of the command line, with the nearest correct one.
std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error,
                         const std::vector<std::string>& written) {
  const CLI::App* chosen = Chosen(app);
  const std::vector<std::string> rest = app.remaining(true);
  const bool wants_command = !chosen->get_subcommands({}).empty();
  if (rest.empty()) return PlainMessage(*chosen, error, written);
  const auto option = std::find_if(rest.begin(), rest.end(),
                                   [](const std::string& word) { return word.rfind('-', 0) == 0; });
  if (wants_command && rest.front().rfind('-', 0) != 0) {
    return UnknownCommandMessage(*chosen, rest.front());
  }
  if (option != rest.end()) {
    const std::string name = option->substr(0, option->find('='));
    const std::vector<std::string> known = OptionNames(chosen);
    const std::optional<std::string> theirs = OtherOptionHint(name, known);
    return absl::StrCat("unknown option '", Printable(name), "'",
                        theirs ? absl::StrCat("; ", *theirs) : DidYouMean(name, known));
  }
  return absl::StrCat("unexpected argument '", Printable(rest.front()), "'");
}

// Returns the word in place of a command; "" if there is none.
std::string UnknownCommand(const CLI::App& app) {
  if (Chosen(app)->get_subcommands({}).empty()) return "";
  for (const std::string& word : app.remaining(true)) {
    if (word.rfind('-', 0) != 0) return word;
  }
  return "";
}

// Returns the first word if it is not a command: CLI11 would search later words for one.
std::string UnknownFirst(const CLI::App& app, const std::vector<std::string>& arguments) {
  const std::string& first = arguments.front();
  if (absl::StartsWith(first, "-")) return "";
  const std::vector<const CLI::App*> commands = app.get_subcommands({});
  const bool known = std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
    return command->check_name(first);
  });
  return known ? "" : first;
}

// Turns "help get trials" into "get trials --help".
std::vector<std::string> HelpAsked(const std::vector<std::string>& arguments) {
  std::vector<std::string> asked(arguments.begin() + 1, arguments.end());
  asked.emplace_back("--help");
  return asked;
}

// Shortens a message that contains a complete file to its beginning and its end.
std::string Bounded(std::string_view message) {
  if (message.size() <= limits::kErrorTextBytes) return CleanText(message, message.size());
  constexpr size_t kEnd = limits::kErrorTextBytes / 4;
  const std::string begin = CleanText(message, limits::kErrorTextBytes - kEnd);
  size_t from = message.size() - kEnd;
  while (from < message.size() && Utf8Length(message.substr(from)) == 0) ++from;
  return absl::StrCat(begin, " ... (", FormatCount(from - begin.size()), " bytes left out) ... ",
                      CleanText(message.substr(from), kEnd));
}

// Checks that arguments are UTF-8, since they go into messages and files. Names of local files may
// have any bytes. Errors: InvalidArgument with the option and the bytes.
absl::Status CheckUtf8(const CLI::App* chosen, const std::vector<std::string>& arguments) {
  static const std::set<std::string> kOfFiles = {"data", "checkpoint", "report", "up"};
  for (const CLI::App* level = chosen; level != nullptr; level = level->get_parent()) {
    if (kOfFiles.contains(level->get_name())) return absl::OkStatus();
  }
  std::string option;
  for (const std::string& word : arguments) {
    if (!IsUtf8(word)) {
      return absl::InvalidArgumentError(
          absl::StrCat(option.empty() ? "an argument" : option, " is '", Printable(word),
                       "', which is not UTF-8; type it in a UTF-8 locale, or rename the file"));
    }
    option = absl::StartsWith(word, "-") ? word : "";
  }
  return absl::OkStatus();
}

void PrintError(const Terminal& terminal, const CommandTree::Shared& shared, Format format,
                std::string_view code, std::string_view whole_message) {
  const std::string message = Bounded(whole_message);
  if (format == Format::kJson || format == Format::kJsonl) {
    const Json fields = {{"code", code}, {"message", message}};
    *terminal.err << JsonLine(Document("Error", fields)) << std::flush;
    return;
  }
  const Line line = {{"error: ", Style::kBad}, {Printable(message, Newlines::kKeep)}};
  *terminal.err << "dtctl: "
                << RenderLine(line, shared.no_color ? Colour::kOff : terminal.ColourOfErr())
                << std::endl;
}

// Returns the format of the output. Errors: InvalidArgument with the formats of this command.
absl::StatusOr<Format> ChooseFormat(const CommandTree::Shared& shared, const Terminal& terminal,
                                    const CLI::App* app, const Command& command) {
  const Format usual = command.formats.empty() ? Format::kTable : command.formats.front();
  if (shared.output.empty()) {
    // The variable is for all commands. A command without that format uses its default.
    const std::string wish = terminal.environment("DTCTL_OUTPUT");
    const auto found = std::find_if(command.formats.begin(), command.formats.end(),
                                    [&](Format format) { return FormatWord(format) == wish; });
    return found == command.formats.end() ? usual : *found;
  }
  std::vector<std::string> words;
  for (Format format : command.formats) {
    words.emplace_back(FormatWord(format));
    if (shared.output == words.back()) return format;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'-o ", Printable(shared.output), "' does not work with '", CommandLine(app), "'; ",
      words.empty() ? "leave it out" : absl::StrCat("use ", absl::StrJoin(words, ", "))));
}

std::string CodeWord(const absl::Status& status) {
  return absl::AsciiStrToLower(absl::StatusCodeToString(status.code()));
}

// The other side of a command. Help and versions call nobody, and so read no contexts.
enum class Calls { kCoordinator, kNobody };

// Runs `command`, prints errors, also those of writing its output, and returns the exit code.
int RunCommand(const CommandTree& tree, const Command& command, const Terminal& terminal,
               Interrupt& interrupt, const Pace& pace, Calls calls = Calls::kCoordinator) {
  const CommandTree::Shared& shared = tree.shared();
  Session session(terminal, interrupt, pace);
  SharedOptions& options = session.options();
  if (calls == Calls::kCoordinator) {
    options.client = ChooseCoordinator(
        {shared.address, shared.context, shared.tls, shared.token_file}, terminal.environment);
  }
  options.colour = shared.no_color ? Colour::kOff : terminal.ColourOfOut();
  options.no_input = shared.no_input;
  options.quiet = shared.quiet;
  const auto run = [&]() -> absl::StatusOr<ExitCode> {
    DT_ASSIGN_OR_RETURN(options.format,
                        ChooseFormat(shared, terminal, Chosen(tree.app()), command));
    return command.run(session);
  };
  absl::StatusOr<ExitCode> result = run();
  const absl::Status written = session.Written();
  if (!written.ok()) {
    // The reader of the pipe is gone. Ends silently, as other tools do.
    if (terminal.out_error() == EPIPE) return static_cast<int>(ExitCode::kUnexpected);
    result = written;
  }
  if (result.ok()) return static_cast<int>(*result);
  if (!interrupt.Triggered() || !written.ok()) {
    PrintError(terminal, shared, options.format, CodeWord(result.status()),
               std::string(result.status().message()));
  }
  return static_cast<int>(ExitCodeOf(result.status()));
}

}  // namespace

int Run(const std::vector<std::string>& arguments, const Terminal& terminal, Interrupt& interrupt,
        const Pace& pace) {
  const std::unique_ptr<CommandTree> tree = MakeCommandTree();
  CLI::App& app = tree->app();
  if (arguments.empty()) {
    *terminal.err << app.help();
    return static_cast<int>(ExitCode::kUsage);
  }
  if (arguments.front() == "help") {
    return Run(HelpAsked(arguments), terminal, interrupt, pace);
  }
  if (arguments.front() == "__complete") {
    return RunComplete(*tree, {arguments.begin() + 1, arguments.end()}, terminal, interrupt);
  }
  const auto print = [&](const std::string& text) {
    const Command command = {[&text](Session& session) -> absl::StatusOr<ExitCode> {
                               session.out() << text;
                               return ExitCode::kOk;
                             },
                             {}};
    return RunCommand(*tree, command, terminal, interrupt, pace, Calls::kNobody);
  };
  const auto refuse = [&](const std::string& message, const CLI::App& at) {
    PrintError(terminal, tree->shared(),
               tree->shared().output == "json" ? Format::kJson : Format::kTable, "invalid_argument",
               message);
    *terminal.err << "See '" << CommandLine(&at) << " --help'." << std::endl;
    return static_cast<int>(ExitCode::kUsage);
  };
  const std::string first = UnknownFirst(app, arguments);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    // An unknown command has no help.
    if (!first.empty()) return refuse(UnknownCommandMessage(app, first), app);
    const std::string unknown = UnknownCommand(app);
    const CLI::App& chosen = *Chosen(app);
    if (!unknown.empty()) return refuse(UnknownCommandMessage(chosen, unknown), chosen);
    return print(app.help());
  } catch (const CLI::CallForVersion& version) {
    return print(absl::StrCat(version.what(), "\n"));
  } catch (const CLI::ParseError& error) {
    if (!first.empty()) return refuse(UnknownCommandMessage(app, first), app);
    return refuse(UsageMessage(app, error, arguments), *Chosen(app));
  }
  if (const absl::Status text = CheckUtf8(Chosen(app), arguments); !text.ok()) {
    PrintError(terminal, tree->shared(), Format::kTable, "invalid_argument",
               std::string(text.message()));
    return static_cast<int>(ExitCode::kUsage);
  }
  return RunCommand(*tree, *tree->Find(Chosen(app)), terminal, interrupt, pace);
}

}  // namespace dt::cli
