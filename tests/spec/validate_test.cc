// validate_test.cc: every error that an experiment can have, as any client could send it.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "spec/spec.h"
#include "tests/spec/experiment_builder.h"

namespace dt::spec {
namespace {

// Returns "path code" for each issue.
std::vector<std::string> Found(const v1::ExperimentSpec& spec) {
  std::vector<std::string> out;
  for (const Issue& issue : Validate(spec)) {
    EXPECT_FALSE(issue.message.empty());
    out.push_back(issue.path + " " + issue.code);
  }
  return out;
}
using Strings = std::vector<std::string>;

TEST(ValidateTest, TheSmallestExperimentIsValid) {
  EXPECT_EQ(Found(ExperimentBuilder().spec()), Strings{});
}

TEST(ValidateTest, AnEmptyMessageNamesEverythingThatIsMissing) {
  const Strings found = Found(v1::ExperimentSpec());
  for (const char* expected : {"version missing", "name missing", "data.train missing",
                               "data.val missing", "train.batch_size out_of_range"}) {
    EXPECT_NE(std::find(found.begin(), found.end(), expected), found.end()) << expected;
  }
}

struct Case {
  const char* what;
  std::function<void(ExperimentBuilder&)> change;
  const char* found;
};

class CombinationTest : public testing::TestWithParam<Case> {};

TEST_P(CombinationTest, IsReportedAtTheFieldToChange) {
  ExperimentBuilder builder;
  GetParam().change(builder);
  EXPECT_EQ(Found(builder.spec()), Strings{GetParam().found});
}

using B = ExperimentBuilder;
INSTANTIATE_TEST_SUITE_P(
    All, CombinationTest,
    testing::Values(
        Case{"heads", [](B& b) { b.Set("model.n_embd", "100"); }, "model.n_embd conflict"},
        Case{"sinusoidal",
             [](B& b) {
               b.Set("model.n_embd", "63")
                   .Set("model.n_head", "1")
                   .Set("model.positions", "sinusoidal");
             },
             "model.n_embd conflict"},
        Case{"positions", [](B& b) { b.Set("train.seq_len", "2048"); }, "train.seq_len conflict"},
        Case{"vocab_pad",
             [](B& b) { b.Set("model.vocab_size", "50257").Set("model.vocab_pad", "50000"); },
             "model.vocab_pad conflict"},
        Case{"init_from", [](B& b) { b.Set("model.init_from", "start").Set("model.norm", "post"); },
             "model.norm conflict"},
        Case{"validation_said_twice",
             [](B& b) { b.Set("eval.batches", "20").Set("eval.tokens", "1000"); },
             "eval.batches conflict"},
        Case{"validation_of_nothing", [](B& b) { b.Set("eval.tokens", "0"); },
             "eval.tokens conflict"},
        Case{"global_batch",
             [](B& b) { b.Set("train.global_batch_size", "100").Set("resources.gpus", "8"); },
             "train.global_batch_size conflict"},
        Case{"batch_in_tokens_of_no_whole_sequences",
             [](B& b) { b.Set("train.global_batch_tokens", "500000"); },
             "train.global_batch_tokens conflict"},
        Case{"batch_in_tokens_of_no_whole_micro_steps",
             [](B& b) { b.Set("train.global_batch_tokens", "9216"); },  // 9 × 1024
             "train.global_batch_tokens conflict"},
        Case{"batch_in_two_ways",
             [](B& b) {
               b.Set("train.global_batch_tokens", "16384").Set("train.global_batch_size", "16");
             },
             "train.global_batch_tokens conflict"},
        Case{"fewer_tokens_than_a_batch_of_tokens",
             [](B& b) {
               b.Set("train.global_batch_tokens", "16384").Set("train.max_tokens", "10000");
             },
             "train.max_tokens conflict"},
        Case{"two_lengths", [](B& b) { b.Set("train.max_steps", "10").Set("train.epochs", "1"); },
             "train.epochs conflict"},
        Case{"tokens_and_steps",
             [](B& b) { b.Set("train.max_steps", "10").Set("train.max_tokens", "1e6"); },
             "train.max_tokens conflict"},
        Case{"too_few_tokens", [](B& b) { b.Set("train.max_tokens", "100"); },
             "train.max_tokens conflict"},
        Case{"two_warmups",
             [](B& b) { b.Set("schedule.warmup_steps", "10").Set("schedule.warmup_ratio", "0.1"); },
             "schedule.warmup_ratio conflict"},
        Case{"long_warmup",
             [](B& b) { b.Set("schedule.warmup_steps", "10").Set("train.max_steps", "5"); },
             "schedule.warmup_steps conflict"},
        Case{"scaling_from_nothing", [](B& b) { b.Set("optimizer.scale_lr", "sqrt"); },
             "optimizer.scale_lr conflict"},
        Case{"nothing_scales_from", [](B& b) { b.Set("optimizer.scale_lr_from", "512"); },
             "optimizer.scale_lr_from conflict"},
        Case{"sync_every_of_ddp", [](B& b) { b.Set("parallel.sync_every", "8"); },
             "parallel.sync_every conflict"},
        Case{"outer_rate_of_zero1",
             [](B& b) { b.Set("parallel.strategy", "zero1").Set("parallel.outer_lr", "0.7"); },
             "parallel.outer_lr conflict"},
        Case{"outer_momentum_of_ddp", [](B& b) { b.Set("parallel.outer_momentum", "0.9"); },
             "parallel.outer_momentum conflict"},
        Case{"tf32_on_cpu",
             [](B& b) { b.Set("resources.device", "cpu").Set("precision.compute", "tf32"); },
             "precision.compute conflict"},
        Case{"set_and_swept",
             [](B& b) {
               b.Set("train.batch_size", "8").Sweep("train.batch_size", {"8", "16"});
             },
             "train.batch_size conflict"},
        Case{"not_sweepable",
             [](B& b) {
               b.Sweep("resources.device", {"cpu", "cuda"});
             },
             "parameters.resources.device conflict"},
        Case{"no_field_of_a_trial", [](B& b) { b.Sweep("name", {"a"}); },
             "parameters.name not_a_field"},
        Case{"section_as_parameter", [](B& b) { b.Sweep("train", {"8"}); },
             "parameters.train not_a_field"},
        Case{"unknown_parameter", [](B& b) { b.Sweep("train.batchsize", {"8"}); },
             "parameters.train.batchsize unknown_key"},
        Case{"reserved_parameter", [](B& b) { b.Sweep("resources.share", {"1"}); },
             "parameters.resources.share not_available"},
        Case{"empty_parameter", [](B& b) { b.Sweep("train.batch_size", {}); },
             "parameters.train.batch_size empty"},
        Case{"duplicate_value",
             [](B& b) {
               b.Sweep("optimizer.lr", {"1e-3", "0.1", "0.001"});
             },
             "parameters.optimizer.lr[2] duplicate_value"},
        Case{"value_out_of_range",
             [](B& b) {
               b.Sweep("optimizer.lr", {"1e-3", "-1"});
             },
             "parameters.optimizer.lr[1] wrong_type"},
        Case{"duplicate_parameter",
             [](B& b) { b.Sweep("optimizer.lr", {"1e-3"}).Sweep("optimizer.lr", {"1e-2"}); },
             "parameters.optimizer.lr duplicate_key"},
        Case{"excludes_everything",
             [](B& b) {
               b.Sweep("optimizer.lr", {"1e-3"}).Exclude({{"optimizer.lr", "1e-3"}});
             },
             "exclude no_trials"},
        Case{"excludes_nothing",
             [](B& b) {
               b.Sweep("optimizer.lr", {"1e-3"}).Exclude({{"optimizer.lr", "1e-2"}});
             },
             "exclude[0].optimizer.lr excludes_nothing"},
        Case{"excludes_unknown",
             [](B& b) {
               b.Sweep("optimizer.lr", {"1e-3"}).Exclude({{"train.seq_len", "64"}});
             },
             "exclude[0].train.seq_len unknown_parameter"},
        Case{"excludes_no_parameter", [](B& b) { b.Sweep("optimizer.lr", {"1e-3"}).Exclude({}); },
             "exclude[0] empty"}),
    [](const testing::TestParamInfo<Case>& test) { return std::string(test.param.what); });

TEST(ValidateTest, AProblemOfSomeTrialsIsReportedOnceAndNamesTheCombination) {
  ExperimentBuilder builder;
  builder.Set("train.global_batch_size", "64")
      .Sweep("train.batch_size", {"8", "12", "24"})
      .Sweep("optimizer.lr", {"1e-3", "1e-4"});
  const std::vector<Issue> issues = Validate(builder.spec());
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].path, "parameters.train.batch_size[1]");
  EXPECT_NE(issues[0].message.find("trials with train.batch_size: 12"), std::string::npos)
      << issues[0].message;
  EXPECT_NE(issues[0].message.find("4 of 6 trials"), std::string::npos) << issues[0].message;
  EXPECT_EQ(issues[0].hint, "use 60 or 72");
}

