// samples.cc: generates all samples together, token by token.
#include "worker/trainer/eval/samples.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "common/limits.h"
#include "common/text.h"
#include "worker/trainer/eval/varying_shapes.h"
#include "worker/trainer/precision/precision.h"

namespace dt::trainer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Messages of rank 0 to the others after each token.
constexpr double kGoesOn = 1;
constexpr double kHasEnded = 0;

// Returns the tokens that the first tensor rank drew: the others may have rounded differently.
at::Tensor Agreed(const at::Tensor& drawn, Device& device, Mesh& mesh) {
  if (mesh.group(Axis::kTensor) == nullptr) return drawn;
  at::Tensor agreed = device.Upload(drawn);
  mesh.BroadcastFromFirst(Axis::kTensor, {agreed});
  return agreed.cpu();
}

// Broadcasts the logits of the last pipeline stage to all stages: [samples, vocabulary] in fp32.
at::Tensor FromLastStage(const at::Tensor& logits, const TrialSpec& spec, Device& device,
                         Mesh& mesh) {
  if (mesh.group(Axis::kPipeline) == nullptr) return logits;
  const std::vector<int64_t> shape{spec.eval.samples, spec.model.vocab_pad};
  const at::Tensor all =
      logits.defined() ? logits.to(at::kFloat).contiguous()
                       : at::empty(shape, at::TensorOptions(device.Torch()).dtype(at::kFloat));
  mesh.BroadcastFromLast(Axis::kPipeline, all);
  return all;
}

}  // namespace

at::Tensor Draw(const at::Tensor& logits, double temperature, int64_t top_k,
                at::Generator& generator) {
  if (temperature == 0) return logits.argmax(1);
  at::Tensor scaled = logits / temperature;
  if (top_k > 0 && top_k < scaled.size(1)) {
    const at::Tensor least = std::get<0>(scaled.topk(top_k, 1)).slice(1, top_k - 1);
    scaled = scaled.masked_fill(scaled < least, -std::numeric_limits<double>::infinity());
  }
  return at::softmax(scaled, 1).multinomial(1, /*replacement=*/false, generator).squeeze(1);
}

void KeepCompany(const Transformer& model, Mesh& mesh) {
  at::NoGradGuard no_grad;
  do {
    model.PassIdly();
  } while (mesh.Gather(Axis::kWorld, {kGoesOn})[0][0] == kGoesOn);
}

absl::StatusOr<std::vector<std::vector<uint16_t>>> Generate(const TrialSpec& spec,
                                                            const Generation& generation,
                                                            const Transformer& model,
                                                            Device& device, Mesh& mesh,
                                                            EvalMeter& meter) {
  at::NoGradGuard no_grad;
  const VaryingShapesScope varying_shapes;
  const c10::DeviceType type = device.Torch().type();
  const Compute compute = ResolveCompute(spec.compute, type);
  at::Generator generator = at::detail::createCPUGenerator(generation.seed);
  const auto count = static_cast<size_t>(spec.eval.samples);
  std::vector<std::vector<uint16_t>> samples(count);
  std::vector<bool> ended(count, false);
  at::Tensor ids = at::empty({spec.eval.samples, std::ssize(generation.prompt)}, at::kLong);
  for (int64_t i = 0; i < ids.size(1); ++i) {
    ids.select(1, i).fill_(int64_t{generation.prompt[static_cast<size_t>(i)]});
  }
  for (int64_t made = 0; made < spec.eval.sample_tokens; ++made) {
    // Drop tokens further back than the model's context.
    const int64_t seen = std::min(ids.size(1), spec.model.n_positions);
    at::Tensor logits;
    {
      const AutocastScope autocast(compute, type);
      logits = model.NextLogits(device.Upload(ids.slice(1, ids.size(1) - seen).contiguous()));
    }
    logits = FromLastStage(logits, spec, device, mesh)
                 .slice(1, 0, spec.model.vocab_size)
                 .to(at::kCPU, at::kDouble);
    const at::Tensor drawn =
        Agreed(Draw(logits, spec.eval.sample_temperature, spec.eval.sample_top_k, generator),
               device, mesh);
    for (size_t s = 0; s < count; ++s) {
      const auto id = drawn[static_cast<int64_t>(s)].item<int64_t>();
      if (id == generation.end_of_text) ended[s] = true;
      if (!ended[s]) samples[s].push_back(static_cast<uint16_t>(id));
    }
    const bool all_ended = std::all_of(ended.begin(), ended.end(), [](bool over) { return over; });
    const bool over = all_ended || made + 1 == spec.eval.sample_tokens;
    if (!all_ended) DT_RETURN_IF_ERROR(meter.Done());
    mesh.Gather(Axis::kWorld, {over ? kHasEnded : kGoesOn});
    if (over) break;
    ids = at::cat({ids, drawn.unsqueeze(1)}, 1);
  }
  return samples;
}

std::string ShownText(std::string_view bytes) {
  std::string shown;
  while (!bytes.empty()) {
    const size_t length = Utf8Length(bytes);
    std::string_view character = bytes.substr(0, std::max<size_t>(length, 1));
    bytes.remove_prefix(character.size());
    const auto first = static_cast<unsigned char>(character[0]);
    const bool control =
        (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f ||
        (length == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
    if (length == 0 || control) character = kReplacement;
    if (shown.size() + character.size() > limits::kSampleBytes) break;
    shown += character;
  }
  return shown;
}

}  // namespace dt::trainer
