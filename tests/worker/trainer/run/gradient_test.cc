// gradient_test.cc: the first step's gradient equals that of one rank with the same micro-batches,
// tensor by tensor, under every strategy that sums gradients in each step. Losses do not show many
// errors in it, and parameters show rounding, which AdamW turns into steps. With real processes.
//
// The gradient is read from a checkpoint: after one step AdamW's first moment is (1 − beta1) times
// the gradient, and a checkpoint has the complete moments of all parameters by name, whichever rank
// held them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/worker/trainer/run/attempt_fixture.h"
#include "tests/worker/trainer/run/checkpoint_numbers.h"

namespace dt::testing {
namespace {

// Norm of a difference relative to the gradient's norm: parallel.md §3 (1.1e-7 was measured). The
// other two are the effect of rounding each rank's part and the sum to 8 and to 11 bits (3.2e-3 and
// 3.1e-4).
constexpr double kFp32Apart = 1e-5, kBf16Apart = 5e-3, kFp16Apart = 1e-3;
// In addition, each element may differ by half of fp16's smallest number, in both roundings.
constexpr double kFp16Step = 2.0 / (1 << 25);
// Biases of keys change no loss: their gradients are what rounding leaves of 0, at most 1e-11 of
// the complete gradient's norm. A tensor's gradient below this part of that norm counts as 0, and
// may differ by as much.
constexpr double kFloor = 1e-10;

constexpr int kSequences = 2, kLayers = 2;
constexpr double kBeta1 = 0.9;

struct Cell {
  std::string strategy;
  int ranks = 2;  // data ranks
  int micro_steps = 1;
  std::string wire = "fp32";
  std::string keeps = "none";  // model.activation_checkpointing
  int tensor = 1;
  bool sequence = true;
  int pipeline = 1;
  std::string schedule = "1f1b";
  int layers = kLayers;

  std::string Name() const {
    return absl::StrCat(strategy, "On", ranks, "RanksIn", micro_steps, "MicroSteps",
                        wire == "fp32" ? "" : "With" + wire, keeps == "block" ? "Recomputed" : "",
                        tensor == 1 ? "" : absl::StrCat("OfLayersOn", tensor),
                        sequence ? "" : "WithAllTokens",
                        pipeline == 1 ? "" : absl::StrCat("InStages", pipeline),
                        schedule == "1f1b" ? "" : schedule);
  }
  friend void PrintTo(const Cell& of, std::ostream* out) { *out << of.Name(); }
};

class FirstGradientTest : public AttemptTest, public ::testing::WithParamInterface<Cell> {
 protected:
  static nlohmann::json Spec(const Cell& of) {
    nlohmann::json spec = SmallSpec();
    spec["train"]["max_steps"] = "1";
    spec["train"]["batch_size"] = kSequences;
    spec["train"]["global_batch_size"] = std::to_string(kSequences * of.ranks * of.micro_steps);
    spec["train"]["grad_clip"] = 0;
    spec["optimizer"]["betas"] = {kBeta1, 0.95};
    spec["model"]["n_layer"] = of.layers;
    if (of.tensor > 2) spec["model"]["n_head"] = of.tensor;
    spec["model"]["activation_checkpointing"] = of.keeps;
    return spec;
  }
  static nlohmann::json Shared(const Cell& of) {
    nlohmann::json spec = Spec(of);
    spec["model"]["activation_checkpointing"] = of.keeps;
    spec["parallel"]["strategy"] = of.strategy;
    if (of.strategy == "hsdp") spec["parallel"]["shard"] = 2;
    spec["precision"]["reduce"] = of.wire;
    spec["parallel"]["tensor"] = of.tensor;
    spec["parallel"]["sequence"] = of.sequence;
    spec["parallel"]["pipeline"] = of.pipeline;
    spec["parallel"]["schedule"] = of.schedule;
    if (of.schedule == "interleaved") spec["parallel"]["interleave"] = 2;
    return spec;
  }
  // Returns one rank's gradient with the same micro-batches; it is computed once for each number of
  // them.
  const Tensors& GradientOfOne(const Cell& of) {
    static std::map<std::string, Tensors>& known = *new std::map<std::string, Tensors>;
    const nlohmann::json spec = Spec(of);
    const auto [it, is_new] = known.try_emplace(spec.dump());
    if (is_new) it->second = GradientOf(spec, 1);
    return it->second;
  }
  // Returns the gradient by parameter; splits tensors that hold queries, keys and values.
  Tensors GradientOf(const nlohmann::json& spec, int ranks) {
    frames::Start start = StoredStart(spec);
    start.trial = ++trial_;
    const Told told = TrainerGang(ranks).Run(start);
    ExpectFinished(told);
    Tensors gradients;
    if (told.checkpoints.size() != 1) {
      ADD_FAILURE() << told.checkpoints.size() << " checkpoints";
      return gradients;
    }
    for (auto& [name, values] : Numbers(start, told.checkpoints[0], kMoments)) {
      if (!name.starts_with("m.")) continue;
      for (float& value : values) value /= static_cast<float>(1 - kBeta1);
      const std::string parameter = name.substr(2);
      if (parameter.find("c_attn") == std::string::npos) {
        gradients[parameter] = std::move(values);
        continue;
      }
      for (size_t third = 0; third < 3; ++third) {
        gradients[parameter + kThirds[third]] = ThirdOf(values, third);
      }
    }
    return gradients;
  }

