#include "worker/trainer/eval/hellaswag.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/temp_folder.h"
#include "tests/worker/trainer/gpt2_trial.h"
#include "tests/worker/trainer/link/fake_conversation.h"

namespace dt::trainer {
namespace {

using corpus::HellaSwagExample;

TEST(PreferredEndingTest, TheSumPrefersShortEndingsAndTheMeanDoesNot) {
  // Means: 2.0, 1.5, 1.0, 3.0.
  const EndingLoss losses[] = {{4.0, 2}, {1.5, 1}, {5.0, 5}, {9.0, 3}};
  const Preferred preferred = PreferredEnding(losses);
  EXPECT_EQ(preferred.by_sum, 1);
  EXPECT_EQ(preferred.by_mean, 2);
}

TEST(PreferredEndingTest, TheFirstOfEqualEndingsIsPreferred) {
  const EndingLoss losses[] = {{3.0, 2}, {1.5, 1}, {1.5, 1}, {4.5, 3}};
  EXPECT_EQ(PreferredEnding(losses).by_sum, 1);
  EXPECT_EQ(PreferredEnding(losses).by_mean, 0);
}

// Contexts have 1 to 40 tokens, endings 1 to 9.
std::vector<HellaSwagExample> Examples(size_t count) {
  std::vector<HellaSwagExample> examples(count);
  uint32_t state = 7;
  const auto next = [&](uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
  };
  const auto text = [&](uint32_t length) {
    std::vector<uint16_t> ids;
    for (uint32_t i = 0; i < length; ++i) ids.push_back(static_cast<uint16_t>(next(61)));
    return ids;
  };
  for (HellaSwagExample& example : examples) {
    example.context = text(1 + next(40));
    for (auto& ending : example.endings) ending = text(1 + next(9));
    example.label = static_cast<int>(next(4));
  }
  return examples;
}

TEST(HellaSwagBatchesTest, HaveEveryExampleOnceInBoundedBatchesOfSimilarLength) {
  const auto examples = Examples(200);
  const auto batches = HellaSwagBatches(examples, 32);
  ASSERT_TRUE(batches.ok());
  std::vector<size_t> seen;
  size_t longest_before = 0;
  for (const ExampleBatch& batch : *batches) {
    size_t longest = 0;
    for (const size_t index : batch) {
      size_t ending = 0;
      for (const auto& one : examples[index].endings) ending = std::max(ending, one.size());
      longest = std::max(longest, std::min<size_t>(33, examples[index].context.size() + ending));
    }
    EXPECT_LE(batch.size() * 4 * longest, 2048u);
    EXPECT_GE(longest, longest_before);
    longest_before = longest;
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  EXPECT_GT(batches->size(), 2u);
  std::sort(seen.begin(), seen.end());
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i);
  EXPECT_EQ(seen.size(), examples.size());
}

TEST(HellaSwagBatchesTest, AnEndingBeyondTheModelsPositionsIsRefused) {
  const auto refused = HellaSwagBatches(Examples(200), 8);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), kConfigError);
  EXPECT_NE(refused.status().message().find("an ending of 9 tokens"), std::string::npos);
}

// Scores by the definition: one ending at a time, without padding, one loss for each token.
HellaSwagScore ByDefinition(const std::vector<HellaSwagExample>& examples,
                            const Transformer& model) {
  at::NoGradGuard no_grad;
  HellaSwagScore score;
  for (const HellaSwagExample& example : examples) {
    std::array<double, 4> sums{}, means{};
    for (size_t e = 0; e < 4; ++e) {
      std::vector<int64_t> ids(example.context.begin(), example.context.end());
      ids.insert(ids.end(), example.endings[e].begin(), example.endings[e].end());
      if (ids.size() > 33) ids.erase(ids.begin(), ids.end() - 33);
      const auto length = static_cast<int64_t>(ids.size());
      const at::Tensor all = at::tensor(ids, at::kLong).unsqueeze(0);
      const at::Tensor chances =
          at::log_softmax(model.Logits(all.slice(1, 0, length - 1), false).slice(2, 0, 61), 2);
      const auto ending = static_cast<int64_t>(example.endings[e].size());
      for (int64_t i = length - ending; i < length; ++i) {
        sums[e] -= chances[0][i - 1][ids[static_cast<size_t>(i)]].item<double>();
      }
      means[e] = sums[e] / static_cast<double>(ending);
    }
    const auto least = [](const std::array<double, 4>& v) {
      return std::min_element(v.begin(), v.end()) - v.begin();
    };
    score.acc += least(sums) == example.label;
    score.acc_norm += least(means) == example.label;
    score.examples += 1;
  }
  score.acc /= score.examples;
  score.acc_norm /= score.examples;
  return score;
}

TEST(ScoreHellaSwagTest, EqualsScoringOneEndingAtATime) {
  const auto examples = Examples(120);
  TrialSpec spec = Gpt2Trial();
  spec.model = SmallGpt2();
  spec.compute = Compute::kFp32;
  const Transformer model(spec.model, 3, at::kCPU);
  {
    // Makes the model far from uniform, so that no two endings are nearly alike.
    at::NoGradGuard no_grad;
    for (const NamedTensor& one : model.Parameters()) one.tensor.detach().mul_(8);
  }
  const auto device = OpenCpu();
  FakeConversation conversation;
  EvalMeter meter(conversation, "t", 1, /*saves_alone=*/true);
  Mesh mesh;
  const HellaSwagScore score =
      *ScoreHellaSwag(spec, examples, *HellaSwagBatches(examples, 32), model, *device, mesh, meter);
  const HellaSwagScore defined = ByDefinition(examples, model);
  EXPECT_EQ(score.examples, 120);
  EXPECT_EQ(score.acc, defined.acc);
  EXPECT_EQ(score.acc_norm, defined.acc_norm);
  EXPECT_NE(score.acc, score.acc_norm) << "the two could not be distinguished";
  EXPECT_GT(score.acc, 0);
  EXPECT_LT(score.acc, 1);
}

}  // namespace
}  // namespace dt::trainer
