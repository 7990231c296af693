// cost.h: the cost of a transformer: its parameters, the arithmetic of a token, the memory of a
// step, and the arithmetic that a device can do.
//
// Role:    pure. The trainer reports its parameters and floating-point operations with it, `dtctl
//          plan` the needs of a trial.
// Units:   bytes; floating-point operations; numbers are of one rank.
// Tests:   tests/plan/cost_test.cc; tests/worker/trainer/model/model_test.cc compares parameters
//          with a real model, tests/fake_cuda/count_test.cc memory with allocations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "plan/model_size.h"

namespace dt::plan {

inline constexpr double kNumber = 4;  // bytes: parameters, gradients and moments are fp32

uint64_t Parameters(const ModelSize& model);
// Returns the parameters outside the layers: embeddings, final norm, head. With `tensor` ranks that
// compute each layer together, returns those of one rank.
uint64_t RootParameters(const ModelSize& model, int64_t tensor = 1);
// Returns the parameters of the norms within the layers.
uint64_t NormParameters(const ModelSize& model);
// Returns whether such ranks divide the rows of embedding and head among themselves; otherwise each
// has all rows.
constexpr bool CutsVocabulary(int64_t rows, int64_t tensor) {
  return tensor > 1 && rows % tensor == 0;
}
// Returns the parameters that `tensor` ranks, which compute each layer together, divide among
// themselves.
uint64_t CutParameters(const ModelSize& model, int64_t tensor);
// Returns the parameters that one of these ranks computes with: its part of the divided ones, and
// all others.
uint64_t RankParameters(const ModelSize& model, int64_t tensor);

// Returns the cost of one token, forward and backward, in the model's matrix products and its
// causal attention, of which half the square is computed. Work that activation checkpointing
// repeats does not count: it is no progress.
double FlopsPerToken(const ModelSize& model, int64_t seq_len);

// The units that compute: for 16-bit numbers, for TF32, or plain fp32.
enum class Arithmetic { kHalf, kTf32, kFp32 };
// Returns the dense operations per second that the maker states for the GPU of this name; nothing
// for an unlisted one, a part of one (MIG), and CPUs.
std::optional<double> PeakFlops(std::string_view device_name, Arithmetic arithmetic);

// The most logits that the head computes at once.
inline constexpr int64_t kChunkLogits = int64_t{1} << 29;
// Returns the rows whose logits it computes at once in fp32 on a CPU. Each chunk costs a pass over
// the weights' gradient, so the rows are not few; with a small vocabulary they are as many as fit a
// cache. REQUIRES: columns > 0.
constexpr int64_t CpuHeadRows(int64_t columns) {
  constexpr int64_t kRowsMin = 256, kLogits = int64_t{4} << 20;
  return std::max(kRowsMin, kLogits / columns);
}

// The part of the state that each data rank holds: all of it; parameters and a shard of the rest
// (ZeRO 1); the same, but gradients never in full (ZeRO 2); a shard of everything (ZeRO 3); a shard
// of one of several copies (hybrid); a copy of its own, which is averaged with all others from time
// to time, or with one peer after each step.
enum class Sharing { kDdp, kZero1, kZero2, kZero3, kHsdp, kLocalSgd, kGossip };
// Their words in an experiment file, in the same order.
inline constexpr const char* kSharingWords[] = {"ddp",  "zero1",     "zero2", "zero3",
                                                "hsdp", "local_sgd", "gossip"};
// Returns whether each rank trains by itself, with a copy that differs from the others' except
// after some steps.
constexpr bool StepsAlone(Sharing sharing) {
  return sharing == Sharing::kLocalSgd || sharing == Sharing::kGossip;
}
// Returns whether ranks hold and send shards of the state: each shard is summed on one rank, then
// gathered.
constexpr bool SharesState(Sharing sharing) {
  return sharing != Sharing::kDdp && !StepsAlone(sharing);
}

struct StepSize {
  int64_t sequences = 0;  // of one rank and one micro-step
  int64_t micro_steps = 1;
  int64_t seq_len = 0;
  bool half = false;  // products in 16 bits
  bool dropout = false;
  bool keeps_inputs_alone = false;  // activation checkpointing
  int64_t ranks = 1;                // data ranks
  int64_t tensor = 1;               // ranks in each data rank, which compute each layer together
  bool sequence = true;             // these ranks also split the tokens between the parts of a
                                    // layer
  int64_t stages = 1;               // stages of a pipeline, which divide the layers
  int64_t chunks_each = 1;          // chunks of the model on each stage
  bool forward_first = false;       // all forward passes of a step before its backward ones (GPipe)
  int64_t shard = 1;                // for hsdp: ranks that share a copy
  int64_t sync_every = 1;           // for ranks that step alone: steps between averages
  bool outer = false;               // for local_sgd: with an optimizer of the averages
  Sharing sharing = Sharing::kDdp;
  bool carries_over = false;  // keeps what compression of gradients lost
  bool narrow = false;        // gradients travel in 16 bits
  bool cuda = false;
};

// A stage of a pipeline, as a model and a step of its own.
struct StageCosts {
  ModelSize model;
  StepSize step;  // a step without stages
  bool has_head = true;
  double in_flight = 1;  // micro-steps whose activations it keeps at once
  bool has_embedding = true;
};
// Returns the stage that takes the most memory; without stages, the complete model.
StageCosts HeaviestStage(const ModelSize& model, const StepSize& step);

// From here on, everything is for the ranks of the heaviest stage. Returns the bytes of parameters,
// gradients and moments between two steps.
double HeldBytes(const ModelSize& model, const StepSize& step);
// Returns the bytes that a forward pass leaves for the backward pass, and of logits.
double ActivationBytes(const ModelSize& model, const StepSize& step);
// Returns the bytes of tensors at the peak of a step: parameters, gradients and the two moments of
// AdamW, activations, logits.
double TensorBytes(const ModelSize& model, const StepSize& step);
// Returns the same plus the memory of the process before it trains.
double MemoryBytes(const ModelSize& model, const StepSize& step);

}  // namespace dt::plan