TEST(ValidateTest, ALengthThatDoesNotDivideTheTokensOfAStepIsNamedWithThoseThatDo) {
  ExperimentBuilder builder;
  builder.Set("train.global_batch_tokens", "65536").Sweep("train.seq_len", {"512", "1000"});
  const std::vector<Issue> issues = Validate(builder.spec());
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].path, "parameters.train.seq_len[1]");
  EXPECT_NE(issues[0].message.find("train.global_batch_tokens 65536 is not a multiple of "
                                   "train.seq_len 1000 × train.batch_size 8 × resources.gpus 1"),
            std::string::npos)
      << issues[0].message;
  EXPECT_EQ(issues[0].hint, "use 64000 or 72000");
}

TEST(ValidateTest, FieldsOfLocalSgdNeedThatStrategy) {
  ExperimentBuilder builder;
  builder.Set("parallel.outer_lr", "0.7").Set("parallel.sync_every", "16");
  const std::vector<Issue> issues = Validate(builder.spec());
  ASSERT_EQ(issues.size(), 1u) << "16 is the default";
  EXPECT_EQ(issues[0].message, "parallel.outer_lr 0.7 is for local_sgd; parallel.strategy is ddp");
  EXPECT_EQ(issues[0].hint, "leave it out, or set parallel.strategy to local_sgd");
  ExperimentBuilder swept;
  swept.Set("parallel.outer_lr", "0.7").Sweep("parallel.strategy", {"ddp", "local_sgd"});
  EXPECT_EQ(Found(swept.spec()), Strings{});
}

