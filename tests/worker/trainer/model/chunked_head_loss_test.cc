// chunked_head_loss_test.cc: the head for GPUs, run on a CPU, against linear and
// cross_entropy_loss.
#include "worker/trainer/model/chunked_head_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "worker/trainer/model/row_kernel.h"

namespace dt::trainer {
namespace {

struct Sizes {
  const char* name;
  int64_t rows, width, columns;
  int64_t behind;  // rows of the weights after the columns
  bool bias;
  at::ScalarType type;
};

class ChunkedHeadLossTest : public ::testing::TestWithParam<Sizes> {
 protected:
  ChunkedHeadLossTest() {
    const Sizes& c = GetParam();
    at::Generator generator = at::detail::createCPUGenerator(7);
    hidden_ = at::randn({c.rows, c.width}, generator).requires_grad_();
    const int64_t all = c.columns + c.behind;
    weight_ = at::randn({all, c.width}, generator).mul_(0.3).requires_grad_();
    if (c.bias) bias_ = at::randn({all}, generator).requires_grad_();
    targets_ = at::randint(c.columns, {c.rows}, generator, at::kLong);
  }
  at::Tensor Chunked(int64_t chunk_logits = kChunkLogits) const {
    return ChunkedHeadLoss(hidden_, {weight_, bias_, GetParam().columns}, targets_, GetParam().type,
                           nullptr, chunk_logits);
  }
  // Computes in fp64 from the values that the products see.
  at::Tensor Exact() const {
    const auto seen = [](const at::Tensor& t) {
      return t.defined() ? t.to(GetParam().type).to(at::kDouble) : t;
    };
    const at::Tensor logits = at::linear(seen(hidden_), seen(weight_), seen(bias_));
    return at::cross_entropy_loss(logits.slice(1, 0, GetParam().columns), targets_);
  }
  std::vector<at::Tensor> GradientsOf(const at::Tensor& loss) const {
    std::vector<at::Tensor> inputs{hidden_, weight_};
    if (bias_.defined()) inputs.push_back(bias_);
    for (const at::Tensor& input : inputs) input.mutable_grad().reset();
    loss.backward();
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& input : inputs) gradients.push_back(input.grad());
    return gradients;
  }
  // Gradients differ by one rounding of the logits' gradient: 2^-9 in bf16, 2^-12 in fp16.
  double Tolerance() const {
    if (GetParam().type == at::kBFloat16) return 4e-3;
    return GetParam().type == at::kHalf ? 5e-4 : 2e-6;
  }
  void ExpectAlike(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(got[i].defined());
      EXPECT_EQ(got[i].scalar_type(), at::kFloat);
      ASSERT_EQ(got[i].sizes(), expected[i].sizes());
      const double apart = (got[i] - expected[i]).norm().item<double>();
      EXPECT_LE(apart, Tolerance() * expected[i].norm().item<double>()) << "gradient " << i;
    }
  }

  at::Tensor hidden_, weight_, bias_, targets_;
};

TEST_P(ChunkedHeadLossTest, LossAndGradientsEqualLinearAndCrossEntropy) {
  const at::Tensor loss = Chunked();
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_NEAR(loss.item<double>(), Exact().item<double>(), 5e-6) << "logits are never rounded";
  const std::vector<at::Tensor> got = GradientsOf(loss);
  ExpectAlike(got, GradientsOf(Exact()));
}

TEST_P(ChunkedHeadLossTest, AKernelOfTheDevicesGoesOverTheRowsOfBf16) {
  int64_t rows_seen = 0;
  SetRowKernel(at::kCPU, [&](const LossRows& rows) {
    rows_seen += rows.logits.size(0);
    const at::Tensor logs = at::log_softmax(rows.logits, 1);
    const at::Tensor right = rows.targets.unsqueeze(1);
    rows.losses.copy_(-logs.gather(1, right).squeeze(1));
    rows.gradient.copy_(logs.exp().scatter_(1, right, logs.gather(1, right).expm1()));
  });
  const at::Tensor loss = Chunked(64 * 64);  // several chunks
  const std::vector<at::Tensor> got = GradientsOf(loss);
  SetRowKernel(at::kCPU, {});
  EXPECT_EQ(rows_seen, GetParam().type == at::kBFloat16 ? GetParam().rows : 0);
  EXPECT_NEAR(loss.item<double>(), Exact().item<double>(), 5e-6);
  ExpectAlike(got, GradientsOf(Exact()));
}

