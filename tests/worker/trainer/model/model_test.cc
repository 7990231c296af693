// model_test.cc: the model, the optimizer and their sizes, against values from PyTorch
// (reference/make_reference.py).
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tests/worker/trainer/gpt2_trial.h"
#include "worker/trainer/device/failure.h"
#include "worker/trainer/model/transformer.h"
#include "worker/trainer/optim/adamw.h"
#include "worker/trainer/precision/loss_scale.h"
#include "worker/trainer/precision/nonfinite.h"
#include "worker/trainer/precision/precision.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {
namespace {

// Sizes and formulas of make_reference.py.
constexpr int64_t kVocab = 61, kLength = 16, kBatch = 3;
#include "tests/worker/trainer/reference/curves.inc"

ModelSpec SmallGpt() {
  ModelSpec spec = SmallGpt2();
  spec.n_head = 3;
  spec.n_embd = 24;
  spec.n_ff = 40;
  spec.n_positions = kLength;
  return spec;
}

ModelSpec SmallTinyTransformer() {
  ModelSpec spec = SmallGpt();
  spec.vocab_pad = kVocab;
  spec.tie_head = false;
  spec.head_bias = true;
  spec.norm = Norm::kPost;
  spec.activation = Activation::kRelu;
  spec.positions = Positions::kSinusoidal;
  return spec;
}

void FillByFormula(const Transformer& model) {
  at::NoGradGuard no_grad;
  int64_t k = 0;
  for (const NamedTensor& parameter : model.Parameters()) {
    const at::Tensor i = at::arange(parameter.tensor.numel(), at::kDouble);
    at::Tensor values = 0.1 * at::sin(0.7 * i + static_cast<double>(k++));
    const bool is_norm_weight = parameter.name.find("ln_") != std::string::npos &&
                                parameter.name.find(".weight") != std::string::npos;
    if (is_norm_weight) values = values + 1;
    parameter.tensor.detach().copy_(values.view(parameter.tensor.sizes()));
  }
}

at::Tensor Tokens(int64_t step) {
  const at::Tensor i = at::arange(kBatch * (kLength + 1), at::kLong).view({kBatch, kLength + 1});
  return (i * i * 7 + i * 3 + step * 11).remainder(kVocab);
}

struct Curve {
  std::vector<double> losses, norms;
};

Curve TrainByFormula(const ModelSpec& spec, int64_t steps) {
  at::set_num_threads(1);
  WholeHome home(at::kCPU);
  const Transformer model(spec, /*seed=*/1, home);
  FillByFormula(model);
  AdamW optimizer(home.pieces(), Gpt2Trial().optimizer);
  Curve curve;
  for (int64_t step = 0; step < steps; ++step) {
    const at::Tensor ids = Tokens(step);
    const at::Tensor loss =
        model.Loss(ids.slice(1, 0, kLength), ids.slice(1, 1, kLength + 1), /*training=*/true);
    for (const NamedTensor& parameter : model.Parameters()) parameter.tensor.mutable_grad().reset();
    loss.backward();
    const at::Tensor norm = GradientNorm(home.pieces());
    optimizer.Step(/*learning_rate=*/6e-4, /*clip=*/1.0, norm, LeftOut(norm));
    curve.losses.push_back(loss.item<double>());
    curve.norms.push_back(norm.item<double>());
  }
  return curve;
}

// Rounding grows with the steps: 1e-5 over the first five, 1e-4 over all. Losses are compared by
// difference, norms, which jump, by ratio.
enum class Of { kLosses, kNorms };
template <size_t kSteps>
void ExpectCurve(Of what, const std::vector<double>& got, const double (&expected)[kSteps]) {
  ASSERT_EQ(got.size(), kSteps);
  for (size_t i = 0; i < kSteps; ++i) {
    const double unit = what == Of::kNorms ? std::max(expected[i], 1.0) : 1.0;
    EXPECT_NEAR(got[i], expected[i], unit * (i < 5 ? 1e-5 : 1e-4)) << "step " << i;
  }
}

TEST(TransformerTest, PreNormTrainsToPyTorchsLossesForAHundredSteps) {
  const Curve curve = TrainByFormula(SmallGpt(), std::size(kGptLosses));
  ExpectCurve(Of::kLosses, curve.losses, kGptLosses);
  ExpectCurve(Of::kNorms, curve.norms, kGptNorms);
}

TEST(TransformerTest, PostNormTrainsToPyTorchsLossesForAHundredSteps) {
  const Curve curve = TrainByFormula(SmallTinyTransformer(), std::size(kTinyTransformerLosses));
  ExpectCurve(Of::kLosses, curve.losses, kTinyTransformerLosses);
  ExpectCurve(Of::kNorms, curve.norms, kTinyTransformerNorms);
}

// Keeps all parameters in one flat buffer; the optimizer sees them flat, each in two halves.
class HalvesHome final : public ParameterHome {
 public:
  explicit HalvesHome(int64_t floats) : buffer_(at::zeros({floats})) {}
  c10::Device device() const override { return at::kCPU; }
  at::Tensor Keep(const std::string& name, const at::Tensor& initial) override {
    const int64_t size = initial.numel(), half = size / 2;
    const at::Tensor flat = buffer_.slice(0, used_, used_ + size);
    used_ += size;
    const at::Tensor value = at::empty({0}).set_(buffer_.storage(), flat.storage_offset(),
                                                 initial.sizes(), initial.strides());
    for (const auto& [from, to] : {std::pair{int64_t{0}, half}, std::pair{half, size}}) {
      pieces_.push_back({name, initial.sizes().vec(), from, flat.slice(0, from, to)});
      Fill(pieces_.back(), initial);
    }
    wholes_.push_back(value.requires_grad_());
    return value;
  }
  // Gives each piece its part of the model's gradients, between a backward pass and the update.
  void DealGradients() {
    for (size_t i = 0; i < wholes_.size(); ++i) {
      for (Piece* piece : {&pieces_[2 * i], &pieces_[2 * i + 1]}) {
        piece->value.mutable_grad() =
            wholes_[i].grad().flatten().slice(0, piece->from, piece->from + piece->value.numel());
      }
    }
  }
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  at::Tensor buffer_;
  int64_t used_ = 0;
  std::vector<at::Tensor> wholes_;
  std::vector<Piece> pieces_;
};

TEST(ParameterHomeTest, AModelTrainsToTheSameLossesWithAnyPiecesForTheOptimizer) {
  const ModelSpec spec = SmallGpt();
  WholeHome whole(at::kCPU);
  HalvesHome halves(static_cast<int64_t>(CountParameters(spec)));
  std::vector<double> losses[2];
  const auto train = [&](ParameterHome& home, const std::vector<Piece>& pieces, auto&& deal,
                         std::vector<double>& into) {
    const Transformer model(spec, 5, home);
    AdamW optimizer(pieces, Gpt2Trial().optimizer);
    for (int64_t step = 0; step < 10; ++step) {
      for (const NamedTensor& one : model.Parameters()) one.tensor.mutable_grad().reset();
      const at::Tensor ids = Tokens(step);
      const at::Tensor loss =
          model.Loss(ids.slice(1, 0, kLength), ids.slice(1, 1, kLength + 1), /*training=*/true);
      loss.backward();
      deal();
      const at::Tensor norm = at::ones({});  // the norm of the halves rounds differently
      optimizer.Step(6e-4, /*clip=*/0, norm, LeftOut(norm));
      into.push_back(loss.item<double>());
    }
  };
  train(
      whole, whole.pieces(), [] {}, losses[0]);
  train(
      halves, halves.pieces(), [&] { halves.DealGradients(); }, losses[1]);
  for (size_t i = 0; i < losses[0].size(); ++i) EXPECT_NEAR(losses[0][i], losses[1][i], 1e-6);
  EXPECT_LT(losses[0].back(), losses[0].front());
  // Both return to their initial values.
  DrawAgain(spec, 5, whole.pieces());
  const Transformer fresh(spec, 5, at::kCPU);
  for (size_t i = 0; i < fresh.Parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(fresh.Parameters()[i].tensor, whole.pieces()[i].value));
  }
}

