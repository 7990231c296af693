// cost.cc: counts, and numbers from data sheets.
#include "plan/cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "plan/stages.h"

namespace dt::plan {
namespace {

// TFLOP/s from the makers' data sheets, without sparsity, at the form factor's full power: matrix
// units with 16-bit numbers, with TF32, and plain fp32.
struct DataSheet {
  std::string_view name;  // complete words of the driver's name for it; the first match counts
  double half, tf32, fp32;
};
constexpr std::array<DataSheet, 14> kSheets = {{
    {"H200 NVL", 836, 418, 60},
    {"H200", 989, 494.7, 67},
    {"H100 PCIe", 756, 378, 51},
    {"H100 NVL", 835, 417.5, 60},
    {"H100", 989, 494.7, 67},
    {"H800", 989, 494.7, 67},
    {"A100", 312, 156, 19.5},
    {"A800", 312, 156, 19.5},
    {"A40", 149.7, 74.8, 37.4},
    {"A30", 165, 82, 10.3},
    {"A10", 125, 62.5, 31.2},
    {"L40S", 362, 183, 91.6},
    {"L40", 181, 90.5, 90.5},
    {"L4", 121, 60, 30.3},
}};

bool HasWord(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos) return false;
  const auto divides = [](char c) { return c == ' ' || c == '-'; };
  const size_t end = at + word.size();
  return (at == 0 || divides(text[at - 1])) && (end == text.size() || divides(text[end]));
}

// Memory of a CPU process beside its tensors, fitted to the peak (VmHWM) of fresh processes that
// trained 0.01 to 57 million parameters in 14 ways in fp32, on 1 to 4 ranks over Gloo. The fit is
// within an eighth; 70 cases of ranks that share the state, fitted separately, are within a
// twelfth. Most of this constant are pages of LibTorch and MKL.
constexpr double kProcessBytes = 134.0 * (1 << 20);
constexpr double kGlooBytes = 2.0 * (1 << 20);  // for each doubling of the number of ranks
// Extra share of memory in the heap: gaps between live blocks, and blocks of freed tensors kept for
// reuse. Activations, which have many sizes, leave more.
constexpr double kHeapOfHeld = 0.1;
constexpr double kHeapOfActivations = 0.2;
// If ranks share the state, rows of other sizes come and go between the activations, and the root's
// rows do not fit into the space that activations leave.
constexpr double kHeapOfActivationsWithRows = 0.5;
constexpr double kHeapOfRoot = 1.5;
// The share of gradients that appear while activations are freed but do not fit into their space.
constexpr double kHeapOfGradients = 0.5;
// Gloo's own copies: of everything that each rank puts into sums of full gradients or averages, and
// of activations that the ranks of a layer exchange.
constexpr double kGlooOfSums = 1.1;
constexpr double kGlooOfActivations = 0.6;
// On a GPU: a CUDA context, the workspaces of cuBLAS and, with several ranks, NCCL's buffers.
constexpr double kContextBytes = 900.0 * (1 << 20);
constexpr double kNcclBytes = 400.0 * (1 << 20);

}  // namespace

uint64_t Parameters(const ModelSize& model) {
  const auto width = static_cast<uint64_t>(model.width);
  const auto ff = static_cast<uint64_t>(model.feed_forward);
  const auto rows = static_cast<uint64_t>(model.rows);
  const auto linear = [&](uint64_t in, uint64_t out) { return in * out + (model.bias ? out : 0); };
  const uint64_t norm = model.bias ? 2 * width : width;
  const uint64_t layer =
      linear(width, 3 * width) + linear(width, width) + linear(width, ff) + linear(ff, width);
  uint64_t count =
      rows * width + static_cast<uint64_t>(model.layers) * layer + NormParameters(model);
  count += static_cast<uint64_t>(model.learned_positions) * width;
  if (model.final_norm) count += norm;
  if (!model.tied_head) count += rows * width;
  if (model.head_bias) count += rows;
  return count;
}

