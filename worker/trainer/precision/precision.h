// precision.h: the meaning of precision.compute on a device, and the autocast scope.
//
// Threads: autocast is set per thread, TF32 per process.
// Tests:   tests/worker/trainer/model/model_test.cc, tests/gpu
#pragma once

#include <optional>

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// Resolves `auto`: bf16 on a GPU, fp32 on a CPU, where bf16 without AMX is many times slower.
inline Compute ResolveCompute(Compute compute, c10::DeviceType device) {
  if (compute != Compute::kAuto) return compute;
  return device == c10::kCUDA ? Compute::kBf16 : Compute::kFp32;
}

// Sets TF32 for matrix products of fp32 values on a GPU, unless fp32 was asked for. Called once per
// trial.
inline void SetMatmulPrecision(Compute resolved, c10::DeviceType device) {
  if (device != c10::kCUDA) return;
  at::globalContext().setFloat32MatmulPrecision(resolved == Compute::kFp32 ? "highest" : "high");
}

// Returns the type that matrix products are cast to, or nothing if this precision casts nothing.
inline std::optional<at::ScalarType> AutocastType(Compute resolved) {
  switch (resolved) {
    case Compute::kBf16:
      return at::kBFloat16;
    case Compute::kFp16:
      return at::kHalf;
    case Compute::kAuto:
    case Compute::kFp32:
    case Compute::kTf32:
      return std::nullopt;
  }
  return std::nullopt;
}

// Returns the type of activations between layers under autocast. On a GPU with bf16 it is bf16,
// which halves the bytes that the sums and norms between the products move. fp16, with its small
// range, and CPUs keep fp32, as PyTorch does.
inline at::ScalarType HiddenType(Compute resolved, c10::DeviceType device) {
  return device == c10::kCUDA && resolved == Compute::kBf16 ? at::kBFloat16 : at::kFloat;
}

// Turns autocast on for its lifetime.
class AutocastScope {
 public:
  AutocastScope(Compute resolved, c10::DeviceType device)
      : AutocastScope(AutocastType(resolved), device) {}
  // Does nothing without a type.
  AutocastScope(std::optional<at::ScalarType> type, c10::DeviceType device)
      : device_(device), active_(type.has_value()) {
    if (!active_) return;
    was_enabled_ = at::autocast::is_autocast_enabled(device_);
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, *type);
    at::autocast::increment_nesting();
  }
  ~AutocastScope() {
    if (!active_) return;
    // Weight casts are cached within the outermost scope only: the next step has new weights.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, was_enabled_);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const c10::DeviceType device_;
  const bool active_;
  bool was_enabled_ = false;
};

// Keeps the cached weight casts from one AutocastScope to the next for its lifetime, during which
// the weights must not change. Micro-batches whose graphs exist at the same time then share the
// casts. Do not use it where a part of the model runs first without a graph and later with one: the
// second run would get the first one's cast, which has no graph.
class SharedCasts {
 public:
  explicit SharedCasts(bool active) : active_(active) {
    if (active_) at::autocast::increment_nesting();
  }
  ~SharedCasts() {
    if (active_ && at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }
  SharedCasts(const SharedCasts&) = delete;
  SharedCasts& operator=(const SharedCasts&) = delete;

 private:
  const bool active_;
};

}  // namespace dt::trainer
