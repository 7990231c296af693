// download.h: copies from the device to the host that share one synchronisation.
#pragma once

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// Starts a copy of `tensor` to pinned host memory; it is valid after the device was synchronised.
// Returns a host tensor as it is.
inline at::Tensor Download(const at::Tensor& tensor) {
  return tensor.to(at::kCPU, /*non_blocking=*/true);
}

}  // namespace dt::trainer