TEST_P(ChunkedHeadLossTest, ChunksChangeNothingButTheOrderOfSums) {
  const at::Tensor whole = Chunked();
  const at::Tensor parts = Chunked(/*chunk_logits=*/1);
  EXPECT_NEAR(parts.item<double>(), whole.item<double>(), 1e-6);
  const std::vector<at::Tensor> got = GradientsOf(parts);
  const std::vector<at::Tensor> expected = GradientsOf(whole);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_LE((got[i] - expected[i]).norm().item<double>(),
              1e-5 * expected[i].norm().item<double>());
  }
}

TEST_P(ChunkedHeadLossTest, WithoutGradientsTheLossIsTheSameToTheBit) {
  const float with = Chunked().item<float>();
  at::NoGradGuard no_grad;
  const at::Tensor without = Chunked();
  EXPECT_EQ(without.item<float>(), with);
  EXPECT_FALSE(without.requires_grad());
}

TEST_P(ChunkedHeadLossTest, APartOfTheLossGivesThatPartOfTheGradients) {
  const std::vector<at::Tensor> whole = GradientsOf(Chunked());
  const std::vector<at::Tensor> part = GradientsOf(Chunked() / 4);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(at::equal(part[i], whole[i] / 4));
}

TEST_P(ChunkedHeadLossTest, AutocastAroundItDecidesNothing) {
  const float without = Chunked().item<float>();
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const float with = Chunked().item<float>();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(with, without);
}

// Ranks as threads: each one's values reach all.
class Ranks {
 public:
  explicit Ranks(int ranks) : known_(static_cast<size_t>(ranks)), meeting_(ranks) {}
  at::Tensor Gather(int rank, const at::Tensor& mine) {
    known_[static_cast<size_t>(rank)] = mine;
    meeting_.arrive_and_wait();
    const at::Tensor all = at::stack(known_);
    meeting_.arrive_and_wait();
    return all;
  }

 private:
  std::vector<at::Tensor> known_;
  std::barrier<> meeting_;
};

