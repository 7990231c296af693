// search_file_test.cc: a file's search section: its contents, and each refusal with its code,
// message and hint.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "spec/file/experiment_file.h"
#include "spec/search.h"
#include "spec/spec.h"

namespace dt::spec {
namespace {

constexpr const char* kSearchHead = "version: 1\nname: s\ndata: {train: a.bin, val: b.bin}\n";
constexpr const char* kRandom = "search: {method: random, max_trials: 20}\n";
constexpr const char* kRate =
    "parameters: {optimizer.lr: {min: 1.0e-5, max: 1.0e-2, scale: log}}\n";

ExperimentFile Read(const std::string& text) {
  return ReadExperimentFile(absl::StrCat(kSearchHead, text), "s.yaml");
}

ExperimentFile ReadValidSearch(const std::string& text) {
  ExperimentFile file = Read(text);
  EXPECT_TRUE(file.diagnostics.empty()) << text << RenderDiagnostics(file.diagnostics);
  return file;
}

// Returns "code: message; hint" for each diagnostic.
std::string Said(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& one : diagnostics) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", one.code, ": ", one.message,
                    one.hint.empty() ? "" : "; ", one.hint);
  }
  return out;
}

std::string Values(const dtrain::v1::Parameter& parameter) {
  std::string out;
  for (const auto& value : parameter.values()) {
    absl::StrAppend(&out, out.empty() ? "" : " ", spec::ValueText(value));
  }
  return out;
}

