// other_parameter_test.cc: other systems' keys within a parameter, answered in our words.
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "spec/file/experiment_file.h"

namespace dt::spec {
namespace {

// Returns the hint at `key` of a parameter with this text.
std::string Hint(const std::string& key, const std::string& parameter) {
  const std::string text = absl::StrCat(
      "version: 1\nname: x\ndata: {train: t, val: v}\nsearch: {method: random, max_trials: 2}\n"
      "parameters: {optimizer.lr: ",
      parameter, "}\n");
  for (const Diagnostic& one : ReadExperimentFile(text, "x.yaml", {}).diagnostics) {
    const std::string path = absl::StrCat("'parameters.optimizer.lr.", key, "'");
    if (one.message.find(path) != std::string::npos) return one.hint;
  }
  return "(no problem)";
}

TEST(OtherParameterTest, ExponentsBecomeTheValuesThatTheyMean) {
  const char* determined = "{type: log, base: 10, minval: -5, maxval: -2}";
  for (const char* key : {"type", "base", "minval", "maxval"}) {
    EXPECT_EQ(Hint(key, determined),
              "the bounds are exponents there and values here: write {min: 1e-05, max: 0.01, "
              "scale: log}")
        << key;
  }
  EXPECT_EQ(Hint("minval", "{type: log, minval: -4, maxval: -1}"),
            "the bounds are exponents there and values here: write {min: 0.0001, max: 0.1, scale: "
            "log}");
  EXPECT_EQ(Hint("distribution", "{distribution: log_uniform, min: 0, max: 1}"),
            "the bounds are exponents there and values here: write {min: 1, max: 2.718, scale: "
            "log}");
}

TEST(OtherParameterTest, BoundsThatAreValuesStayWords) {
  EXPECT_EQ(Hint("minval", "{type: double, minval: 0.1, maxval: 1}"), "did you mean 'min'?");
  EXPECT_EQ(Hint("distribution", "{distribution: log_uniform_values, min: 0.1, max: 1}"),
            "write min, max and scale: log");
  EXPECT_EQ(Hint("distribution", "{distribution: q_uniform, q: 1, min: 0.1, max: 1}"),
            "write min, max and step");
  EXPECT_EQ(Hint("q", "{q: 1, min: 0.1, max: 1}"), "did you mean 'step'?");
  EXPECT_EQ(Hint("log", "{low: 0.1, high: 1, log: true}"), "write scale: log");
}

TEST(OtherParameterTest, KatibsAndTuplesWordsGetAHint) {
  for (const char* key : {"feasibleSpace", "parameterType", "bounds", "range", "args", "dtype"}) {
    EXPECT_NE(Hint(key, absl::StrCat("{", key, ": 1}")).find("write"), std::string::npos) << key;
  }
  EXPECT_EQ(Hint("lo", "{lo: 0.1, hi: 1}"), "did you mean 'min'?");
  EXPECT_NE(Hint("std", "{mean: 0, std: 1}").find("write normal"), std::string::npos);
}

TEST(OtherParameterTest, NormalDistributionsAndConditionsAreTranslated) {
  EXPECT_EQ(Hint("distribution", "{distribution: q_normal, mu: 2, sigma: 0.5}"),
            "write normal: {mean: 2, std: 0.5}");
  EXPECT_EQ(Hint("distribution", "{distribution: log_normal, mu: 0, sigma: 1}"),
            "write log_normal: {median: 1, factor: 2.718}");
  EXPECT_NE(Hint("distribution", "{distribution: normal, mu: x}").find("write normal"),
            std::string::npos);
  EXPECT_NE(Hint("condition", "{min: 0.1, max: 1, condition: x}").find("write when"),
            std::string::npos);
}

TEST(OtherParameterTest, ALogarithmicRangeBelowZeroGetsAHintOnExponents) {
  const std::string text =
      "version: 1\nname: x\nrun: 'python3 t.py {lr}'\nsearch: {method: random, max_trials: 2, "
      "metric: loss}\nparameters: {lr: {min: -5, max: -2, scale: log}}\n";
  const auto found = ReadExperimentFile(text, "x.yaml", {}).diagnostics;
  ASSERT_EQ(found.size(), 1u) << RenderDiagnostics(found);
  EXPECT_EQ(found[0].hint, "the ends are values, not exponents: write 1.0e-5 for -5");
}

}  // namespace
}  // namespace dt::spec