uint64_t RootParameters(const ModelSize& model, int64_t tensor) {
  ModelSize outside = model;
  outside.layers = 0;
  return RankParameters(outside, tensor);
}

uint64_t NormParameters(const ModelSize& model) {
  return static_cast<uint64_t>(model.layers * model.width) * (model.bias ? 4 : 2);
}

uint64_t CutParameters(const ModelSize& model, int64_t tensor) {
  if (tensor == 1) return 0;
  const auto width = static_cast<uint64_t>(model.width);
  const auto ff = static_cast<uint64_t>(model.feed_forward);
  const uint64_t biases = model.bias ? 3 * width + ff : 0;
  uint64_t cut =
      static_cast<uint64_t>(model.layers) * (4 * width * width + 2 * width * ff + biases);
  if (CutsVocabulary(model.rows, tensor)) {
    const uint64_t of_row = (model.tied_head ? 1 : 2) * width + (model.head_bias ? 1 : 0);
    cut += static_cast<uint64_t>(model.rows) * of_row;
  }
  return cut;
}

uint64_t RankParameters(const ModelSize& model, int64_t tensor) {
  const uint64_t cut = CutParameters(model, tensor);
  return Parameters(model) - cut + cut / static_cast<uint64_t>(tensor);
}

double FlopsPerToken(const ModelSize& model, int64_t seq_len) {
  const auto layers = static_cast<double>(model.layers);
  const auto width = static_cast<double>(model.width);
  const auto ff = static_cast<double>(model.feed_forward);
  const auto rows = static_cast<double>(model.rows);
  // For each weight a multiplication and an addition, once forward and twice backward.
  const double products = 6 * (layers * (4 * width * width + 2 * width * ff) + rows * width);
  // Two products forward and five backward, as in flash attention, on half of the square.
  const double attention = 7 * width * static_cast<double>(seq_len) * layers;
  return products + attention;
}

std::optional<double> PeakFlops(std::string_view device_name, Arithmetic arithmetic) {
  if (HasWord(device_name, "MIG")) return std::nullopt;
  for (const DataSheet& sheet : kSheets) {
    if (!HasWord(device_name, sheet.name)) continue;
    switch (arithmetic) {
      case Arithmetic::kHalf:
        return sheet.half * 1e12;
      case Arithmetic::kTf32:
        return sheet.tf32 * 1e12;
      case Arithmetic::kFp32:
        return sheet.fp32 * 1e12;
    }
  }
  return std::nullopt;
}

