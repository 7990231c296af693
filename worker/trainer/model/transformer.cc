// transformer.cc: layers, initial values and the forward pass.
#include "worker/trainer/model/transformer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "common/check.h"
#include "worker/trainer/model/head_loss.h"
#include "worker/trainer/model/recompute.h"
#include "worker/trainer/trial/flops.h"

namespace dt::trainer {
namespace {

constexpr double kInitialDeviation = 0.02;
constexpr double kNormEpsilon = 1e-5;

// Creates parameters in order and keeps them by name.
class ParameterMaker {
 public:
  ParameterMaker(uint64_t seed, ParameterHome& home, std::vector<NamedTensor>& parameters)
      : generator_(at::detail::createCPUGenerator(seed)), home_(home), parameters_(parameters) {}

  at::Tensor Normal(std::string name, at::IntArrayRef shape, double deviation) {
    return Keep(std::move(name), at::empty(shape).normal_(0, deviation, generator_));
  }
  at::Tensor Filled(std::string name, int64_t size, double value) {
    return Keep(std::move(name), at::full({size}, value));
  }

 private:
  at::Tensor Keep(std::string name, const at::Tensor& initial) {
    at::Tensor tensor = home_.Keep(name, initial);
    if (tensor.defined()) parameters_.push_back({std::move(name), tensor});
    return tensor;
  }

  at::Generator generator_;
  ParameterHome& home_;
  std::vector<NamedTensor>& parameters_;
};

// Home for redrawing: writes initial values into existing parameters; nobody computes with it.
class SecondHome final : public ParameterHome {
 public:
  explicit SecondHome(const std::vector<Piece>& pieces) : pieces_(pieces) {}
  c10::Device device() const override { return at::kCPU; }
  at::Tensor Keep(const std::string& name, const at::Tensor& initial) override {
    DT_CHECK(pieces_.at(next_).name == name);
    Fill(pieces_[next_++], initial);
    return {};
  }
  const std::vector<Piece>& pieces() const override { return pieces_; }

 private:
  const std::vector<Piece>& pieces_;
  size_t next_ = 0;
};

// Returns the table of "Attention Is All You Need", 3.5: sines in even columns, cosines in odd
// ones.
at::Tensor SinusoidalPositions(int64_t positions, int64_t width) {
  const at::Tensor position = at::arange(positions, at::kFloat).unsqueeze(1);
  const at::Tensor rate = at::exp(at::arange(0, width, 2, at::kFloat) *
                                  (-std::log(10000.0) / static_cast<double>(width)));
  const at::Tensor angle = position * rate;
  at::Tensor table = at::zeros({positions, width});
  table.slice(1, 0, width, 2).copy_(at::sin(angle));
  table.slice(1, 1, width, 2).copy_(at::cos(angle).slice(1, 0, width / 2));
  return table;
}

class Pass {
 public:
  explicit Pass(ParameterHome& home, bool leaves_blocks = true) : home_(home) {
    home_.BeginPass(leaves_blocks);
  }
  ~Pass() { home_.EndPass(); }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

