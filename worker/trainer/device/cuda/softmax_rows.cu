// softmax_rows.cu: the kernel around softmax_rows_kernel.inc, with one block for each row.
// make_ptx.py compiles it.
#define DT_DEVICE __device__
#include "softmax_rows_kernel.inc"

// logits: [rows, columns] of fp32; targets: [rows]; gradient: [rows, columns] of bf16; losses: [rows]
// of fp32. Launch with `rows` blocks of kSoftmaxThreads threads.
extern "C" __global__ void __launch_bounds__(kSoftmaxThreads)
    dtrain_softmax_rows(const float* logits, const long long* targets, unsigned short* gradient,
                        float* losses, int columns) {
  __shared__ SoftmaxPart parts[kSoftmaxThreads];
  const size_t row = blockIdx.x;
  const float4* mine = reinterpret_cast<const float4*>(logits + row * columns);
  const int thread = threadIdx.x;
  parts[thread] = SoftmaxSeen(mine, columns, thread);
  for (int stride = kSoftmaxThreads / 2; stride > 0; stride /= 2) {
    __syncthreads();
    SoftmaxJoin(parts, thread, stride);
  }
  __syncthreads();
  SoftmaxWrite(mine, columns, targets[row], parts[0], thread,
               reinterpret_cast<ushort4*>(gradient + row * columns), losses + row);
}