TEST(ValidateTest, RanksThatGossipHaveAllowedNumbersAndLackOtherFeatures) {
  const auto said = [](const std::map<std::string, std::string>& fields) {
    ExperimentBuilder builder;
    builder.Set("resources.gpus", "4").Set("parallel.strategy", "gossip");
    for (const auto& [path, text] : fields) builder.Set(path, text);
    const std::vector<Issue> issues = Validate(builder.spec());
    if (issues.empty()) return std::string();
    return issues.size() == 1 ? issues[0].message + "; " + issues[0].hint : "several issues";
  };
  for (const char* gpus : {"1", "2", "4", "64"}) EXPECT_EQ(said({{"resources.gpus", gpus}}), "");
  EXPECT_EQ(said({{"parallel.sync_every", "8"}}), "");
  EXPECT_EQ(said({{"resources.gpus", "6"}}),
            "parallel.strategy gossip pairs ranks: 6 data ranks are not a power of two; use 4 or "
            "8");
  EXPECT_EQ(said({{"parallel.tensor", "2"}}),
            "parallel.strategy gossip is for data ranks only; parallel.tensor is 2; use ddp");
  EXPECT_EQ(said({{"train.hash_every", "8"}}),
            "train.hash_every compares copies of the parameters, and parallel.strategy gossip "
            "mixes them after each step; leave it out, or use local_sgd");
  EXPECT_EQ(said({{"precision.reduce", "bf16"}}),
            "precision.reduce bf16 rounds gradients in transit, and parallel.strategy gossip sends "
            "none; leave it out");
  EXPECT_EQ(said({{"parallel.outer_lr", "0.7"}}),
            "parallel.outer_lr 0.7 is for local_sgd; parallel.strategy is gossip; leave it out, or "
            "set parallel.strategy to local_sgd");
  EXPECT_EQ(said({{"parallel.strategy", "ddp"}, {"parallel.sync_every", "8"}}),
            "parallel.sync_every 8 is for local_sgd and gossip; parallel.strategy is ddp; leave it "
            "out, or set parallel.strategy to local_sgd");
}

TEST(ValidateTest, ExcludedCombinationsNeedNotWork) {
  ExperimentBuilder builder;
  builder.Sweep("train.seq_len", {"1024", "2048"})
      .Sweep("model.n_positions", {"1024", "2048"})
      .Exclude({{"train.seq_len", "2048"}, {"model.n_positions", "1024"}});
  EXPECT_EQ(Found(builder.spec()), Strings{});
}

