// goals_file_test.cc: several objectives and constraints of a search in a file.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "spec/file/experiment_file.h"
#include "spec/objectives.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

ExperimentFile ReadGoals(const std::string& search, const std::string& more = "") {
  return ReadExperimentFile(
      absl::StrCat("version: 1\nname: s\nrun: ./x {lr}\nsteps: 10\nparameters: {lr: {min: 1, max: "
                   "2}}\nsearch: {max_trials: 20, ",
                   search, "}\n", more),
      "s.yaml");
}

std::string SaidOfGoals(const ExperimentFile& file) {
  std::string out;
  for (const Diagnostic& one : file.diagnostics) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", one.code, ": ", one.message,
                    one.hint.empty() ? "" : "; ", one.hint);
  }
  return out;
}

TEST(GoalsFileTest, MetricsAndConstraintsOfAFileAreReadAndWrittenBack) {
  ExperimentFile file = ReadGoals(
      "method: bayes, metrics: [val_loss, latency_ms], goals: [minimize, minimize], "
      "constraints: ['size_mb < 20', 'latency_ms <= 1s']");
  EXPECT_EQ(SaidOfGoals(file), "");
  v1::ExperimentSpec spec = file.spec;
  EXPECT_TRUE(HasSeveralObjectives(spec.search()));
  EXPECT_EQ(ObjectivesText(spec.search()), "minimize val_loss and minimize latency_ms");
  EXPECT_EQ(WatchesOf(spec.search()).metrics,
            (std::vector<std::string>{"val_loss", "latency_ms", "size_mb"}));
  Freeze(spec, "cpu", 1);
  EXPECT_EQ(spec.search().metric(), "val_loss") << "the first, for what needs one";
  EXPECT_EQ(spec.search().goal(), "minimize");
  ExperimentFile again = ReadExperimentFile(ToYaml(spec), "again.yaml");
  EXPECT_EQ(SaidOfGoals(again), "");
  EXPECT_EQ(ToYaml(again.spec), ToYaml(spec));
}

TEST(GoalsFileTest, AGoalFollowsFromAMetricsName) {
  ExperimentFile file = ReadGoals("method: random, metrics: [val_loss, accuracy]");
  EXPECT_EQ(SaidOfGoals(file), "");
  Freeze(file.spec, "cpu", 1);
  EXPECT_EQ(ObjectivesText(file.spec.search()), "minimize val_loss and maximize accuracy");
  EXPECT_EQ(file.spec.search().goals_size(), 2);
}

TEST(GoalsFileTest, OneObjectiveWithoutConstraintsWatchesNothing) {
  ExperimentFile file = ReadGoals("method: random, metric: val_loss");
  EXPECT_FALSE(HasSeveralObjectives(file.spec.search()));
  EXPECT_TRUE(WatchesOf(file.spec.search()).metrics.empty());
}

TEST(GoalsFileTest, EachMistakeNamesTheFix) {
  const std::string two = "metrics: [val_loss, cost_loss], method: ";
  const std::string keep =
      "keep one as metric, and make constraints of the others: constraints: [\"NAME <= 20\"]";
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {two + "asha",
       "conflict: method asha compares trials by one value, and search.metrics has 2; use method "
       "random or bayes, or " +
           keep},
      {two + "random, target: 1",
       "conflict: search.target compares trials by one value, and search.metrics has 2; " + keep},
      {"method: random, metrics: [val_loss]",
       "too_few: search.metrics has one name; several objectives are 2 to 4; write metric: "
       "val_loss"},
      {"method: random, metrics: [val_loss, val_loss]",
       "duplicate_value: search.metrics names 'val_loss' twice; remove one"},
      {"method: random, metrics: [val_loss, seconds]",
       "missing: search.goals is missing; whether more seconds is better is not known; add goals: "
       "[minimize, …], a word for each of metrics"},
      {two + "random, goals: [minimize]",
       "conflict: search.metrics has 2 names and search.goals 1 word; give one word for each "
       "metric, or leave goals out where the names say it"},
      {two + "random, goals: [min, minimize]",
       "unknown_choice: search.goals[0] is 'min'; it must be one of: minimize, maximize; did you "
       "mean 'minimize'?"},
      {two + "random, metric: val_loss",
       "conflict: search.metric and search.metrics are two ways to say one thing; keep one"},
      {"method: random, goals: [minimize]",
       "conflict: search.goals belongs to search.metrics, which is missing; write goal: minimize, "
       "or name the metrics"},
      {"method: random, constraints: ['latency_ms =< 20']",
       "bad_constraint: search.constraints[0] 'latency_ms =< 20', character 12: '=' stands before "
       "'<' or '>'; write <= or >="}};
  for (const auto& [search, expected] : mistakes) {
    EXPECT_EQ(SaidOfGoals(ReadGoals(search)), expected) << search;
  }
  EXPECT_EQ(
      SaidOfGoals(ReadGoals(two + "random", "stop: {patience: 3}\n")),
      "conflict: stop.patience compares trials by one value, and search.metrics has 2; " + keep);
}

