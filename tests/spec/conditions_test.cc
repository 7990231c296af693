#include "spec/conditions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/search.h"

namespace dt::spec::conditions_test {
namespace {

v1::Value Text(const std::string& text) {
  v1::Value value;
  value.set_text(text);
  return value;
}
v1::Value Integer(int64_t integer) {
  v1::Value value;
  value.set_integer(integer);
  return value;
}

// A program whose model is small, large or huge; only the others have a dropout, and only with one
// of 0.1 and 0.2 a decay.
v1::ExperimentSpec Chain(const std::string& method) {
  v1::ExperimentSpec spec = DefaultExperiment();
  spec.set_name("chain");
  spec.mutable_base()->add_command("./train");
  spec.add_explicit_paths("command");
  spec.mutable_search()->set_method(method);
  spec.mutable_search()->set_metric("loss");
  spec.mutable_search()->set_goal("minimize");
  spec.mutable_base()->set_seed(3);
  spec.add_explicit_paths("seed");
  if (method != "grid") spec.mutable_search()->set_max_trials(50);
  v1::Parameter& decay = *spec.add_parameters();
  decay.set_path("decay");
  *decay.add_values() = Integer(1);
  *decay.add_values() = Integer(2);
  v1::Condition& on_dropout = *decay.add_when();
  on_dropout.set_path("dropout");
  *on_dropout.add_values() = Integer(20);
  v1::Parameter& dropout = *spec.add_parameters();
  dropout.set_path("dropout");
  for (const int64_t percent : {10, 20}) *dropout.add_values() = Integer(percent);
  v1::Condition& on_model = *dropout.add_when();
  on_model.set_path("model");
  *on_model.add_values() = Text("large");
  *on_model.add_values() = Text("huge");
  v1::Parameter& model = *spec.add_parameters();
  model.set_path("model");
  for (const char* word : {"small", "large", "huge"}) *model.add_values() = Text(word);
  return spec;
}

template <typename Assignments>
std::string TextOf(const Assignments& assignments) {
  std::vector<std::string> parts;
  for (const v1::Assignment& one : assignments) {
    parts.push_back(absl::StrCat(one.path(), "=", ValueText(one.value())));
  }
  std::sort(parts.begin(), parts.end());
  return absl::StrJoin(parts, " ");
}

std::set<std::string> TrialsOf(const v1::ExperimentSpec& spec, size_t expected) {
  const auto trials = Expand(spec);
  EXPECT_TRUE(trials.ok()) << trials.status();
  std::set<std::string> texts;
  for (const v1::ExpandedTrial& trial : *trials) texts.insert(TextOf(trial.assignments()));
  EXPECT_EQ(texts.size(), trials->size()) << "a combination is there twice";
  EXPECT_EQ(trials->size(), expected);
  return texts;
}

const std::set<std::string> kAll = {"model=small",
                                    "dropout=10 model=large",
                                    "dropout=10 model=huge",
                                    "decay=1 dropout=20 model=large",
                                    "decay=2 dropout=20 model=large",
                                    "decay=1 dropout=20 model=huge",
                                    "decay=2 dropout=20 model=huge"};

TEST(ConditionsTest, AGridTakesEachCombinationOfActiveParametersOnce) {
  EXPECT_TRUE(Validate(Chain("grid")).empty());
  EXPECT_EQ(TrialsOf(Chain("grid"), 7), kAll);
}

TEST(ConditionsTest, RandomDrawsUseUpTheSameCombinations) {
  EXPECT_TRUE(Validate(Chain("random")).empty());
  EXPECT_EQ(TrialsOf(Chain("random"), 7), kAll);
  EXPECT_EQ(CombinationsOf(*SpaceOf(Chain("random"))), 7u);
}

TEST(ConditionsTest, AnExclusionDoesNotMatchAnInactiveParameter) {
  v1::ExperimentSpec spec = Chain("grid");
  v1::Assignment& where = *spec.add_exclude()->add_where();
  where.set_path("decay");
  *where.mutable_value() = Integer(1);
  EXPECT_TRUE(Validate(spec).empty());
  EXPECT_EQ(TrialsOf(spec, 5).count("model=small"), 1u);
  spec.mutable_search()->set_method("random");
  spec.mutable_search()->set_max_trials(50);
  EXPECT_EQ(TrialsOf(spec, 5).count("model=small"), 1u);
}

TEST(ConditionsTest, PointsAndAssignmentsAreInversesWithoutInactiveValues) {
  const Space space = *SpaceOf(Chain("random"));
  for (uint32_t i = 1; i <= 200; ++i) {
    const Point point = DrawUniform(space, {.seed = 1, .configuration = i});
    ASSERT_TRUE(Contains(space, point));
    const std::vector<v1::Assignment> assignments = AssignmentsOf(space, point);
    EXPECT_TRUE(kAll.contains(TextOf(assignments))) << TextOf(assignments);
    EXPECT_EQ(PointOf(space, assignments), point);
  }
  Point wrong = DrawAll(space, {.seed = 1, .configuration = 1});
  wrong[2] = 0;  // small, with a dropout
  EXPECT_FALSE(Contains(space, wrong));
  EXPECT_FALSE(PointOf(space, AssignmentsOf(space, wrong)).has_value());
}

TEST(ConditionsTest, IncludedCombinationsNameWhatTheyHave) {
  const auto code = [](const std::vector<std::pair<std::string, v1::Value>>& values) {
    v1::ExperimentSpec spec = Chain("random");
    v1::Inclusion& included = *spec.add_include();
    for (const auto& [path, value] : values) {
      v1::Assignment& one = *included.add_values();
      one.set_path(path);
      *one.mutable_value() = value;
    }
    const std::vector<Issue> issues = Validate(spec);
    return issues.empty() ? "" : issues[0].code;
  };
  EXPECT_EQ(code({{"model", Text("small")}}), "");
  EXPECT_EQ(code({{"model", Text("huge")}, {"dropout", Integer(10)}}), "");
  EXPECT_EQ(code({{"model", Text("huge")}}), "missing");
  EXPECT_EQ(code({{"model", Text("small")}, {"dropout", Integer(10)}}), "conflict");
}

TEST(ConditionsTest, MistakesAreNamed) {
  const auto issue = [](const std::string& path, const v1::Value& value) {
    v1::ExperimentSpec spec = Chain("random");
    v1::Condition& condition = *spec.mutable_parameters(1)->mutable_when(0);
    condition.set_path(path);
    condition.clear_values();
    *condition.add_values() = value;
    const std::vector<Issue> issues = Validate(spec);
    return issues.empty()
               ? ""
               : absl::StrCat(issues[0].code, ": ", issues[0].message, "; ", issues[0].hint);
  };
  EXPECT_EQ(issue("modle", Text("large")),
            "unknown_parameter: parameters.dropout.when.modle: 'modle' is not among parameters; "
            "did you mean 'model'?");
  EXPECT_EQ(issue("model", Text("lrage")),
            "out_of_range: parameters.dropout.when.model: lrage is not a value of model; its "
            "values: small, large, huge");
  EXPECT_EQ(issue("decay", Integer(1)),
            "conflict: conditions of parameters go in a circle: decay needs dropout, dropout needs "
            "decay; remove one of them");
  EXPECT_EQ(issue("dropout", Integer(10)),
            "conflict: conditions of parameters go in a circle: dropout needs dropout; remove it");
}

TEST(ConditionsTest, AContinuousRangeDecidesNothing) {
  v1::ExperimentSpec spec = Chain("random");
  v1::Parameter& rate = *spec.add_parameters();
  rate.set_path("rate");
  rate.mutable_range()->set_min(0.5);
  rate.mutable_range()->set_max(1.5);
  v1::Condition& condition = *spec.mutable_parameters(1)->add_when();
  condition.set_path("rate");
  *condition.add_values() = Integer(1);
  ASSERT_EQ(Validate(spec).size(), 1u);
  EXPECT_EQ(Validate(spec)[0].path, "parameters.dropout.when.rate");
  rate.mutable_range()->set_min(1);
  rate.mutable_range()->set_max(3);
  rate.mutable_range()->set_step(1);
  EXPECT_TRUE(Validate(spec).empty());
}

TEST(ConditionsTest, AnInactiveFieldHasTheBasesValue) {
  v1::ExperimentSpec spec = DefaultExperiment();
  spec.set_name("base");
  spec.mutable_base()->mutable_data()->set_train("a.bin");
  spec.mutable_base()->mutable_data()->set_val("b.bin");
  spec.mutable_base()->mutable_model()->set_dropout(0.05);
  for (const char* path : {"data.train", "data.val", "model.dropout"})
    spec.add_explicit_paths(path);
  v1::Parameter& layers = *spec.add_parameters();
  layers.set_path("model.n_layer");
  for (const int64_t count : {2, 12}) *layers.add_values() = Integer(count);
  v1::Parameter& dropout = *spec.add_parameters();
  dropout.set_path("model.dropout");
  for (const double share : {0.1, 0.2}) dropout.add_values()->set_number(share);
  v1::Condition& condition = *dropout.add_when();
  condition.set_path("model.n_layer");
  *condition.add_values() = Integer(12);
  ASSERT_TRUE(Validate(spec).empty()) << ToString(Validate(spec)[0]);
  const auto trials = *Expand(spec);
  ASSERT_EQ(trials.size(), 3u);
  const auto dropout_of = [&](size_t trial) {
    const auto& values = trials[trial].assignments();
    return ResolveTrial(spec, {values.begin(), values.end()})->model().dropout();
  };
  EXPECT_EQ(dropout_of(0), 0.05);
  EXPECT_EQ(dropout_of(1), 0.1);
  EXPECT_EQ(dropout_of(2), 0.2);
  EXPECT_NE(ToYaml(spec).find("dropout: 0.05"), std::string::npos) << ToYaml(spec);
}

}  // namespace
}  // namespace dt::spec::conditions_test