 private:
  ParameterHome& home_;
};

// Limit on tokens. Up to it, the backward kernel of embedding on a GPU is reported to race
// (pytorch#187687); the kernel of index sorts the tokens first.
constexpr int64_t kRacingTokens = 3072;

at::Tensor Embedded(const at::Tensor& weight, const at::Tensor& tokens) {
  if (!weight.is_cuda() || tokens.numel() > kRacingTokens) return at::embedding(weight, tokens);
  return at::index(weight, c10::List<std::optional<at::Tensor>>({tokens}));
}

}  // namespace

uint64_t CountParameters(const ModelSpec& spec) { return plan::Parameters(SizeOf(spec)); }

Transformer::Transformer(const ModelSpec& spec, uint64_t seed, std::unique_ptr<ParameterHome> home)
    : Transformer(spec, seed, *home) {
  own_home_ = std::move(home);
}

Transformer::Transformer(const ModelSpec& spec, uint64_t seed, c10::Device device)
    : Transformer(spec, seed, std::make_unique<WholeHome>(device)) {}

Transformer::Transformer(const ModelSpec& spec, uint64_t seed, ParameterHome& home, TensorAxis axis,
                         StageAxis stages)
    : spec_(spec),
      axis_(std::move(axis)),
      stages_(std::move(stages)),
      cuts_vocabulary_(plan::CutsVocabulary(spec.vocab_pad, axis_.ranks)),
      home_(&home) {
  chunks_ = {{0, spec.n_layer}};
  if (!part().IsAll()) chunks_ = part().chunks();
  ParameterMaker make(seed, home, parameters_);
  const int64_t width = spec.n_embd;
  const double residual_deviation =
      kInitialDeviation / std::sqrt(2.0 * static_cast<double>(spec.n_layer));
  const auto norm = [&](const std::string& name) {
    NormWeights weights;
    weights.weight = make.Filled(name + ".weight", width, 1);
    if (spec.bias) weights.bias = make.Filled(name + ".bias", width, 0);
    return weights;
  };
  const auto linear = [&](const std::string& name, int64_t in, int64_t out, double deviation) {
    Linear weights;
    weights.weight = make.Normal(name + ".weight", {out, in}, deviation);
    if (spec.bias) weights.bias = make.Filled(name + ".bias", out, 0);
    return weights;
  };

  token_embedding_ = make.Normal("wte.weight", {spec.vocab_pad, width}, kInitialDeviation);
  if (spec.positions == Positions::kLearned) {
    positions_ = make.Normal("wpe.weight", {spec.n_positions, width}, kInitialDeviation);
  } else if (part().IsFirst(0)) {
    positions_ = SinusoidalPositions(spec.n_positions, width).to(home.device());
  }
  for (int64_t layer = 0; layer < spec.n_layer; ++layer) {
    const std::string name = "h." + std::to_string(layer) + ".";
    Block& block = blocks_.emplace_back();
    block.norm1 = norm(name + "ln_1");
    block.qkv = linear(name + "attn.c_attn", width, 3 * width, kInitialDeviation);
    block.attention_out = linear(name + "attn.c_proj", width, width, residual_deviation);
    block.norm2 = norm(name + "ln_2");
    block.up = linear(name + "mlp.c_fc", width, spec.n_ff, kInitialDeviation);
    block.down = linear(name + "mlp.c_proj", spec.n_ff, width, residual_deviation);
  }
  if (spec.norm == Norm::kPre) final_norm_ = norm("ln_f");
  head_weight_ = spec.tie_head
                     ? token_embedding_
                     : make.Normal("lm_head.weight", {spec.vocab_pad, width}, kInitialDeviation);
  if (spec.head_bias) head_bias_ = make.Filled("lm_head.bias", spec.vocab_pad, 0);
  home.Close();
}

void DrawAgain(const ModelSpec& spec, uint64_t seed, const std::vector<Piece>& pieces) {
  SecondHome home(pieces);
  const Transformer drawn(spec, seed, home);
}

at::Tensor Transformer::Normed(const NormWeights& norm, const at::Tensor& x) const {
  if (x.scalar_type() == at::kFloat) {
    return at::layer_norm(x, {spec_.n_embd}, norm.weight, norm.bias, kNormEpsilon);
  }
  // Autocast would compute this in fp32 and return fp32. The kernels sum in fp32 anyway.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return at::layer_norm(x, {spec_.n_embd}, norm.weight.to(x.scalar_type()),
                        norm.bias.defined() ? norm.bias.to(x.scalar_type()) : norm.bias,
                        kNormEpsilon);
}

at::Tensor Transformer::Dropped(const at::Tensor& x, bool training) const {
  return training && spec_.dropout > 0 ? at::dropout(x, spec_.dropout, true) : x;
}

at::Tensor Transformer::In(const at::Tensor& x, const Manner& manner) const {
  if (axis_.IsAlone()) return x;
  const c10::DeviceType type = x.device().type();
  // The following product casts it anyway; casting first sends it in 16 bits.
  const bool casts = at::autocast::is_autocast_enabled(type);
  return axis_.in(casts ? x.to(at::autocast::get_autocast_dtype(type)) : x, manner.tokens);
}

// Adds the bias after the sum over ranks, so that it is added once.
at::Tensor Transformer::Out(const at::Tensor& x, const Linear& linear, const Manner& manner) const {
  if (axis_.IsAlone()) return at::linear(x, linear.weight, linear.bias);
  const at::Tensor sum = axis_.out(at::linear(x, linear.weight), manner.tokens);
  return linear.bias.defined() ? sum + linear.bias.to(sum.scalar_type()) : sum;
}

at::Tensor Transformer::Attention(const Block& block, const at::Tensor& x,
                                  const Manner& manner) const {
  const at::Tensor all = In(x, manner);
  const int64_t batch = all.size(0);
  const int64_t length = all.size(1);
  const int64_t heads_here = spec_.n_head / axis_.ranks;
  const int64_t width = spec_.n_embd / axis_.ranks;
  const std::vector<at::Tensor> parts =
      at::linear(all, block.qkv.weight, block.qkv.bias).split(width, 2);
  const auto heads = [&](const at::Tensor& part) {
    return part.view({batch, length, heads_here, width / heads_here}).transpose(1, 2);
  };
  const at::Tensor mixed = at::scaled_dot_product_attention(
      heads(parts[0]), heads(parts[1]), heads(parts[2]), {}, manner.training ? spec_.dropout : 0.0,
      /*is_causal=*/true);
  return Out(mixed.transpose(1, 2).reshape({batch, length, width}), block.attention_out, manner);
}

