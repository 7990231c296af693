// other_commands_test.cc: other tools' commands get an answer with our command for the same
// purpose.
#include "cli/commands/other_commands.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/commands/app.h"
#include "cli/commands/command_tree.h"
#include "gtest/gtest.h"
#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

std::vector<std::string> WordsOf(const OtherCommand& one) {
  return absl::StrSplit(std::string(one.words), ' ');
}

const CLI::App* GroupOf(const CLI::App& root, std::string_view group) {
  return group.empty() ? &root : root.get_subcommand(std::string(group));
}

bool IsOurs(const CLI::App& group, const std::string& word) {
  for (const CLI::App* command : group.get_subcommands({})) {
    if (command->check_name(word)) return true;
  }
  return false;
}

// Expects that each "dtctl a b" in a hint leads to commands that exist.
void ExpectCommandsOf(const CLI::App& root, const std::string& hint) {
  const std::string begin = "'dtctl ";
  for (size_t at = hint.find(begin); at != std::string::npos; at = hint.find(begin, at + 1)) {
    const size_t end = hint.find('\'', at + 1);
    ASSERT_NE(end, std::string::npos) << hint;
    const CLI::App* app = &root;
    const std::string command = hint.substr(at + begin.size(), end - at - begin.size());
    for (const std::string& word : std::vector<std::string>(absl::StrSplit(command, ' '))) {
      if (app->get_subcommands({}).empty() || word == "--help") break;
      ASSERT_TRUE(IsOurs(*app, word)) << hint << ": " << word;
      app = app->get_subcommand(word);
    }
  }
}

TEST(OtherCommandsTest, EachWordHasOneMeaningAndLeadsToCommandsThatExist) {
  const auto tree = MakeCommandTree();
  std::set<std::pair<std::string, std::string>> seen;
  for (const OtherCommand& one : OtherCommands()) {
    const CLI::App* group = GroupOf(tree->app(), one.group);
    for (const std::string& word : WordsOf(one)) {
      EXPECT_TRUE(seen.emplace(one.group, word).second) << one.group << " " << word << " twice";
      EXPECT_FALSE(IsOurs(*group, word)) << one.group << " " << word << " is ours";
    }
    ExpectCommandsOf(tree->app(), std::string(one.ours));
  }
}

class OtherCommandsRunTest : public CommandTest {};

TEST_F(OtherCommandsRunTest, AnotherToolsCommandGetsOurCommandForTheSamePurpose) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"stop", "12"}, "dtctl cancel"},
      {{"kill", "12"}, "dtctl cancel"},
      {{"list"}, "dtctl get experiments"},
      {{"ls"}, "dtctl get experiments"},
      {{"ps"}, "dtctl get experiments"},
      {{"squeue"}, "dtctl get experiments"},
      {{"status"}, "dtctl top"},
      {{"rm", "12"}, "dtctl delete"},
      {{"tail", "12/1"}, "dtctl logs"},
      {{"watch", "12"}, "dtctl follow"},
      {{"show", "12"}, "dtctl describe"},
      {{"run", "a.yaml"}, "dtctl submit"},
      {{"nodes"}, "dtctl get workers"},
      {{"scancel", "12"}, "dtctl cancel"},
      {{"start"}, "dtctl up"},
      {{"get", "jobs"}, "dtctl get experiments"},
      {{"get", "nodes"}, "dtctl get workers"},
      {{"worker", "list"}, "dtctl get workers"},
      {{"token", "rm"}, "dtctl token revoke"},
      {{"STOP"}, "dtctl cancel"}};
  for (const auto& [words, wanted] : cases) {
    for (const bool help : {false, true}) {
      std::vector<std::string> line = words;
      if (help) line.emplace_back("--help");
      const Ran ran = Run(line);
      EXPECT_EQ(ran.code, 2) << words[0];
      EXPECT_TRUE(Has(ran.err, "; use '" + wanted) || Has(ran.err, wanted)) << ran.err;
      EXPECT_FALSE(Has(ran.err, "did you mean")) << ran.err;
    }
  }
}

TEST_F(OtherCommandsRunTest, TheFirstWordIsTheCommandWhateverFollows) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"ray", "job", "submit"}, "'ray'; it is a command of another tool"},
      {{"kubectl", "get", "pods"}, "'kubectl'; it is a command of another tool"},
      {{"python", "train.py"}, "'python'; a script runs by an experiment file"},
      {{"./train.py", "--lr", "1"}, "'./train.py'; a script runs by an experiment file"},
      {{"grid.yaml"}, "'grid.yaml'; use 'dtctl submit grid.yaml'"},
      {{"12/3"}, "'12/3'; use 'dtctl describe 12/3'"},
      {{"compare", "1", "2"}, "'dtctl report EXP EXP"},
      {{"dashboard"}, "print the page's address"}};
  for (const auto& [words, wanted] : cases) {
    const Ran ran = Run(words);
    EXPECT_EQ(ran.code, 2) << words[0];
    EXPECT_TRUE(Has(ran.err, wanted)) << ran.err;
    EXPECT_TRUE(Has(ran.err, "unknown command '" + words[0] + "'")) << ran.err;
    EXPECT_TRUE(Has(ran.err, "See 'dtctl --help'.")) << ran.err;
  }
}

TEST_F(OtherCommandsRunTest, HelpBeforeACommandIsHelpOnIt) {
  EXPECT_EQ(Run({"help"}).out, Run({"--help"}).out);
  EXPECT_EQ(Run({"help"}).code, 0);
  EXPECT_EQ(Run({"help", "submit"}).out, Run({"submit", "--help"}).out);
  EXPECT_EQ(Run({"help", "get", "trials"}).out, Run({"get", "trials", "--help"}).out);
  EXPECT_TRUE(Has(Run({"help", "get", "trials"}).out, "Usage: dtctl get trials"));
  const Ran none = Run({"help", "squeue"});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(Has(none.err, "unknown command 'squeue'; use 'dtctl get experiments'")) << none.err;
}

TEST_F(OtherCommandsRunTest, AnotherToolsOptionGetsOurOptionForTheSamePurpose) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"get", "trials", "1", "--json"}, "'--json'; write -o json"},
      {{"get", "experiments", "-w"}, "'-w'; write --watch"},
      {{"get", "experiments", "--all"}, "'--all'; write --archived"},
      {{"submit", "-f", "a.yaml"}, "'-f'; the file needs no option"},
      {{"submit", "a.yaml", "--watch"}, "'--watch'; write --follow"},
      {{"logs", "1/1", "-n", "5"}, "'-n'; write --tail N"},
      {{"extend", "1", "--trials", "9"}, "'--trials'; write --max-trials N"},
      {{"delete", "1", "--force"}, "'--force'; write --yes"}};
  for (const auto& [words, wanted] : cases) {
    const Ran ran = Run(words);
    EXPECT_EQ(ran.code, 2) << wanted;
    EXPECT_TRUE(Has(ran.err, "unknown option " + wanted)) << ran.err;
  }
}

TEST_F(OtherCommandsRunTest, AWordWithoutAnEquivalentIsNotTakenForATypingMistake) {
  for (const char* word : {"ssh", "exec", "init", "gc"}) {
    EXPECT_TRUE(Has(Run({word}).err, "; choose one of: ")) << word;
  }
}

}  // namespace
}  // namespace dt::cli
