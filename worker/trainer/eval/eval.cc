// eval.cc: the validation pass.
#include "worker/trainer/eval/eval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "worker/trainer/eval/varying_shapes.h"
#include "worker/trainer/eval/windows.h"
#include "worker/trainer/precision/precision.h"

namespace dt::trainer {
namespace {

// Returns the number of ranks that split each sequence, equally, under sequence parallelism;
// otherwise 1.
int64_t SplitOf(const TrialSpec& spec) { return spec.sequence ? spec.tensor : 1; }

EvalWindows WindowsOf(const TrialSpec& spec, const Dataset& data) {
  const std::vector<uint64_t> shards = data.ShardTokens();
  const int64_t length = spec.train.seq_len;
  if (spec.eval.batches > 0) {
    const int64_t most = std::numeric_limits<int64_t>::max() / spec.train.batch_size;
    return EvalWindows::OfCount(shards, length,
                                std::min(spec.eval.batches, most) * spec.train.batch_size);
  }
  return EvalWindows::OfTokens(shards, length, spec.eval.tokens, SplitOf(spec));
}

// Averages the loss over the tensor ranks. They split the tokens of a batch equally, so the mean of
// their means is the mean over all tokens.
at::Tensor MeanOfLayer(const Mesh& mesh, const at::Tensor& loss) {
  const at::Tensor mine = loss.to(at::kDouble);
  const std::shared_ptr<Group>& layer = mesh.group(Axis::kTensor);
  return layer == nullptr ? mine : layer->Concatenated(mine.view({1})).mean();
}

// Returns the b-th batch: full windows, or one remainder.
std::vector<EvalWindow> BatchOf(const EvalWindows& windows, int64_t batch, int64_t b) {
  std::vector<EvalWindow> of_batch;
  const int64_t first = b * batch;
  for (int64_t i = first; i < std::min(first + batch, windows.whole()); ++i) {
    of_batch.push_back(windows.Whole(i));
  }
  if (of_batch.empty()) {
    const int64_t before = (windows.whole() + batch - 1) / batch;
    of_batch.push_back(windows.rest().at(static_cast<size_t>(b - before)));
  }
  return of_batch;
}

// Reads inputs and targets as one tensor, [windows, length + 1]. REQUIRES: all windows have the
// same length.
absl::StatusOr<at::Tensor> ReadBatch(const Dataset& data, const std::vector<EvalWindow>& windows) {
  const int64_t length = windows.front().length;
  std::vector<uint16_t> tokens(static_cast<size_t>(length) + 1);
  at::Tensor ids = at::empty({static_cast<int64_t>(windows.size()), length + 1}, at::kLong);
  int64_t* out = ids.mutable_data_ptr<int64_t>();
  for (const EvalWindow& window : windows) {
    DT_RETURN_IF_ERROR(data.Read(window.shard, window.first, tokens));
    out = std::copy(tokens.begin(), tokens.end(), out);
  }
  return ids;
}

// Returns the mean loss over the last targets of one window; undefined on all pipeline stages but
// the last. Used when the length cannot be split: each tensor rank processes all tokens.
at::Tensor LossOfLast(const Transformer& model, const at::Tensor& ids, const EvalWindow& window,
                      int64_t vocab_size) {
  const at::Tensor places =
      at::arange(window.skipped, window.length, at::TensorOptions(ids.device()).dtype(at::kLong));
  const at::Tensor all = model.LogitsAt(ids.slice(1, 0, window.length), places);
  if (!all.defined()) return all;
  const at::Tensor logits = all.slice(1, 0, vocab_size).to(at::kFloat);
  const at::Tensor targets = ids.slice(1, window.skipped + 1, window.length + 1).view({-1, 1});
  return (logits.logsumexp(1) - logits.gather(1, targets).squeeze(1)).mean();
}

// Returns the mean loss over a batch's targets; undefined on all pipeline stages but the last.
at::Tensor LossOf(const TrialSpec& spec, const Transformer& model, const Mesh& mesh,
                  const at::Tensor& ids, const EvalWindow& window) {
  std::optional<VaryingShapesScope> varying_shapes;
  if (window.length != spec.train.seq_len) varying_shapes.emplace();
  const int64_t length = window.length;
  if (length % SplitOf(spec) != 0) return LossOfLast(model, ids, window, spec.model.vocab_size);
  const at::Tensor here = model.Loss(ids.slice(1, 0, length), ids.slice(1, 1, length + 1),
                                     /*training=*/false);
  return here.defined() ? MeanOfLayer(mesh, here) : here;
}

}  // namespace

int64_t ValidationParts(const TrialSpec& spec, const Dataset& data, int32_t rank, int32_t size) {
  const int64_t batches = WindowsOf(spec, data).Batches(spec.train.batch_size);
  return (batches - rank + size - 1) / size;
}

std::vector<double> SumOfStage(Mesh& mesh, const std::vector<double>& mine) {
  std::vector<double> sums(mine.size(), 0.0);
  for (const std::vector<double>& row : mesh.Gather(Axis::kData, mine)) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += row[i];
  }
  return mesh.FromLast(Axis::kPipeline, sums);
}

absl::StatusOr<Validation> Validate(const TrialSpec& spec, const Dataset& data,
                                    const Transformer& model, Device& device, Mesh& mesh,
                                    EvalMeter& meter) {
  at::NoGradGuard no_grad;
  const c10::DeviceType type = device.Torch().type();
  const Compute compute = ResolveCompute(spec.compute, type);
  const int rank = mesh.rank(Axis::kData);
  const int size = mesh.size(Axis::kData);
  const EvalWindows windows = WindowsOf(spec, data);
  const int64_t parts = windows.Batches(spec.train.batch_size);
  at::Tensor sum = at::zeros({}, at::TensorOptions(device.Torch()).dtype(at::kDouble));
  at::Tensor perplexities = at::zeros_like(sum);
  double tokens = 0, batches = 0;
  for (int64_t turn = 0; turn < parts; turn += size) {
    const int64_t b = turn + rank;
    if (b >= parts) {
      model.PassIdly();  // the other ranks run a forward pass
      continue;
    }
    const std::vector<EvalWindow> batch = BatchOf(windows, spec.train.batch_size, b);
    DT_ASSIGN_OR_RETURN(const at::Tensor read, ReadBatch(data, batch));
    const AutocastScope autocast(compute, type);
    const at::Tensor loss = LossOf(spec, model, mesh, device.Upload(read), batch.front());
    // Only the last pipeline stage has a loss.
    if (loss.defined()) {
      const auto targets = static_cast<double>(std::ssize(batch) * batch.front().targets());
      sum += loss.to(at::kDouble) * targets;
      perplexities += loss.to(at::kDouble).exp();
      tokens += targets;
      batches += 1;
    }
    DT_RETURN_IF_ERROR(meter.Done());
  }
  const std::vector<double> sums =
      SumOfStage(mesh, {sum.item<double>(), perplexities.item<double>(), tokens, batches});
  Validation validation{sums[0], sums[1], sums[2]};
  const double batches_of_all = sums[3];
  if (batches_of_all > 0) {
    validation.loss /= validation.tokens;
    // The mean over batches depends on the batch size, so it is used only if eval.batches asks for
    // it.
    validation.perplexity_mean = spec.eval.batches > 0 ? validation.perplexity_mean / batches_of_all
                                                       : std::exp(validation.loss);
  }
  return validation;
}

}  // namespace dt::trainer
