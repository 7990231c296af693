// import_test.cc: twelve files of other tools, and ours that are made of them.
// DTRAIN_BLESS=1 writes the folder expected/.
#include "cli/import/import.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/file/experiment_file.h"

namespace dt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string TextOfFile(const std::string& text) {
  const auto imported = Import(text, "file.yaml");
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return "";
  EXPECT_TRUE(imported->problems.empty())
      << imported->text << spec::RenderDiagnostics(imported->problems);
  return imported->text;
}

TEST(ImportTest, EachFileBecomesAValidFileOfOurs) {
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(FOLDER "/files")) {
    const std::string name = entry.path().filename().string();
    const auto imported = Import(Contents(entry.path()), name);
    ASSERT_TRUE(imported.ok()) << name << imported.status();
    EXPECT_TRUE(imported->problems.empty())
        << imported->text << spec::RenderDiagnostics(imported->problems);
    std::string expected = imported->text;
    for (const std::string& warning : imported->warnings)
      expected += "# warning: " + warning + "\n";
    const fs::path path = fs::path(FOLDER "/expected") / name;
    if (std::getenv("DTRAIN_BLESS") != nullptr) std::ofstream(path) << expected;
    EXPECT_EQ(Contents(path), expected) << name;
    ++files;
  }
  EXPECT_EQ(files, 12u);
}

TEST(ImportTest, ATextThatIsNoNumberStaysAText) {
  const std::string text = TextOfFile(
      "method: random\nrun_cap: 3\nprogram: go\nparameters:\n"
      "  a: {values: [\"1\", two, 3]}\n  b: {value: null}\n  c/d: {value: {x: 1}}\n"
      "  e: {values: [[1, 2], [3, 4]]}\n  f: {min: 2, max: 2}\n");
  EXPECT_THAT(text,
              HasSubstr("a: [\"1\", \"two\", \"3\"]  # values of several kinds are texts here\n"));
  EXPECT_THAT(text, HasSubstr("b: \"None\"\n"));
  EXPECT_THAT(text, HasSubstr("c_d: \"{x: 1}\"  # there: c/d\n"));
  EXPECT_THAT(text, HasSubstr("e: [[1, 2], [3, 4]]\n"));
  EXPECT_THAT(text, HasSubstr("f: 2\n"));
  EXPECT_THAT(text, HasSubstr("command: [\"./go\", \"${args}\"]\n"));
}

TEST(ImportTest, ARangeWithoutABoundIsLeftOut) {
  const std::string wandb = TextOfFile(
      "method: random\nrun_cap: 3\nparameters:\n"
      "  a: {min: 3}\n  b: {distribution: uniform, max: 2}\n  c: {min: 1, max: 2}\n");
  EXPECT_THAT(wandb, HasSubstr("# line 4: a: {min: 3} has no counterpart; write its range"));
  EXPECT_THAT(wandb, HasSubstr("# line 5: b: "));
  EXPECT_THAT(wandb, HasSubstr("parameters:\n  c: {min: 1, max: 2}\nsearch"));
  const std::string determined = TextOfFile(
      "searcher: {name: random, max_trials: 2}\nhyperparameters:\n"
      "  a: {type: double, minval: 0.5}\n  b: {type: int, minval: 1, maxval: 4}\n");
  EXPECT_THAT(determined, HasSubstr("# line 3: a: {type: double, minval: 0.5} has no counterpart"));
  const std::string ray = TextOfFile(
      "param_space:\n  a: tune.uniform(0.5)\n  b: tune.uniform(lower=2, upper=most)\n"
      "  c: tune.quniform(1, 2)\n  d: tune.loguniform(upper=0.1, lower=1e-4)\n"
      "  e: 'tune.choice(categories=[1, 2])'\n"
      "tune_config: {num_samples: 2}\n");
  for (const char* name : {"line 2: a", "line 3: b", "line 4: c"}) {
    EXPECT_THAT(ray, HasSubstr(std::string("# ") + name));
  }
  EXPECT_THAT(ray, HasSubstr("parameters:\n  d: {min: 0.0001, max: 0.1, scale: log}\n"
                             "  e: [1, 2]\nsearch"));
}

TEST(ImportTest, AListOfRaysKeepsItsTextsAndASteppedRangeItsStep) {
  const std::string text = TextOfFile(
      "param_space:\n  a: {tune.choice: [\"a,b\", \"1\"]}\n  b: {tune.grid_search: [adam, sgd]}\n"
      "  c: tune.qlograndint(1, 64, 8)\n"
      "tune_config: {num_samples: 2}\n");
  EXPECT_THAT(text, HasSubstr("  a: [\"a,b\", \"1\"]\n  b: [adam, sgd]\n"));
  EXPECT_THAT(text, HasSubstr("  c: {min: 1, max: 64, scale: log}  # rounded to 8 there\n"));
}

