// draws_test.cc: the trials of `random`, with included combinations and seeds: properties of the
// draws, and which draws a change of the file leaves unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "spec/program.h"
#include "spec/search.h"
#include "tests/spec/experiment_builder.h"

namespace dt::spec {
namespace {

v1::ExperimentSpec Random(int64_t seed, int32_t max_trials) {
  v1::ExperimentSpec spec = ExperimentBuilder().Set("seed", std::to_string(seed)).spec();
  spec.mutable_search()->set_method("random");
  spec.mutable_search()->set_max_trials(max_trials);
  return spec;
}

v1::Parameter& AddRange(v1::ExperimentSpec& spec, const std::string& path, double min, double max,
                        double step = 0, const std::string& scale = "") {
  v1::Parameter& parameter = *spec.add_parameters();
  parameter.set_path(path);
  parameter.mutable_range()->set_min(min);
  parameter.mutable_range()->set_max(max);
  parameter.mutable_range()->set_step(step);
  parameter.mutable_range()->set_scale(scale);
  return parameter;
}

v1::Parameter& AddList(v1::ExperimentSpec& spec, const std::string& path,
                       const std::vector<std::string>& texts) {
  v1::Parameter& parameter = *spec.add_parameters();
  parameter.set_path(path);
  for (const std::string& text : texts) {
    *parameter.add_values() = ParseValue(*FindField(path), text).value();
  }
  return parameter;
}

// Returns a space with every kind of dimension.
v1::ExperimentSpec Mixed(int64_t seed, int32_t max_trials) {
  v1::ExperimentSpec spec = Random(seed, max_trials);
  AddRange(spec, "optimizer.lr", 1e-5, 1e-2, 0, "log");
  AddRange(spec, "model.n_layer", 1, 6);
  AddRange(spec, "model.dropout", 0, 0.5, 0.05);
  AddList(spec, "train.batch_size", {"64", "8", "16", "32"});
  AddList(spec, "schedule.type", {"cosine", "linear"});
  return spec;
}

std::string Text(const v1::ExpandedTrial& trial) {
  std::string text;
  for (const v1::Assignment& one : trial.assignments()) {
    text += (text.empty() ? "" : " ") + one.path() + "=" + ValueText(one.value());
  }
  return text;
}

std::vector<std::string> Texts(const v1::ExperimentSpec& spec) {
  std::vector<std::string> texts;
  const auto trials = Expand(spec);
  EXPECT_TRUE(trials.ok()) << trials.status().message().data();
  if (!trials.ok()) return texts;
  for (const v1::ExpandedTrial& trial : *trials) texts.push_back(Text(trial));
  return texts;
}

std::map<std::string, int> CountsOf(const v1::ExperimentSpec& spec, const std::string& path) {
  std::map<std::string, int> counts;
  const auto trials = Expand(spec).value();
  for (const v1::ExpandedTrial& trial : trials) {
    for (const v1::Assignment& one : trial.assignments()) {
      if (one.path() == path) ++counts[ValueText(one.value())];
    }
  }
  return counts;
}

double ChiSquared(const std::vector<double>& counts, const std::vector<double>& shares,
                  double total) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = shares[i] * total;
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

TEST(DrawsTest, EveryTrialIsValidWithinItsRangesAndDiffersFromTheOthers) {
  for (int64_t seed = 0; seed < 5; ++seed) {
    const v1::ExperimentSpec spec = Mixed(seed, 300);
    ASSERT_TRUE(Validate(spec).empty());
    const auto trials = Expand(spec).value();
    ASSERT_EQ(trials.size(), 300u);
    const Space space = SpaceOf(spec).value();
    std::set<std::string> texts;
    for (const v1::ExpandedTrial& trial : trials) {
      EXPECT_TRUE(texts.insert(Text(trial)).second) << "seed " << seed << ": " << Text(trial);
      // Only a value within its range, on its step or in its list has a point.
      EXPECT_TRUE(PointOf(space, {trial.assignments().begin(), trial.assignments().end()}))
          << "seed " << seed << ": " << Text(trial);
    }
  }
}

TEST(DrawsTest, BothEndsOfIntegersAreHitAndEachDimensionPassesChiSquared) {
  constexpr double kTrials = 3000;
  // A fair draw exceeds these once in 10,000: Pearson, with 1, 3, 5, 9 and 10 degrees of freedom.
  const std::map<size_t, double> kMost{
      {2, 15.14}, {4, 21.11}, {6, 25.74}, {10, 33.72}, {11, 35.56}};
  const v1::ExperimentSpec spec = Mixed(7, static_cast<int32_t>(kTrials));
  const auto layers = CountsOf(spec, "model.n_layer");
  EXPECT_TRUE(layers.contains("1") && layers.contains("6"));
  for (const auto& [path, places] : std::map<std::string, size_t>{{"model.n_layer", 6},
                                                                  {"model.dropout", 11},
                                                                  {"train.batch_size", 4},
                                                                  {"schedule.type", 2}}) {
    const auto counted = CountsOf(spec, path);
    ASSERT_EQ(counted.size(), places) << path;
    std::vector<double> counts;
    for (const auto& [text, count] : counted) counts.push_back(count);
    const std::vector<double> shares(places, 1.0 / static_cast<double>(places));
    EXPECT_LT(ChiSquared(counts, shares, kTrials), kMost.at(places)) << path;
  }
  // Count in ten parts of the log range, each with the same ratio.
  std::vector<double> counts(10, 0.0);
  const auto trials = Expand(spec).value();
  for (const v1::ExpandedTrial& trial : trials) {
    for (const v1::Assignment& one : trial.assignments()) {
      if (one.path() != "optimizer.lr") continue;
      const double share = std::log(one.value().number() / 1e-5) / std::log(1e3);
      ++counts[std::min<size_t>(9, static_cast<size_t>(share * 10))];
    }
  }
  EXPECT_LT(ChiSquared(counts, std::vector<double>(10, 0.1), kTrials), kMost.at(10));
}

TEST(DrawsTest, ProbabilitiesAreTheSharesOfTheValuesInAnyOrder) {
  v1::ExperimentSpec spec = Random(3, 2000);
  AddRange(spec, "optimizer.lr", 1e-5, 1e-2, 0, "log");
  v1::Parameter& batch = AddList(spec, "train.batch_size", {"32", "8", "16", "4"});
  for (const double weight : {1.0, 5.0, 2.0, 0.0}) batch.add_probabilities(weight);
  ASSERT_TRUE(Validate(spec).empty());
  const auto counted = CountsOf(spec, "train.batch_size");
  EXPECT_FALSE(counted.contains("4"));
  const std::vector<double> counts{double(counted.at("32")), double(counted.at("8")),
                                   double(counted.at("16"))};
  // exceeded once in 10,000
  EXPECT_LT(ChiSquared(counts, {1 / 8.0, 5 / 8.0, 2 / 8.0}, 2000), 18.42);
}

TEST(DrawsTest, TheOrderOfParametersAndOfListsInTheFileChangesNothing) {
  const v1::ExperimentSpec spec = Mixed(11, 40);
  v1::ExperimentSpec turned = spec;
  std::reverse(turned.mutable_parameters()->begin(), turned.mutable_parameters()->end());
  for (v1::Parameter& parameter : *turned.mutable_parameters()) {
    if (parameter.path() != "train.batch_size") continue;
    std::reverse(parameter.mutable_values()->begin(), parameter.mutable_values()->end());
  }
  EXPECT_EQ(Texts(turned), Texts(spec));
}

TEST(DrawsTest, FiftyTrialsExtendedToEightyAreEightyFromTheStart) {
  for (const bool small : {false, true}) {
    const auto make = [small](int32_t count) {
      if (!small) return Mixed(5, count);
      v1::ExperimentSpec spec = Random(5, count);  // 84 combinations: nearly used up
      AddRange(spec, "model.n_layer", 1, 21);
      AddList(spec, "train.batch_size", {"2", "4", "8", "16"});
      return spec;
    };
    const std::vector<std::string> fifty = Texts(make(50)), eighty = Texts(make(80));
    ASSERT_EQ(fifty.size(), 50u);
    ASSERT_EQ(eighty.size(), 80u);
    EXPECT_TRUE(std::equal(fifty.begin(), fifty.end(), eighty.begin()));
  }
}

// Returns one trial of each configuration.
std::vector<std::vector<v1::Assignment>> Configurations(const v1::ExperimentSpec& spec) {
  std::vector<std::vector<v1::Assignment>> configurations;
  const auto trials = Expand(spec).value();
  for (size_t i = 0; i < trials.size(); i += ReplicatesOf(spec)) {
    auto& values =
        configurations.emplace_back(trials[i].assignments().begin(), trials[i].assignments().end());
    if (spec.seeds().empty()) continue;
    std::erase_if(values, [](const v1::Assignment& one) { return one.path() == "seed"; });
  }
  return configurations;
}

// Only 1 of 16 widths is a multiple of the number of heads.
v1::ExperimentSpec FewPass(int64_t seed, int32_t max_trials) {
  v1::ExperimentSpec spec = Random(seed, max_trials);
  AddRange(spec, "optimizer.lr", 1e-5, 1e-2, 0, "log");
  spec.mutable_base()->mutable_model()->set_n_head(16);
  AddRange(spec, "model.n_embd", 16, 4096);
  return spec;
}

// Returns experiments whose trials are partly included, from a space that is used up, with seeds,
// or refused by a rule.
std::vector<v1::ExperimentSpec> Extendable(int64_t seed, int32_t max_trials) {
  std::vector<v1::ExperimentSpec> specs = {Mixed(seed, max_trials), FewPass(seed, max_trials)};
  specs.reserve(5);  // references into it stay valid
  v1::ExperimentSpec& small = specs.emplace_back(Random(seed, max_trials));
  AddRange(small, "model.n_layer", 1, 12);
  AddList(small, "schedule.type", {"cosine", "linear"});
  v1::ExperimentSpec& seeds = specs.emplace_back(small);
  seeds.clear_explicit_paths();
  for (const int64_t each : {seed, seed + 100}) seeds.add_seeds(each);
  v1::ExperimentSpec& included = specs.emplace_back(small);
  const auto first = Configurations(small).front();
  *included.add_include()->mutable_values() = {first.begin(), first.end()};
  return specs;
}

TEST(DrawsTest, AnExtensionAddsTheTrialsOfTheLargerExperiment) {
  for (int64_t seed = 1; seed <= 10; ++seed) {
    for (const auto& [before, count] :
         {std::pair(1, 2), std::pair(1, 40), std::pair(3, 4), std::pair(8, 60)}) {
      const std::vector<v1::ExperimentSpec> small = Extendable(seed, before);
      const std::vector<v1::ExperimentSpec> large = Extendable(seed, count);
      for (size_t i = 0; i < small.size(); ++i) {
        SCOPED_TRACE(absl::StrCat("seed ", seed, ", file ", i, ", ", before, " to ", count));
        auto trials = Expand(small[i]).value();
        const auto further =
            ExpandFurther(small[i], Configurations(small[i]), static_cast<uint32_t>(count));
        ASSERT_TRUE(further.ok()) << further.status();
        trials.insert(trials.end(), further->begin(), further->end());
        const auto whole = Expand(large[i]).value();
        ASSERT_EQ(trials.size(), whole.size());
        for (size_t n = 0; n < whole.size(); ++n) {
          EXPECT_EQ(trials[n].SerializeAsString(), whole[n].SerializeAsString())
              << Text(trials[n]) << " for " << Text(whole[n]);
        }
      }
    }
  }
}

TEST(DrawsTest, AnExtensionThatNeedsTooManyDrawsIsRefusedWithTheReason) {
  const v1::ExperimentSpec spec = FewPass(7, 10);
  const auto known = Configurations(spec);
  EXPECT_TRUE(ExpandFurther(spec, known, 1000).ok());
  const auto refused = ExpandFurther(spec, known, 10'000);  // 16 draws each
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.status().message(),
            absl::StrCat("9990 further trials take more than ", kDrawsAtOnce,
                         " draws, which is the most at a time; raise max_trials by less"));
}

TEST(DrawsTest, ASpaceThatIsUsedUpGivesEachOfItsCombinationsOnce) {
  v1::ExperimentSpec spec = Random(2, 500);
  AddRange(spec, "model.n_layer", 1, 20);
  AddList(spec, "model.n_head", {"4", "6", "8", "12"});
  v1::Exclusion& exclusion = *spec.add_exclude();
  v1::Assignment& where = *exclusion.add_where();
  where.set_path("model.n_layer");
  where.mutable_value()->set_integer(7);
  ASSERT_TRUE(Validate(spec).empty());
  const std::vector<std::string> texts = Texts(spec);
  EXPECT_EQ(texts.size(), 19u * 4);
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), texts.size());
  for (const std::string& text : texts) EXPECT_EQ(text.find("n_layer=7"), std::string::npos);
}

