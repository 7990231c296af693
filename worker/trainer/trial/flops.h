// flops.h: FLOPs of a trial's model, for model FLOPs utilisation; counted by plan/.
//
// Role:  pure; no LibTorch.
// Tests: tests/worker/trainer/trial/flops_test.cc
#pragma once

#include <optional>
#include <string_view>

#include "plan/cost.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

plan::ModelSize SizeOf(const ModelSpec& model);
// Returns plan::FlopsPerToken for this model: forward and backward.
double FlopsPerToken(const ModelSpec& model, int64_t seq_len);
// Returns plan::PeakFlops, in FLOPs per second. REQUIRES: `resolved` is not kAuto.
std::optional<double> PeakFlops(std::string_view device_name, Compute resolved);

}  // namespace dt::trainer