TEST(TransformerTest, SizesEqualThePublishedModels) {
  ModelSpec spec = Gpt2Trial().model;
  EXPECT_EQ(CountParameters(spec), 124'475'904u) << "with 50,304 rows";
  spec.n_layer = 24;
  spec.n_embd = 1024;
  spec.n_ff = 4096;
  EXPECT_EQ(CountParameters(spec) / 1'000'000, 354u) << "gpt2-medium";
  ModelSpec tiny = Gpt2Trial().model;
  tiny.n_layer = tiny.n_head = 5;
  tiny.n_embd = 300;
  tiny.n_ff = 2048;
  tiny.vocab_pad = tiny.vocab_size;
  tiny.tie_head = false;
  tiny.head_bias = true;
  tiny.norm = Norm::kPost;
  tiny.activation = Activation::kRelu;
  tiny.positions = Positions::kSinusoidal;
  EXPECT_EQ(CountParameters(tiny), 38'172'197u) << "the study's 38.2M";
}

TEST(TransformerTest, CountsTheParametersItMakes) {
  for (ModelSpec spec : {SmallGpt(), SmallTinyTransformer()}) {
    for (const bool bias : {true, false}) {
      spec.bias = bias;
      const Transformer model(spec, 1, at::kCPU);
      uint64_t made = 0;
      for (const NamedTensor& parameter : model.Parameters()) {
        made += static_cast<uint64_t>(parameter.tensor.numel());
      }
      EXPECT_EQ(made, CountParameters(spec));
    }
  }
}