TEST(DrawsTest, DrawsThatBreakARuleAreReplaced) {
  v1::ExperimentSpec spec = Random(9, 60);
  AddRange(spec, "model.n_embd", 100, 800, 25);
  AddList(spec, "model.n_head", {"4", "5"});
  ASSERT_TRUE(Validate(spec).empty());
  const auto trials = Expand(spec).value();
  // 15 widths are multiples of 100, and the 29 multiples of 25 are all multiples of 5.
  EXPECT_EQ(trials.size(), 37u);
  for (const v1::ExpandedTrial& trial : trials) {
    EXPECT_EQ(trial.assignments(0).value().integer() % trial.assignments(1).value().integer(), 0)
        << Text(trial);
  }
}

TEST(DrawsTest, IncludedCombinationsComeFirstAndAreNotDrawnAgain) {
  v1::ExperimentSpec spec = Random(4, 6);
  AddRange(spec, "model.n_layer", 1, 6);
  for (const int layers : {5, 2}) {
    v1::Assignment& one = *spec.add_include()->add_values();
    one.set_path("model.n_layer");
    one.mutable_value()->set_integer(layers);
  }
  ASSERT_TRUE(Validate(spec).empty());
  const std::vector<std::string> texts = Texts(spec);
  ASSERT_EQ(texts.size(), 6u);
  EXPECT_EQ(texts[0], "model.n_layer=5");
  EXPECT_EQ(texts[1], "model.n_layer=2");
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), 6u);
}