TEST(ImportTest, ASteppedLogRangeOfIntegersGivesIntegers) {
  const std::string text = TextOfFile(
      "method: random\nrun_cap: 3\nparameters:\n"
      "  a: {distribution: q_log_uniform_values, min: 8, max: 256, q: 8}\n"
      "  b: {distribution: q_log_uniform, min: 0, max: 4.6}\n"
      "  c: {distribution: q_log_uniform_values, min: 0.5, max: 2, q: 0.5}\n");
  EXPECT_THAT(text, HasSubstr("  a: {min: 8, max: 256, scale: log}  # rounded to 8 there\n"
                              "  b: {min: 1, max: 99, scale: log}\n"
                              "  c: {min: 0.5, max: 2.0, scale: log}  # rounded to 0.5 there\n"));
}

TEST(ImportTest, StepsThatFollowFromMinIterAreAGuess) {
  const auto imported = Import(
      "method: random\nrun_cap: 3\nparameters: {a: {min: 0.1, max: 1}}\n"
      "early_terminate: {type: hyperband, min_iter: 3, eta: 3, s: 2}\n",
      "file.yaml");
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->text, HasSubstr("steps: 27\n"));
  EXPECT_THAT(imported->warnings, ::testing::Contains(HasSubstr("steps: 27 is a guess")));
}

TEST(ImportTest, ARangeOfHydrasEndsBeforeItsStopUnlessOptunaReadsIt) {
  const std::string params =
      "    params:\n      a: range(0, 1, step=0.1)\n      b: range(3)\n"
      "      c: float(range(1, 4))\n      d: range(0, 0.2, 0.1)\n      e: range(2, 9, step=most)\n"
      "      f: range(0.5, 3.5)\n      g: int(interval(1.2, 1.8))\n      h: range(0, 4, 2)\n";
  const std::string own = TextOfFile("hydra:\n  sweeper:\n" + params);
  EXPECT_THAT(own, HasSubstr("  a: {min: 0.0, max: 0.9, step: 0.1}\n"
                             "  b: {min: 0, max: 2, step: 1}\n"
                             "  c: {min: 1.0, max: 3.0, step: 1.0}\n"
                             "  d: [0.0, 0.1]\n"
                             "  f: {min: 0.5, max: 2.5, step: 1.0}\n  h: [0, 2]\n"));
  EXPECT_THAT(own, HasSubstr("# line 8: e: range(2, 9, step=most) has no counterpart\n"));
  EXPECT_THAT(own, HasSubstr("# g has no values\n"));
  const std::string optuna = TextOfFile("hydra:\n  sweeper:\n    n_trials: 4\n" + params);
  EXPECT_THAT(optuna, HasSubstr("  a: {min: 0.0, max: 1.0, step: 0.1}\n"
                                "  b: {min: 0, max: 3, step: 1}\n"));
}

TEST(ImportTest, NormalDrawsStayNormalExceptInAGrid) {
  const std::string parameters =
      "parameters:\n  a: {distribution: normal, mu: 0.5, sigma: 0.1}\n"
      "  b: {distribution: q_normal, mu: 64, sigma: 16, q: 8}\n"
      "  c: {distribution: log_normal, mu: 0, sigma: 1}\n"
      "  d: {distribution: q_log_normal, mu: 3, sigma: 1}\n";
  EXPECT_THAT(
      TextOfFile("method: random\nrun_cap: 3\n" + parameters),
      HasSubstr("  a: {normal: {mean: 0.5, std: 0.1}}\n"
                "  b: {normal: {mean: 64.0, std: 16.0}, step: 8}\n"
                "  c: {log_normal: {median: 1.0, factor: 2.718281828}}\n"
                "  d: {log_normal: {median: 20.08553692, factor: 2.718281828}, step: 1}\n"));
  EXPECT_THAT(TextOfFile("method: grid\n" + parameters), HasSubstr("  a: [0.2, 0.5, 0.8]"));
  EXPECT_THAT(TextOfFile("param_space:\n  a: tune.randn(10, 2)\n  b: tune.qrandn(0, 1, 0.5)\n"
                         "tune_config: {num_samples: 2}\n"),
              HasSubstr("  a: {normal: {mean: 10.0, std: 2.0}}\n"
                        "  b: {normal: {mean: 0.0, std: 1.0}, step: 0.5}\n"));
}

