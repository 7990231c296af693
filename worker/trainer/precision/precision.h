// precision.h: what precision.compute means on a device, and the scope of autocast.
//
// Threads: the settings are of the calling thread (autocast) and of the process (TF32).
// Tests:   tests/worker/trainer/model/model_test.cc, tests/gpu
#pragma once

#include <optional>

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {

// `auto` is bf16 on a GPU and fp32 on a CPU, where bf16 without AMX is many times slower.
inline Compute ResolveCompute(Compute compute, c10::DeviceType device) {
  if (compute != Compute::kAuto) return compute;
  return device == c10::kCUDA ? Compute::kBf16 : Compute::kFp32;
}

// Matrix products of fp32 values on a GPU: TF32 unless fp32 was asked for. Once a trial.
inline void SetMatmulPrecision(Compute resolved, c10::DeviceType device) {
  if (device != c10::kCUDA) return;
  at::globalContext().setFloat32MatmulPrecision(resolved == Compute::kFp32 ? "highest" : "high");
}

// What matrix products are cast to; nothing for kinds that cast nothing.
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

// What layers give each other under autocast: on a GPU bf16, for which sums and norms between the
// products move half as many bytes as in fp32, PyTorch's own choice. fp16, with its small range,
// and CPUs keep fp32.
inline at::ScalarType HiddenType(Compute resolved, c10::DeviceType device) {
  return device == c10::kCUDA && resolved == Compute::kBf16 ? at::kBFloat16 : at::kFloat;
}

// Autocast while it lives.
class AutocastScope {
 public:
  AutocastScope(Compute resolved, c10::DeviceType device)
      : AutocastScope(AutocastType(resolved), device) {}
  // Without a type it does nothing.
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
    // The casts of weights are kept within the outermost scope only: the next step has new weights.
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

// While it lives the casts of weights are kept from one AutocastScope to the next: for as long as
// the weights stay as they are. Micro-batches whose graphs are there at once then share them. Not
// where a part runs without a graph first and with one later: that would take the first one's cast.
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
