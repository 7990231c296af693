// tensor_count.cc: large tensors from a pool of blocks, the others from LibTorch's own allocator,
// with a count around both.
#include "worker/trainer/device/tensor_count.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>

#include <atomic>

#include "worker/trainer/device/block_pool.h"

namespace dt::trainer {
namespace {

std::atomic<uint64_t> held{0}, peak{0};

void Grow(uint64_t bytes) {
  const uint64_t now = held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t most = peak.load(std::memory_order_relaxed);
  while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

// LibTorch takes it for good; threads may use it until the process is gone.
BlockPool& Pool() {
  static auto* const pool = new BlockPool();
  return *pool;
}

void Free(void* data) {
  if (data == nullptr) return;
  if (const size_t bytes = Pool().BytesOf(data); bytes > 0) {
    held.fetch_sub(bytes, std::memory_order_relaxed);
    return Pool().Give(data);
  }
  held.fetch_sub(malloc_usable_size(data), std::memory_order_relaxed);
  c10::free_cpu(data);
}

// A block knows its size by itself, so that LibTorch may free it by address alone.
class CountingAllocator final : public c10::Allocator {
 public:
  at::DataPtr allocate(size_t bytes) override {
    if (bytes >= BlockPool::kLeastBytes) {
      if (void* const block = Pool().Take(bytes)) {
        Grow(Pool().BytesOf(block));
        return {block, block, &Free, c10::Device(c10::kCPU)};
      }
    }
    // Which says what it lacks where there is no more.
    void* const data = c10::alloc_cpu(bytes);
    if (data != nullptr) Grow(malloc_usable_size(data));
    return {data, data, &Free, c10::Device(c10::kCPU)};
  }
  at::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

void CountTensors() {
  static auto* const allocator = new CountingAllocator();
  c10::SetCPUAllocator(allocator, /*priority=*/1);
}

TensorBytes CountedTensors() {
  return {held.load(std::memory_order_relaxed), peak.load(std::memory_order_relaxed)};
}

void ReleaseKeptBlocks() { Pool().Release(); }

void RestartTensorPeak() {
  peak.store(held.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace dt::trainer
