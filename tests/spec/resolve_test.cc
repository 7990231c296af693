// resolve_test.cc: a trial's settings when the file leaves things out.
#include <gtest/gtest.h>

#include "spec/program.h"
#include "spec/spec.h"
#include "tests/spec/experiment_builder.h"

namespace dt::spec {
namespace {

// Returns the parameters of a model without positions, as the trainer counts them.
int64_t Weights(const v1::Model& m) {
  const int64_t width = m.n_embd(), ff = m.n_ff(), rows = m.vocab_pad();
  const int64_t attention = 4 * width * width + 4 * width;
  const int64_t feed_forward = 2 * width * ff + ff + width;
  const int64_t norms = 4 * width;
  const int64_t head = (m.tie_head() ? 0 : rows * width) + (m.head_bias() ? rows : 0);
  const int64_t last_norm = m.norm() == "pre" ? 2 * width : 0;
  return rows * width + m.n_layer() * (attention + feed_forward + norms) + last_norm + head;
}

TEST(ResolveTest, TheDefaultModelIsGpt2) {
  const v1::Spec spec = ExperimentBuilder().Set("data.tokenizer", "gpt2").Resolve();
  EXPECT_EQ(spec.model().n_layer(), 12);
  EXPECT_EQ(spec.model().n_ff(), 3072);
  EXPECT_EQ(spec.model().vocab_pad(), 50304);
  EXPECT_TRUE(spec.model().tie_head());
  EXPECT_EQ(spec.model().norm(), "pre");
  const double millions =
      static_cast<double>(Weights(spec.model()) + 1024 * spec.model().n_embd()) / 1e6;
  EXPECT_NEAR(millions, 124.4, 0.2);
}

TEST(ResolveTest, TinyTransformerHasTheStudysParameters) {
  const v1::Spec spec = ExperimentBuilder().Set("model.preset", "tiny_transformer").Resolve();
  EXPECT_EQ(spec.model().n_embd(), 300);
  EXPECT_EQ(spec.model().vocab_pad(), 50257);
  EXPECT_EQ(spec.model().norm(), "post");
  EXPECT_EQ(spec.model().positions(), "sinusoidal");
  EXPECT_NEAR(static_cast<double>(Weights(spec.model())) / 1e6, 38.2, 0.05);
}

TEST(ResolveTest, LargerPresetsHaveTheirPublishedSizes) {
  const std::vector<std::pair<std::string, double>> sizes{
      {"gpt2-medium", 354.8}, {"gpt2-large", 774.0}, {"gpt2-xl", 1557.6}};
  for (const auto& [preset, millions] : sizes) {
    const v1::Spec spec =
        ExperimentBuilder().Set("model.preset", preset).Set("data.tokenizer", "gpt2").Resolve();
    const int64_t positions = int64_t{1024} * spec.model().n_embd();
    EXPECT_NEAR(static_cast<double>(Weights(spec.model()) + positions) / 1e6, millions, 0.5)
        << preset;
  }
}

TEST(ResolveTest, TheFilesSettingsOverruleThePreset) {
  const v1::Spec spec = ExperimentBuilder()
                            .Set("model.n_layer", "2")
                            .Set("model.n_embd", "64")
                            .Set("model.tie_head", "false")
                            .Resolve();
  EXPECT_EQ(spec.model().n_layer(), 2);
  EXPECT_EQ(spec.model().n_ff(), 256) << "follows n_embd";
  EXPECT_FALSE(spec.model().tie_head());
  EXPECT_EQ(spec.model().n_head(), 12);
}

TEST(ResolveTest, ATrialsAssignmentsOverruleThePresetToo) {
  ExperimentBuilder builder;
  builder.Sweep("model.n_layer", {"3"}).Sweep("model.preset", {"gpt2-medium"});
  const v1::Spec spec = builder.Resolve();
  EXPECT_EQ(spec.model().n_layer(), 3);
  EXPECT_EQ(spec.model().n_embd(), 1024);
}

TEST(ResolveTest, TheByteTokenizerBringsItsVocabulary) {
  const v1::Spec spec = ExperimentBuilder().Set("data.tokenizer", "byte").Resolve();
  EXPECT_EQ(spec.model().vocab_size(), 257);
  EXPECT_EQ(spec.model().vocab_pad(), 320);
  const v1::Spec own =
      ExperimentBuilder().Set("data.tokenizer", "byte").Set("model.vocab_size", "256").Resolve();
  EXPECT_EQ(own.model().vocab_size(), 256);
  EXPECT_EQ(own.model().vocab_pad(), 256);
}

TEST(ResolveTest, AnOpenVocabularySizeIsLeftToTheShards) {
  const v1::Spec open = ExperimentBuilder().Resolve();
  EXPECT_EQ(open.data().tokenizer(), "auto");
  EXPECT_EQ(open.model().vocab_size(), 0);
  EXPECT_EQ(open.model().vocab_pad(), 0);
  const v1::Spec sized = ExperimentBuilder().Set("model.vocab_size", "300").Resolve();
  EXPECT_EQ(sized.model().vocab_pad(), 320);
  const v1::Spec named =
      ExperimentBuilder().Set("model.vocab_size", "0").Set("data.tokenizer", "byte").Resolve();
  EXPECT_EQ(named.model().vocab_size(), 257);
}

TEST(ResolveTest, TheGlobalBatchFollowsBatchAndRanksUnlessGiven) {
  ExperimentBuilder builder;
  builder.Set("resources.gpus", "4").Sweep("train.batch_size", {"16"});
  EXPECT_EQ(builder.Resolve().train().global_batch_size(), 64);
  builder.Set("train.global_batch_size", "256");
  EXPECT_EQ(builder.Resolve().train().global_batch_size(), 256);
}

TEST(ResolveTest, TokensOfAStepGiveTheGlobalBatchOfEachLength) {
  ExperimentBuilder builder;
  builder.Set("resources.gpus", "2")
      .Set("train.global_batch_tokens", "65536")
      .Sweep("train.seq_len", {"256", "1024"});
  const auto trials = Expand(builder.spec());
  ASSERT_TRUE(trials.ok());
  std::vector<int64_t> sizes;
  for (const v1::ExpandedTrial& one : *trials) {
    const auto trial =
        ResolveTrial(builder.spec(), {one.assignments().begin(), one.assignments().end()});
    sizes.push_back(trial->train().global_batch_size());
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{256, 64}));
  EXPECT_TRUE(Validate(builder.spec()).empty());
}

TEST(ResolveTest, TheDefaultLengthIsOneEpoch) {
  EXPECT_EQ(ExperimentBuilder().Resolve().train().epochs(), 1);
  EXPECT_EQ(ExperimentBuilder().Set("train.max_steps", "10").Resolve().train().epochs(), 0);
  EXPECT_EQ(ExperimentBuilder().Set("train.max_tokens", "1e6").Resolve().train().epochs(), 0);
  EXPECT_EQ(ExperimentBuilder().Set("train.epochs", "2.5").Resolve().train().epochs(), 2.5);
}

TEST(ResolveTest, AutomaticPrecisionFollowsTheDeviceOnceItIsKnown) {
  EXPECT_EQ(ExperimentBuilder().Resolve().precision().compute(), "auto");
  ExperimentBuilder builder;
  Freeze(builder.spec(), "cpu", 7);
  EXPECT_EQ(builder.Resolve().precision().compute(), "fp32");
  ExperimentBuilder cuda;
  Freeze(cuda.spec(), "cuda", 7);
  EXPECT_EQ(cuda.Resolve().precision().compute(), "bf16");
}

TEST(FilledInTest, GivesTheSameTrialsFromAFileThatSaysEverythingTheyShare) {
  ExperimentBuilder one;
  one.Set("resources.gpus", "2").Set("train.max_steps", "10").Set("data.tokenizer", "byte");
  Freeze(one.spec(), "cpu", 7);
  const v1::ExperimentSpec filled = FilledIn(one.spec());
  for (const Field& field : FieldTable()) {
    const bool ours = Concerns(filled, field);
    EXPECT_EQ(IsExplicit(filled, field.path), ours && field.default_kind != DefaultKind::kNone)
        << field.path;
  }
  EXPECT_TRUE(Validate(filled).empty());
  EXPECT_EQ(filled.base().train().global_batch_size(), 16);
  EXPECT_EQ(filled.base().precision().compute(), "fp32");
  EXPECT_EQ(filled.base().model().vocab_pad(), 320);
  const auto again = ResolveTrial(filled, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->SerializeAsString(), one.Resolve().SerializeAsString());
}

TEST(FilledInTest, ABatchInTokensStaysInTokens) {
  ExperimentBuilder one;
  one.Set("train.global_batch_tokens", "524288");
  Freeze(one.spec(), "cpu", 7);
  const v1::ExperimentSpec filled = FilledIn(one.spec());
  EXPECT_TRUE(Validate(filled).empty());
  EXPECT_FALSE(IsExplicit(filled, "train.global_batch_size"));
  const auto again = ResolveTrial(filled, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->train().global_batch_size(), 512);
  EXPECT_EQ(again->SerializeAsString(), one.Resolve().SerializeAsString());
}

TEST(FilledInTest, LeavesOutSweptFieldsAndTheOtherHalfOfAPair) {
  ExperimentBuilder grid;
  grid.Sweep("train.batch_size", {"8", "16"}).Sweep("schedule.warmup_steps", {"5", "6"});
  Freeze(grid.spec(), "cpu", 7);
  const v1::ExperimentSpec filled = FilledIn(grid.spec());
  EXPECT_TRUE(Validate(filled).empty());
  EXPECT_FALSE(IsExplicit(filled, "train.global_batch_size"));
  EXPECT_FALSE(IsExplicit(filled, "schedule.warmup_ratio"));
  EXPECT_TRUE(IsExplicit(filled, "model.n_layer"));
  const auto trials = Expand(grid.spec());
  for (const v1::ExpandedTrial& trial : *trials) {
    const std::vector<v1::Assignment> at(trial.assignments().begin(), trial.assignments().end());
    EXPECT_EQ(ResolveTrial(filled, at)->SerializeAsString(),
              ResolveTrial(grid.spec(), at)->SerializeAsString());
  }
}

TEST(FreezeTest, FixesOnlyOpenSettings) {
  ExperimentBuilder open;
  Freeze(open.spec(), "cpu", 7);
  EXPECT_EQ(open.spec().base().resources().device(), "cpu");
  EXPECT_EQ(open.spec().base().seed(), 7);
  EXPECT_TRUE(IsExplicit(open.spec(), "seed"));

  ExperimentBuilder closed;
  closed.Set("resources.device", "cuda").Set("seed", "0");
  Freeze(closed.spec(), "cpu", 7);
  EXPECT_EQ(closed.spec().base().resources().device(), "cuda");
  EXPECT_EQ(closed.spec().base().seed(), 0);

  ExperimentBuilder unlisted;  // as another client may send it
  unlisted.spec().mutable_base()->set_seed(9);
  Freeze(unlisted.spec(), "cpu", 7);
  EXPECT_EQ(unlisted.spec().base().seed(), 9);

  ExperimentBuilder swept;
  swept.Sweep("seed", {"1", "2"});
  Freeze(swept.spec(), "cpu", 7);
  EXPECT_FALSE(IsExplicit(swept.spec(), "seed"));
  EXPECT_TRUE(Validate(swept.spec()).empty());
}

TEST(ResolveTest, AnAssignmentThatCannotBeMadeIsAnError) {
  v1::Assignment assignment;
  assignment.set_path("train.batch_size");
  assignment.mutable_value()->set_integer(0);
  const auto trial = ResolveTrial(ExperimentBuilder().spec(), {assignment});
  EXPECT_EQ(trial.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dt::spec