TEST(TransformerTest, DrawsItsParametersFromTheSeedAlone) {
  const Transformer one(SmallGpt(), 5, at::kCPU), same(SmallGpt(), 5, at::kCPU),
      other(SmallGpt(), 6, at::kCPU);
  EXPECT_TRUE(at::equal(one.Parameters()[0].tensor, same.Parameters()[0].tensor));
  EXPECT_FALSE(at::equal(one.Parameters()[0].tensor, other.Parameters()[0].tensor));
}

// Checks the standard deviation and mean of a parameter drawn from a normal distribution of mean 0.
void ExpectDrawn(const Transformer& model, const std::string& name, double deviation) {
  for (const NamedTensor& parameter : model.Parameters()) {
    if (parameter.name != name) continue;
    const at::Tensor values = parameter.tensor.detach().to(at::kDouble);
    const auto count = static_cast<double>(values.numel());
    // Five standard errors for each of the two.
    EXPECT_NEAR(values.std().item<double>(), deviation, 5 * deviation / std::sqrt(2 * count))
        << name;
    EXPECT_NEAR(values.mean().item<double>(), 0, 5 * deviation / std::sqrt(count)) << name;
    return;
  }
  ADD_FAILURE() << "no parameter " << name;
}

TEST(TransformerTest, BeginsAsGpt2DoesWithSmallerResidualProjectionsInDeeperModels) {
  for (const int64_t layers : {2, 8}) {
    ModelSpec spec = SmallGpt();
    spec.n_layer = layers;
    spec.n_embd = 96;
    spec.n_ff = 200;
    spec.vocab_size = 300;
    spec.vocab_pad = 320;
    spec.tie_head = false;
    const Transformer model(spec, 9, at::kCPU);
    for (const char* name : {"wte.weight", "wpe.weight", "lm_head.weight", "h.1.attn.c_attn.weight",
                             "h.1.mlp.c_fc.weight"}) {
      ExpectDrawn(model, name, 0.02);
    }
    const double residual = layers == 2 ? 0.01 : 0.005;  // 0.02 / sqrt(2 · layers)
    ExpectDrawn(model, "h.1.attn.c_proj.weight", residual);
    ExpectDrawn(model, "h.0.mlp.c_proj.weight", residual);
    for (const NamedTensor& parameter : model.Parameters()) {
      if (parameter.tensor.dim() > 1) continue;
      const bool norm =
          parameter.name.find("ln_") != std::string::npos && parameter.name.ends_with(".weight");
      EXPECT_TRUE((parameter.tensor == (norm ? 1 : 0)).all().item<bool>()) << parameter.name;
    }
  }
}