TEST(DrawsTest, AGridHasItsIncludedCombinationsAtItsEnd) {
  ExperimentBuilder builder;
  builder.Sweep("model.n_layer", {"2", "4"});
  v1::Assignment& one = *builder.spec().add_include()->add_values();
  one.set_path("model.n_layer");
  one.mutable_value()->set_integer(3);
  ASSERT_TRUE(Validate(builder.spec()).empty());
  EXPECT_EQ(Texts(builder.spec()),
            (std::vector<std::string>{"model.n_layer=2", "model.n_layer=4", "model.n_layer=3"}));
  const auto trials = Expand(builder.spec()).value();
  EXPECT_EQ(trials[1].choices(0), 1u);
  EXPECT_TRUE(trials[2].choices().empty());
}

TEST(DrawsTest, EverySeedHasEachConfigurationOnceAndTheyAreNeighbours) {
  v1::ExperimentSpec spec = Mixed(0, 3);
  spec.mutable_explicit_paths()->RemoveLast();  // the seed
  for (const int64_t seed : {17, 4, 99}) spec.add_seeds(seed);
  ASSERT_TRUE(Validate(spec).empty());
  const auto trials = Expand(spec).value();
  ASSERT_EQ(trials.size(), 9u);
  for (size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(trials[i].configuration(), i / 3 + 1);
    EXPECT_EQ(trials[i].replicate(), i % 3);
    const v1::Assignment& seed = *trials[i].assignments().rbegin();
    EXPECT_EQ(seed.path(), "seed");
    EXPECT_EQ(seed.value().integer(), spec.seeds(static_cast<int>(i % 3)));
    EXPECT_EQ(ResolveTrial(spec, {trials[i].assignments().begin(), trials[i].assignments().end()})
                  ->seed(),
              seed.value().integer());
  }
  // They are the draws for the first seed.
  v1::ExperimentSpec alone = Mixed(17, 3);
  EXPECT_EQ(Text(trials[3]), Texts(alone)[1] + " seed=17");
  // The coordinator's seed is for experiments that name none.
  Freeze(spec, "cpu", 12345);
  EXPECT_FALSE(IsExplicit(spec, "seed"));
  EXPECT_TRUE(Validate(spec).empty());
}

