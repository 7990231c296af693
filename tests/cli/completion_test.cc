// completion_test.cc: what a shell offers after a few words; bash itself runs the script.
#include "cli/completion.h"

#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/app.h"
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
    std::ofstream(script) << *CompletionScript(tree->app(), "bash") << "COMP_WORDS=(" << words
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
  EXPECT_EQ(Offered("dtctl get trials --output js"), "json\njsonl\n");
  EXPECT_EQ(Offered("dtctl get trials --state fa"), "failed\n");
  EXPECT_EQ(Offered("dtctl wait last --for fi"), "first-step\n");
  EXPECT_EQ(Offered("dtctl report last --format h"), "html\n");
  EXPECT_EQ(Offered("dtctl plot last --metric val_l"), "val_loss\n");
}

TEST_F(CompletionTest, BashCompletesTheFileOfAReport) {
  folder_.Write("report.html", "");
  EXPECT_EQ(Offered("dtctl report last -o " + (folder_ / "rep")), (folder_ / "report.html") + "\n");
}

TEST_F(CompletionTest, BashOffersEachOptionOnce) {
  EXPECT_EQ(Offered("dtctl wait 12 --hel"), "--help\n");
}

TEST_F(CompletionTest, ZshAndFishHaveEveryCommand) {
  const auto tree = MakeCommandTree();
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = *CompletionScript(tree->app(), shell);
    for (const CLI::App* command : tree->app().get_subcommands({})) {
      EXPECT_NE(script.find(command->get_name()), std::string::npos)
          << shell << " lacks " << command->get_name();
    }
  }
}

TEST_F(CompletionTest, AnotherShellIsRefusedByName) {
  const auto tree = MakeCommandTree();
  const auto script = CompletionScript(tree->app(), "tcsh");
  EXPECT_EQ(script.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dt::cli