TEST(TransformerTest, SeesNoTokenOfTheFuture) {
  const Transformer model(SmallGpt(), 3, at::kCPU);
  const at::Tensor ids = Tokens(0).slice(1, 0, kLength).contiguous();
  at::Tensor changed = ids.clone();
  changed.select(1, kLength - 1).fill_(1);
  const at::Tensor before = model.Logits(ids, false).slice(1, 0, kLength - 1);
  const at::Tensor after = model.Logits(changed, false).slice(1, 0, kLength - 1);
  EXPECT_TRUE(at::equal(before, after));
}

TEST(TransformerTest, DropsOnlyInTraining) {
  ModelSpec spec = SmallGpt();
  spec.dropout = 0.5;
  const Transformer model(spec, 3, at::kCPU);
  const at::Tensor ids = Tokens(0).slice(1, 0, kLength);
  EXPECT_TRUE(at::equal(model.Logits(ids, false), model.Logits(ids, false)));
  EXPECT_FALSE(at::equal(model.Logits(ids, true), model.Logits(ids, true)));
}

TEST(PrecisionTest, AutocastStaysNearFp32) {
  const Transformer model(SmallGpt(), 3, at::kCPU);
  const at::Tensor ids = Tokens(0);
  const auto loss = [&](Compute compute) {
    const AutocastScope autocast(compute, at::kCPU);
    return model.Loss(ids.slice(1, 0, kLength), ids.slice(1, 1, kLength + 1), false).item<double>();
  };
  EXPECT_NE(loss(Compute::kBf16), loss(Compute::kFp32));
  EXPECT_NEAR(loss(Compute::kBf16), loss(Compute::kFp32), 0.02);
  EXPECT_NE(loss(Compute::kFp16), loss(Compute::kFp32));
  EXPECT_NEAR(loss(Compute::kFp16), loss(Compute::kFp32), 0.002);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

TEST(PrecisionTest, LayersMayGiveEachOtherBf16) {
  for (ModelSpec spec : {SmallGpt(), SmallTinyTransformer()}) {
    const at::Tensor ids = Tokens(0);
    const auto gradients = [&](at::ScalarType hidden, Compute compute) {
      Transformer model(spec, 3, at::kCPU);
      model.KeepHiddenIn(hidden);
      at::Tensor loss;
      {
        const AutocastScope autocast(compute, at::kCPU);
        loss = model.Loss(ids.slice(1, 0, kLength), ids.slice(1, 1, kLength + 1), true);
      }
      loss.backward();
      std::vector<at::Tensor> all{loss.detach()};
      for (const NamedTensor& parameter : model.Parameters()) {
        EXPECT_EQ(parameter.tensor.grad().scalar_type(), at::kFloat) << parameter.name;
        all.push_back(parameter.tensor.grad().flatten());
      }
      return all;
    };
    const std::vector<at::Tensor> fp32 = gradients(at::kFloat, Compute::kFp32);
    for (const auto keep : {ModelSpec::Keep::kAll, ModelSpec::Keep::kBlockInputs}) {
      spec.keep = keep;
      const std::vector<at::Tensor> bf16 = gradients(at::kBFloat16, Compute::kBf16);
      EXPECT_NEAR(bf16[0].item<double>(), fp32[0].item<double>(), 0.01);
      const at::Tensor wanted = at::cat(at::TensorList(fp32).slice(1));
      const at::Tensor difference = at::cat(at::TensorList(bf16).slice(1)) - wanted;
      EXPECT_LT((difference.norm() / wanted.norm()).item<double>(), 0.02);
    }
    spec.keep = ModelSpec::Keep::kAll;
    // Without autocast nothing casts for a product.
    EXPECT_TRUE(at::equal(gradients(at::kBFloat16, Compute::kFp32)[0], fp32[0]));
  }
}

TEST(NonFiniteTest, AStepIsLeftOutExactlyWhenTheNormOfItsGradientIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double norm : {0.0, 1e-38, 3.0, 3e38}) {
    EXPECT_EQ(LeftOut(at::full({}, norm)).item<float>(), 0) << norm;
  }
  for (const double norm : {std::nan(""), infinity, -infinity}) {
    EXPECT_EQ(LeftOut(at::full({}, norm)).item<float>(), 1) << norm;
  }
}

