// space_file_test.cc: normal draws and conditions of parameters in a file.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "spec/file/experiment_file.h"
#include "spec/search.h"

namespace dt::spec::space_file_test {
namespace {

ExperimentFile Read(const std::string& parameters, const char* method = "random") {
  return ReadExperimentFile(
      absl::StrCat("version: 1\nname: s\ncommand: [./train, '${args}']\nsearch: {method: ", method,
                   std::string_view(method) == "grid" ? "" : ", max_trials: 20",
                   ", metric: loss}\nparameters: {", parameters, "}\n"),
      "s.yaml");
}

v1::ExperimentSpec Valid(const std::string& parameters) {
  const ExperimentFile file = Read(parameters);
  EXPECT_TRUE(file.diagnostics.empty()) << parameters << RenderDiagnostics(file.diagnostics);
  return file.spec;
}

// Returns "code: message; hint" of the only diagnostic.
std::string Said(const std::string& parameters, const char* method = "random") {
  const ExperimentFile file = Read(parameters, method);
  if (file.diagnostics.size() != 1) return RenderDiagnostics(file.diagnostics);
  const Diagnostic& one = file.diagnostics[0];
  return absl::StrCat(one.code, ": ", one.message, one.hint.empty() ? "" : "; ", one.hint);
}

TEST(SpaceFileTest, NormalDrawsHaveAMeanAndADeviation) {
  const v1::ExperimentSpec spec = Valid("x: {normal: {mean: 0, std: 1}}");
  const v1::Range& range = spec.parameters(0).range();
  EXPECT_EQ(range.normal().centre(), 0);
  EXPECT_EQ(range.normal().spread(), 1);
  EXPECT_EQ(range.min(), -6);
  EXPECT_EQ(range.max(), 6);
  EXPECT_FALSE(SpaceOf(spec)->dimensions[0].integer);
}

TEST(SpaceFileTest, LogNormalDrawsHaveValuesInPlaceOfExponents) {
  const v1::ExperimentSpec spec = Valid("lr: {log_normal: {median: 1.0e-3, factor: 3}, max: 0.1}");
  const v1::Range& range = spec.parameters(0).range();
  EXPECT_EQ(range.scale(), "log");
  EXPECT_EQ(range.normal().centre(), 1e-3);
  EXPECT_EQ(range.max(), 0.1);
}

TEST(SpaceFileTest, IntegerStepsMakeNormalDrawsIntegers) {
  EXPECT_TRUE(
      SpaceOf(Valid("n: {normal: {mean: 64, std: 16}, min: 8, step: 8}"))->dimensions[0].integer);
  EXPECT_FALSE(SpaceOf(Valid("n: {normal: {mean: 64, std: 16}, min: 8}"))->dimensions[0].integer);
}

TEST(SpaceFileTest, ADistributionIsRefusedWithItsReason) {
  EXPECT_EQ(Said("x: {normal: {mean: 0, sigma: 1}}"),
            "unknown_key: unknown key 'parameters.x.normal.sigma'; did you mean 'std'?");
  EXPECT_EQ(Said("x: {log_normal: {mu: -7, factor: 2}}"),
            "unknown_key: unknown key 'parameters.x.log_normal.mu'; if that is of the natural "
            "logarithm, write median: 0.0009119");
  EXPECT_EQ(Said("x: {normal: {mean: 0}}"),
            "missing: 'parameters.x.normal' lacks std; write normal: {mean: 0.5, std: 0.1}");
  EXPECT_EQ(Said("x: {normal: {mean: 0, std: 1}, scale: log}"),
            "conflict: 'parameters.x' has normal and scale; keep one");
  EXPECT_EQ(Said("x: {normal: {mean: 0, std: 1}}", "grid"),
            "conflict: 'parameters.x' is drawn, and a grid draws nothing; list its values, or "
            "write search: {method: random}");
  EXPECT_EQ(Said("x: {normal: {mean: 0, std: 0}}"),
            "out_of_range: parameters.x.normal.std is 0; it must be above 0 and at most 1.0e100");
}

TEST(SpaceFileTest, AConditionNamesAValueOrSeveral) {
  const v1::ExperimentSpec spec = Valid(
      "model: [small, large, huge], dropout: {min: 0.0, max: 0.5, when: {model: large}}, "
      "heads: {values: [4, 8], when: {model: [large, huge]}}");
  EXPECT_EQ(spec.parameters(1).when(0).path(), "model");
  EXPECT_EQ(spec.parameters(1).when(0).values_size(), 1);
  EXPECT_EQ(spec.parameters(2).when(0).values_size(), 2);
}

TEST(SpaceFileTest, AConditionMayComeBeforeTheParameterThatItNames) {
  EXPECT_EQ(Valid("a: {values: [1, 2], when: {b: true}}, b: [true, false]")
                .parameters(0)
                .when(0)
                .values(0)
                .flag(),
            true);
}

TEST(SpaceFileTest, AWrongConditionIsRefusedAtItsPlace) {
  EXPECT_EQ(Said("model: [small, large], d: {values: [1, 2], when: {model: big}}"),
            "out_of_range: parameters.d.when.model: big is not a value of model; its values: "
            "small, large");
  EXPECT_EQ(
      Said("model: [small, large], d: {values: [1, 2], when: large}"),
      "wrong_type: 'parameters.d.when' is a single value; it must be a map of other parameters "
      "to values; for "
      "example: when: {model: large}, or when: {model: [large, huge]}");
  EXPECT_EQ(Said("a: {values: [1, 2], when: {b: 1}}, b: {values: [1, 2], when: {a: 2}}"),
            "conflict: conditions of parameters go in a circle: a needs b, b needs a; remove one "
            "of them");
}

TEST(SpaceFileTest, ThePrintedFileGivesTheSameSpace) {
  const v1::ExperimentSpec spec = Valid(
      "model: [small, large], x: {normal: {mean: 0, std: 1}, when: {model: large}}, lr: "
      "{log_normal: {median: 1.0e-3, factor: 3}, min: 1.0e-5}, n: {normal: {mean: 8, std: 2}, "
      "min: 1, step: 1, when: {model: [small, large]}}, b: {values: [1, 2], when: {model: small}}");
  const std::string text = ToYaml(spec);
  const ExperimentFile again = ReadExperimentFile(text, "again.yaml");
  ASSERT_TRUE(again.diagnostics.empty()) << text << RenderDiagnostics(again.diagnostics);
  for (int p = 0; p < spec.parameters_size(); ++p) {
    EXPECT_EQ(again.spec.parameters(p).DebugString(), spec.parameters(p).DebugString()) << text;
  }
  EXPECT_NE(text.find("x: {normal: {mean: 0, std: 1}, when: {model: [large]}}"), std::string::npos)
      << text;
}

TEST(SpaceFileTest, AProgramGetsNoWordsOfInactiveParameters) {
  const auto words = [](const std::string& assignment) {
    const ExperimentFile file = ReadExperimentFile(
        "version: 1\nname: s\ncommand: [./train, '--model={model}', --dropout, '{dropout}']\n"
        "resources: {env: {DROPOUT: '{dropout}'}}\n"
        "parameters: {model: [small, large], dropout: {values: [0.1], when: {model: large}}}\n",
        "s.yaml");
    EXPECT_TRUE(file.diagnostics.empty()) << RenderDiagnostics(file.diagnostics);
    std::string text;
    const auto trials = *Expand(file.spec);
    for (const v1::ExpandedTrial& trial : trials) {
      const auto& values = trial.assignments();
      if (ValueText(values[0].value()) != assignment) continue;
      const v1::Spec resolved = *ResolveTrial(file.spec, {values.begin(), values.end()});
      for (const std::string& word : resolved.command()) absl::StrAppend(&text, word, " ");
      absl::StrAppend(&text, resolved.resources().env_size());
    }
    return text;
  };
  EXPECT_EQ(words("small"), "./train --model=small 0");
  EXPECT_EQ(words("large"), "./train --model=large --dropout 0.1 1");
}

TEST(SpaceFileTest, WhatEveryTrialNeedsNamesNoConditionalParameter) {
  const ExperimentFile file = ReadExperimentFile(
      "version: 1\nname: s\ncommand: ['./{kind}', x]\n"
      "parameters: {model: [small, large], kind: {values: [a, b], when: {model: large}}}\n",
      "s.yaml");
  ASSERT_EQ(file.diagnostics.size(), 1u) << RenderDiagnostics(file.diagnostics);
  EXPECT_EQ(file.diagnostics[0].path, "command[0]");
}

}  // namespace
}  // namespace dt::spec::space_file_test