TEST(ValidateTest, AllProblemsAreReportedAtOnce) {
  ExperimentBuilder builder;
  builder.Set("model.n_embd", "100").Set("train.seq_len", "4096");
  builder.Sweep("train.batchsize", {"8"});
  builder.spec().mutable_base()->mutable_optimizer()->set_lr(-1);
  builder.spec().mutable_search()->set_metric("accuracy");
  builder.spec().clear_name();
  const Strings found = Found(builder.spec());
  EXPECT_EQ(found, (Strings{"name missing", "search.metric unknown_choice",
                            "optimizer.lr out_of_range", "parameters.train.batchsize unknown_key"}))
      << "combinations wait until the grid can be read";
}

TEST(ValidateTest, CombinationsAreCheckedBesideOtherErrorsOfTheBase) {
  ExperimentBuilder builder;
  builder.Set("model.n_embd", "100");
  builder.spec().mutable_base()->mutable_train()->set_batch_size(0);
  EXPECT_EQ(Found(builder.spec()),
            (Strings{"train.batch_size out_of_range", "model.n_embd conflict"}));
}

TEST(ValidateTest, RequiredTextMayBeSwept) {
  v1::ExperimentSpec spec = DefaultExperiment();
  spec.set_name("test");
  ExperimentBuilder builder;
  builder.spec() = spec;
  builder.Set("data.val", "val.bin").Sweep("data.train", {"a.bin", "b.bin"});
  EXPECT_EQ(Found(builder.spec()), Strings{});
}

TEST(ValidateTest, TooManyTrialsAreRefused) {
  ExperimentBuilder builder;
  std::vector<std::string> values;
  for (int i = 1; i <= 200; ++i) values.push_back(std::to_string(i));
  builder.Sweep("train.batch_size", values).Sweep("model.n_layer", values);
  EXPECT_EQ(Found(builder.spec()), Strings{"parameters too_many_trials"});
  builder.Sweep("eval.batches", values);
  EXPECT_EQ(Found(builder.spec()), Strings{"parameters too_many_trials"});
}

TEST(ValidateTest, ALimitOfTrialsNamesHowManyThereAre) {
  ExperimentBuilder builder;
  std::vector<std::string> values;
  for (int i = 1; i <= 200; ++i) values.push_back(std::to_string(i));
  builder.Sweep("train.batch_size", values).Sweep("model.n_layer", values);
  const std::vector<Issue> issues = Validate(builder.spec());
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].message, "the grid has 40000 trials; at most 10000 are allowed");
}

TEST(ValidateTest, TheSizeOfAllTrialsIsBoundedAndTheErrorNamesWhatToShorten) {
  std::vector<std::string> rates;
  for (int i = 1; i <= 10'000; ++i) rates.push_back(std::to_string(i * 1e-5));
  ExperimentBuilder builder;
  builder.spec().mutable_base()->mutable_data()->clear_train();
  builder.spec().clear_explicit_paths();
  builder.Set("data.val", "val.bin")
      .Sweep("data.train", {std::string(4000, 'x')})
      .Sweep("optimizer.lr", rates);
  const std::vector<Issue> issues = Validate(builder.spec());
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].path, "parameters.data.train");
  EXPECT_EQ(issues[0].code, "too_large");
  for (const char* part : {"10000 trials", "40130000", "at most 16777216"}) {
    EXPECT_NE(issues[0].message.find(part), std::string::npos) << issues[0].message;
  }

  // As many trials with short values fit, and so do long values in few trials.
  *builder.spec().mutable_parameters(0)->mutable_values(0)->mutable_text() = "train.bin";
  EXPECT_EQ(Found(builder.spec()), Strings{});
  ExperimentBuilder few;
  few.Sweep("eval.sample_prompt", {std::string(4000, 'x'), std::string(4000, 'y')});
  EXPECT_EQ(Found(few.spec()), Strings{});
}

void AddSeeds(int count, v1::ExperimentSpec& spec) {
  for (int seed = 1; seed <= count; ++seed) spec.add_seeds(seed);
}

TEST(ValidateTest, RepetitionBySeedsCountsInTheSizeOfAllTrials) {
  std::vector<std::string> rates;
  for (int i = 1; i <= 100; ++i) rates.push_back(std::to_string(i * 1e-5));
  ExperimentBuilder builder;
  builder.Sweep("eval.sample_prompt", {std::string(4000, 'x')}).Sweep("optimizer.lr", rates);
  EXPECT_EQ(Found(builder.spec()), Strings{});
  AddSeeds(100, builder.spec());
  const std::vector<Issue> issues = Validate(builder.spec());
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].path, "parameters.eval.sample_prompt");
  EXPECT_NE(issues[0].message.find("all 10000 trials"), std::string::npos) << issues[0].message;
}