TEST(NonFiniteTest, CountsAllAndTheLongestRun) {
  NonFiniteSteps steps(NonFinite::kSkip, NonFiniteSteps::Loss::kPlain, at::kCPU);
  const auto note = [&](int64_t times, double norm) {
    for (int64_t i = 0; i < times; ++i) steps.Note(LeftOut(at::full({}, norm)));
  };
  note(2, 1.0);
  note(kNonFiniteRunMax - 1, std::nan(""));
  note(1, 1.0);
  note(kNonFiniteRunMax - 1, std::nan(""));
  EXPECT_EQ(steps.Count(), 2 * (kNonFiniteRunMax - 1));
  EXPECT_TRUE(steps.Check(60).ok()) << "there was a good one in between";
  note(1, std::nan(""));
  note(1, 1.0);
  EXPECT_FALSE(steps.Check(62).ok()) << "asked late";
}

TEST(LossScaleTest, HalvesAtAnOverflowAndDoublesAfterManyStepsWithout) {
  LossScale scale(at::kCPU);
  EXPECT_EQ(scale.Read().scale, 65536);
  scale.Update(LeftOut(at::full({}, 3.0)));
  EXPECT_EQ(scale.Read().good_steps, 1);
  scale.Update(LeftOut(at::full({}, std::nan(""))));
  EXPECT_EQ(scale.Read().scale, 32768);
  EXPECT_EQ(scale.Read().good_steps, 0);
  scale.Resume({32768, 1998});
  scale.Update(LeftOut(at::full({}, 3.0)));
  EXPECT_EQ(scale.Read().scale, 32768);
  scale.Update(LeftOut(at::full({}, 3.0)));
  EXPECT_EQ(scale.Read().scale, 65536);
  EXPECT_EQ(scale.factor().item<float>(), 65536);
}

TEST(LossScaleTest, NeitherTheUpdateNorTheClippingSeesTheScale) {
  const auto stepped = [](double factor) {
    at::Tensor parameter = at::ones({4, 4}).requires_grad_();
    const std::vector<Piece> pieces{{"p", {4, 4}, 0, parameter}};
    AdamW optimizer(pieces, Gpt2Trial().optimizer);
    parameter.mutable_grad() = at::arange(16, at::kFloat).view({4, 4}) * factor;
    const at::Tensor scale = at::full({}, factor);
    const at::Tensor norm = GradientNorm(pieces) / scale;
    optimizer.Step(1e-3, 1.0, norm, LeftOut(norm), scale);
    std::vector<at::Tensor> all{parameter.detach()};
    for (const Piece& state : optimizer.State()) all.push_back(state.value);
    return all;
  };
  const std::vector<at::Tensor> plain = stepped(1), scaled = stepped(1024);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(at::allclose(plain[i], scaled[i]));
}

TEST(AdamWTest, LeavesEverythingAsItIsWhenTheNormIsNotFinite) {
  at::Tensor parameter = at::ones({4, 4}).requires_grad_();
  const std::vector<Piece> pieces{{"p", {4, 4}, 0, parameter}};
  AdamW optimizer(pieces, Gpt2Trial().optimizer);
  parameter.mutable_grad() = at::full({4, 4}, std::nan(""));
  const auto step = [&] {
    const at::Tensor norm = GradientNorm(pieces);
    optimizer.Step(1e-3, 1.0, norm, LeftOut(norm));
  };
  step();
  EXPECT_TRUE(at::equal(parameter.detach(), at::ones({4, 4})));
  for (const Piece& state : optimizer.State()) {
    EXPECT_TRUE(at::equal(state.value, at::zeros({4, 4}))) << state.name;
  }
  EXPECT_EQ(optimizer.Updates(), 0) << "the next one is the first";
  parameter.mutable_grad() = at::ones({4, 4});
  step();
  EXPECT_EQ(optimizer.Updates(), 1);
}