at::Tensor Transformer::FeedForward(const Block& block, const at::Tensor& x,
                                    const Manner& manner) const {
  at::Tensor wide = at::linear(In(x, manner), block.up.weight, block.up.bias);
  switch (spec_.activation) {
    case Activation::kGeluTanh:
      wide = at::gelu(wide, "tanh");
      break;
    case Activation::kGelu:
      wide = at::gelu(wide);
      break;
    case Activation::kRelu:
      wide = at::relu(wide);
      break;
  }
  return Dropped(Out(wide, block.down, manner), manner.training);
}

std::vector<at::Tensor> Transformer::Block::Parameters() const {
  std::vector<at::Tensor> parameters;
  for (const NormWeights& norm : {norm1, norm2}) {
    parameters.push_back(norm.weight);
    if (norm.bias.defined()) parameters.push_back(norm.bias);
  }
  for (const Linear& linear : {qkv, attention_out, up, down}) {
    parameters.push_back(linear.weight);
    if (linear.bias.defined()) parameters.push_back(linear.bias);
  }
  return parameters;
}

at::Tensor Transformer::Through(const Block& block, at::Tensor x, const Manner& manner) const {
  if (spec_.norm == Norm::kPre) {
    x = x + Dropped(Attention(block, Normed(block.norm1, x), manner), manner.training);
    return x + FeedForward(block, Normed(block.norm2, x), manner);
  }
  x = Normed(block.norm1, x + Dropped(Attention(block, x, manner), manner.training));
  return Normed(block.norm2, x + FeedForward(block, x, manner));
}

at::Tensor Transformer::OwnOf(const at::Tensor& tokens) const {
  const int64_t own = tokens.size(1) / axis_.ranks;
  return tokens.narrow(1, axis_.rank * own, own).contiguous();
}

at::ScalarType Transformer::HiddenTypeNow(c10::DeviceType device) const {
  return at::autocast::is_autocast_enabled(device) ? hidden_type_ : at::kFloat;
}

// Sums the embeddings over ranks. Each token belongs to one rank, so the sum is exact in the type
// that is sent.
at::Tensor Transformer::TokenEmbeddings(const at::Tensor& tokens, const Manner& manner) const {
  if (!cuts_vocabulary_) {
    return Embedded(token_embedding_, manner.tokens == Tokens::kOwn ? OwnOf(tokens) : tokens);
  }
  const int64_t rows = token_embedding_.size(0);
  const at::Tensor elsewhere = tokens.floor_divide(rows).ne(axis_.rank).unsqueeze(-1);
  const at::Tensor own =
      Embedded(token_embedding_, tokens.remainder(rows)).masked_fill(elsewhere, 0);
  return axis_.out(own.to(HiddenTypeNow(own.device().type())), manner.tokens).to(at::kFloat);
}

at::Tensor Transformer::Embed(const at::Tensor& tokens, const Manner& manner) const {
  at::Tensor x = TokenEmbeddings(tokens, manner);
  // Sines have amplitude 1: without this scale they would drown the embeddings.
  if (spec_.positions == Positions::kSinusoidal)
    x = x * std::sqrt(static_cast<double>(spec_.n_embd));
  const int64_t first = manner.tokens == Tokens::kOwn ? axis_.rank * x.size(1) : 0;
  x = Dropped(x + positions_.slice(0, first, first + x.size(1)), manner.training);
  return x.to(HiddenTypeNow(x.device().type()));
}

at::Tensor Transformer::Blocks(const plan::LayerRange& layers, at::Tensor x,
                               const Manner& manner) const {
  const bool again = spec_.keep == ModelSpec::Keep::kBlockInputs && at::GradMode::is_enabled();
  const Draws draws = manner.training && spec_.dropout > 0 ? Draws::kDropout : Draws::kNothing;
  const auto end = static_cast<size_t>(layers.from + layers.count);
  for (auto i = static_cast<size_t>(layers.from); i < end; ++i) {
    const Block& block = blocks_[i];
    const auto through = [this, &block, manner](const at::Tensor& input) {
      return Through(block, input, manner);
    };
    x = home_->Around(i + 1, x, [&](const at::Tensor& input) {
      return again ? Recomputed(input, block.Parameters(), through, draws) : through(input);
    });
  }
  return x;
}

