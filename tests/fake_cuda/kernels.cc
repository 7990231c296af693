// kernels.cc: our own kernels, computed from the source that their PTX is compiled from.
#include <vector_types.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/fake_cuda/state.h"

#define DT_DEVICE
namespace {
using std::expm1f, std::fmaxf, std::nanf;
#include "worker/trainer/device/cuda/softmax_rows_kernel.inc"

template <typename T>
T Argument(void** arguments, int i) {
  return *static_cast<T*>(arguments[i]);
}

// Runs a block's threads one after another, from barrier to barrier.
void SoftmaxRow(const float4* logits, int columns, long long target, ushort4* gradient,
                float* loss) {
  std::vector<SoftmaxPart> parts(kSoftmaxThreads);
  for (int t = 0; t < kSoftmaxThreads; ++t) parts[t] = SoftmaxSeen(logits, columns, t);
  for (int stride = kSoftmaxThreads / 2; stride > 0; stride /= 2) {
    for (int t = 0; t < kSoftmaxThreads; ++t) SoftmaxJoin(parts.data(), t, stride);
  }
  for (int t = 0; t < kSoftmaxThreads; ++t) {
    SoftmaxWrite(logits, columns, target, parts[0], t, gradient, loss);
  }
}

}  // namespace

namespace dt::fake_cuda {

bool RunKernel(const char* name, dim3 grid, void** arguments) {
  if (std::strcmp(name, "dtrain_softmax_rows") != 0) return false;
  const auto* logits = Argument<const float*>(arguments, 0);
  const auto* targets = Argument<const long long*>(arguments, 1);
  auto* gradient = Argument<unsigned short*>(arguments, 2);
  auto* losses = Argument<float*>(arguments, 3);
  const int columns = Argument<int>(arguments, 4);
  for (size_t row = 0; row < grid.x; ++row) {
    SoftmaxRow(reinterpret_cast<const float4*>(logits + row * columns), columns, targets[row],
               reinterpret_cast<ushort4*>(gradient + row * columns), losses + row);
  }
  return true;
}

}  // namespace dt::fake_cuda