TEST(FailureTest, DistinguishesLibTorchsExceptions) {
  const auto code_of = [](auto&& thrower) {
    return Guarded([&]() -> absl::Status {
             thrower();
             return absl::OkStatus();
           })
        .code();
  };
  EXPECT_EQ(code_of([] { at::empty({int64_t{1} << 50}); }), kOutOfMemoryError);
  EXPECT_EQ(code_of([] { throw std::bad_alloc(); }), kOutOfMemoryError);
  EXPECT_EQ(code_of([] { throw std::system_error(EPIPE, std::generic_category()); }), kIoError);
  EXPECT_EQ(code_of([] { throw std::runtime_error("[gloo/pair.cc:1] Connection closed by peer"); }),
            kCollectiveError);
  EXPECT_EQ(code_of([] { at::zeros({2}).view({3}); }), kIoError);
  // A failure in the backward pass of a gang always has c10d in its stack, sometimes twice.
  const std::string frames = "Exception raised from f at g.cpp:1\nframe #2: c10d::Reducer::f()";
  const auto stack = std::make_shared<c10::PrecomputedLazyValue<std::string>>(frames);
  EXPECT_EQ(code_of([&] { throw c10::Error("shape is wrong", stack); }), kIoError);
  EXPECT_EQ(code_of([&] { throw c10::Error("failed: shape is wrong\n" + frames, stack); }),
            kIoError);
  EXPECT_EQ(code_of([&] { throw std::runtime_error("shape is wrong\n" + frames); }), kIoError);
  // Libraries with their own allocators.
  for (const char* words : {"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate",
                            "cuDNN error: CUDNN_STATUS_ALLOC_FAILED"}) {
    EXPECT_EQ(code_of([&] { throw c10::Error(words, stack); }), kOutOfMemoryError);
  }
  const c10::SourceLocation here{__func__, __FILE__, __LINE__};
  EXPECT_EQ(code_of([&] { throw c10::AcceleratorError(here, 2, "CUDA error: out of memory"); }),
            kOutOfMemoryError);
  EXPECT_EQ(code_of([&] { throw c10::AcceleratorError(here, 700, "illegal memory access, NCCL"); }),
            kIoError);
}

TEST(FailureTest, AThreadBeyondTheMemoryLimitIsOutOfMemory) {
  const pid_t child = fork();
  if (child == 0) {
    // Larger than any stack that another thread left for reuse.
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, size_t{64} << 20);
    pthread_setattr_default_np(&large);
    const rlimit little{32 << 20, 32 << 20};
    setrlimit(RLIMIT_DATA, &little);  // a stack counts as data
    const absl::Status failed = Guarded([]() -> absl::Status {
      std::thread([] {}).join();
      return absl::OkStatus();
    });
    _exit(failed.code() == kOutOfMemoryError ? 0 : failed.ok() ? 1 : 2);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: a thread started all the same; 2: another error";
}

TEST(FailureTest, ReportsTheMissingMemoryAndTheSettingToChange) {
  const std::string bound = "the 700 MiB that --memory-limit allows";
  const auto starts_with = [&](const std::string& raw, const std::string& start) {
    const std::string told = DescribeOutOfMemory(raw, bound, "rank 1 of 2");
    EXPECT_EQ(told.rfind(start + " not fit into " + bound + " on rank 1 of 2", 0), 0u) << told;
    EXPECT_NE(told.find("train.batch_size"), std::string::npos);
    EXPECT_NE(told.find(raw), std::string::npos);
  };
  starts_with(
      "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate "
      "134217728 bytes. Error code 12",
      "out of memory: 128 MiB more do");
  starts_with("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of",
              "out of memory: 2.00 GiB more do");
  starts_with("an allocation failed", "out of memory: it does");
}

}  // namespace
}  // namespace dt::trainer
