// attention.cc: one small attention, forward and backward.
#include "worker/trainer/device/cuda/attention.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include "worker/trainer/device/failure.h"

namespace dt::trainer {
namespace {

constexpr int64_t kHeadWidth = 64;  // head width of GPT-2, at every model size
constexpr int64_t kTokens = 64;

void AttendOnce(c10::Device device) {
  const at::AutoGradMode with_gradients(true);
  const auto options = at::TensorOptions(device).dtype(at::kBFloat16);
  const at::Tensor x = at::zeros({1, 1, kTokens, kHeadWidth}, options).requires_grad_();
  const at::Tensor attended = at::scaled_dot_product_attention(x, x, x, {}, 0.0, true);
  attended.backward(at::zeros_like(attended));
  c10::cuda::device_synchronize();
}

}  // namespace

absl::Status TryAttention(c10::Device device) {
  if (!at::globalContext().userEnabledCuDNNSDP()) return absl::OkStatus();
  try {
    AttendOnce(device);
    return absl::OkStatus();
  } catch (...) {
    cudaGetLastError();  // clear the error, or the next CUDA call returns it
    at::globalContext().setSDPUseCuDNN(false);
    return ErrorOfException();
  }
}

}  // namespace dt::trainer