at::Tensor Transformer::Hidden(const at::Tensor& tokens, const Manner& manner) const {
  at::Tensor x;
  for (size_t c = 0; c < chunks_.size(); ++c) {
    const auto chunk = static_cast<int64_t>(c);
    if (part().IsFirst(chunk)) {
      x = Embed(tokens, manner);
    } else {
      const int64_t here = manner.tokens == Tokens::kOwn ? axis_.ranks : 1;
      x = stages_.receive({tokens.size(0), tokens.size(1) / here, spec_.n_embd},
                          HiddenTypeNow(tokens.device().type()));
    }
    x = Blocks(chunks_[c], x, manner);
    if (part().IsLast(chunk)) return spec_.norm == Norm::kPre ? Normed(final_norm_, x) : x;
    stages_.send(x);
  }
  return {};
}

void Transformer::PassIdly() const {
  const Pass pass(*home_);
  for (const plan::LayerRange& layers : chunks_) {
    for (int64_t i = layers.from; i < layers.from + layers.count; ++i) {
      home_->Around(static_cast<size_t>(i) + 1, {},
                    [](const at::Tensor& nothing) { return nothing; });
    }
  }
}

at::Tensor Transformer::LogitsOf(const at::Tensor& hidden) const {
  const at::Tensor logits = at::linear(hidden, head_weight_, head_bias_);
  if (!cuts_vocabulary_) return logits;
  const at::Tensor of_ranks = axis_.gather(logits);
  return of_ranks.movedim(0, -2).flatten(-2);
}

at::Tensor Transformer::Logits(const at::Tensor& tokens, bool training) const {
  const Pass pass(*home_);
  const at::Tensor hidden = Hidden(tokens, {training, Tokens::kAll});
  return hidden.defined() ? LogitsOf(hidden) : hidden;
}

at::Tensor Transformer::LogitsAt(const at::Tensor& tokens, const at::Tensor& places) const {
  const Pass pass(*home_);
  const at::Tensor hidden = Hidden(tokens, Manner());
  if (!hidden.defined()) return hidden;
  return LogitsOf(hidden.flatten(0, 1).index_select(0, places));
}

at::Tensor Transformer::NextLogits(const at::Tensor& tokens) const {
  const Pass pass(*home_);
  const at::Tensor hidden = Hidden(tokens, Manner());
  if (!hidden.defined()) return hidden;
  return LogitsOf(hidden.select(1, tokens.size(1) - 1));
}

at::Tensor Transformer::Loss(const at::Tensor& tokens, const at::Tensor& all_targets, bool training,
                             GradientSpans* spans) const {
  const Pass pass(*home_);
  const Manner manner{training, axis_.Trained()};
  const at::Tensor hidden = Hidden(tokens, manner);
  return hidden.defined() ? HeadLoss(hidden, all_targets, manner, spans) : hidden;
}

at::Tensor Transformer::HeadLoss(const at::Tensor& hidden, const at::Tensor& all_targets,
                                 const Manner& manner, GradientSpans* spans) const {
  if (cuts_vocabulary_) {
    const int64_t rows = head_weight_.size(0), first = axis_.rank * rows;
    const int64_t real = std::clamp<int64_t>(spec_.vocab_size - first, 0, rows);
    return FusedHeadLoss(In(hidden, manner), {head_weight_, head_bias_, real, first, axis_.gather},
                         all_targets, spans);
  }
  const at::Tensor targets = axis_.splits_tokens ? OwnOf(all_targets) : all_targets;
  if (HeadLossIsFusable(hidden)) {
    return FusedHeadLoss(hidden, {head_weight_, head_bias_, spec_.vocab_size}, targets, spans);
  }
  const at::Tensor logits = at::linear(hidden, head_weight_, head_bias_).flatten(0, 1);
  return at::cross_entropy_loss(logits.slice(1, 0, spec_.vocab_size), targets.reshape({-1}));
}

at::Tensor Transformer::Forward(int64_t chunk, const at::Tensor& in, const at::Tensor& targets,
                                GradientSpans* spans) const {
  const Pass pass(*home_, part().LeavesBlocks(chunk));
  const Manner manner{/*training=*/true, axis_.Trained()};
  at::Tensor x = in;
  if (part().IsFirst(chunk)) x = Embed(in, manner);
  x = Blocks(chunks_.at(static_cast<size_t>(chunk)), x, manner);
  if (!part().IsLast(chunk)) return x;
  return HeadLoss(spec_.norm == Norm::kPre ? Normed(final_norm_, x) : x, targets, manner, spans);
}

}  // namespace dt::trainer
