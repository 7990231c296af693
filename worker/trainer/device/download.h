// download.h: numbers of a device on the host, several for one wait.
#pragma once

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// `tensor` on the host, good once the device was synchronised: until then it is only being copied,
// to pinned memory. A host's tensor is returned as it is.
inline at::Tensor Download(const at::Tensor& tensor) {
  return tensor.to(at::kCPU, /*non_blocking=*/true);
}

}  // namespace dt::trainer