// Each text is a file of at most a megabyte that would take gigabytes.
TEST(SearchFileTest, FewBytesDoNotBecomeGigabytes) {
  const auto codes = [](const std::string& text) {
    std::string out;
    for (const Diagnostic& one :
         ReadExperimentFile(absl::StrCat("version: 1\nname: s\nrun: ./x\n", text), "s.yaml")
             .diagnostics) {
      absl::StrAppend(&out, out.empty() ? "" : " ", one.code);
    }
    return out;
  };
  std::string many = "parameters:\n";
  for (int i = 0; i < 10'000; ++i) {
    absl::StrAppend(&many, "  x", i, ": {min: 1, max: 2, count: 10000}\n");
  }
  EXPECT_EQ(codes(many), "too_many");
  std::string wide = "search: {method: random, max_trials: 2}\nparameters:\n";
  for (int i = 0; i < 64; ++i) {
    absl::StrAppend(&wide, "  x", i, ": {min: 0.5, max: 1.5, count: 10000}\n");
  }
  EXPECT_EQ(codes(wide), "too_many_values");
  std::string key = absl::StrCat("parameters:\n  ? ", std::string(100'000, 'k'), "\n  : [1");
  for (int i = 0; i < 50'000; ++i) key += ",1";
  EXPECT_EQ(codes(key + "]\n"), "too_large");
}

TEST(SearchFileTest, OtherSystemsWordsForAMethodGetOnlyOursAsAnswer) {
  const std::vector<std::pair<std::string, std::string>> words = {
      {"hyperband", "did you mean 'asha'? with asha: {brackets: 2}"},
      {"tpe", "did you mean 'bayes'?"},
      {"Bayesian", "did you mean 'bayes'?"},
      {"adaptive_asha", "did you mean 'asha'?"},
      {"BOHB", "did you mean 'asha'? with sampler: bayes"},
      {"successive-halving", "did you mean 'asha'?"},
      {"median", "write stop: {median: {after: 5}}"},
      {"optuna", "did you mean 'bayes'?"},
      {"nothing_alike", ""}};
  for (const auto& [word, hint] : words) {
    const ExperimentFile file = Read(absl::StrCat(
        "search: {method: ", word, ", max_trials: 20, asha: {eta: 3}, sampler: bayes}\n", kRate));
    ASSERT_EQ(file.diagnostics.size(), 1u) << word << RenderDiagnostics(file.diagnostics);
    EXPECT_EQ(file.diagnostics[0].code, "unknown_choice");
    EXPECT_EQ(file.diagnostics[0].hint.substr(0, hint.size()), hint);
    EXPECT_EQ(file.diagnostics[0].hint.empty(), hint.empty()) << file.diagnostics[0].hint;
  }
  EXPECT_EQ(Read("search: {goal: min}\n").diagnostics.at(0).hint, "did you mean 'minimize'?");
}

// --- Files that are read ---
TEST(SearchFileTest, EveryWordOfASearchIsRead) {
  const ExperimentFile file = ReadValidSearch(R"(
search:
  method: asha
  sampler: bayes
  max_trials: 200
  metric: val_loss
  target: 3.1
  max_failed_trials: 7
  asha: {eta: 4, rungs: 2, brackets: 3}
parameters:
  optimizer.lr: {min: 1.0e-5, max: 1.0e-2, scale: log}
  train.batch_size: [8, 16, 32, 64]
  model.n_embd: {min: 192, max: 1536, step: 192}
include: [{optimizer.lr: 6.0e-4, train.batch_size: 16, model.n_embd: 384}]
exclude: [{model.n_embd: 1536, train.batch_size: 64}]
train: {max_steps: 1000}
stop: {patience: 10, max_loss: 11, median: {after: 5}}
)");
  const auto& search = file.spec.search();
  EXPECT_EQ(spec::SamplerOf(file.spec), spec::Sampler::kBayes);
  EXPECT_EQ(search.max_trials(), 200);
  EXPECT_EQ(search.target(), 3.1);
  EXPECT_EQ(search.max_failed_trials(), 7);
  EXPECT_EQ(search.asha().eta(), 4);
  EXPECT_EQ(search.asha().rungs(), 2);
  EXPECT_EQ(search.asha().brackets(), 3);
  EXPECT_EQ(file.spec.parameters(0).range().min(), 1e-5);
  EXPECT_EQ(file.spec.parameters(0).range().scale(), "log");
  EXPECT_EQ(file.spec.parameters(2).range().step(), 192);
  EXPECT_EQ(file.spec.include(0).values(2).value().integer(), 384);
  EXPECT_EQ(file.spec.base().stop().patience(), 10);
  EXPECT_EQ(file.spec.base().stop().max_loss(), 11);
  EXPECT_EQ(file.spec.base().stop().median().after(), 5);
  const ExperimentFile again = ReadExperimentFile(spec::ToYaml(file.spec), "again.yaml");
  EXPECT_TRUE(again.diagnostics.empty()) << RenderDiagnostics(again.diagnostics);
  EXPECT_EQ(spec::ToYaml(again.spec), spec::ToYaml(file.spec));
}

TEST(SearchFileTest, ResampleZeroDiffersFromAnOpenResample) {
  for (const auto& [pbt, resample] :
       {std::pair(", pbt: {resample: 0}", 0.0), std::pair(", pbt: {resample: 0.5}", 0.5),
        std::pair(", pbt: {every: 0.2}", 0.25), std::pair("", 0.25)}) {
    ExperimentFile file =
        ReadValidSearch(absl::StrCat("search: {method: pbt, max_trials: 8", pbt, "}\n", kRate));
    EXPECT_EQ(spec::PopulationOf(file.spec.search()).resample, resample) << pbt;
    spec::Freeze(file.spec, "cpu", 1);
    EXPECT_EQ(spec::PopulationOf(file.spec.search()).resample, resample) << pbt;
    const std::string printed = spec::ToYaml(file.spec);
    const ExperimentFile again = ReadExperimentFile(printed, "again.yaml");
    EXPECT_TRUE(again.diagnostics.empty()) << RenderDiagnostics(again.diagnostics);
    EXPECT_EQ(spec::PopulationOf(again.spec.search()).resample, resample) << printed;
  }
}

TEST(SearchFileTest, ValuesOfACountHaveAsManyDigitsAsTellThemApart) {
  const ExperimentFile wide = ReadValidSearch(
      "parameters: {optimizer.lr: {min: 1.0e-4, max: 1.0e-2, scale: log, count: 5}}\n");
  EXPECT_EQ(Values(wide.spec.parameters(0)), "0.0001 0.000316228 0.001 0.00316228 0.01");
  const ExperimentFile narrow =
      ReadValidSearch("parameters: {optimizer.lr: {min: 0.99999, max: 0.999999, count: 4}}\n");
  EXPECT_EQ(Values(narrow.spec.parameters(0)), "0.99999 0.999993 0.999996 0.999999");
  const ExperimentFile fine =
      ReadValidSearch("parameters: {optimizer.lr: {min: 0.99999, max: 0.999999, count: 20}}\n");
  EXPECT_EQ(fine.spec.parameters(0).values_size(), 20);
}

TEST(SearchFileTest, AStepOrACountMakesValuesUnderAGrid) {
  const auto values = [](const std::string& range) {
    return Values(ReadValidSearch(absl::StrCat("parameters: {", range, "}\n")).spec.parameters(0));
  };
  EXPECT_EQ(values("model.n_layer: {min: 2, max: 8, step: 3}"), "2 5 8");
  EXPECT_EQ(values("model.dropout: {min: 0, max: 0.5, step: 0.1}"), "0 0.1 0.2 0.3 0.4 0.5");
  EXPECT_EQ(values("model.n_layer: {min: 2, max: 8, count: 4}"), "2 4 6 8");
}

TEST(SearchFileTest, ARangeStaysARangeUnlessTrialsAreAGrids) {
  for (const char* search :
       {"search: {method: random, max_trials: 4}\n", "search: {method: bayes, max_trials: 4}\n",
        "search: {method: asha, max_trials: 4}\ntrain: {max_steps: 100}\n"}) {
    // The position of `search` in the file does not matter.
    for (const std::string& text : {absl::StrCat(search, kRate), absl::StrCat(kRate, search)}) {
      EXPECT_TRUE(ReadValidSearch(text).spec.parameters(0).has_range()) << text;
    }
  }
  const ExperimentFile counted = ReadValidSearch(absl::StrCat(
      kRandom, "parameters: {optimizer.lr: {min: 1.0e-5, max: 1.0e-2, scale: log, count: 4}}\n"));
  EXPECT_EQ(Values(counted.spec.parameters(0)), "1.0e-5 0.0001 0.001 0.01");
  const ExperimentFile gridded = ReadValidSearch(
      "search: {method: asha, sampler: grid}\ntrain: {max_steps: 100}\n"
      "parameters: {model.n_layer: {min: 2, max: 4, step: 1}}\n");
  EXPECT_EQ(Values(gridded.spec.parameters(0)), "2 3 4");
}

TEST(SearchFileTest, TheGoalFollowsTheMetricUnlessTheFileSetsIt) {
  const auto goal = [](const std::string& search) {
    auto spec =
        ReadValidSearch(absl::StrCat("search: {", search, "}\neval: {hellaswag: h.bin}\n")).spec;
    spec::Freeze(spec, "cpu", 1);
    return spec.search().goal();
  };
  EXPECT_EQ(goal("metric: val_loss"), "minimize");
  EXPECT_EQ(goal("metric: loss"), "minimize");
  EXPECT_EQ(goal("metric: hellaswag_acc"), "maximize");
  EXPECT_EQ(goal("metric: hellaswag_acc_norm"), "maximize");
  EXPECT_EQ(goal("metric: hellaswag_acc, goal: minimize"), "minimize");
}

// --- Files that are refused ---
struct Refusal {
  const char* text;
  const char* said;
};

class RefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, IsRefusedWithItsCodeMessageAndHint) {
  EXPECT_EQ(Said(Read(GetParam().text).diagnostics), GetParam().said) << GetParam().text;
}

#define DT_RANDOM "search: {method: random, max_trials: 20}\n"
#define DT_RATE "parameters: {optimizer.lr: {min: 1.0e-5, max: 1.0e-2, scale: log}}\n"
INSTANTIATE_TEST_SUITE_P(
    Words, RefusalTest,
    ::testing::Values(
        Refusal{"search: {method: random, max_trials: 9, sampler: bayes}\n" DT_RATE,
                "conflict: search.sampler belongs to method asha; search.method is random; "
                "remove it"},
        Refusal{"search: {method: random}\n" DT_RATE,
                "missing: search.max_trials is missing; method random has no end of its own; add: "
                "search: {max_trials: 50}"},
        Refusal{"search: {method: asha}\n" DT_RATE,
                "missing: search.max_trials is missing; sampler random has no end of its own; add: "
                "search: {max_trials: 50}"},
        Refusal{"search: {max_trials: 50}\n",
                "conflict: search.max_trials is set; a grid ends with its combinations; remove it, "
                "or use random"},
        Refusal{"search: {method: asha, sampler: grid, max_trials: 50}\ntrain: {max_steps: 99}\n",
                "conflict: search.max_trials is set; a grid ends with its combinations; remove it, "
                "or use random"},
        Refusal{DT_RANDOM,
                "missing: parameters is missing; method random has nothing to choose; add: "
                "parameters: {optimizer.lr: {min: 1.0e-4, max: 1.0e-2, scale: log}}"},
        Refusal{"search: {metric: hellaswag_acc}\n",
                "conflict: search.metric hellaswag_acc is not measured without eval.hellaswag; set "
                "eval.hellaswag to its file, or compare by val_loss"},
        Refusal{"search: {asha: {eta: 3}}\n",
                "conflict: search.asha is set, and search.method is grid; set method: asha, or "
                "remove it"},
        Refusal{"search: {method: asha, max_trials: 9, asha: {rungs: 2, brackets: 4}}\n" DT_RATE,
                "conflict: search.asha.brackets 4 is above the 3 that 2 rungs allow; use 3 or "
                "fewer"},
        Refusal{"search: {method: asha, max_trials: 9}\ntrain: {max_steps: 20}\n" DT_RATE,
                "conflict: search.asha: trial 1 has 20 steps, too few for rungs at 1/27, 1/9 and "
                "1/3 of it; write search: {asha: {rungs: 2}}, or longer trials"},
        Refusal{"search: {pbt: {every: 0.2}}\n",
                "conflict: search.pbt is set, and search.method is grid; set method: pbt, or "
                "remove it"},
        Refusal{"search: {method: pbt}\n" DT_RATE,
                "missing: search.max_trials is missing; method pbt has no end of its own; add: "
                "search: {max_trials: 50}"},
        Refusal{"search: {method: pbt, max_trials: 8}\nparameters: {train.batch_size: [4, 8]}\n",
                "conflict: parameters.train.batch_size: method pbt changes values while a trial "
                "trains, and train.batch_size cannot change then; those that can: model.dropout, "
                "train.grad_clip, optimizer.lr, optimizer.betas, optimizer.eps, "
                "optimizer.weight_decay, schedule.min_lr_ratio"},
        Refusal{"search: {method: pbt, max_trials: 8, pbt: {resample: -0.1}}\n" DT_RATE,
                "out_of_range: search.pbt.resample is -0.1; it must be from 0 to 1"},
        Refusal{"search: {method: pbt, max_trials: 8, pbt: {quantile: 0}}\n" DT_RATE,
                "out_of_range: search.pbt.quantile is 0; it must be above 0 and at most 0.5"},
        Refusal{"search: {method: pbt, max_trials: 8}\nseeds: [1, 2]\n" DT_RATE,
                "conflict: seeds cannot be combined with method pbt: a rung compares single "
                "trials; remove one"},
        Refusal{"search: {method: pbt, max_trials: 8}\ntrain: {max_steps: 9}\n" DT_RATE,
                "conflict: search.pbt.every 0.1 of trial 1's 9 steps is less than one; raise it, "
                "or train for more steps"},
        Refusal{"search: {method: pbt, perturbation_interval: 4, max_trials: 8}\n" DT_RATE,
                "unknown_key: unknown key 'search.perturbation_interval'; did you mean "
                "'search.pbt.every'?"},
        Refusal{"search: {method: random, run_cap: 20, max_trials: 2}\n" DT_RATE,
                "unknown_key: unknown key 'search.run_cap'; did you mean 'search.max_trials'?"},
        Refusal{"stop: {patience: 3}\neval: {every: 0}\n",
                "conflict: stop.patience counts validations, and eval.every is 0; set eval.every"},
        Refusal{"stop: {median: {after: 3}}\neval: {every: 0}\n",
                "conflict: stop.median.after counts validations, and eval.every is 0; set "
                "eval.every"}));

INSTANTIATE_TEST_SUITE_P(
    Parameters, RefusalTest,
    ::testing::Values(
        Refusal{DT_RANDOM "parameters: {model.n_embd: {min: 128, max: 1000, step: 64}}\n",
                "conflict: parameters.model.n_embd: max 1000 is not min 128 plus a multiple of "
                "step 64; write 960 or 1024"},
        Refusal{DT_RANDOM
                "parameters: {optimizer.lr: {min: 0.001, max: 0.01, step: 0.001, scale: log}}\n",
                "conflict: parameters.optimizer.lr has step and scale log; leave one out"},
        Refusal{"parameters: {optimizer.lr: {min: 0.001, max: 0.01}}\n",
                "missing: 'parameters.optimizer.lr' lacks count or step; a grid needs values: say "
                "how many, or how far apart"},
        Refusal{"parameters: {model.n_layer: {min: 2, max: 8, step: 2, count: 4}}\n",
                "conflict: 'parameters.model.n_layer' has step and count, two ways to say one "
                "thing; keep one"},
        Refusal{DT_RANDOM "parameters: {optimizer.lr: {min: 0, max: 0.01, scale: log}}\n",
                "out_of_range: parameters.optimizer.lr.min is 0; it must be above 0 and at most "
                "1000"},
        Refusal{DT_RANDOM "parameters: {model.n_layer: {min: 2, max: 8, step: 0}}\n",
                "out_of_range: parameters.model.n_layer.step is 0; it must be from 1 to 999"},
        Refusal{DT_RANDOM "parameters: {model.n_layer: {min: 2.5, max: 8}}\n",
                "wrong_type: parameters.model.n_layer.min is '2.5'; it must be an integer"},
        Refusal{DT_RANDOM "parameters: {model.norm: {min: 2, max: 8}}\n",
                "wrong_type: 'model.norm' has no range; list its values"},
        Refusal{DT_RANDOM "parameters: {optimizer.lr: {distribution: log_uniform}}\n",
                "not_available: 'parameters.optimizer.lr.distribution' is not yet available; the "
                "bounds are exponents there and values here: write {min: 1.0e-5, max: 0.01, scale: "
                "log}"},
        Refusal{DT_RANDOM
                "parameters: {train.batch_size: {values: [2, 4, 8], probabilities: [1, 2]}}\n",
                "conflict: parameters.train.batch_size has 3 values and 2 probabilities; give one "
                "for each value"},
        Refusal{DT_RANDOM "parameters: {train.batch_size: {values: [2, 4], probabilities: [0, "
                          "0]}}\n",
                "out_of_range: parameters.train.batch_size.probabilities are all 0; give one above "
                "0"},
        Refusal{"search: {method: bayes, max_trials: 9}\nparameters: {train.batch_size: {values: "
                "[2, 4], probabilities: [1, 2]}}\n",
                "conflict: probabilities are for random draws; bayes learns them; remove them"},
        Refusal{"parameters: {train.batch_size: {values: [2, 4], probabilities: [1, 2]}}\n",
                "conflict: probabilities are for random draws; a grid takes every value; remove "
                "them, or use random"},
        Refusal{"search: {method: bayes, max_trials: 9}\nparameters: {resources.gpus: [1, 2]}\n",
                "conflict: resources.gpus cannot be swept with sampler bayes; list sizes under "
                "grid"}));

INSTANTIATE_TEST_SUITE_P(
    Combinations, RefusalTest,
    ::testing::Values(
        Refusal{"parameters: {train.batch_size: [2, 4], optimizer.lr: [0.1, 0.01]}\n"
                "include: [{optimizer.lr: 0.5}]\n",
                "missing: include[0] lacks train.batch_size; an included combination names every "
                "parameter; add train.batch_size: …"},
        Refusal{DT_RANDOM DT_RATE "include: [{optimizer.lr: 0.5}]\n",
                "out_of_range: include[0].optimizer.lr 0.5 is outside its range 1.0e-5…0.01; widen "
                "the parameter, or change it"},
        Refusal{DT_RANDOM "parameters: {model.norm: [pre]}\ninclude: [{model.norm: post}]\n",
                "out_of_range: include[0].model.norm post is not among its values; widen the "
                "parameter, or change it"},
        Refusal{"parameters: {train.batch_size: [2, 4], model.dropout: [0, 0.5]}\n"
                "include: [{train.batch_size: 3, model.dropout: 0},\n"
                "          {model.dropout: 0.5, train.batch_size: 4}]\n",
                "duplicate_value: include[1] is combination 4 of the grid; remove it"},
        Refusal{DT_RANDOM DT_RATE "include: [{optimizer.lr: 0.001}, {optimizer.lr: 1.0e-3}]\n",
                "duplicate_value: include[1] is include[0] again; remove it"},
        Refusal{"parameters: {model.n_head: [12]}\ninclude: [{model.n_head: 7}]\n",
                "conflict: include[0]: model.n_embd 768 is not divisible by model.n_head 7; n_embd "
                "770 is"},
        Refusal{"search: {method: random, max_trials: 1}\n" DT_RATE
                "include: [{optimizer.lr: 0.001}, {optimizer.lr: 0.002}]\n",
                "conflict: search.max_trials 1 is less than the 2 combinations of include; raise "
                "it, or include fewer"},
        Refusal{DT_RANDOM DT_RATE "exclude: [{optimizer.lr: 0.001}]\n",
                "conflict: exclude[0].optimizer.lr: it is a range here; exclude names values of "
                "lists; give the range a step, or list its values"},
        Refusal{DT_RANDOM "parameters: {model.n_layer: {min: 2, max: 8, step: 2}}\n"
                          "exclude: [{model.n_layer: 3}]\n",
                "excludes_nothing: exclude[0].model.n_layer: 3 is not a value of model.n_layer; "
                "remove it, or write one of the values"},
        Refusal{"seed: 1\nseeds: [1, 2]\n",
                "conflict: seed and seeds are two ways to say one thing; keep one"},
        Refusal{"seeds: [1, 2]\nparameters: {seed: [3, 4]}\n",
                "conflict: parameters.seed and seeds are two ways to say one thing; keep one"},
        Refusal{"seeds: [1, 1]\n", "duplicate_value: seeds has the value 1 twice; remove one"},
        Refusal{"seeds: []\n", "empty: seeds has no values; list at least one, or remove it"},
        Refusal{"seeds: [1, x]\n", "wrong_type: seeds[1] is 'x'; it must be an integer"},
        Refusal{"search: {method: asha, max_trials: 9}\nseeds: [1, 2]\ntrain: {max_steps: "
                "99}\n" DT_RATE,
                "conflict: seeds cannot be combined with method asha: a rung compares single "
                "trials; remove one"},
        Refusal{"search: {method: random, max_trials: 5000}\nseeds: [1, 2, 3]\n" DT_RATE,
                "too_many_trials: search.max_trials 5000 with 3 seeds makes 15000 trials; at most "
                "10000 are allowed; lower one of the two"},
        Refusal{DT_RANDOM "parameters: {model.n_head: [5, 7, 11]}\n",
                "conflict: model.n_embd 768 is not divisible by model.n_head 7 (trials with "
                "model.n_head: 7; 1000 of 1000 trials have this problem); n_embd 770 is"}));

TEST(SearchFileTest, DrawsThatRarelyPassAreRefusedWithTheirShareAndTheCommonestReason) {
  const ExperimentFile file = Read(
      absl::StrCat(kRandom,
                   "parameters: {model.n_embd: {min: 100, max: 5000}, model.n_head: {min: 40, max: "
                   "60}}\n"));
  ASSERT_EQ(file.diagnostics.size(), 1u) << Said(file.diagnostics);
  EXPECT_EQ(file.diagnostics[0].code, "too_few");
  EXPECT_NE(file.diagnostics[0].message.find("of 1000 drawn combinations pass the checks; the "
                                             "rest: model.n_embd "),
            std::string::npos)
      << file.diagnostics[0].message;
}

TEST(SearchFileTest, DrawsThatSometimesFailAreANoteWithTheirShare) {
  const ExperimentFile file =
      ReadValidSearch(absl::StrCat(kRandom,
                                   "parameters: {model.n_embd: {min: 100, max: 800, step: 25}, "
                                   "model.n_head: [4, 5]}\n"));
  EXPECT_NE(
      Said(file.warnings)
          .find(
              "of 1000 drawn combinations pass the checks; the search draws again if one does not"),
      std::string::npos)
      << Said(file.warnings);
}

TEST(SearchFileTest, ARungWithinTheWarmUpIsANote) {
  const ExperimentFile file = ReadValidSearch(
      absl::StrCat("search: {method: asha, max_trials: 9}\ntrain: {max_steps: 837}\n"
                   "schedule: {warmup_steps: 40}\n",
                   kRate));
  EXPECT_NE(
      Said(file.warnings)
          .find("left_out: rung 1 (step 31) lies within the 40 steps of warm-up and is skipped"),
      std::string::npos)
      << Said(file.warnings);
}

TEST(SearchFileTest, WordsOfOtherSystemsAreKnown) {
  const auto near = [](const std::string& path) { return spec::SuggestPath(path); };
  EXPECT_EQ(near("run_cap"), "search.max_trials");
  EXPECT_EQ(near("n_trials"), "search.max_trials");
  EXPECT_EQ(near("search.num_samples"), "search.max_trials");
  EXPECT_EQ(near("early_terminate"), "search.asha");
  EXPECT_EQ(near("search.divisor"), "search.asha.eta");
  EXPECT_EQ(near("search.max_rungs"), "search.asha.rungs");
  EXPECT_EQ(near("reduction_factor"), "search.asha.eta");
  EXPECT_EQ(near("points_to_evaluate"), "include");
  EXPECT_EQ(near("enqueue"), "include");
  EXPECT_EQ(near("perturbation"), "search.pbt");
  EXPECT_EQ(near("search.perturbation"), "search.pbt");
  EXPECT_EQ(near("search.pbt.perturbation_factors"), "search.pbt");
  EXPECT_EQ(near("search.maxConcurrent"), "search.max_concurrent");
  EXPECT_EQ(near("parallelTrialCount"), "search.max_concurrent");
  EXPECT_EQ(near("trialConcurrency"), "search.max_concurrent");
  EXPECT_EQ(near("maxTrialCount"), "search.max_trials");
  EXPECT_EQ(near("maxFailedTrialCount"), "search.max_failed_trials");
  EXPECT_EQ(near("searcher"), "search");
  EXPECT_EQ(near("hyperparameters"), "parameters");
  EXPECT_EQ(near("search.ahsa"), "search.asha");
  const auto word = [](const std::string& range) {
    return Read(absl::StrCat(kRandom, "parameters: {optimizer.lr: ", range, "}\n"));
  };
  EXPECT_EQ(Said(word("{low: 0.1, max: 1}").diagnostics),
            "unknown_key: unknown key 'parameters.optimizer.lr.low'; did you mean 'min'?");
  EXPECT_EQ(Said(word("{choices: [0.1, 1]}").diagnostics),
            "unknown_key: unknown key 'parameters.optimizer.lr.choices'; did you mean 'values'?");
}

TEST(SearchFileTest, NumbersTooFineForADoubleAreRefused) {
  EXPECT_EQ(Said(Read("train: {max_steps: 1e-400}\n").diagnostics),
            "out_of_range: train.max_steps is 1e-400, which is nearer to 0 than a number can be; "
            "it must be at least 0; write 0, or check its exponent");
  EXPECT_EQ(Said(Read("optimizer: {weight_decay: 1e-400}\n").diagnostics),
            "out_of_range: optimizer.weight_decay is 1e-400, which is nearer to 0 than a number "
            "can be; it must be from 0 to 1000; write 0, or check its exponent");
  EXPECT_EQ(Said(Read("search: {target: 1e400}\n").diagnostics),
            "out_of_range: search.target is 1e400, which is larger than a number can be; check its "
            "exponent");
  ReadValidSearch("train: {max_steps: 0e-400}\n");
}

}  // namespace
}  // namespace dt::spec
