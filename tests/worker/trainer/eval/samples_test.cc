#include "worker/trainer/eval/samples.h"

#include <gtest/gtest.h>

#include <set>

#include "common/limits.h"
#include "tests/worker/trainer/gpt2_trial.h"
#include "tests/worker/trainer/link/fake_conversation.h"

namespace dt::trainer {
namespace {

TEST(DrawTest, AtTemperatureZeroTheLikeliestTokenComes) {
  at::Generator generator = at::detail::createCPUGenerator(1);
  const at::Tensor logits = at::tensor({1.0, 3.0, 2.0, -1.0}).view({1, 4});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Draw(logits, 0, 0, generator).item<int64_t>(), 1);
}

TEST(DrawTest, OnlyTheLikeliestKComeAndAllOfThemDo) {
  at::Generator generator = at::detail::createCPUGenerator(1);
  const at::Tensor logits = at::tensor({1.0, 1.2, 1.1, 0.9}).view({1, 4});
  std::set<int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(Draw(logits, 1, 2, generator).item<int64_t>());
  EXPECT_EQ(seen, (std::set<int64_t>{1, 2}));
}

TEST(DrawTest, AHighTemperatureEvensOutAndALowOneSharpens) {
  at::Generator generator = at::detail::createCPUGenerator(1);
  const at::Tensor logits = at::tensor({0.0, 2.0}).view({1, 2});
  const auto share = [&](double temperature) {
    int second = 0;
    for (int i = 0; i < 2000; ++i) {
      second += static_cast<int>(Draw(logits, temperature, 0, generator).item<int64_t>());
    }
    return second / 2000.0;
  };
  EXPECT_NEAR(share(1), 0.8808, 0.03);  // e² ÷ (1 + e²)
  EXPECT_NEAR(share(100), 0.505, 0.04);
  EXPECT_GT(share(0.2), 0.995);
}

TrialSpec SmallTrial() {
  TrialSpec spec = Gpt2Trial();
  spec.compute = Compute::kFp32;
  spec.model = SmallGpt2();
  spec.model.n_positions = 8;
  spec.eval.samples = 3;
  spec.eval.sample_tokens = 20;  // more than the model has positions
  return spec;
}

// Returns the samples of an untrained model.
auto Generated(const TrialSpec& spec, const Generation& what) {
  const Transformer model(spec.model, 1, at::kCPU);
  FakeConversation conversation;
  EvalMeter meter(conversation, "t", 1, /*saves_alone=*/true);
  Mesh mesh;
  return *Generate(spec, what, model, *OpenCpu(), mesh, meter);
}

TEST(GenerateTest, TheSameSeedGivesTheSameTokensAndAnotherOthers) {
  const TrialSpec spec = SmallTrial();
  const auto generate = [&](uint64_t seed) { return Generated(spec, {{5, 6}, 60, seed}); };
  const auto first = generate(7);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first, generate(7));
  EXPECT_NE(first, generate(8));
  EXPECT_NE(first[0], first[1]) << "samples differ among themselves";
  for (const auto& sample : first) {
    EXPECT_LE(sample.size(), 20u);
    for (const uint16_t id : sample) EXPECT_LT(id, 60) << "no end-of-text, no padded row";
  }
}

TEST(GenerateTest, EndOfTextEndsASample) {
  TrialSpec spec = SmallTrial();
  spec.eval.sample_temperature = 0;
  const auto generate = [&](uint16_t end_of_text) {
    return Generated(spec, {{5}, end_of_text, 7})[0];
  };
  const auto whole = generate(60);
  ASSERT_GE(whole.size(), 2u);
  EXPECT_TRUE(generate(whole[0]).empty());
}

TEST(ShownTextTest, IsValidUtf8WithoutControlCharacters) {
  EXPECT_EQ(ShownText("a\n\té€😀"), "a\n\té€😀");
  EXPECT_EQ(ShownText("a\x1b[2Jb\x7f"), "a\xEF\xBF\xBD[2Jb\xEF\xBF\xBD");
  EXPECT_EQ(ShownText("\xff\xc3"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(ShownText("\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "a surrogate";
  EXPECT_EQ(ShownText("\xc0\xaf"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "overlong";
  EXPECT_EQ(ShownText("\xc2\x9b"), "\xEF\xBF\xBD") << "a control character of two bytes";
}

TEST(ShownTextTest, IsCutBetweenCharacters) {
  std::string text;
  while (text.size() <= limits::kSampleBytes) text += "€";
  const std::string shown = ShownText(text);
  EXPECT_LE(shown.size(), limits::kSampleBytes);
  EXPECT_EQ(shown.size() % 3, 0u);
  EXPECT_GT(shown.size(), limits::kSampleBytes - 3);
}

}  // namespace
}  // namespace dt::trainer