// A list where one value stands, and one value where a list stands, are answered with the other
// field and the person's own values.
TEST(GoalsFileTest, OneAndSeveralNameEachOther) {
  const std::string random = "method: random, ";
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"metric: [val_loss, latency_ms]",
       "wrong_type: 'search.metric' is a list; it must be a single value; several: "
       "search.metrics, such as metrics: [val_loss, latency_ms]"},
      {"metric: [val_loss]",
       "wrong_type: 'search.metric' is a list; it must be a single value; write metric: val_loss"},
      {"metric: []",
       "wrong_type: 'search.metric' is a list; it must be a single value; several: "
       "search.metrics, such as metrics: [val_loss, latency_ms]"},
      {"metric: [a, {b: c}]",
       "wrong_type: 'search.metric' is a list; it must be a single value; several: "
       "search.metrics, such as metrics: [val_loss, latency_ms]"},
      {"metrics: val_loss",
       "wrong_type: 'search.metrics' is a single value; it must be a list of texts; write metric: "
       "val_loss, or several: metrics: [val_loss, latency_ms]"},
      {"metrics: [val_loss, cost], goals: minimize",
       "wrong_type: 'search.goals' is a single value; it must be a list of texts; write goal: "
       "minimize, or several: goals: [minimize, maximize]"},
      {"metric: cost, goal: [minimize, maximize]",
       "wrong_type: 'search.goal' is a list; it must be a single value; several: search.goals, "
       "such as goals: [minimize, maximize]"}};
  for (const auto& [search, expected] : mistakes) {
    EXPECT_EQ(SaidOfGoals(ReadGoals(random + search)), expected) << search;
  }
  EXPECT_EQ(SaidOfGoals(ReadGoals(random + "metric: val_loss", "seed: [1, 2]\n")),
            "wrong_type: 'seed' is a list; it must be a single value; several: seeds, such as "
            "seeds: [1, 2]");
  EXPECT_EQ(SaidOfGoals(ReadGoals(random + "metric: val_loss", "seeds: 7\n")),
            "wrong_type: 'seeds' is a single value; it must be a list of integers; write seeds: "
            "[7], or seed: 7");
  EXPECT_EQ(SaidOfGoals(ReadGoals(random + "metric: val_loss, constraints: 'latency_ms <= 20'")),
            "")
      << "one constraint needs no list";
}

TEST(GoalsFileTest, AModelHasTheMetricsThatItsTrainerMeasures) {
  const auto read = [](const std::string& search) {
    return SaidOfGoals(ReadExperimentFile(
        absl::StrCat("version: 1\nname: s\ndata: {train: a.bin, val: b.bin}\nparameters: "
                     "{optimizer.lr: [1.0e-3, 1.0e-4]}\nsearch: {",
                     search, "}\n"),
        "s.yaml"));
  };
  EXPECT_EQ(read("metrics: [val_loss, training_seconds], goals: [minimize, minimize], "
                 "constraints: ['memory_peak_bytes < 70GiB']"),
            "");
  EXPECT_NE(
      read("constraints: ['peak_memory_bytes < 70GiB']").find("did you mean 'memory_peak_bytes'?"),
      std::string::npos);
}

}  // namespace
}  // namespace dt::spec
