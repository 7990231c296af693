// yaml_syntax_test.cc: errors of YAML's grammar in words of the file.
#include "spec/file/yaml_syntax.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "spec/file/yaml_tree.h"

namespace dt::spec {
namespace {

// Returns "line:column message; hint" of the first problem.
std::string Said(const std::string& text) {
  const YamlTree tree = ParseYaml(text);
  if (tree.problems.empty()) return "";
  const YamlProblem& one = tree.problems[0];
  return absl::StrCat(one.mark.line, ":", one.mark.column, " ", one.message,
                      one.hint.empty() ? "" : "; ", one.hint);
}

TEST(YamlSyntaxTest, NamesTheBracketThatIsNotClosed) {
  EXPECT_EQ(Said("command: [a, 'b]', \"c]\"  # d]\ncode: .\n"),
            "2:1 this is not YAML: the [ of line 1, column 10 is not closed here; close it with ]");
  EXPECT_EQ(Said("a: [x]\nsearch: {metric: loss, asha: {eta: 3}\nsteps: 3\n"),
            "3:1 this is not YAML: the { of line 2, column 9 is not closed here; close it with }");
}

TEST(YamlSyntaxTest, ATextWithBracesOrAColonBelongsIntoQuotes) {
  EXPECT_EQ(Said("command: [python3, --lr={lr}]\n").find("this is not YAML: end of sequence"), 5u);
  EXPECT_EQ(Said("metrics:\n  pattern: step {step}: loss {loss}\n"),
            "2:23 this is not YAML: a text without quotes has ': ' in it; put it into quotes: "
            "pattern: 'step {step}: loss {loss}'");
  const std::string flow = Said("metrics: {pattern: step {step}: loss {loss}}\n");
  EXPECT_NE(flow.find("a brace within a text begins no map; put the text into quotes"),
            std::string::npos)
      << flow;
}

TEST(YamlSyntaxTest, NamesALineWithoutASpaceAfterItsColonOrWithAWrongIndentation) {
  EXPECT_EQ(Said("parameters:\n  lr:[1, 2]\n  b: [1]\n"),
            "3:4 this is not YAML: line 2 has no space after its colon; write lr: [1, 2]");
  EXPECT_EQ(Said("parameters:\n  lr: [1, 2]\n b: [1]\n"),
            "3:2 this is not YAML: this line fits no map above it; indent it as the keys of its "
            "section, and write KEY: VALUE");
}

TEST(YamlSyntaxTest, AMarkOutsideOfTheTextIsHarmless) {
  for (const char* complaint : {"end of map flow not found", "illegal map value", "other"}) {
    for (const int place : {-1, 0, 1, 9}) {
      EXPECT_FALSE(ExplainSyntax("", place, place, complaint).message.empty());
      EXPECT_FALSE(ExplainSyntax("a: [", place, place, complaint).message.empty());
    }
  }
}

}  // namespace
}  // namespace dt::spec