 private:
  static constexpr const char* kThirds[] = {" of queries", " of keys", " of values"};
  // The rows of all queries come first.
  static std::vector<float> ThirdOf(const std::vector<float>& rows, size_t third) {
    const auto length = static_cast<ptrdiff_t>(rows.size() / 3);
    const auto from = rows.begin() + length * static_cast<ptrdiff_t>(third);
    return {from, from + length};
  }
  uint32_t trial_ = 0;
};

double Norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}
double NormOfDifference(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

double Allowed(const std::string& wire, double norm, size_t elements) {
  if (wire == "bf16") return kBf16Apart * norm;
  if (wire == "fp16") {
    return kFp16Apart * norm + kFp16Step * std::sqrt(static_cast<double>(elements));
  }
  return kFp32Apart * norm;
}

TEST_P(FirstGradientTest, EqualsThatOfOneRankTensorByTensor) {
  const Tensors& expected = GradientOfOne(GetParam());
  const int ranks = GetParam().ranks * GetParam().tensor * GetParam().pipeline;
  const Tensors gradients = GradientOf(Shared(GetParam()), ranks);
  ASSERT_GT(expected.size(), 20u);
  ASSERT_EQ(gradients.size(), expected.size());
  double whole = 0;
  for (const auto& [name, values] : expected) whole = std::hypot(whole, Norm(values));
  double worst = 0;
  int of_zero = 0;
  for (const auto& [name, values] : expected) {
    ASSERT_EQ(gradients.at(name).size(), values.size()) << name;
    const double norm = Norm(values), apart = NormOfDifference(gradients.at(name), values);
    if (norm < kFloor * whole) {
      ++of_zero;
      EXPECT_NE(name.find("bias of keys"), std::string::npos) << name << " has a norm of " << norm;
    } else {
      worst = std::max(worst, apart / norm);
    }
    EXPECT_LE(apart, Allowed(GetParam().wire, norm, values.size()) + kFloor * whole)
        << name << ", whose norm is " << norm;
  }
  EXPECT_EQ(of_zero, GetParam().layers);
  RecordProperty("worst", absl::StrCat(worst));
  if (GetParam().wire != "fp32") {
    EXPECT_GT(worst, kFp32Apart) << "the mode makes a difference";
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FirstGradientTest,
    ::testing::Values(
        Cell{"ddp", 2, 1}, Cell{"ddp", 4, 3}, Cell{"zero1", 2, 3}, Cell{"zero1", 4, 1},
        Cell{"zero2", 2, 3}, Cell{"zero2", 4, 1}, Cell{"zero3", 2, 1}, Cell{"zero3", 4, 3},
        Cell{"zero3", 2, 3, "fp32", "block"}, Cell{"hsdp", 4, 1}, Cell{"hsdp", 4, 3},
        Cell{"ddp", 2, 1, "bf16"}, Cell{"ddp", 4, 3, "fp16"}, Cell{"zero1", 4, 1, "bf16"},
        Cell{"zero2", 2, 3, "bf16"}, Cell{"zero3", 2, 3, "fp16"}, Cell{"hsdp", 4, 3, "bf16"},
        Cell{"ddp", 1, 3, "fp32", "none", 2}, Cell{"ddp", 1, 1, "fp32", "block", 2, false},
        Cell{"ddp", 2, 1, "fp32", "none", 2}, Cell{"zero1", 2, 3, "fp32", "none", 2},
        Cell{"zero3", 2, 1, "fp32", "block", 2}, Cell{"zero2", 2, 3, "bf16", "none", 2, false},
        Cell{"ddp", 1, 3, "fp32", "none", 1, true, 2},
        Cell{"ddp", 2, 3, "bf16", "none", 1, true, 2},
        Cell{"zero1", 2, 3, "fp32", "block", 1, true, 2},
        Cell{"zero3", 2, 3, "fp32", "none", 1, true, 2},
        Cell{"ddp", 1, 3, "fp32", "none", 2, true, 2}),
    [](const auto& info) { return info.param.Name(); });

INSTANTIATE_TEST_SUITE_P(
    Rest, FirstGradientTest,
    ::testing::Values(Cell{"ddp", 1, 3, "fp32", "none", 4},
                      Cell{"zero1", 2, 3, "fp32", "none", 4, false},
                      Cell{"ddp", 1, 8, "fp32", "none", 1, true, 4, "1f1b", 4},
                      Cell{"ddp", 1, 4, "fp32", "none", 1, true, 2, "gpipe"},
                      Cell{"zero1", 2, 4, "fp32", "none", 1, true, 2, "gpipe", 4},
                      Cell{"ddp", 1, 4, "fp32", "none", 1, true, 2, "interleaved", 4},
                      Cell{"ddp", 2, 4, "fp32", "block", 1, true, 2, "interleaved", 4}),
    [](const auto& info) { return info.param.Name(); });

}  // namespace
}  // namespace dt::testing
