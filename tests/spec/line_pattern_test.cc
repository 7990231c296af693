// line_pattern_test.cc: numbers in printed lines.
#include "spec/pattern/line_pattern.h"

#include <cmath>
#include <string>

#include "common/limits.h"
#include "common/metric_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dt::spec {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::pair<std::string, double>> NumbersFound(const std::string& pattern,
                                                         const std::string& line) {
  const auto made = LinePattern::Make(pattern);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? made->Find(line) : std::vector<std::pair<std::string, double>>();
}

std::string PatternRefusal(const std::string& pattern) {
  return std::string(LinePattern::Make(pattern).status().message());
}

TEST(LinePatternTest, NamesStandForNumbers) {
  EXPECT_THAT(NumbersFound("step {step}: val loss {val_loss}", "step 30: val loss 4.4746"),
              ElementsAre(Pair("step", 30), Pair("val_loss", 4.4746)));
  EXPECT_THAT(NumbersFound("loss {loss}", "[INFO] loss   -1.5e-3, more"),
              ElementsAre(Pair("loss", -0.0015)));
  EXPECT_THAT(NumbersFound("acc {val/AR@100}%", "acc 97%"), ElementsAre(Pair("val/AR@100", 97)));
  EXPECT_TRUE(std::isnan(NumbersFound("loss {loss}", "loss NaN").at(0).second));
  EXPECT_TRUE(std::isnan(NumbersFound("loss {loss}", "loss 1e999").at(0).second));
}

TEST(LinePatternTest, EmptyBracesStandForAnyText) {
  EXPECT_THAT(NumbersFound("Epoch: {epoch} [{}] Loss: {loss}",
                           "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.25"),
              ElementsAre(Pair("epoch", 1), Pair("loss", 2.25)));
}

TEST(LinePatternTest, TheTextAroundIsTakenByItsLetters) {
  EXPECT_THAT(NumbersFound("step {step}", "substep 3"), IsEmpty());
  EXPECT_THAT(NumbersFound("a.b (c) {x}", "aXb (c) 1"), IsEmpty());
  EXPECT_THAT(NumbersFound("a.b (c) {x}", "a.b (c) 1"), ElementsAre(Pair("x", 1)));
  EXPECT_THAT(NumbersFound("'loss': {loss}, {", "{'loss': 0.5, {"), ElementsAre(Pair("loss", 0.5)));
  EXPECT_THAT(NumbersFound("Verlust {loss} °", "Verlust 0.5 °"), ElementsAre(Pair("loss", 0.5)));
}

TEST(LinePatternTest, ARegularExpressionMayNameItsGroups) {
  EXPECT_THAT(NumbersFound(R"((?P<step>\d+) .*(?:loss|Loss)=(?P<loss>\S+))", "12 x Loss=0.25"),
              ElementsAre(Pair("step", 12), Pair("loss", 0.25)));
  EXPECT_THAT(NumbersFound(R"(loss=(?P<loss>\S+))", "loss=none"), IsEmpty());
}

TEST(LinePatternTest, AWrongPatternIsRefusedWithItsFix) {
  EXPECT_THAT(PatternRefusal(""), ::testing::HasSubstr("is empty"));
  EXPECT_THAT(PatternRefusal("loss"), ::testing::HasSubstr("has no {name}"));
  EXPECT_THAT(PatternRefusal("{a} {a}"), ::testing::HasSubstr("has {a} twice"));
  EXPECT_THAT(PatternRefusal("(?P<a>x"), ::testing::HasSubstr("RE2"));
  EXPECT_THAT(PatternRefusal("(x)(?P<a>y)"), ::testing::HasSubstr("group without a name"));
  EXPECT_THAT(PatternRefusal(std::string(limits::kMetricPatternBytes + 1, 'x')),
              ::testing::HasSubstr("at most 500"));
  std::string many;
  for (int i = 0; i < 40; ++i) many += "{a" + std::to_string(i) + "} ";
  EXPECT_THAT(PatternRefusal(many), ::testing::HasSubstr("at most 32"));
}

TEST(LinePatternTest, ALongLineIsNotLookedAt) {
  EXPECT_THAT(NumbersFound("loss {loss}", std::string(limits::kMetricLineBytes, ' ') + "loss 1"),
              IsEmpty());
}

TEST(LinePatternTest, ANumberIsOneAsProgramsPrintIt) {
  EXPECT_EQ(NumberIn("+.5"), 0.5);
  EXPECT_EQ(NumberIn("-7."), -7);
  EXPECT_EQ(NumberIn("1e-400"), 0) << "too small for a double";
  EXPECT_EQ(NumberIn("-1e-400"), 0);
  EXPECT_TRUE(std::isnan(NumberIn("-1e400").value()));
  for (const char* none :
       {"", "-", "+-1", "--1", "1x", "0x10", "one", "++1", " 1", "1e", "nan(1)"}) {
    EXPECT_FALSE(NumberIn(none).has_value()) << none;
  }
}

}  // namespace
}  // namespace dt::spec
