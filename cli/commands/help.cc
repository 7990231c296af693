// help.cc: the page of --help: summary, usage and examples, then arguments and options.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/commands/command_tree.h"
#include "cli/view/table.h"
#include "cli/view/words.h"

namespace dt::cli {
namespace {

// Column of explanations. Longer names put theirs on the next line.
constexpr int kColumn = 30;
constexpr int kWidth = 96;

void AppendEntry(std::string& page, const std::string& name, const std::string& help) {
  std::string line = PadRight(absl::StrCat("  ", name), kColumn);
  if (DisplayWidth(line) > kColumn) {
    absl::StrAppend(&page, line, "\n");
    line = std::string(kColumn, ' ');
  }
  int used = kColumn;
  for (const auto& word : std::vector<std::string>(absl::StrSplit(help, ' ', absl::SkipEmpty()))) {
    if (used + 1 + DisplayWidth(word) > kWidth) {
      absl::StrAppend(&page, line, "\n");
      line = std::string(kColumn, ' ');
      used = kColumn;
    }
    absl::StrAppend(&line, used == kColumn ? "" : " ", word);
    used += DisplayWidth(word) + 1;
  }
  absl::StrAppend(&page, line, "\n");
}

std::string OptionName(const CLI::Option* option) {
  std::string name;
  for (const std::string& letter : option->get_snames()) {
    absl::StrAppend(&name, name.empty() ? "-" : ", -", letter);
  }
  for (const std::string& word : option->get_lnames()) {
    absl::StrAppend(&name, name.empty() ? "    --" : ", --", word);
  }
  if (option->get_type_size() != 0) absl::StrAppend(&name, " ", option->get_option_text());
  return name;
}

void AppendOptions(std::string& page, const std::string& title, const CLI::App* app) {
  std::string entries;
  for (const CLI::Option* option : app->get_options()) {
    // Every command has --help.
    const bool repeated = app->get_parent() != nullptr && option == app->get_help_ptr();
    if (option->get_positional() || repeated) continue;
    AppendEntry(entries, OptionName(option), option->get_description());
  }
  if (!entries.empty()) absl::StrAppend(&page, "\n", title, ":\n", entries);
}

}  // namespace

std::string HelpText(const CLI::App* app) {
  std::string page = absl::StrCat(app->get_description(), "\n\nUsage: ", CommandLine(app));
  std::string arguments;
  for (const CLI::Option* option : app->get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = absl::StrCat(option->get_name(true, false),
                                          option->get_items_expected_max() > 1 ? "..." : "");
    absl::StrAppend(&page, " ", option->get_required() ? name : absl::StrCat("[", name, "]"));
    AppendEntry(arguments, name, option->get_description());
  }
  const auto commands = app->get_subcommands({});
  absl::StrAppend(&page, commands.empty() ? "" : " COMMAND", " [options]\n");
  if (!app->get_footer().empty()) {
    absl::StrAppend(&page, "\nExamples:\n");
    for (const auto& line :
         std::vector<std::string>(absl::StrSplit(app->get_footer(), '\n', absl::SkipEmpty()))) {
      absl::StrAppend(&page, "  ", line, "\n");
    }
  }
  if (!commands.empty()) absl::StrAppend(&page, "\nCommands:\n");
  for (const CLI::App* command : commands) {
    AppendEntry(page, command->get_name(), command->get_description());
  }
  if (!arguments.empty()) absl::StrAppend(&page, "\nArguments:\n", arguments);
  const CLI::App* root = app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  if (app != root) AppendOptions(page, "Options", app);
  AppendOptions(page, "Options of every command", root);
  return page;
}

}  // namespace dt::cli
