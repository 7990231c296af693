// cost.h: what a transformer costs: its parameters, the arithmetic of a token, the memory of a
// step, and how much arithmetic a device can do.
//
// Role:    pure. The trainer tells its parameters and floating-point operations by it, `dtctl plan`
//          what a trial will take.
// Units:   bytes; floating-point operations; numbers are of one rank.
// Tests:   tests/plan/cost_test.cc; tests/worker/trainer/model/model_test.cc compares parameters
//          with a model that is made, tests/fake_cuda/count_test.cc memory with what is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dt::plan {

struct ModelSize {
  int64_t layers = 0;
  int64_t width = 0;
  int64_t feed_forward = 0;
  int64_t learned_positions = 0;  // 0: positions have no parameters
  int64_t rows = 0;               // of the embedding
  bool bias = false;
  bool tied_head = false;
  bool head_bias = false;
  bool final_norm = false;
};

uint64_t Parameters(const ModelSize& model);

// Of one token, forward and backward, in the model's matrix products and its causal attention, of
// which half the square is computed. What activation checkpointing repeats is not counted: it is no
// progress.
double FlopsPerToken(const ModelSize& model, int64_t seq_len);

// Which units compute: those for 16-bit numbers, those for TF32, or none but plain fp32.
enum class Arithmetic { kHalf, kTf32, kFp32 };
// Dense operations a second that the maker states for the GPU of this name; nothing for one not
// listed, for a part of one (MIG), and for CPUs.
std::optional<double> PeakFlops(std::string_view device_name, Arithmetic arithmetic);

// The head computes at most so many logits at once.
inline constexpr int64_t kChunkLogits = int64_t{1} << 29;

struct StepSize {
  int64_t sequences = 0;  // of one rank and micro-step
  int64_t seq_len = 0;
  bool half = false;  // products in 16 bits
  bool dropout = false;
  bool keeps_inputs_alone = false;  // activation checkpointing
  bool several_ranks = false;
  bool cuda = false;
};
// What tensors take at the peak of a step: parameters, gradients and the two moments of AdamW,
// activations, logits.
double TensorBytes(const ModelSize& model, const StepSize& step);
// The same with what a process holds before it trains.
double MemoryBytes(const ModelSize& model, const StepSize& step);

}  // namespace dt::plan
