#include "spec/inactive_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dt::spec::inactive_words_test {
namespace {

const NameSet kAbsentNames = {"dropout", "momentum"};

using Words = std::vector<std::string>;
Words Kept(const Words& words) { return WithoutInactive(words, kAbsentNames); }
std::string Shell(std::string_view text) { return ShellWithoutInactive(text, kAbsentNames); }

TEST(InactiveWordsTest, AWordThatNamesAnInactiveParameterIsLeftOut) {
  EXPECT_EQ(Kept({"python3", "train.py", "--dropout={dropout}", "--lr={lr}"}),
            (Words{"python3", "train.py", "--lr={lr}"}));
  EXPECT_EQ(Kept({"train", "optimizer.momentum={momentum}", "{lr}"}), (Words{"train", "{lr}"}));
}

TEST(InactiveWordsTest, AnOptionBeforeAValueIsLeftOutToo) {
  EXPECT_EQ(Kept({"train", "--dropout", "{dropout}", "--lr", "{lr}"}),
            (Words{"train", "--lr", "{lr}"}));
  EXPECT_EQ(Kept({"train", "-m", "{momentum}"}), (Words{"train"}));
  EXPECT_EQ(Kept({"train", "file", "{momentum}"}), (Words{"train", "file"}));
  EXPECT_EQ(Kept({"train", "--lr={lr}", "{momentum}"}), (Words{"train", "--lr={lr}"}));
  EXPECT_EQ(Kept({"train", "--", "{momentum}"}), (Words{"train", "--"}));
  EXPECT_EQ(Kept({"train", "--opt", "a{momentum}"}), (Words{"train"}));
  EXPECT_EQ(Kept({"train", "--multirun", "m={momentum}"}), (Words{"train", "--multirun"}));
}

TEST(InactiveWordsTest, DoubledBracesAndOtherNamesStay) {
  EXPECT_EQ(Kept({"echo", "{{dropout}}", "{dropouts}"}),
            (Words{"echo", "{{dropout}}", "{dropouts}"}));
}

TEST(InactiveWordsTest, AWordOfTheShellEndsAtABlankOrAnOperator) {
  EXPECT_EQ(Shell("python3 t.py --dropout={dropout} --lr={lr}"), "python3 t.py --lr={lr}");
  EXPECT_EQ(Shell("t --dropout {dropout}; echo {lr}"), "t; echo {lr}");
  EXPECT_EQ(Shell("a && t --m '{momentum}' | tee log"), "a && t | tee log");
  EXPECT_EQ(Shell("t --json '{\"d\": {dropout}, \"x\": 1}' --lr {lr}"), "t --lr {lr}");
  EXPECT_EQ(Shell("t a\\ {dropout} b"), "t b");
  EXPECT_EQ(Shell("echo '{{dropout}}'  x"), "echo '{{dropout}}'  x");
}

}  // namespace
}  // namespace dt::spec::inactive_words_test
