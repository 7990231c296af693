// flops.h: how much arithmetic a model takes, and how much a device can do: model FLOPs
// utilisation.
//
// Role:  pure; no LibTorch.
// Tests: tests/worker/trainer/trial/flops_test.cc
#pragma once

#include <optional>
#include <string_view>

#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Floating-point operations of one token, forward and backward, in the model's matrix products and
// its causal attention, of which half the square is computed. What activation checkpointing repeats
// is not counted: it is no progress.
double FlopsPerToken(const ModelSpec& model, int64_t seq_len);

// Dense operations a second that the maker states for the GPU of this name; nothing for one not
// listed, for a part of one (MIG), and for CPUs. REQUIRES: `resolved` is not kAuto.
std::optional<double> PeakFlops(std::string_view device_name, Compute resolved);

}  // namespace dt::trainer
