// block_pool.h: host memory for tensors of a megabyte or more: each block is mapped by itself, and
// kept when it is freed, for the next tensor of about its size.
//
// Role:    in malloc's heap such blocks leave holes between them that later ones do not fit into:
//          a rank whose tensors take 650 MB at most had a heap of 1.1 GB. And one small block at
//          the heap's end keeps all of it, freed as it may be. A step asks for the same sizes as
//          the one before, so that after the first one nothing is mapped, and no page faults.
// Source:  as CUDACachingAllocator of PyTorch, but nothing is split: address space is plenty.
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

  // A block of at least so many bytes, page by page, zero or of what was in it before; nullptr:
  // the system has none, even with all that was kept given back. REQUIRES: bytes >= kLeastBytes.
  void* Take(size_t bytes);
  // What was asked for at `block`, in whole pages; 0: it is none of the pool's.
  size_t BytesOf(const void* block) const;
  // REQUIRES: it was taken, and not given since.
  void Give(void* block);
  // Gives the system what nobody has.
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
