// completion_test.cc: what a shell offers after a few words; bash itself runs the script.
#include "cli/commands/completion.h"

#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/app.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

class CompletionTest : public ::testing::Test {
 protected:
  // What bash offers for the last word of `words`, a line each.
  std::string Offered(const std::string& words) {
    const auto tree = MakeCommandTree();
    const std::string script = folder_.path() + "/dtctl.bash";
    std::ofstream(script) << *CompletionScript(*tree, "bash") << "COMP_WORDS=(" << words
                          << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_dtctl\n"
                          << "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    FILE* pipe = popen(absl::StrCat("bash ", script, " 2>&1").c_str(), "r");
    std::string text;
    for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0) << text;
    return text;
  }

  testing::TempFolder folder_;
};

TEST_F(CompletionTest, BashCompletesCommands) {
  EXPECT_EQ(Offered("dtctl desc"), "describe\n");
  EXPECT_EQ(Offered("dtctl get tri"), "trials\n");
}

TEST_F(CompletionTest, BashCompletesOptionsOfTheCommandAndOfAll) {
  EXPECT_EQ(Offered("dtctl submit grid.yaml --max"), "--max-concurrent\n");
  EXPECT_EQ(Offered("dtctl wait 12 --add"), "--address\n");
  EXPECT_EQ(Offered("dtctl wait 12 --max"), "\n") << "an option of another command";
}

TEST_F(CompletionTest, BashCompletesTheFewWordsThatAnOptionTakes) {
  EXPECT_EQ(Offered("dtctl get trials -o y"), "yaml\n");
  EXPECT_EQ(Offered("dtctl get trials --output js"), "json\n");
  EXPECT_EQ(Offered("dtctl get trials --state fa"), "failed\n");
  EXPECT_EQ(Offered("dtctl wait last --for fi"), "first-step\n");
  EXPECT_EQ(Offered("dtctl report last --format h"), "html\n");
  EXPECT_EQ(Offered("dtctl checkpoint export 12/3 --format ''"), "hf\n");
  EXPECT_EQ(Offered("dtctl data tokenize --format ''"), "bin\nnpy\n");
  EXPECT_EQ(Offered("dtctl data tokenize --tokenizer g"), "gpt2\n");
  EXPECT_EQ(Offered("dtctl plot last --metric val_l"), "val_loss\n");
}

TEST_F(CompletionTest, BashOffersTheFormatsThatTheCommandPrints) {
  EXPECT_EQ(Offered("dtctl metrics last -o ''"), "csv\njsonl\n");
  EXPECT_EQ(Offered("dtctl data tokenize -o ''"), "table\njson\nyaml\n")
      << "its --output is a folder";
  EXPECT_EQ(Offered("dtctl follow last -o ''"), "\n") << "a command that takes no -o";
}

TEST_F(CompletionTest, BashCompletesTheFewWordsThatAnArgumentIs) {
  EXPECT_EQ(Offered("dtctl completion f"), "fish\n");
  EXPECT_EQ(Offered("dtctl data fetch wiki"), "wikitext-2\n");
}

TEST_F(CompletionTest, BashOffersNothingForAValueThatMayBeAnything) {
  EXPECT_EQ(Offered("dtctl wait last --timeout ''"), "\n");
}

TEST_F(CompletionTest, BashCompletesNamesOfFilesWhereOneIsWanted) {
  folder_.Write("mine", "");
  const std::string begin = folder_ / "mi";
  const std::string file = (folder_ / "mine") + "\n";
  EXPECT_EQ(Offered("dtctl submit " + begin), file);
  EXPECT_EQ(Offered("dtctl data tokenize --output x " + begin), file);
  EXPECT_EQ(Offered("dtctl report last -o " + begin), file);
  EXPECT_EQ(Offered("dtctl checkpoint export 12/3 -o " + begin), file);
  EXPECT_EQ(Offered("dtctl get trials --tls-ca " + begin), file);
  EXPECT_EQ(Offered("dtctl get trials " + begin), "\n") << "trials are no files";
}

TEST_F(CompletionTest, BashOffersEachOptionOnce) {
  EXPECT_EQ(Offered("dtctl wait 12 --hel"), "--help\n");
}

TEST_F(CompletionTest, ZshAndFishHaveEveryCommand) {
  const auto tree = MakeCommandTree();
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = *CompletionScript(*tree, shell);
    for (const CLI::App* command : tree->app().get_subcommands({})) {
      EXPECT_NE(script.find(command->get_name()), std::string::npos)
          << shell << " lacks " << command->get_name();
    }
  }
}

TEST_F(CompletionTest, FishOffersTheWordsOfEachCommandsOwnOptions) {
  const auto tree = MakeCommandTree();
  const std::string script = *CompletionScript(*tree, "fish");
  EXPECT_NE(script.find("seen_subcommand_from export' -l format -r -a 'hf' "), std::string::npos);
  EXPECT_NE(script.find("seen_subcommand_from metrics' -s o -l output -r -a 'csv jsonl' "),
            std::string::npos);
  EXPECT_NE(script.find("complete -c dtctl -l tls-ca -r -F "), std::string::npos);
}

TEST_F(CompletionTest, AnotherShellIsRefusedByName) {
  const auto tree = MakeCommandTree();
  const auto script = CompletionScript(*tree, "tcsh");
  EXPECT_EQ(script.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dt::cli
