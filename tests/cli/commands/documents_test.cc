// documents_test.cc: docs/reference/command-line.md has every command with its options, and no
// others.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/command_tree.h"
#include "cli/view/metric_rows.h"
#include "gtest/gtest.h"

namespace dt::cli {
namespace {

std::string Page() {
  std::ifstream file(std::string(DTRAIN_SOURCE_DIR) + "/docs/reference/command-line.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the text under "### `dtctl get trials`", by "get trials".
std::map<std::string, std::string> Sections() {
  std::map<std::string, std::string> sections;
  std::istringstream page(Page());
  std::string current;
  for (std::string line; std::getline(page, line);) {
    const std::string heading = "### `dtctl ";
    if (line.rfind("#", 0) == 0) {
      const bool command = line.rfind(heading, 0) == 0;
      current = command ? line.substr(heading.size(), line.rfind('`') - heading.size()) : "";
      if (command) sections[current];
    } else if (!current.empty()) {
      sections[current] += line + "\n";
    }
  }
  return sections;
}

void Collect(const CLI::App* app, const std::string& path,
             std::map<std::string, const CLI::App*>& leaves) {
  for (const CLI::App* sub : app->get_subcommands({})) {
    Collect(sub, absl::StrCat(path, path.empty() ? "" : " ", sub->get_name()), leaves);
  }
  if (app->get_subcommands({}).empty()) leaves[path] = app;
}

std::map<std::string, const CLI::App*> Leaves(const CommandTree& tree) {
  std::map<std::string, const CLI::App*> leaves;
  Collect(&tree.app(), "", leaves);
  return leaves;
}

TEST(CommandLineDocumentTest, HasASectionForEveryCommandAndNoOther) {
  const auto tree = MakeCommandTree();
  const auto sections = Sections();
  const auto leaves = Leaves(*tree);
  for (const auto& [name, app] : leaves) EXPECT_EQ(sections.count(name), 1u) << name;
  for (const auto& [name, text] : sections) EXPECT_EQ(leaves.count(name), 1u) << name;
}

TEST(CommandLineDocumentTest, NamesEveryOptionOfACommandInItsSection) {
  const auto tree = MakeCommandTree();
  const auto sections = Sections();
  for (const auto& [name, app] : Leaves(*tree)) {
    const auto section = sections.find(name);
    if (section == sections.end()) continue;
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional() || option == app->get_help_ptr()) continue;
      const std::string flag = option->get_lnames().empty() ? "-" + option->get_snames().front()
                                                            : "--" + option->get_lnames().front();
      EXPECT_NE(section->second.find(flag), std::string::npos) << flag << " of dtctl " << name;
    }
  }
}

TEST(CommandLineDocumentTest, NamesEveryOptionOfAllCommandsAndEveryMetric) {
  const auto tree = MakeCommandTree();
  const std::string page = Page();
  for (const CLI::Option* option : tree->app().get_options()) {
    for (const std::string& name : option->get_lnames()) {
      EXPECT_NE(page.find("`--" + name), std::string::npos) << name;
    }
  }
  for (const std::string& name : MetricNames()) {
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace dt::cli
