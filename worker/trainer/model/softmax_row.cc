// softmax_row.cc: one kernel per type of processor, and the choice of one.
#include "worker/trainer/model/softmax_row.h"

#include <cmath>

namespace dt::trainer {
namespace {

namespace plain {
#include "worker/trainer/model/softmax_row_kernel.inc"
}  // namespace plain

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define DT_ROW_KERNELS
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
#include "worker/trainer/model/softmax_row_kernel.inc"
}  // namespace avx2
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")
namespace avx512 {
#include "worker/trainer/model/softmax_row_kernel.inc"
}  // namespace avx512
#pragma GCC pop_options
#endif

struct Kernel {
  double (*loss)(const SoftmaxRow&) = plain::Loss;
  double (*loss_and_gradient)(const SoftmaxRow&, float, float*) = plain::LossAndGradient;
};

Kernel Choose() {
#ifdef DT_ROW_KERNELS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return {avx512::Loss, avx512::LossAndGradient};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {avx2::Loss, avx2::LossAndGradient};
  }
#endif
  return {};
}

const Kernel kKernel = Choose();

}  // namespace

double RowLoss(const SoftmaxRow& row) { return kKernel.loss(row); }
double RowLossAndGradient(const SoftmaxRow& row, float scale, float* bias_gradient) {
  return kKernel.loss_and_gradient(row, scale, bias_gradient);
}

}  // namespace dt::trainer
