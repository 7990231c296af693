// eval.cc: the validation pass.
#include "worker/trainer/eval/eval.h"

#include <algorithm>
#include <memory>

#include "worker/trainer/precision/precision.h"

namespace dt::trainer {
namespace {

// Each of the ranks that split a batch's tokens has the mean over as many.
at::Tensor MeanOfLayer(const Mesh& mesh, const at::Tensor& loss) {
  const at::Tensor mine = loss.to(at::kDouble);
  const std::shared_ptr<Group>& layer = mesh.group(Axis::kTensor);
  return layer == nullptr ? mine : layer->Concatenated(mine.view({1})).mean();
}

}  // namespace

int64_t ValidationParts(const TrialSpec& spec, const Dataset& data, int32_t rank, int32_t size) {
  const int64_t batch = spec.train.batch_size;
  const int64_t there = (static_cast<int64_t>(data.windows()) + batch - 1) / batch;
  const int64_t batches = std::min(spec.eval.batches, there);
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
  const int64_t length = spec.train.seq_len;
  std::vector<uint16_t> window(length + 1);
  at::Tensor sum = at::zeros({}, at::TensorOptions(device.Torch()).dtype(at::kDouble));
  at::Tensor perplexities = at::zeros_like(sum);
  double tokens = 0, batches = 0;
  const auto windows = static_cast<int64_t>(data.windows());
  for (int64_t turn = 0; turn < spec.eval.batches; turn += size) {
    if (turn * spec.train.batch_size >= windows) break;
    const int64_t b = turn + rank;
    const uint64_t first = static_cast<uint64_t>(b) * spec.train.batch_size;
    if (b >= spec.eval.batches || first >= data.windows()) {
      model.PassIdly();  // the others do pass over it
      continue;
    }
    const int64_t sequences =
        std::min<int64_t>(spec.train.batch_size, static_cast<int64_t>(data.windows() - first));
    at::Tensor ids = at::empty({sequences, length + 1}, at::kLong);
    int64_t* out = ids.mutable_data_ptr<int64_t>();
    for (int64_t s = 0; s < sequences; ++s) {
      DT_RETURN_IF_ERROR(data.ReadWindow(first + s, window));
      out = std::copy(window.begin(), window.end(), out);
    }
    ids = device.Upload(ids);
    const AutocastScope autocast(compute, type);
    const at::Tensor here = model.Loss(ids.slice(1, 0, length), ids.slice(1, 1, length + 1),
                                       /*training=*/false);
    // The last stage of a pipeline has it.
    if (here.defined()) {
      const at::Tensor loss = MeanOfLayer(mesh, here);
      sum += loss * static_cast<double>(sequences * length);
      perplexities += loss.exp();
      tokens += static_cast<double>(sequences * length);
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
    validation.perplexity_mean /= batches_of_all;
  }
  return validation;
}

}  // namespace dt::trainer
