// hellaswag.cc: builds batches with one row per ending and computes their losses.
#include "worker/trainer/eval/hellaswag.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "worker/trainer/eval/eval.h"
#include "worker/trainer/eval/varying_shapes.h"
#include "worker/trainer/precision/precision.h"

namespace dt::trainer {
namespace {

using corpus::HellaSwagExample;
using corpus::kHellaSwagEndings;

// Tokens of a batch, padding included. If all belonged to endings, their logits would take 400 MB
// with GPT-2's vocabulary.
constexpr int64_t kBatchTokens = 2048;

int64_t LongestEnding(const HellaSwagExample& example) {
  size_t longest = 0;
  for (const auto& ending : example.endings) longest = std::max(longest, ending.size());
  return static_cast<int64_t>(longest);
}

// Returns the tokens of the longest row. A context that does not fit is cut at its start.
int64_t RowLength(const HellaSwagExample& example, int64_t positions) {
  return std::min(static_cast<int64_t>(example.context.size()) + LongestEnding(example),
                  positions + 1);
}

// A batch, with a row for each ending. For each ending token: `places` is the index of its
// logits, counted through all rows; `targets` is the token itself; `owners` is its row.
struct Rows {
  at::Tensor inputs;  // [rows, length]
  std::vector<int64_t> places, targets;
  std::vector<size_t> owners;
};
Rows RowsOf(const std::vector<HellaSwagExample>& examples, const ExampleBatch& batch,
            int64_t positions) {
  int64_t length = 0;
  for (const size_t index : batch) {
    length = std::max(length, RowLength(examples[index], positions) - 1);
  }
  const auto count = static_cast<int64_t>(batch.size()) * kHellaSwagEndings;
  Rows rows{at::zeros({count, length}, at::kLong), {}, {}, {}};
  auto inputs = rows.inputs.accessor<int64_t, 2>();
  int64_t row = 0;
  for (const size_t index : batch) {
    for (const std::vector<uint16_t>& ending : examples[index].endings) {
      std::vector<uint16_t> tokens = examples[index].context;
      tokens.insert(tokens.end(), ending.begin(), ending.end());
      const auto size = static_cast<int64_t>(tokens.size());
      const int64_t skipped = std::max<int64_t>(0, size - (positions + 1));
      const int64_t first = size - static_cast<int64_t>(ending.size());
      for (int64_t i = skipped; i + 1 < size; ++i) {
        inputs[row][i - skipped] = tokens[i];
        if (i + 1 < first) continue;
        rows.places.push_back(row * length + i - skipped);
        rows.targets.push_back(tokens[i + 1]);
        rows.owners.push_back(static_cast<size_t>(row));
      }
      ++row;
    }
  }
  return rows;
}

// Returns the sum of losses of the ending in each row; empty on all pipeline stages but the last.
std::vector<double> RowLosses(const Rows& rows, int64_t vocab_size, const Transformer& model,
                              Device& device) {
  // Padding comes after the tokens, and attention is causal, so padding has no effect.
  const at::Tensor all =
      model.LogitsAt(device.Upload(rows.inputs), device.Upload(at::tensor(rows.places)));
  if (!all.defined()) return {};
  const at::Tensor logits = all.slice(1, 0, vocab_size).to(at::kFloat);
  const at::Tensor targets = device.Upload(at::tensor(rows.targets));
  const at::Tensor right = logits.gather(1, targets.unsqueeze(1)).squeeze(1);
  const at::Tensor losses = (logits.logsumexp(1) - right).to(at::kCPU, at::kDouble);
  std::vector<double> sums(static_cast<size_t>(rows.inputs.size(0)), 0);
  const double* loss = losses.const_data_ptr<double>();
  for (const size_t owner : rows.owners) sums[owner] += *loss++;
  return sums;
}

}  // namespace

Preferred PreferredEnding(std::span<const EndingLoss> losses) {
  const auto least = [&](auto&& value) {
    const auto found = std::min_element(
        losses.begin(), losses.end(),
        [&](const EndingLoss& a, const EndingLoss& b) { return value(a) < value(b); });
    return static_cast<int>(found - losses.begin());
  };
  return {least([](const EndingLoss& loss) { return loss.sum; }), least([](const EndingLoss& loss) {
            return loss.sum / static_cast<double>(std::max<int64_t>(loss.tokens, 1));
          })};
}

absl::StatusOr<std::vector<ExampleBatch>> HellaSwagBatches(
    const std::vector<HellaSwagExample>& examples, int64_t positions) {
  for (size_t i = 0; i < examples.size(); ++i) {
    if (LongestEnding(examples[i]) <= positions) continue;
    return ConfigError("eval.hellaswag: example " + std::to_string(i) + " has an ending of " +
                       std::to_string(LongestEnding(examples[i])) +
                       " tokens; the model has model.n_positions " + std::to_string(positions));
  }
  std::vector<size_t> order(examples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return RowLength(examples[a], positions) < RowLength(examples[b], positions);
  });
  std::vector<ExampleBatch> batches;
  for (const size_t index : order) {
    // Rows are sorted by length, so the one being added is the longest.
    const int64_t row = RowLength(examples[index], positions);
    const auto rows = batches.empty() ? 0 : static_cast<int64_t>(batches.back().size() + 1);
    if (batches.empty() || rows * kHellaSwagEndings * row > kBatchTokens) batches.emplace_back();
    batches.back().push_back(index);
  }
  return batches;
}

absl::StatusOr<HellaSwagScore> ScoreHellaSwag(const TrialSpec& spec,
                                              const std::vector<HellaSwagExample>& examples,
                                              const std::vector<ExampleBatch>& batches,
                                              const Transformer& model, Device& device, Mesh& mesh,
                                              EvalMeter& meter) {
  at::NoGradGuard no_grad;
  const VaryingShapesScope varying_shapes;
  const c10::DeviceType type = device.Torch().type();
  const Compute compute = ResolveCompute(spec.compute, type);
  const auto rank = static_cast<size_t>(mesh.rank(Axis::kData));
  const auto size = static_cast<size_t>(mesh.size(Axis::kData));
  double right = 0, right_norm = 0, count = 0;
  for (size_t turn = 0; turn < batches.size(); turn += size) {
    const size_t b = turn + rank;
    if (b >= batches.size()) {
      model.PassIdly();  // the other ranks run a forward pass
      continue;
    }
    const AutocastScope autocast(compute, type);
    const std::vector<double> losses = RowLosses(
        RowsOf(examples, batches[b], spec.model.n_positions), spec.model.vocab_size, model, device);
    const double* loss = losses.data();
    for (const size_t index : losses.empty() ? ExampleBatch() : batches[b]) {
      std::array<EndingLoss, kHellaSwagEndings> endings;
      for (size_t e = 0; e < endings.size(); ++e) {
        endings[e] = {*loss++, static_cast<int64_t>(examples[index].endings[e].size())};
      }
      const Preferred preferred = PreferredEnding(endings);
      right += preferred.by_sum == examples[index].label;
      right_norm += preferred.by_mean == examples[index].label;
      count += 1;
    }
    DT_RETURN_IF_ERROR(meter.Done());
  }
  const std::vector<double> sums = SumOfStage(mesh, {right, right_norm, count});
  HellaSwagScore score{sums[0], sums[1], sums[2]};
  score.acc /= score.examples;
  score.acc_norm /= score.examples;
  return score;
}

}  // namespace dt::trainer