namespace {

// From here on, everything is for one stage. Returns the bytes of one fp32 number for each
// parameter of a rank.
double WholeBytes(const ModelSize& model, const StepSize& step) {
  return kNumber * static_cast<double>(RankParameters(model, step.tensor));
}

double HeldOf(const ModelSize& model, const StepSize& step) {
  const double all = WholeBytes(model, step);
  const auto ranks = static_cast<double>(step.ranks);
  // A single rank shares with nobody.
  if (step.ranks == 1) return 4 * all;
  // Counts parameters, gradients and two moments.
  switch (step.sharing) {
    case Sharing::kDdp:
      return (step.carries_over ? 5 : 4) * all;
    case Sharing::kZero1:
    case Sharing::kZero2:
      return all + 3 * all / ranks;
    case Sharing::kZero3:
      return 4 * all / ranks;
    case Sharing::kHsdp:
      return 4 * all / static_cast<double>(step.shard);
    case Sharing::kLocalSgd:
      return (step.outer ? 6 : 4) * all;  // the last average, and the momentum of the averages
    case Sharing::kGossip:
      return 6 * all;  // the copies that it exchanges with a peer, while they travel
  }
  return 0;
}

// Returns the tokens of a micro-step.
double Tokens(const StepSize& step) {
  return static_cast<double>(step.sequences) * static_cast<double>(step.seq_len);
}
// Returns the tokens that a rank holds between the parts of a layer.
double OwnTokens(const StepSize& step) {
  return step.sequence ? Tokens(step) / static_cast<double>(step.tensor) : Tokens(step);
}

// Returns the bytes that one layer keeps for the backward pass.
double LayerActivationBytes(const ModelSize& model, const StepSize& step) {
  const double number = step.half ? 2 : 4;
  const auto width = static_cast<double>(model.width);
  const double tokens = Tokens(step);
  // Numbers kept for each token, in multiples of the width. Between the layer's parts: inputs of
  // norms, 2; dropout keeps two outputs, and a mask for each; inputs of the parts, 2. Within the
  // parts: queries, keys, values and the output of attention, 5; and the feed-forward part before
  // and after its activation.
  const double between = 2 + (step.dropout ? 2 + 2 / number : 0);
  const double within = 5 + 2 * static_cast<double>(model.feed_forward) / std::max(1.0, width);
  return number * width *
         (between * OwnTokens(step) + 2 * tokens +
          within * tokens / static_cast<double>(step.tensor));
}

// Returns the head's rows on a rank.
double HeadRows(const ModelSize& model, const StepSize& step) {
  const bool cut = CutsVocabulary(model.rows, step.tensor);
  return static_cast<double>(model.rows) / static_cast<double>(cut ? step.tensor : 1);
}
// Returns the bytes of the head's gradients, which are made with the loss and kept until the
// backward pass.
double HeadBytes(const ModelSize& model, const StepSize& step) {
  return 4 * HeadRows(model, step) * static_cast<double>(model.width);
}

// Returns the bytes of a chunk's logits and their gradients.
double LogitBytes(const StageCosts& stage) {
  const StepSize& step = stage.step;
  // A rank has its columns for all tokens, or all columns for its own tokens.
  const bool cut = CutsVocabulary(stage.model.rows, step.tensor);
  const double rows = cut ? Tokens(step) : OwnTokens(step);
  const double columns = HeadRows(stage.model, step);
  if (!step.cuda && !step.half && !cut) {  // the gradients overwrite the logits
    const int64_t at_once = CpuHeadRows(static_cast<int64_t>(columns));
    return 4 * columns * std::min(rows, static_cast<double>(at_once));
  }
  const double logits = rows * columns;
  const double chunks = std::max(1.0, std::ceil(logits / static_cast<double>(kChunkLogits)));
  return (4.0 + (step.half ? 2 : 4)) * logits / chunks;
}

double ActivationsOf(const StageCosts& stage) {
  const StepSize& step = stage.step;
  const double number = step.half ? 2 : 4;
  const auto layers = static_cast<double>(stage.model.layers);
  const double of_layer = LayerActivationBytes(stage.model, step);
  const double inputs =
      layers * number * static_cast<double>(stage.model.width) * OwnTokens(step) * stage.in_flight;
  const double activations =
      step.keeps_inputs_alone ? of_layer + inputs : layers * of_layer * stage.in_flight;
  if (!stage.has_head) return activations;

  return activations + LogitBytes(stage) + (stage.in_flight - 1) * HeadBytes(stage.model, step);
}

// Memory that ranks which share their state need in a step, besides the held state and activations.
struct SharedStep {
  double root = 0, block = 0;  // their full size
  double gathered_root = 0;    // the full root, if it is not held
  double gathered_blocks = 0;  // number of gathered blocks: the current one, the next one and the
                               // one before
  double head = 0;             // the head's own gradient
  double whole = 0;            // gradients that are summed before they are sent
  // Rows in transit: the rows that a rank sends, those that it receives from all others, and the
  // sum of its shard.
  double sent = 1, received = 1, sum = 0;
};

SharedStep SharedStepOf(const StageCosts& stage) {
  const ModelSize& model = stage.model;
  const StepSize& step = stage.step;
  const double all = WholeBytes(model, step);
  SharedStep of;
  of.root = kNumber * static_cast<double>(RootParameters(model, step.tensor));
  if (model.layers > 0) of.block = (all - of.root) / static_cast<double>(model.layers);
  if (step.sharing == Sharing::kZero3 || step.sharing == Sharing::kHsdp) {
    of.gathered_root = of.root;
    of.gathered_blocks = std::min(3.0, static_cast<double>(model.layers));
  }
  if (stage.has_head) of.head = HeadBytes(model, step);
  if (step.sharing == Sharing::kZero1 && step.micro_steps > 1) of.whole = all;
  const auto shards = static_cast<double>(step.sharing == Sharing::kHsdp ? step.shard : step.ranks);
  of.sent = of.received = step.narrow ? 0.5 : 1;
  of.sum = 1 / shards;
  if (step.cuda) {  // NCCL sums while it receives
    of.received /= shards;
    of.sum = 0;
  }
  return of;
}

// Returns the maximum of three moments: at the loss, when all activations exist; while the first
// block's gradients travel, when one layer's activations are freed; and while the root's travel,
// when all are freed.
double InSharedStepBytes(const StageCosts& stage) {
  const StepSize& step = stage.step;
  const SharedStep of = SharedStepOf(stage);
  const double activations = ActivationsOf(stage);
  const double gathered = of.gathered_root + of.gathered_blocks * of.block;
  const double row = of.sent + of.received;
  // Rows that an earlier micro-step sent and received are kept for the next: a block's and the
  // root's.
  const double kept = step.micro_steps > 1 && of.whole == 0 ? row : 0;

  const double at_loss = activations + gathered + of.head + of.whole + kept * (of.root + of.block);
  const double layer = step.keeps_inputs_alone ? 0 : LayerActivationBytes(stage.model, step);
  const double logits = stage.has_head ? LogitBytes(stage) : 0;
  const double of_block = of.whole > 0 ? row - 1 : row + 1;  // the summed ones are freed
  const double at_block = activations - logits - layer + gathered + of.head + of.whole +
                          (of_block + of.sum) * of.block + kept * of.root;
  // The embedding makes its own gradient beside the head's. Of the blocks, the rows sent last and
  // two gathered ones remain until the end.
  const double made = (stage.model.tied_head ? 2 : 1) + kept + (of.whole > 0 ? 1 : 0);
  const double at_root = of.gathered_root + (std::min(2.0, of.gathered_blocks) + row) * of.block +
                         std::max(row + of.sum, made) * of.root;
  return std::max({at_loss, at_block, at_root}) - activations;
}

// Returns the memory for gradients and for data that ranks send in a step, besides the held state
// and activations.
double InStepBytes(const StageCosts& stage) {
  const ModelSize& model = stage.model;
  const StepSize& step = stage.step;
  // Where gradients exist already, the head makes its own beside them.
  const double head = stage.has_head ? HeadBytes(model, step) : 0;
  const double all = WholeBytes(model, step);
  if (step.ranks == 1 || StepsAlone(step.sharing)) {
    if (step.micro_steps > 1) return head;
    // The held state includes all gradients, but they are made while activations are freed: at the
    // loss only the head's exist, later one layer is still to come, and at the end the embedding
    // makes its own beside the head's.
    const double activations = ActivationsOf(stage);
    const double embedding = model.tied_head && step.stages == 1 ? head : 0;
    const double last = std::max(LayerActivationBytes(model, step), embedding);
    return std::max(activations + head, all + last) - activations - all;
  }
  // Buckets keep their place; micro-steps accumulate beside them.
  if (step.sharing == Sharing::kDdp) return head + (step.micro_steps > 1 ? all : 0);
  return InSharedStepBytes(stage);
}

double TensorsOf(const StageCosts& stage) {
  const ModelSize& model = stage.model;
  const StepSize& step = stage.step;
  // Products in 16 bits need a copy of the parameters.
  const double copied = step.half ? 2 * static_cast<double>(RankParameters(model, step.tensor)) : 0;
  return copied + HeldOf(model, step) + InStepBytes(stage) + ActivationsOf(stage);
}

// Returns the bytes of a CPU process beside its tensors.
double ProcessOf(const StageCosts& stage) {
  const StepSize& step = stage.step;
  const double activations = ActivationsOf(stage);
  double heap = kHeapOfHeld * HeldOf(stage.model, step);
  if (step.ranks > 1 && SharesState(step.sharing)) {
    heap += kHeapOfActivationsWithRows * activations + kHeapOfRoot * SharedStepOf(stage).root;
  } else {
    heap +=
        kHeapOfActivations * activations + kHeapOfGradients * std::max(0.0, -InStepBytes(stage));
  }
  // Gossip's copies are part of the held state.
  if (step.ranks > 1 && (step.sharing == Sharing::kDdp || step.sharing == Sharing::kLocalSgd)) {
    heap += kGlooOfSums * WholeBytes(stage.model, step);
  }
  if (step.tensor > 1) heap += kGlooOfActivations * activations;
  return kProcessBytes + heap;
}

// Returns the micro-steps between their forward and their backward pass on a stage, in multiples of
// the stage's part of the model (worker/trainer/parallel/actions.h).
double InFlight(const StepSize& step, int64_t stage) {
  const int64_t passes = step.micro_steps * step.chunks_each;
  const PassOrder order = step.forward_first ? PassOrder::kForwardFirst : PassOrder::kAlternating;
  // A micro-step beyond the warm-up: each backward pass follows the forward pass of a later
  // micro-step.
  const int64_t most =
      std::min(passes, 1 + WarmUpPasses(order, step.stages, step.chunks_each, stage, passes));
  return static_cast<double>(most) / static_cast<double>(step.chunks_each);
}

StageCosts StageOf(const ModelSize& model, const StepSize& step,
                   const std::vector<LayerRange>& chunks, int64_t stage) {
  StageCosts costs{model, step, stage == step.stages - 1, InFlight(step, stage)};
  costs.step.stages = costs.step.chunks_each = 1;
  costs.has_embedding = stage == 0;
  costs.model.layers = 0;
  for (auto chunk = static_cast<size_t>(stage); chunk < chunks.size();
       chunk += static_cast<size_t>(step.stages)) {
    costs.model.layers += chunks[chunk].count;
  }
  // Each end has one matrix of the vocabulary: the embedding or the head.
  costs.model.tied_head = true;
  if (stage > 0) costs.model.learned_positions = 0;
  if (!costs.has_head) costs.model.final_norm = costs.model.head_bias = false;
  if (stage > 0 && !costs.has_head) costs.model.rows = 0;
  return costs;
}

}  // namespace

