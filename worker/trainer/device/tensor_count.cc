// tensor_count.cc: takes large tensors from the block pool and others from LibTorch's allocator,
// and counts both.
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

// Returns the pool. It is never destroyed: LibTorch keeps it, and threads may use it until the
// process ends.
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

// LibTorch may free a block by address alone, since the size is known from the block.
class CountingAllocator final : public c10::Allocator {
 public:
  at::DataPtr allocate(size_t bytes) override {
    if (bytes >= BlockPool::kLeastBytes) {
      if (void* const block = Pool().Take(bytes)) {
        Grow(Pool().BytesOf(block));
        return {block, block, &Free, c10::Device(c10::kCPU)};
      }
    }
    // LibTorch's allocator reports what is missing if memory is exhausted.
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
