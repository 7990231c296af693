// flops.h: model FLOPs utilisation, of a trial's model as plan/ counts it.
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
// As plan::FlopsPerToken has it.
double FlopsPerToken(const ModelSpec& model, int64_t seq_len);
// As plan::PeakFlops has it. REQUIRES: `resolved` is not kAuto.
std::optional<double> PeakFlops(std::string_view device_name, Compute resolved);

}  // namespace dt::trainer