StageCosts HeaviestStage(const ModelSize& model, const StepSize& step) {
  if (step.stages <= 1) return {model, step};
  const std::vector<LayerRange> chunks = DealLayers(model, step.stages * step.chunks_each);
  StageCosts heaviest = StageOf(model, step, chunks, 0);
  for (int64_t stage = 1; stage < step.stages; ++stage) {
    StageCosts next = StageOf(model, step, chunks, stage);
    if (TensorsOf(next) > TensorsOf(heaviest)) heaviest = next;
  }
  return heaviest;
}

double HeldBytes(const ModelSize& model, const StepSize& step) {
  const StageCosts stage = HeaviestStage(model, step);
  return HeldOf(stage.model, stage.step);
}

double ActivationBytes(const ModelSize& model, const StepSize& step) {
  return ActivationsOf(HeaviestStage(model, step));
}

double TensorBytes(const ModelSize& model, const StepSize& step) {
  return TensorsOf(HeaviestStage(model, step));
}

double MemoryBytes(const ModelSize& model, const StepSize& step) {
  const auto ranks = static_cast<double>(step.ranks * step.tensor * step.stages);
  const StageCosts stage = HeaviestStage(model, step);
  const double tensors = TensorsOf(stage);
  if (step.cuda) return tensors + kContextBytes + (ranks == 1 ? 0 : kNcclBytes);
  return tensors + ProcessOf(stage) + std::log2(ranks) * kGlooBytes;
}

}  // namespace dt::plan