TEST(DrawsTest, BayesBeginsWithTheIncludedTrialsOnly) {
  v1::ExperimentSpec spec = Mixed(1, 30);
  spec.mutable_search()->set_method("bayes");
  EXPECT_TRUE(Texts(spec).empty());
  spec.mutable_search()->set_method("asha");
  spec.mutable_search()->set_sampler("bayes");
  EXPECT_TRUE(Texts(spec).empty());
  spec.mutable_search()->set_sampler("random");
  EXPECT_EQ(Texts(spec), Texts(Mixed(1, 30)));
}

TEST(SearchTest, OpenSettingsAreFixedAtSubmit) {
  v1::ExperimentSpec spec = Mixed(1, 30);
  spec.mutable_search()->set_method("asha");
  spec.mutable_search()->set_metric("hellaswag_acc");
  Freeze(spec, "cpu", 1);
  EXPECT_EQ(spec.search().goal(), "maximize");
  EXPECT_EQ(spec.search().sampler(), "random");
  EXPECT_EQ(spec.search().asha().eta(), 3);
  EXPECT_EQ(spec.search().asha().rungs(), 3);
  EXPECT_EQ(spec.search().asha().brackets(), 1);
}

TEST(SearchTest, AnotherClientsMessageIsCheckedLikeAFile) {
  const auto found = [](const std::function<void(v1::ExperimentSpec&)>& change) {
    v1::ExperimentSpec spec = Random(1, 5);
    AddRange(spec, "optimizer.lr", 1e-5, 1e-2);
    change(spec);
    std::string text;
    for (const Issue& issue : Validate(spec)) {
      text += (text.empty() ? "" : ", ") + issue.path + " " + issue.code;
    }
    return text;
  };
  using S = v1::ExperimentSpec;
  const auto range = [](S& spec) { return spec.mutable_parameters(0)->mutable_range(); };
  EXPECT_EQ(found([](S&) {}), "");
  EXPECT_EQ(found([](S& spec) {
              spec.mutable_search()->set_method("grid");
              spec.mutable_search()->clear_max_trials();
            }),
            "parameters.optimizer.lr missing");
  EXPECT_EQ(found([](S& spec) { spec.mutable_parameters(0)->add_values()->set_number(0.5); }),
            "parameters.optimizer.lr conflict");
  EXPECT_EQ(found([&](S& spec) { range(spec)->set_min(std::nan("")); }),
            "parameters.optimizer.lr.min not_finite");
  EXPECT_EQ(found([&](S& spec) { range(spec)->set_max(1e-6); }),
            "parameters.optimizer.lr.max conflict");
  EXPECT_EQ(found([&](S& spec) { range(spec)->set_scale("cubic"); }),
            "parameters.optimizer.lr.scale unknown_choice");
  EXPECT_EQ(found([&](S& spec) { range(spec)->set_step(-1); }),
            "parameters.optimizer.lr.step out_of_range");
  EXPECT_EQ(found([&](S& spec) { range(spec)->set_step(1e-300); }),
            "parameters.optimizer.lr.step out_of_range");
  EXPECT_EQ(found([](S& spec) {
              AddList(spec, "train.batch_size", {"2", "4"}).add_probabilities(1);
              spec.mutable_parameters(1)->add_probabilities(std::nan(""));
            }),
            "parameters.train.batch_size.probabilities out_of_range");
  EXPECT_EQ(found([](S& spec) {
              spec.mutable_search()->set_method("asha");
              spec.mutable_search()->mutable_asha()->set_rungs(1'000'000'000);
            }),
            "search.asha.rungs out_of_range");
  EXPECT_EQ(found([](S& spec) { spec.mutable_search()->set_sampler("sobol"); }),
            "search.sampler unknown_choice, search.sampler conflict");
  EXPECT_EQ(found([](S& spec) { spec.mutable_search()->set_max_trials(-3); }),
            "search.max_trials out_of_range");
  EXPECT_EQ(found([](S& spec) {
              spec.clear_explicit_paths();
              spec.add_seeds(-1);
            }),
            "seeds[0] out_of_range");
  EXPECT_EQ(found([](S& spec) {
              v1::Parameter& lengths = *spec.add_parameters();
              lengths.set_path("train.seq_len");
              for (int i = 1; i <= 10001; ++i) lengths.add_values()->set_integer(i);
            }),
            "parameters.train.seq_len too_many");
  EXPECT_EQ(found([](S& spec) {
              v1::Assignment& one = *spec.add_include()->add_values();
              one.set_path("optimizer.rate");
              one.mutable_value()->set_number(1);
            }),
            "include[0] missing, include[0].optimizer.rate unknown_parameter");
}

// Each of these ranges produced a proposal that is no number, or would.
TEST(SearchTest, RangesBeyondSafeArithmeticAreRefused) {
  const Field field = FieldNamed("x", FieldType::kNumber);
  const auto said = [&field](double min, double max, const char* scale = "", double step = 0) {
    v1::Range range;
    range.set_min(min);
    range.set_max(max);
    range.set_scale(scale);
    range.set_step(step);
    const std::vector<Issue> issues = CheckRange(field, range);
    return issues.empty() ? "" : ToString(issues.front());
  };
  EXPECT_EQ(said(-1e308, 1e308),
            "'parameters.x.min' is -1.0e+308; a bound is from -1.0e+150 to 1.0e+150, so that the "
            "width of its range is a number; write -1.0e+150, or search its logarithm and raise 10 "
            "to that power");
  EXPECT_NE(said(1, 1e151), "");
  EXPECT_NE(said(5e-324, 1, "log"), "");
  EXPECT_NE(said(1e-200, 1, "log"), "");
  EXPECT_NE(said(0, 5e-324), "");
  EXPECT_NE(said(0, 1, "", 5e-324), "");
  EXPECT_NE(said(0, 1, "", 1e-300), "");
  EXPECT_NE(said(-1e150, 1e150, "", 1e-100), "");
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {not_a_number, infinity, -infinity}) {
    EXPECT_NE(said(bad, 1), "") << bad;
    EXPECT_NE(said(0, bad), "") << bad;
    EXPECT_NE(said(0, 1, "", bad), "") << bad;
  }
  EXPECT_EQ(said(-1e150, 1e150), "");
  EXPECT_EQ(said(1e-150, 1e150, "log"), "");
  EXPECT_EQ(said(0, 1e-150), "");
}

TEST(SearchTest, ATrialsStepsEqualTheTrainersPlan) {
  v1::Spec trial = DefaultSpec();
  trial.mutable_train()->set_global_batch_size(8);
  trial.mutable_train()->set_seq_len(100);
  EXPECT_EQ(TargetSteps(trial), std::nullopt);
  trial.mutable_train()->set_max_tokens(1601);
  EXPECT_EQ(TargetSteps(trial), 3u);
  trial.mutable_train()->set_max_tokens(1600);
  EXPECT_EQ(TargetSteps(trial), 2u);
  trial.mutable_train()->set_max_steps(50);
  EXPECT_EQ(TargetSteps(trial), 50u);
  trial.mutable_schedule()->set_warmup_ratio(0.25);
  EXPECT_EQ(WarmupSteps(trial, 50), 13u);
  trial.mutable_schedule()->set_warmup_steps(7);
  EXPECT_EQ(WarmupSteps(trial, 50), 7u);
}

}  // namespace
}  // namespace dt::spec