TEST(ValidateTest, IncludedTrialsCountInTheSizeOfAllTrials) {
  const std::string prompt(4000, 'x');
  std::vector<std::string> prompts = {prompt};
  std::vector<std::string> rates;
  for (int i = 0; i < 100; ++i) prompts.push_back(std::to_string(i));
  for (int i = 1; i <= 500; ++i) rates.push_back(std::to_string(i * 1e-5));
  ExperimentBuilder builder;
  builder.Sweep("eval.sample_prompt", prompts).Sweep("optimizer.lr", rates);
  v1::ExperimentSpec& random = builder.spec();
  random.mutable_search()->set_method("random");
  random.mutable_search()->set_max_trials(500);
  AddSeeds(10, random);
  EXPECT_EQ(Found(random), Strings{});
  for (int i = 0; i < 500; ++i) {
    v1::Inclusion& one = *random.add_include();
    for (const int p : {0, 1}) {
      v1::Assignment& value = *one.add_values();
      value.set_path(random.parameters(p).path());
      *value.mutable_value() = random.parameters(p).values(p == 0 ? 0 : i);
    }
  }
  EXPECT_EQ(Found(random), Strings{"parameters too_large"});

  v1::ExperimentSpec grid = random;
  grid.mutable_search()->set_method("grid");
  grid.mutable_search()->clear_max_trials();
  grid.mutable_parameters(0)->mutable_values()->DeleteSubrange(0, 100);
  grid.mutable_parameters(1)->mutable_values()->DeleteSubrange(1, 499);
  EXPECT_EQ(Found(grid), Strings{"parameters.eval.sample_prompt too_large"});
}

