// warnings_test.cc: allowed but unlikely settings cause one warning; likely ones cause none.
#include <gtest/gtest.h>

#include <functional>

#include "spec/spec.h"
#include "tests/spec/experiment_builder.h"

namespace dt::spec {
namespace {

using B = ExperimentBuilder;

std::vector<std::string> Warned(const B& builder) {
  EXPECT_TRUE(Validate(builder.spec()).empty());
  std::vector<std::string> paths;
  for (const Issue& issue : Warnings(builder.spec())) {
    EXPECT_FALSE(issue.message.empty() || issue.hint.empty()) << issue.path;
    paths.push_back(issue.path);
  }
  return paths;
}

struct Warns {
  const char* what;
  std::function<void(B&)> change;
  std::vector<std::string> found;
};

class WarningTest : public testing::TestWithParam<Warns> {};

TEST_P(WarningTest, IsReportedAtTheFieldToChange) {
  B builder;
  GetParam().change(builder);
  EXPECT_EQ(Warned(builder), GetParam().found);
}

INSTANTIATE_TEST_SUITE_P(
    All, WarningTest,
    testing::Values(
        Warns{"nothing", [](B&) {}, {}},
        Warns{"highest_loss",
              [](B& b) { b.spec().mutable_search()->set_goal("maximize"); },
              {"search.goal"}},
        Warns{"rate", [](B& b) { b.Set("optimizer.lr", "1000"); }, {"optimizer.lr"}},
        Warns{"determineds_priority",
              [](B& b) { b.Set("resources.priority", "42"); },
              {"resources.priority"}},
        Warns{"a_priority", [](B& b) { b.Set("resources.priority", "5"); }, {}},
        Warns{"usual_rate", [](B& b) { b.Set("optimizer.lr", "0.01"); }, {}},
        Warns{"swept_rate",
              [](B& b) {
                b.Sweep("optimizer.lr", {"0.001", "10", "100"});
              },
              {"parameters.optimizer.lr[1]"}},
        Warns{"small_vocabulary",
              [](B& b) { b.Set("data.tokenizer", "byte").Set("model.vocab_size", "100"); },
              {"model.vocab_size"}},
        Warns{"byte_vocabulary_of_gpt2",
              [](B& b) { b.Set("data.tokenizer", "gpt2").Set("model.vocab_size", "257"); },
              {"model.vocab_size"}},
        Warns{"large_vocabulary",
              [](B& b) { b.Set("data.tokenizer", "byte").Set("model.vocab_size", "50257"); },
              {}},
        Warns{"validation_on_training_data",
              [](B& b) { b.Set("data.val", "train_*.bin"); },
              {"data.val"}},
        Warns{"decay_of_no_wsd",
              [](B& b) { b.Set("schedule.decay_ratio", "0.5"); },
              {"schedule.decay_ratio"}},
        Warns{"decay_of_some_wsd",
              [](B& b) {
                b.Set("schedule.decay_ratio", "0.5").Sweep("schedule.type", {"wsd", "cosine"});
              },
              {}},
        Warns{"swept_without_effect",
              [](B& b) {
                b.Sweep("eval.sample_top_k", {"10", "20"});
              },
              {"parameters.eval.sample_top_k"}},
        Warns{
            "pipeline_that_waits",
            [](B& b) {
              b.Set("parallel.pipeline", "2").Set("resources.gpus", "2").Set("model.n_layer", "4");
            },
            {"parallel.pipeline"}},
        Warns{
            "pipeline_that_is_full",
            [](B& b) {
              b.Set("parallel.pipeline", "2").Set("resources.gpus", "2").Set("model.n_layer", "4");
              b.Set("parallel.microbatches", "8");
            },
            {}},
        Warns{"schedule_of_no_pipeline",
              [](B& b) { b.Set("parallel.schedule", "gpipe"); },
              {"parallel.schedule"}},
        Warns{"samples",
              [](B& b) { b.Set("eval.sample_top_k", "10").Set("eval.samples", "1"); },
              {}}),
    [](const testing::TestParamInfo<Warns>& test) { return std::string(test.param.what); });

TEST(ValidationTest, AFileThatCountsMicroBatchesKeepsItsMeaningAlsoOnceItIsFilledIn) {
  EXPECT_EQ(B().Resolve().eval().tokens(), 262144);
  EXPECT_EQ(B().Resolve().eval().batches(), 0);
  B old;
  old.Set("eval.batches", "20");
  EXPECT_TRUE(Validate(old.spec()).empty());
  EXPECT_EQ(old.Resolve().eval().batches(), 20);
  EXPECT_EQ(old.Resolve().eval().tokens(), 0);
  EXPECT_TRUE(Validate(FilledIn(old.spec())).empty());
  EXPECT_EQ(FilledIn(old.spec()).base().eval().tokens(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Validations, WarningTest,
    testing::Values(
        Warns{"training_on_validation_data_too",
              [](B& b) { b.Set("data.train", "d/*.bin").Set("data.val", "d/val_[0-9]*.bin"); },
              {"data.train"}},
        Warns{"files_of_one_folder",
              [](B& b) { b.Set("data.train", "d/*_train_*.bin").Set("data.val", "d/*_val_*.bin"); },
              {}},
        Warns{"micro_batches_of_swept_sizes",
              [](B& b) {
                b.Set("eval.batches", "20").Sweep("train.batch_size", {"4", "8"});
              },
              {"eval.batches"}},
        Warns{"tokens_of_swept_sizes",
              [](B& b) {
                b.Sweep("train.batch_size", {"4", "8"}).Sweep("train.seq_len", {"32", "64"});
              },
              {}},
        Warns{"swept_validation",
              [](B& b) {
                b.Sweep("eval.tokens", {"1000", "2000"});
              },
              {"eval.tokens"}}),
    [](const testing::TestParamInfo<Warns>& test) { return std::string(test.param.what); });

}  // namespace
}  // namespace dt::spec