TEST_P(ChunkedHeadLossTest, RanksThatHaveSomeRowsEachGetTheLossOfAllAndTheirOwnGradients) {
  constexpr int kRanks = 4;
  const int64_t rows = weight_.size(0) / kRanks;
  if (weight_.size(0) % kRanks != 0) GTEST_SKIP() << "rows that do not divide are not split";
  Ranks ranks(kRanks);
  std::vector<at::Tensor> losses(kRanks), hidden(kRanks), weight(kRanks), bias(kRanks);
  const auto train = [&](int rank) {
    const auto place = static_cast<size_t>(rank);
    const auto part = [&](const at::Tensor& all) {
      return all.detach().narrow(0, rank * rows, rows).clone().requires_grad_();
    };
    hidden[place] = hidden_.detach().clone().requires_grad_();
    weight[place] = part(weight_);
    if (bias_.defined()) bias[place] = part(bias_);
    const int64_t real = std::clamp<int64_t>(GetParam().columns - rank * rows, 0, rows);
    const Head head{weight[place], bias[place], real, rank * rows,
                    [&ranks, rank](const at::Tensor& mine) { return ranks.Gather(rank, mine); }};
    losses[place] = ChunkedHeadLoss(hidden[place], head, targets_, GetParam().type, nullptr,
                                    /*chunk_logits=*/64 * rows);  // several chunks
    losses[place].backward();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back(train, rank);
  for (std::thread& thread : threads) thread.join();
  const auto gradients = [](const std::vector<at::Tensor>& of) {
    std::vector<at::Tensor> all;
    for (const at::Tensor& each : of) all.push_back(each.grad());
    return all;
  };
  for (const at::Tensor& loss : losses) {
    EXPECT_EQ(loss.item<float>(), losses[0].item<float>());
    EXPECT_NEAR(loss.item<double>(), Exact().item<double>(), 5e-6);
  }
  std::vector<at::Tensor> got{at::stack(gradients(hidden)).sum(0), at::cat(gradients(weight))};
  if (bias_.defined()) got.push_back(at::cat(gradients(bias)));
  ExpectAlike(got, GradientsOf(Exact()));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ChunkedHeadLossTest,
    ::testing::Values(Sizes{"AsWideAsWanted", 200, 16, 128, 0, false, at::kFloat},
                      Sizes{"ColumnsToFillUp", 200, 16, 131, 0, false, at::kFloat},
                      Sizes{"FilledUpAlready", 200, 16, 131, 61, false, at::kFloat},
                      Sizes{"FilledUpInPart", 200, 16, 131, 9, true, at::kFloat},
                      Sizes{"FilledUpTooFar", 200, 16, 131, 200, false, at::kFloat},
                      Sizes{"WidthToFillUp", 70, 13, 64, 0, false, at::kFloat},
                      Sizes{"Bias", 200, 16, 128, 0, true, at::kFloat},
                      Sizes{"OneRow", 1, 8, 11, 0, true, at::kFloat},
                      Sizes{"Bf16", 300, 20, 1000, 24, true, at::kBFloat16},
                      Sizes{"Bf16WithoutPadding", 300, 24, 1024, 0, false, at::kBFloat16},
                      Sizes{"Fp16", 300, 20, 1000, 0, true, at::kHalf},
                      Sizes{"GptVocabulary", 33, 24, 50257, 47, false, at::kBFloat16}),
    [](const auto& info) { return info.param.name; });

TEST(ChunkedHeadLossEndsTest, ATokenThatIsAllButCertainStillHasAGradient) {
  // The probability is 1 - 2e-4, which bf16 rounds to 1: the difference is the target's gradient.
  const at::Tensor hidden = at::ones({64, 8}).requires_grad_();
  const at::Tensor weight = at::zeros({64, 8});
  weight[5].fill_(1.59);
  const at::Tensor leaf = weight.requires_grad_();
  const at::Tensor targets = at::full({64}, 5, at::kLong);
  ChunkedHeadLoss(hidden, {leaf, {}, 64}, targets, at::kBFloat16).backward();
  const double probability = std::exp(8 * leaf[5][0].to(at::kBFloat16).item<double>());
  const double expected = probability / (probability + 63) - 1;
  EXPECT_NEAR(leaf.grad()[5][0].item<double>(), expected, 0.005 * std::abs(expected));
}

TEST(ChunkedHeadLossEndsTest, AProbabilityBelowFp16sRangeStillHasAGradient) {
  const at::Tensor hidden = at::ones({64, 8}).requires_grad_();
  at::Tensor weight = at::zeros({64, 8});
  weight[5].fill_(-2.25);  // a logit of -18: 1.5e-8, among 63 of about 1/63 each
  const at::Tensor leaf = weight.requires_grad_();
  const at::Tensor targets = at::full({64}, 9, at::kLong);
  ChunkedHeadLoss(hidden, {leaf, {}, 64}, targets, at::kHalf).backward();
  const double expected = std::exp(-18.0) / (63 + std::exp(-18.0));
  EXPECT_NEAR(leaf.grad()[5][0].item<double>(), expected, 0.05 * expected);
}

TEST(ChunkedHeadLossEndsTest, ANonFiniteInputGivesANonFiniteLoss) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    at::Tensor hidden = at::ones({3, 8});
    hidden[1][2] = bad;
    const at::Tensor weight = at::ones({40, 8}) * at::arange(40).unsqueeze(1);
    const at::Tensor targets = at::zeros({3}, at::kLong);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
      EXPECT_FALSE(
          std::isfinite(ChunkedHeadLoss(hidden, {weight, {}, 40}, targets, type).item<float>()));
    }
  }
}

TEST(ChunkedHeadLossEndsTest, ATargetThatNoRankHasAColumnOfGivesALossThatIsNotFinite) {
  const at::Tensor hidden = at::ones({3, 8}), weight = at::ones({64, 8});
  const Head half{weight, {}, 60, 64, [](const at::Tensor& mine) {
                    return at::stack({mine, mine});
                  }};
  const auto loss = [&](int64_t target) {
    return ChunkedHeadLoss(hidden, half, at::full({3}, target, at::kLong), at::kFloat)
        .item<float>();
  };
  EXPECT_TRUE(std::isfinite(loss(64 + 59)));
  EXPECT_FALSE(std::isfinite(loss(64 + 60)));
  EXPECT_FALSE(std::isfinite(loss(63)));
}

}  // namespace
}  // namespace dt::trainer
