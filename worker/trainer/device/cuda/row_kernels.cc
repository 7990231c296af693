// row_kernels.cc: loads, checks and launches the kernel.
#include "worker/trainer/device/cuda/row_kernels.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "worker/trainer/device/failure.h"
#include "worker/trainer/model/row_kernel.h"

namespace dt::trainer {
namespace {

constexpr char kSoftmaxRows[] =
#include "worker/trainer/device/cuda/softmax_rows.ptx.inc"
    ;
constexpr unsigned kThreads = 1024;  // must equal kSoftmaxThreads of the kernel

// Loads a kernel, once per process. It is never unloaded.
const void* Load(const char* ptx, const char* name) {
  cudaLibrary_t library = nullptr;
  C10_CUDA_CHECK(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  cudaKernel_t kernel = nullptr;
  C10_CUDA_CHECK(cudaLibraryGetKernel(&kernel, library, name));
  return reinterpret_cast<const void*>(kernel);
}

void Launch(const void* kernel, const LossRows& rows) {
  const int64_t columns = rows.logits.size(1);
  TORCH_CHECK(rows.logits.is_contiguous() && rows.gradient.is_contiguous() &&
                  rows.targets.is_contiguous() && rows.losses.is_contiguous() && columns % 4 == 0 &&
                  columns <= INT32_MAX && rows.logits.scalar_type() == at::kFloat &&
                  rows.gradient.scalar_type() == at::kBFloat16 &&
                  rows.gradient.sizes() == rows.logits.sizes() &&
                  rows.targets.numel() == rows.logits.size(0) &&
                  rows.losses.numel() == rows.logits.size(0),
              "rows of a shape that the kernel does not take");
  if (rows.logits.size(0) == 0) return;
  const void* logits = rows.logits.const_data_ptr();
  const void* targets = rows.targets.const_data_ptr();
  void* gradient = rows.gradient.mutable_data_ptr();
  void* losses = rows.losses.mutable_data_ptr();
  int width = static_cast<int>(columns);
  void* arguments[] = {&logits, &targets, &gradient, &losses, &width};
  C10_CUDA_CHECK(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(rows.logits.size(0))),
                                  dim3(kThreads), arguments, 0, c10::cuda::getCurrentCUDAStream()));
}

// Returns whether the kernel matches the tensor operations, on rows as wide as GPT-2's vocabulary.
bool Agrees(const RowKernel& kernel, c10::Device device) {
  const at::TensorOptions fp32 = at::TensorOptions(device).dtype(at::kFloat);
  for (const int64_t columns : {64, 5056, 50304}) {
    LossRows rows;
    // Fixed values over a wide range of magnitudes.
    rows.logits = at::sin(at::arange(5 * columns, fp32) * 12.9898f).view({5, columns}) * 8;
    rows.targets = at::arange(5, fp32.dtype(at::kLong)) * (columns / 5);
    rows.gradient = at::empty({5, columns}, fp32.dtype(at::kBFloat16));
    rows.losses = at::empty({5}, fp32);
    kernel(rows);
    const at::Tensor logs = at::log_softmax(rows.logits, 1);
    const at::Tensor right = rows.targets.unsqueeze(1);
    at::Tensor wanted = logs.exp();
    wanted.scatter_add_(1, right, at::full({5, 1}, -1, fp32));
    if (!at::allclose(rows.losses, -logs.gather(1, right).squeeze(1), 1e-4, 1e-4) ||
        !at::allclose(rows.gradient.to(at::kFloat), wanted, 1e-2, 1e-6)) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::Status OfferRowKernel(c10::Device device) {
  at::NoGradGuard no_grad;
  SetRowKernel(device.type(), {});
  try {
    const void* kernel = Load(kSoftmaxRows, "dtrain_softmax_rows");
    const RowKernel launch = [kernel](const LossRows& rows) { Launch(kernel, rows); };
    if (!Agrees(launch, device)) return IoError("our kernel's values differ here");
    SetRowKernel(device.type(), launch);
    return absl::OkStatus();
  } catch (...) {
    cudaGetLastError();  // clear the error, or the next CUDA call returns it
    return ErrorOfException();
  }
}

}  // namespace dt::trainer