TEST(ValidateTest, ListsOfAnotherClientAreBoundedBeforeTheyAreRead) {
  ExperimentBuilder builder;
  for (int i = 0; i < 500'000; ++i) builder.spec().add_explicit_paths("no.such.field");
  EXPECT_EQ(Found(builder.spec()), Strings{" too_large"});
  ExperimentBuilder paths, parameters, exclusion;
  for (int i = 0; i < 1000; ++i) {
    const std::string path = "no.such.field" + std::to_string(i);
    paths.spec().add_explicit_paths(path);
    parameters.spec().add_parameters()->set_path(path);
  }
  EXPECT_EQ(Found(paths.spec()), Strings{" too_many"});
  EXPECT_EQ(Found(parameters.spec()), Strings{"parameters too_many"});
  exclusion.Exclude(ExperimentBuilder::Where(1000, {"no.such.field", "1"}));
  EXPECT_EQ(Found(exclusion.spec()), Strings{"exclude[0] too_many"});
}

TEST(ValidateTest, EnvironmentIsOfTheTrainersLibrariesOnly) {
  for (const char* name : {"NCCL_DEBUG", "GLOO_SOCKET_IFNAME", "DTRAIN_X"}) {
    ExperimentBuilder builder;
    auto* label = builder.spec().mutable_base()->mutable_resources()->add_env();
    label->set_key(name);
    label->set_value("1");
    EXPECT_EQ(Found(builder.spec()), Strings{}) << name;
  }
  for (const char* name :
       {"LD_PRELOAD", "PATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "NCCL_a b", "RANK",
        "nccl_debug", "NCCL_NET_PLUGIN", "CUDA_INJECTION64_PATH", "UCX_MODULE_DIR",
        "OMP_TOOL_LIBRARIES", "NCCL_DEBUG_FILE", "UCX_STATS_DEST", "CUDA_COREDUMP_PIPE",
        "UCX_GDB_COMMAND", "OMP_TOOL_VERBOSE_INIT"}) {
    ExperimentBuilder builder;
    builder.spec().mutable_base()->mutable_resources()->add_env()->set_key(name);
    EXPECT_EQ(Found(builder.spec()), Strings{std::string("resources.env.") + name + " bad_name"});
  }
}

TEST(ValidateTest, LabelsAreBounded) {
  ExperimentBuilder builder;
  for (int i = 0; i < 65; ++i) builder.spec().add_labels()->set_key("k" + std::to_string(i));
  EXPECT_EQ(Found(builder.spec()), Strings{"labels too_many"});
  ExperimentBuilder twice;
  twice.spec().add_labels()->set_key("team");
  twice.spec().add_labels()->set_key("team");
  EXPECT_EQ(Found(twice.spec()), Strings{"labels duplicate_key"});
  ExperimentBuilder escape;
  escape.spec().add_labels()->set_key("a\x1b[2J");
  EXPECT_EQ(Found(escape.spec()), Strings{"labels.a\x1b[2J bad_text"});
}

TEST(ValidateTest, ValidExperimentsExpandAndResolve) {
  ExperimentBuilder builder;
  builder.Set("resources.gpus", "2")
      .Sweep("train.batch_size", {"8", "16"})
      .Sweep("model.preset", {"gpt2", "tiny_transformer"});
  ASSERT_EQ(Found(builder.spec()), Strings{});
  const auto trials = Expand(builder.spec());
  ASSERT_TRUE(trials.ok());
  for (const v1::ExpandedTrial& trial : *trials) {
    const auto& assignments = trial.assignments();
    EXPECT_TRUE(ResolveTrial(builder.spec(), {assignments.begin(), assignments.end()}).ok());
  }
}

TEST(ValidateTest, PrioritySharesAndLabelsAreTheExperimentsAndLeaveRoomForItsLargestTrial) {
  ExperimentBuilder swept;
  swept.Sweep("resources.priority", {"1", "2"});
  EXPECT_EQ(Found(swept.spec()), Strings{"parameters.resources.priority conflict"});
  ExperimentBuilder small;
  small.Set("resources.gpus", "8").Set("resources.max_gpus_total", "4");
  EXPECT_EQ(Found(small.spec()), Strings{"resources.max_gpus_total conflict"});
  ExperimentBuilder largest;
  largest.Sweep("resources.gpus", {"2", "8"}).Set("resources.max_gpus_total", "4");
  EXPECT_EQ(Found(largest.spec()), Strings{"resources.max_gpus_total conflict"});
  ExperimentBuilder beyond;
  beyond.spec().mutable_base()->mutable_resources()->set_priority(1001);
  EXPECT_EQ(Found(beyond.spec()), Strings{"resources.priority out_of_range"});
  ExperimentBuilder twice;
  for (int i = 0; i < 2; ++i) {
    twice.spec().mutable_base()->mutable_resources()->add_labels()->set_key("zone");
  }
  EXPECT_EQ(Found(twice.spec()), Strings{"resources.labels duplicate_key"});
}

// Returns the message about compression with these fields.
std::string Refusal(const std::map<std::string, std::string>& fields) {
  ExperimentBuilder builder;
  for (const auto& [path, text] : fields) builder.Set(path, text);
  const std::vector<Issue> issues = Validate(builder.spec());
  if (issues.size() != 1 || issues[0].path != "parallel.compression") return "something else";
  return issues[0].message + "; " + issues[0].hint;
}

TEST(ValidateTest, ImpossibleCompressionIsRefusedNamingPossibleSettings) {
  const std::pair<std::string, std::string> topk = {"parallel.compression", "topk"};
  EXPECT_EQ(Refusal({{"parallel.compression", "powersgd"}, {"parallel.strategy", "zero2"}}),
            "parallel.compression powersgd works on ddp's buckets; parallel.strategy is zero2; use "
            "precision.reduce bf16");
  EXPECT_EQ(Refusal({topk, {"precision.reduce", "bf16"}}),
            "parallel.compression topk sends fp32; precision.reduce is bf16; keep one of them");
  EXPECT_EQ(Refusal({topk, {"precision.compute", "fp16"}}),
            "parallel.compression topk adds what gradients lost to those of the next step, which "
            "precision.compute fp16 may scale otherwise; use precision.compute bf16");
  EXPECT_EQ(Refusal({topk, {"parallel.share", "0.5"}, {"resources.gpus", "2"}}),
            "parallel.compression topk with parallel.share 0.5 among 2 ranks sends no less than "
            "the gradients; use less than 0.5");
  const std::pair<std::string, std::string> choosing = {"parallel.compression", "auto"};
  EXPECT_EQ(Refusal({choosing, {"parallel.strategy", "zero1"}}),
            "parallel.compression auto works on ddp's buckets; parallel.strategy is zero1; use "
            "precision.reduce bf16");
  EXPECT_EQ(Refusal({choosing, {"precision.reduce", "bf16"}}),
            "parallel.compression auto sets the format of gradients in transit, and so does "
            "precision.reduce bf16; keep one of them");
  for (const char* compute : {"fp32", "fp16"}) {
    ExperimentBuilder allowed;
    allowed.Set("parallel.compression", "auto").Set("precision.compute", compute);
    EXPECT_TRUE(Validate(allowed.spec()).empty()) << compute;
  }
}

}  // namespace
}  // namespace dt::spec