TEST(ImportTest, AGridOfDeterminedKeepsItsNumberOfValues) {
  const std::string text = TextOfFile(
      "searcher: {name: grid}\nhyperparameters:\n"
      "  a: {type: log, minval: -4, maxval: -1, count: 4}\n"
      "  b: {type: int, minval: 2, maxval: 32, count: 6}\n"
      "  c: {type: int, minval: 1, maxval: 3, count: 10}\n"
      "  d: {type: double, minval: 0, maxval: 1, count: 5}\n");
  EXPECT_THAT(text, HasSubstr("  a: {min: 0.0001, max: 0.1, scale: log, count: 4}\n"
                              "  b: {min: 2, max: 32, count: 6}\n"
                              "  c: {min: 1, max: 3, count: 3}\n"
                              "  d: {min: 0.0, max: 1.0, step: 0.25}"));
}

TEST(ImportTest, IntegersOnALogarithmicScaleStayIntegers) {
  const std::string ray = TextOfFile(
      "param_space: {a: 'tune.lograndint(1, 10.5)', b: 'tune.lograndint(4, 5)'}\n"
      "tune_config: {num_samples: 2}\n");
  EXPECT_THAT(ray, HasSubstr("  a: {min: 1, max: 9, scale: log}\n  b: 4\n"));
  const std::string hydra = TextOfFile(
      "hydra:\n  sweeper:\n    n_trials: 4\n    search_space:\n"
      "      a: {type: int, low: 1, high: 64, log: true}\n"
      "      b: {type: int, low: 0, high: 8, log: true}\n");
  EXPECT_THAT(hydra, HasSubstr("  a: {min: 1, max: 64, scale: log}\n  b: {min: 0, max: 8}  # a "
                               "logarithmic scale needs a minimum above 0\n"));
}

TEST(ImportTest, SeveralObjectivesOfOptunaStaySeveral) {
  const std::string text = TextOfFile(
      "hydra:\n  sweeper:\n    n_trials: 4\n    direction: [minimize, maximize]\n"
      "    params: {a: 'interval(0, 1)'}\n");
  EXPECT_THAT(text, HasSubstr("  metrics: [objective_1, objective_2]\n"
                              "  goals: [minimize, maximize]\n"));
  EXPECT_THAT(text, HasSubstr("dtrain.report(last_step, objective_1=value, objective_2=value)"));
  EXPECT_THAT(text, Not(HasSubstr("metric:")));
}

TEST(ImportTest, AHugeIntegerIsBounded) {
  const auto imported = Import(
      "method: grid\nparameters: {a: {distribution: int_uniform, min: -1.0e+90, max: 1.0e+90},\n"
      "  b: {distribution: int_uniform, min: 1.0e+90, max: 1.0e+90}}\n",
      "file.yaml");
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->text, HasSubstr("  a: [-9223372036854775808, 0, 9223372036854775807]"));
  EXPECT_THAT(imported->text, HasSubstr("  b: 9223372036854775807\n"));
}

TEST(ImportTest, AValueThatCannotBeTakenIsNamed) {
  const std::string wandb = TextOfFile(
      "method: random\nrun_cap: 3\nparameters:\n"
      "  a: {values: [1, 2], probabilities: [0.5]}\n"
      "  b: {values: [1, 2], probabilities: [0.5, -0.5]}\n");
  EXPECT_THAT(wandb, HasSubstr("# line 4: a: probabilities are left out"));
  EXPECT_THAT(wandb, HasSubstr("# line 5: b: probabilities are left out"));
  EXPECT_THAT(TextOfFile("hyperparameters: {a: 1}\nmax_restarts: -1\n"),
              HasSubstr("# line 2: max_restarts: -1 has no counterpart; retries.max is a number "
                        "from 0 to 1000\n"));
  EXPECT_THAT(
      TextOfFile("param_space: {a: 1}\nrun_config:\n  failure_config: {max_failures: -1}\n"),
      HasSubstr("# line 3: max_failures: -1 has no counterpart"));
}

TEST(ImportTest, ASearchWithoutAnythingThatVariesIsOneTrial) {
  EXPECT_THAT(TextOfFile("method: bayes\nrun_cap: 3\nparameters: {a: {value: 1}}\n"),
              HasSubstr("method: grid\n"));
}

TEST(ImportTest, AFileOfNoKnownToolIsRefused) {
  for (const char* text : {"", "[1]", "a: 1", "a: {b: 1}", "a: &x 1\nb: *x", "{"}) {
    const auto imported = Import(text, "f.yaml");
    EXPECT_FALSE(imported.ok()) << text;
    EXPECT_THAT(std::string(imported.status().message()), HasSubstr("f.yaml")) << text;
  }
}

TEST(ImportTest, ACommentCannotEndItsLine) {
  const std::string text = TextOfFile(
      "method: grid\nparameters: {a: {values: [1, 2]}}\nproject: \"x\\ncommand: [rm]\"\n");
  EXPECT_THAT(text, Not(HasSubstr("\ncommand: [rm]")));
}

}  // namespace
}  // namespace dt::cli
