// cost.h: what a transformer costs: its parameters, the arithmetic of a token, the memory of a
// step, and how much arithmetic a device can do.
//
// Role:    pure. The trainer tells its parameters and floating-point operations by it, `dtctl plan`
//          what a trial will take.
// Units:   bytes; floating-point operations; numbers are of one rank.
// Tests:   tests/plan/cost_test.cc; tests/worker/trainer/model/model_test.cc compares parameters
//          with a model that is made, tests/fake_cuda/count_test.cc memory with what is allocated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "plan/model_size.h"

namespace dt::plan {

inline constexpr double kNumber = 4;  // bytes: parameters, gradients and moments are fp32

uint64_t Parameters(const ModelSize& model);
// Those outside of its layers: embeddings, final norm, head. With `tensor` ranks that compute each
// layer together: what one of them has of them.
uint64_t RootParameters(const ModelSize& model, int64_t tensor = 1);
// Those of the norms within its layers.
uint64_t NormParameters(const ModelSize& model);
// Whether such ranks cut the rows of embedding and head among themselves; else both are whole.
constexpr bool CutsVocabulary(int64_t rows, int64_t tensor) {
  return tensor > 1 && rows % tensor == 0;
}
// Those that so many ranks which compute each layer together cut among themselves.
uint64_t CutParameters(const ModelSize& model, int64_t tensor);
// What one of so many such ranks computes with: its part of those, and all others.
uint64_t RankParameters(const ModelSize& model, int64_t tensor);

// What one token costs, forward and backward, in the model's matrix products and its causal
// attention, of which half the square is computed. What activation checkpointing repeats is not
// counted: it is no progress.
double FlopsPerToken(const ModelSize& model, int64_t seq_len);

// Which units compute: those for 16-bit numbers, those for TF32, or none but plain fp32.
enum class Arithmetic { kHalf, kTf32, kFp32 };
// Dense operations a second that the maker states for the GPU of this name; nothing for one not
// listed, for a part of one (MIG), and for CPUs.
std::optional<double> PeakFlops(std::string_view device_name, Arithmetic arithmetic);

// The head computes at most so many logits at once.
inline constexpr int64_t kChunkLogits = int64_t{1} << 29;
// In fp32 on a CPU it computes those of so many rows at once: each chunk costs a pass over the
// weights' gradient, so they are not few; with a small vocabulary they are as many as a cache
// holds. REQUIRES: columns > 0.
constexpr int64_t CpuHeadRows(int64_t columns) {
  constexpr int64_t kRowsMin = 256, kLogits = int64_t{4} << 20;
  return std::max(kRowsMin, kLogits / columns);
}

// What of the state each data rank holds: all of it; parameters, and a shard of the rest (ZeRO 1);
// the same, with gradients never whole (ZeRO 2); a shard of everything (ZeRO 3), of one of several
// copies (hybrid); all of a copy of its own, of which they take the mean now and then, and of
// pairs after each step.
enum class Sharing { kDdp, kZero1, kZero2, kZero3, kHsdp, kLocalSgd, kGossip };
// Their words in an experiment file, in that order.
inline constexpr const char* kSharingWords[] = {"ddp",  "zero1",     "zero2", "zero3",
                                                "hsdp", "local_sgd", "gossip"};
// Whether each rank trains by itself, a copy that is unlike the others' but for some steps.
constexpr bool StepsAlone(Sharing sharing) {
  return sharing == Sharing::kLocalSgd || sharing == Sharing::kGossip;
}
// Whether ranks send shards of it: sums to one rank each, and gathers.
constexpr bool SharesState(Sharing sharing) {
  return sharing != Sharing::kDdp && !StepsAlone(sharing);
}

struct StepSize {
  int64_t sequences = 0;  // of one rank and micro-step
  int64_t micro_steps = 1;
  int64_t seq_len = 0;
  bool half = false;  // products in 16 bits
  bool dropout = false;
  bool keeps_inputs_alone = false;  // activation checkpointing
  int64_t ranks = 1;                // data ranks
  int64_t tensor = 1;               // ranks of each, which compute each layer together
  bool sequence = true;             // and, between its parts, split the tokens
  int64_t stages = 1;               // of a pipeline, among which layers are dealt
  int64_t chunks_each = 1;          // pieces of the model on each
  bool forward_first = false;       // all forward passes of a step before its backward ones (GPipe)
  int64_t shard = 1;                // of hsdp: ranks that share a copy
  int64_t sync_every = 1;           // of those that step alone: steps between averages
  bool outer = false;               // of local_sgd: with an optimizer of the averages
  Sharing sharing = Sharing::kDdp;
  bool carries_over = false;  // what compressed gradients lost
  bool narrow = false;        // gradients travel in 16 bits
  bool cuda = false;
};

// One stage of a pipeline as a model and a step by itself.
struct StageCosts {
  ModelSize model;
  StepSize step;  // in no stages
  bool has_head = true;
  double in_flight = 1;  // micro-steps whose activations it keeps at once
  bool has_embedding = true;
};
// The one that takes the most memory; of a model in no stages all of it.
StageCosts HeaviestStage(const ModelSize& model, const StepSize& step);

// What follows is of the heaviest stage's ranks.
// Parameters, gradients and moments as they lie between two steps.
double HeldBytes(const ModelSize& model, const StepSize& step);
// What of it a forward pass leaves for the backward pass, and logits.
double ActivationBytes(const ModelSize& model, const StepSize& step);
// What tensors take at the peak of a step: parameters, gradients and the two moments of AdamW,
// activations, logits.
double TensorBytes(const ModelSize& model, const StepSize& step);
// The same with what a process holds before it trains.
double MemoryBytes(const ModelSize& model, const StepSize& step);

}  // namespace dt::plan
