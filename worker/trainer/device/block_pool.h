// block_pool.h: host memory for tensors of 1 MiB or more. Each block is a mapping of its own, and a
// freed block is kept for the next tensor of about its size.
//
// Role:    large blocks in malloc's heap leave holes that later blocks do not fit into: a rank
//          whose tensors took at most 650 MB had a heap of 1.1 GB. In addition, one small block at
//          the end of the heap keeps all freed memory below it mapped. Each step allocates the same
//          sizes as the step before, so after the first step there are no new mappings and no page
//          faults.
// Source:  like PyTorch's CUDACachingAllocator, but blocks are not split, since address space is
//          plentiful.
// Threads: any.
// Tests:   tests/worker/trainer/device/block_pool_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace dt::trainer {

class BlockPool {
 public:
  static constexpr size_t kLeastBytes = 1 << 20;

  // Returns a page-aligned block of at least `bytes`. Its content is zero or what an earlier owner
  // left. Returns nullptr if the system has no memory, even after all kept blocks were released.
  // REQUIRES: bytes >= kLeastBytes.
  void* Take(size_t bytes);
  // Returns the size requested for `block`, rounded up to full pages; 0 if it is not from this
  // pool.
  size_t BytesOf(const void* block) const;
  // Returns a block to the pool. REQUIRES: it came from Take and was not given back since.
  void Give(void* block);
  // Unmaps all blocks that are not in use.
  void Release();
  size_t kept_bytes() const;

 private:
  struct Block {
    size_t mapped = 0, asked = 0;
  };

  void ReleaseLocked();

  mutable std::mutex mutex_;
  std::unordered_map<const void*, Block> taken_;
  std::multimap<size_t, void*> kept_;  // by size
  size_t kept_bytes_ = 0;
};

}  // namespace dt::trainer
